"""Whether a K holds together: against both harnesses, against the table of hints, against tasks.

Everything that is wrong is found and told in one line. Used when K is made and when it is loaded.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from pydantic import ValidationError

from evener.agents.harness import schema, template
from evener.agents.harness.runtime import prepare
from evener.agents.harness.shape import looks_like_call
from evener.agents.harness.tool import Toolbox
from evener.agents.knowledge.adapt import fit
from evener.agents.knowledge.guidance import own_words
from evener.agents.knowledge.part import PROMPT, covered, parts, within
from evener.agents.knowledge.recipe import unfit
from evener.agents.knowledge.rules.rule import AnyRule
from evener.agents.knowledge.rules.table import RULES
from evener.agents.knowledge.wording import Wording, wording_of
from evener.agents.leak import LeakGuard
from evener.agents.pattern import Background
from evener.protocols.error import HarnessError, KnowledgeError
from evener.protocols.event import CallRefused
from evener.protocols.harness import ExampleTurn, Harness
from evener.protocols.knowledge import Hint, Knowledge, Recipe
from evener.protocols.message import Call

MOST_TOLD = 8


def check_knowledge(
    knowledge: Knowledge,
    optimized: Harness,
    target: Harness,
    background: Background,
    guard: LeakGuard | None,
    *,
    rules: dict[str, AnyRule] = RULES,
) -> None:
    """Refuse a K that does not fit its harnesses or says what it may not; the line lists all of it.

    Raises HarnessError where a harness is not fit for the environment, else KnowledgeError. Without
    a guard no text is held against tasks.
    """
    fit(optimized, background.actions, "optimized")
    fit(target, background.actions, "target")
    where = f"K {knowledge.name!r}"
    pairing = [*_pairing(knowledge, optimized, target)]
    if pairing:
        raise KnowledgeError(
            "; ".join(pairing), where=where, remedy="Make it anew with evener harness adapt"
        )
    checker = _Checker(knowledge, optimized, target, rules)
    found = [*checker.faults()]
    leaked = guard.repeated(knowledge.document()) if guard is not None else ""
    if leaked:
        found.append(leaked)
    if found:
        more = f"; and {len(found) - MOST_TOLD} more" if len(found) > MOST_TOLD else ""
        raise KnowledgeError(
            "; ".join(found[:MOST_TOLD]) + more,
            where=where,
            remedy="Correct the file, or make it anew with evener harness adapt",
        )


def _pairing(knowledge: Knowledge, optimized: Harness, target: Harness) -> Iterator[str]:
    for what, harness, digest in (
        ("optimized", optimized, knowledge.source),
        ("target", target, knowledge.target),
    ):
        if harness.digest() != digest:
            yield (
                f"it was made for another {what} harness ({digest[:12]}) than {harness.name} "
                f"({harness.digest()[:12]})"
            )


class _Checker:
    """All faults of one K, in its order."""

    def __init__(
        self,
        knowledge: Knowledge,
        optimized: Harness,
        target: Harness,
        rules: dict[str, AnyRule],
    ) -> None:
        self._knowledge = knowledge
        self._optimized = optimized
        self._tools = {tool.name: tool for tool in target.tools}
        self._toolbox: Toolbox = prepare(target).toolbox
        self._rules = rules
        self._wording: Wording = wording_of(knowledge, optimized, target)

    def faults(self) -> Iterator[str]:
        yield from self._parts()
        yield from self._names()
        for recipe in self._knowledge.recipes:
            yield from self._recipe(recipe)
        for hint in self._knowledge.hints:
            yield from self._hint(hint)
        for guidance in self._knowledge.guidance:
            where = f"guidance[{guidance.skill}]"
            yield from self._text(own_words(guidance, self._tools), f"{where}.text")
            for name in guidance.when.tools:
                if name not in self._tools:
                    yield f"{where}.when: the target has no tool {name}"
            if not all(word.strip() for word in guidance.when.words):
                yield f"{where}.when: an empty word"
            for index, example in enumerate(guidance.examples):
                yield from self._example(example, f"{where}.examples[{index}]")
        for pattern in self._knowledge.patterns:
            where = f"patterns[{pattern.name}]"
            for text in (pattern.trigger, pattern.evidence, pattern.intervention):
                if not text.strip():
                    yield f"{where}: an empty text"
            yield from self._text(pattern.intervention, where)

    def _parts(self) -> Iterator[str]:
        left = covered(self._optimized, self._knowledge)
        if left:
            yield f"no entry and no reason for {_listed(left)}"
        known = parts(self._optimized)
        sources = [(hint.name, hint.source) for hint in self._knowledge.hints]
        sources += [(one.name, one.source) for one in self._knowledge.patterns]
        sources += [("an omission", omission.part) for omission in self._knowledge.omissions]
        sources += [
            (one.skill, one.source) for one in self._knowledge.guidance if one.source != PROMPT
        ]
        for name, source in sources:
            if not any(within(part, source) or within(source, part) for part in known):
                yield f"{name} is of {source!r}, which the optimized harness has not"
        for omission in self._knowledge.omissions:
            if not omission.reason.strip():
                yield f"{omission.part} is left out without a reason"

    def _names(self) -> Iterator[str]:
        for what, names in (
            ("recipes", [recipe.tool for recipe in self._knowledge.recipes]),
            ("hints", [hint.name for hint in self._knowledge.hints]),
            ("guidance", [one.source for one in self._knowledge.guidance]),
            ("patterns", [one.name for one in self._knowledge.patterns]),
        ):
            yield from (f"two {what} of {n!r}" for n, count in Counter(names).items() if count > 1)

    def _recipe(self, recipe: Recipe) -> Iterator[str]:
        where = f"recipes[{recipe.tool}]"
        if recipe.tool not in {tool.name for tool in self._optimized.tools}:
            yield f"{where}: the optimized harness has no such tool"
        if not recipe.steps:
            yield f"{where}: it has no steps"
        yield from self._text(recipe.text, f"{where}.text")
        try:
            schema.check(recipe.parameters, where=f"{where}.parameters")
        except HarnessError as error:
            yield str(error)
            return
        declared = schema.Arguments(recipe.parameters).names
        written = tuple(name for step in recipe.steps for name in step.arguments)
        known = declared or written  # a tool that says nothing of its arguments takes any
        for name in recipe.mends:
            if known and name not in known:
                yield f"{where}.mends: there is no parameter {name}"
        for index, step in enumerate(recipe.steps):
            place = f"{where}.steps[{index}]"
            if step.action not in self._tools:
                yield f"{place}: the target has no tool {step.action}"
                continue
            reason = unfit(step.arguments, self._tools[step.action])
            if reason:
                yield f"{place}: {reason}"
            names = declared if recipe.parameters else tuple(step.arguments)
            for name, text in step.arguments.items():
                variables = (*names, "result") if index else names
                yield from _template(text, variables, f"{place}.arguments.{name}")
        yield from self._example(recipe.example, f"{where}.example")

    def _hint(self, hint: Hint) -> Iterator[str]:
        where = f"hints[{hint.name}]"
        rule = self._rules.get(hint.rule)
        if rule is None:
            yield f"{where}: there is no rule {hint.rule!r}; rules: {', '.join(self._rules)}"
            return
        try:
            rule.bind(hint.settings)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            place = ".".join(map(str, first["loc"]))
            yield f"{where}.settings.{place}: {first['msg'].lower()}"
        for key in ("tools", "final"):
            named = hint.settings.get(key)
            for name in named if isinstance(named, list) else ():
                if name not in self._tools:
                    yield f"{where}.settings.{key}: the target has no tool {name}"
        if not hint.text.strip():
            yield f"{where}.text: an empty text"
        yield from _template(hint.text, rule.variables, f"{where}.text")
        if hint.text != rule.text:
            yield from self._text(hint.text, f"{where}.text")

    def _example(self, turns: Sequence[ExampleTurn], where: str) -> Iterator[str]:
        offered = tuple(self._tools)
        for index, turn in enumerate(turns):
            place = f"{where}[{index}]"
            if turn.call is not None:
                call = Call(name=turn.call.name, arguments=turn.call.arguments)
                resolved = self._toolbox.resolve(call, offered, turn=index)
                if isinstance(resolved, CallRefused):
                    yield f"{place}: {resolved.detail}"
                elif resolved.mended:
                    yield f"{place}: {turn.call.name} would only fit after being mended"
            elif turn.role == "assistant":
                text = turn.content or ""
                yield from self._text(text, place)
                if looks_like_call(text, offered):
                    yield f"{place}: a call in words, not as data"

    def _text(self, text: str, where: str) -> Iterator[str]:
        for name in self._wording.foreign(text):
            yield f"{where}: it names {name}, which the target lacks"


def _template(text: str, variables: Sequence[str], where: str) -> Iterator[str]:
    try:
        template.check(text, variables, where=where)
    except HarnessError as error:
        yield str(error)


def _listed(names: Iterable[str]) -> str:
    found = [*names]
    more = f" and {len(found) - MOST_TOLD} more" if len(found) > MOST_TOLD else ""
    return ", ".join(found[:MOST_TOLD]) + more
