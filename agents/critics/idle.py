"""Parts of a harness that did nothing: seen in the events of episodes, offered for removal.

A part is a field path: a skill, a hook, the prompt's examples, a note, a tool's aliases or what
mends one argument. Two rounds must agree that it had no effect, and the part must have been the
same in both. That alone removes nothing: each removal is a `simplify` proposal for the gate.
"""

import copy
from collections.abc import Collection, Iterator, Mapping, Sequence

from evener.agents.critics.aggregate import distinct
from evener.agents.critics.catalogue.repair import slug
from evener.agents.critics.lighter import shown_size
from evener.agents.harness.check import check
from evener.agents.harness.hooks.table import STAGES
from evener.agents.pattern.background import Background
from evener.agents.pattern.calling import addressable
from evener.protocols.attribution import Proposal
from evener.protocols.digest import JsonObject, Wire, digest
from evener.protocols.edit import write
from evener.protocols.error import HarnessError, PatchError
from evener.protocols.event import Activated, Adhered, Remembered
from evener.protocols.harness import Harness
from evener.protocols.patch import FieldEdit, Patch
from evener.protocols.path import ABSENT, read
from evener.protocols.trajectory import Outcome, Trajectory

GROUP = "idle"


class Activity(Wire):
    """Of `episodes`: in how many a part was active, in how many of these the student can be seen to
    have followed it or not (`judged`), and in how many it did. `content` is the part's digest."""

    content: str
    episodes: int = 0
    active: int = 0
    judged: int = 0
    followed: int = 0

    @property
    def idle(self) -> bool:
        """It was never active, or it was and nobody followed it. False where nothing was run."""
        unused = self.active == 0 or (self.judged > 0 and self.followed == 0)
        return self.episodes > 0 and unused


def activity(trajectories: Sequence[Trajectory], harness: Harness) -> dict[str, Activity]:
    """What each part of `harness` did, by its path, in the order of the harness.

    Episodes of other harnesses and infra episodes do not count.
    """
    digest_now, document = harness.digest(), harness.document()
    seen = [
        t
        for t in trajectories
        if t.key.harness == digest_now and t.outcome is not Outcome.INFRA and t.events
    ]
    active = [set(_active(t)) for t in seen]
    adhered = [{e.part: e.followed for e in t.events if isinstance(e, Adhered)} for t in seen]
    return {
        part: Activity(
            content=digest(value),
            episodes=len(seen),
            active=sum(part in parts for parts in active),
            judged=sum(part in parts for parts in adhered),
            followed=sum(parts.get(part, False) for parts in adhered),
        )
        for part in _parts(harness)
        if (value := read(document, part)) is not ABSENT
    }


def idle(now: Mapping[str, Activity], before: Mapping[str, Activity]) -> tuple[str, ...]:
    """The parts without effect in both rounds, unchanged since the round before."""
    return tuple(
        part
        for part, found in now.items()
        if found.idle
        and (earlier := before.get(part)) is not None
        and earlier.idle
        and earlier.content == found.content
    )


def removals(
    harness: Harness, parts: Sequence[str], *, background: Background
) -> tuple[Proposal, ...]:
    """`harness` without all these parts, then without each of them, the one that saves most text
    first: those that apply and can run."""
    each = tuple(dict.fromkeys(parts))
    ways = [(part,) for part in each]
    alone = [p for way in ways if (p := _removal(harness, way, background)) is not None]
    alone.sort(key=lambda proposal: -proposal.rank)
    whole = _removal(harness, each, background) if len(each) > 1 else None
    return tuple(distinct(iter([*([whole] if whole else []), *alone])))


def _removal(harness: Harness, parts: tuple[str, ...], background: Background) -> Proposal | None:
    patch = Patch(base=harness.digest(), edits=_without(harness, parts))
    try:
        after = patch.apply(harness)
        check(after, background.actions)
    except (PatchError, HarnessError):
        return None
    return Proposal(
        name=slug("without", *parts) if len(parts) == 1 else "without-idle-parts",
        author="rule",
        patch=patch,
        kind="simplify",
        group=GROUP,
        rank=float(shown_size(harness) - shown_size(after)),
        reason=f"no effect in two rounds: {', '.join(parts)}",
    )


def _active(trajectory: Trajectory) -> Iterator[str]:
    for event in trajectory.events:
        match event:
            case Activated():
                yield event.part
            case Remembered(action="recalled"):
                yield f"memory.entries[{event.entry}]"
            case _:
                pass


def _parts(harness: Harness) -> Iterator[str]:
    """Every part whose effect events can show."""
    if harness.prompt.examples:
        yield "prompt.examples"
    for tool in harness.tools:
        if tool.aliases:
            yield f"tools[{tool.name}].aliases"
        mended = (name for name in tool.arguments if addressable(name))
        yield from (f"tools[{tool.name}].arguments.{name}" for name in mended)
    yield from (f"skills[{skill.name}]" for skill in harness.skills)
    for stage in STAGES:
        hooks = getattr(harness.middleware.hooks, stage)
        yield from dict.fromkeys(f"middleware.hooks.{stage}[{hook.name}]" for hook in hooks)
    yield from (f"memory.entries[{note.name}]" for note in harness.memory.entries)


def _without(harness: Harness, parts: Collection[str]) -> tuple[FieldEdit, ...]:
    """The edits that take parts out; a hook that stands twice under one name goes twice."""
    document: JsonObject = copy.deepcopy(harness.document())
    edits: list[FieldEdit] = []
    for part in parts:
        while (found := read(document, part)) is not ABSENT:
            edits.append(FieldEdit(field_path=part, old_value=found, new_value=ABSENT))
            write(document, edits[-1])
    return tuple(edits)
