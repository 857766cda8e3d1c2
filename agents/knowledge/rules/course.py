"""Rules about the course of an episode: repeated, answered too soon, begun in the wrong place."""

from pydantic import Field

from evener.agents.harness.skill import Triggers
from evener.agents.knowledge.rules.rule import Found, Rule, RuleSettings
from evener.agents.knowledge.seen import Seen
from evener.protocols.event import ParseFailed
from evener.protocols.harness import Skill
from evener.protocols.knowledge import Guidance

LONGEST = 120


class RepeatSettings(RuleSettings):
    """A call that gave a result may be made so often before the next is one too many; a response
    that failed may not be repeated at all."""

    repeats: int = Field(default=3, ge=2)


def _repeat(settings: RepeatSettings, seen: Seen) -> Found | None:
    before = [made for made in seen.made if seen.same(made)]
    if not before:
        return None
    last = before[-1]
    if seen.worked(last) and len(before) < settings.repeats - 1:
        return None
    return {"count": str(len(before)), "told": last.told[:LONGEST] or "nothing"}


REPEAT = Rule(
    "repeat",
    RepeatSettings,
    ("count", "told"),
    _repeat,
    "This was tried before ({{ count }} times) and gave: {{ told }}. Do something else.",
)


class NoActionSettings(RuleSettings):
    """The tools that end the episode."""

    final: tuple[str, ...] = ()


def _no_action(settings: NoActionSettings, seen: Seen) -> Found | None:
    reading = seen.reading
    if isinstance(reading, ParseFailed):
        answers = reading.fault == "no_call"
    else:
        answers = not reading.calls or reading.calls[0].name.strip() in settings.final
    others = [name for name in seen.offered if name not in settings.final]
    if not answers or seen.executed or not others:
        return None
    return {"tools": ", ".join(others)}


NO_ACTION = Rule(
    "no_action",
    NoActionSettings,
    ("tools",),
    _no_action,
    "Nothing was worked out yet: call {{ tools }} before the answer.",
)


class WrongProcedureSettings(RuleSettings):
    """The skill whose guidance says how to begin, and the target's tools that it leaves on offer
    (empty: all)."""

    skill: str
    tools: tuple[str, ...] = ()


def _wrong_procedure(settings: WrongProcedureSettings, seen: Seen) -> Found | None:
    guidance = next((g for g in seen.knowledge.guidance if g.skill == settings.skill), None)
    call = seen.call
    if guidance is None or call is None or not applies(guidance, seen):
        return None
    if not seen.executed:
        first = begins_with(guidance)
        if first and call.name not in first:
            return {"tool": call.name, "expected": " or ".join(first)}
    if settings.tools and call.name not in settings.tools:
        return {"tool": call.name, "expected": " or ".join(settings.tools)}
    return None


def applies(guidance: Guidance, seen: Seen) -> bool:
    """Whether the guidance's trigger holds, as a skill's would."""
    called = {made.call.name for made in seen.executed if made.call is not None}
    skill = Skill(name=guidance.skill, when=guidance.when)
    return bool(Triggers([skill]).active(seen.request.prompt, called=called))


def begins_with(guidance: Guidance) -> tuple[str, ...]:
    """The tools that the guidance's examples call first."""
    firsts = (
        next((turn.call.name for turn in example if turn.call is not None), None)
        for example in guidance.examples
    )
    return tuple(dict.fromkeys(name for name in firsts if name is not None))


WRONG_PROCEDURE = Rule(
    "wrong_procedure",
    WrongProcedureSettings,
    ("tool", "expected"),
    _wrong_procedure,
    "A task like this one wants {{ expected }} here, not {{ tool }}.",
)
