"""Rules about the call itself: can it be read, is there the tool, does it fit, how is it spelt."""

from evener.agents.knowledge.rules.rule import Found, Rule, RuleSettings
from evener.agents.knowledge.seen import Seen
from evener.agents.knowledge.translate import plain_variable
from evener.protocols.event import CallRefused, ParseFailed
from evener.protocols.harness import ArgumentRule
from evener.protocols.message import Call

_NO_TOOL = ("unknown_tool", "not_offered")


class UnreadableSettings(RuleSettings):
    """Nothing to set."""


def _unreadable(_: UnreadableSettings, seen: Seen) -> Found | None:
    reading = seen.reading
    return {"detail": reading.detail} if isinstance(reading, ParseFailed) else None


UNREADABLE = Rule(
    "unreadable",
    UnreadableSettings,
    ("detail",),
    _unreadable,
    "The response cannot be executed: {{ detail }}. It must be one call and nothing else.",
)


class UnknownToolSettings(RuleSettings):
    """Only these names, and what is meant by them in the target's tools; empty: any name."""

    means: dict[str, str] = {}


def _unknown_tool(settings: UnknownToolSettings, seen: Seen) -> Found | None:
    refused = seen.resolved
    if not isinstance(refused, CallRefused) or refused.reason not in _NO_TOOL:
        return None
    name = refused.call.name.strip()
    if settings.means and name not in settings.means:
        return None
    instead = settings.means.get(name) or refused.nearest or f"one of {', '.join(seen.offered)}"
    return {"name": name, "instead": instead, "tools": ", ".join(seen.offered)}


UNKNOWN_TOOL = Rule(
    "unknown_tool",
    UnknownToolSettings,
    ("name", "instead", "tools"),
    _unknown_tool,
    "There is no tool {{ name }}; use {{ instead }}.",
)


class BadArgumentsSettings(RuleSettings):
    """Only calls of these tools; empty: of any."""

    tools: tuple[str, ...] = ()


def _bad_arguments(settings: BadArgumentsSettings, seen: Seen) -> Found | None:
    refused = seen.resolved
    if not isinstance(refused, CallRefused) or refused.reason in _NO_TOOL:
        return None
    if settings.tools and refused.call.name not in settings.tools:
        return None
    name = refused.call.name
    return {"tool": name, "detail": refused.detail.removeprefix(f"{name} was not called: ")}


BAD_ARGUMENTS = Rule(
    "bad_arguments",
    BadArgumentsSettings,
    ("tool", "detail"),
    _bad_arguments,
    "The arguments of {{ tool }} do not fit: {{ detail }}",
)


class SpellingSettings(RuleSettings):
    """The tool of h* and its argument whose spellings K's recipe knows."""

    tool: str
    argument: str


def _spelling(settings: SpellingSettings, seen: Seen) -> Found | None:
    recipe = next((r for r in seen.knowledge.recipes if r.tool == settings.tool), None)
    call = seen.written
    if recipe is None or call is None:
        return None
    rule = recipe.mends.get(settings.argument)
    if rule is None:
        return None
    for step in recipe.steps:
        if step.action != call.name.strip():
            continue
        for name, text in step.arguments.items():
            if plain_variable(text) == settings.argument:
                found = _misspelt(rule, call, name)
                if found is not None:
                    return found
    return None


def _misspelt(rule: ArgumentRule, call: Call, name: str) -> Found | None:
    for written in (name, *rule.names):
        value = call.arguments.get(written)
        if isinstance(value, str) and (proper := rule.mended(value)) != value:
            return {"argument": name, "given": value, "proper": proper}
    return None


SPELLING = Rule(
    "spelling",
    SpellingSettings,
    ("argument", "given", "proper"),
    _spelling,
    '{{ argument }} must be spelt "{{ proper }}", not "{{ given }}".',
)
