"""The table of hint rules, and how K's hints are asked.

A rule is a pure function of a candidate and the visible trajectory: it finds something, which fills
the variables of the hint's text, or nothing. A hint that fails is recorded and skipped.
"""

from collections.abc import Sequence

from evener.agents.harness import template
from evener.agents.knowledge.rules.rule import AnyRule
from evener.agents.knowledge.rules.table import RULES
from evener.agents.knowledge.seen import Seen
from evener.protocols.digest import Wire
from evener.protocols.error import HarnessError
from evener.protocols.knowledge import Hint


class Said(Wire):
    """A hint that found something."""

    hint: str
    rule: str
    text: str


class Fired(Wire):
    """What K's hints have to say of a candidate, in K's order, and the hints that failed."""

    said: tuple[Said, ...] = ()
    faults: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The hints that found something."""
        return tuple(one.hint for one in self.said)

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts, each once."""
        return tuple(dict.fromkeys(one.text for one in self.said))


def fire(
    seen: Seen, *, hints: Sequence[Hint] | None = None, rules: dict[str, AnyRule] = RULES
) -> Fired:
    """Ask K's hints (or only `hints`) about a candidate. Never raises for what a hint does."""
    said: list[Said] = []
    faults: list[str] = []
    for hint in seen.knowledge.hints if hints is None else hints:
        try:
            text = _text(hint, seen, rules)
        except Exception as error:  # noqa: BLE001 - a broken hint must not end a run; it is recorded
            faults.append(f"{hint.name}: {type(error).__name__}: {error}")
            continue
        if text is not None:
            said.append(Said(hint=hint.name, rule=hint.rule, text=text))
    return Fired(said=tuple(said), faults=tuple(faults))


def _text(hint: Hint, seen: Seen, rules: dict[str, AnyRule]) -> str | None:
    rule = rules.get(hint.rule)
    if rule is None:
        raise HarnessError(f"there is no rule {hint.rule!r}", where=f"hints[{hint.name}].rule")
    found = rule.bind(hint.settings)(seen)
    if found is None:
        return None
    return template.render(hint.text, found, where=f"hints[{hint.name}].text")
