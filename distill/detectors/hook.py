"""What the hooks of a harness see to, asked of an episode that may have run without them."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from evener.agents.harness.hooks.answer import VERIFY_ANSWER
from evener.agents.harness.hooks.guard import LOOP_GUARD, VALIDATE_ARGUMENTS
from evener.agents.harness.hooks.help import ASK_FOR_HELP
from evener.agents.harness.hooks.reading import REPAIR_CALL, REQUIRE_ACTION
from evener.agents.harness.hooks.retry import RETRY
from evener.distill.detectors.conduct import rejected, repaired
from evener.protocols.behaviour import Behaviour, Predicate, always
from evener.protocols.conduct import acted, amount, handed_in, well_formed, worked, written
from evener.protocols.digest import JsonObject, canonical
from evener.protocols.event import CallRefused, Ended, ParseFailed
from evener.protocols.harness import Harness
from evener.protocols.trajectory import Trajectory


@dataclass(frozen=True, kw_only=True)
class HookSign:
    """What shows that a hook has nothing left to do. `shown` is made from the hook's settings."""

    text: str
    shown: Callable[[JsonObject], Predicate]
    occasion: Predicate = always
    conditional: bool = True


def _readable(settings: JsonObject) -> Predicate:
    def shown(trajectory: Trajectory) -> bool:
        faults = [e.fault for e in trajectory.events if isinstance(e, ParseFailed)]
        return well_formed(trajectory) and all(fault == "no_call" for fault in faults)

    return shown


def _acting(settings: JsonObject) -> Predicate:
    def shown(trajectory: Trajectory) -> bool:
        reasons = [e.reason for e in trajectory.events if isinstance(e, Ended)]
        return bool(acted(trajectory)) and "no_action" not in reasons

    return shown


def _unlooped(settings: JsonObject) -> Predicate:
    limit = settings.get("repeats", LOOP_GUARD.settings().repeats)
    most = limit if isinstance(limit, int) else LOOP_GUARD.settings().repeats

    def shown(trajectory: Trajectory) -> bool:
        made = Counter(f"{c.name} {canonical(c.arguments)}" for c in written(trajectory))
        return bool(made) and max(made.values()) < most

    return shown


def _last_result(settings: JsonObject) -> Predicate:
    def shown(trajectory: Trajectory) -> bool:
        last, results = handed_in(trajectory), worked(trajectory)
        if last is None or not results:
            return False
        given = [amount(value) for value in last.call.arguments.values()]
        return amount(results[-1].observation) in given

    return shown


def _fitting(settings: JsonObject) -> Predicate:
    def shown(trajectory: Trajectory) -> bool:
        return bool(acted(trajectory)) and not any(
            isinstance(event, CallRefused) for event in trajectory.events
        )

    return shown


def _mending(settings: JsonObject) -> Predicate:
    return repaired


HOOKS: dict[str, HookSign] = {
    REPAIR_CALL.name: HookSign(
        text="whatever is meant as a call can be read as one",
        shown=_readable,
        conditional=False,
    ),
    REQUIRE_ACTION.name: HookSign(
        text="something is executed, and the episode does not end for want of a call",
        shown=_acting,
        conditional=False,
    ),
    LOOP_GUARD.name: HookSign(
        text="no call is made so often that the guard would step in", shown=_unlooped
    ),
    VERIFY_ANSWER.name: HookSign(text="the answer is the last result", shown=_last_result),
    VALIDATE_ARGUMENTS.name: HookSign(text="no call is refused for its arguments", shown=_fitting),
    ASK_FOR_HELP.name: HookSign(
        text="after a rejected call comes another one, and in the end one that works",
        shown=_mending,
        occasion=rejected,
    ),
}
"""The hooks that a student's own conduct can take the place of, by name."""

WITHOUT: dict[str, str] = {RETRY.name: "it repeats what the environment failed at"}
"""The others, and why."""


def hooks(harness: Harness) -> Iterator[Behaviour]:
    """`hook:NAME` for every hook of `HOOKS`, once, at the first stage where it stands."""
    named: set[str] = set()
    for stage, entries in harness.middleware.hooks:
        for entry in entries:
            sign = HOOKS.get(entry.name)
            if sign is None or entry.name in named:
                continue
            named.add(entry.name)
            yield Behaviour(
                name=f"hook:{entry.name}",
                part=f"middleware.hooks.{stage}[{entry.name}]",
                text=sign.text,
                occasion=sign.occasion,
                shown=sign.shown(entry.settings),
                conditional=sign.conditional,
                settings=entry.settings,
            )
