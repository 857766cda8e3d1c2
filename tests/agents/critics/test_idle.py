"""What the events say of each part, when a part is idle, and how it is taken out."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from evener.agents.critics.idle import Activity, activity, idle, removals
from evener.agents.harness.check import check
from evener.protocols.event import Activated, Adhered, Event, Remembered
from evener.protocols.harness import (
    ArgumentRule,
    Harness,
    Hook,
    Hooks,
    Memory,
    Note,
    Skill,
    Tool,
    When,
)
from evener.protocols.trajectory import Outcome, Trajectory

if TYPE_CHECKING:
    from tests.agents.critics.conftest import Imitator, Lab

Student = Callable[..., "Imitator"]
LOOP = "middleware.hooks.before_tool[loop_guard]"
VERIFY = "middleware.hooks.before_finish[verify_answer]"


@pytest.fixture
def full(lab: "Lab", sound: Harness) -> Harness:
    """Something in every place: examples, a skill that never triggers, one that does, hooks, notes,
    aliases and mends."""
    stock, unpack, close = sound.tools
    freight = tuple(e.turns for e in lab.background.of("freight"))
    hooks = Hooks(
        before_tool=(Hook(name="loop_guard"),), before_finish=(Hook(name="verify_answer"),)
    )
    stock = stock.model_copy(
        update={"aliases": ("shelf",), "arguments": {"part": ArgumentRule(strip=True)}}
    )
    return sound.model_copy(
        update={
            "tools": (stock, unpack, close),
            "skills": (
                Skill(name="asleep", when=When(words=("unheard",)), text="Never shown."),
                Skill(name="freight", when=When(words=("truck",)), examples=freight),
            ),
            "middleware": sound.middleware.model_copy(update={"hooks": hooks}),
            "memory": Memory(
                policy="retrieval",
                entries=(Note(name="shelf", text="A shelf."), Note(name="moon", text="Moon.")),
            ),
        }
    )


async def test_episodes_say_what_was_active_and_what_was_followed(
    lab: "Lab", full: Harness, imitator: Student
) -> None:
    seen = activity(await lab.run(full, imitator(), count=12), full)
    counts = {part: (a.active, a.judged, a.followed) for part, a in seen.items()}
    # every second task is of freight: its skill takes the place of the prompt's examples
    assert counts == {
        "prompt.examples": (6, 6, 6),
        "tools[stock].aliases": (0, 0, 0),
        "tools[stock].arguments.part": (0, 0, 0),
        "tools[unpack].arguments.unit": (6, 0, 0),
        "skills[asleep]": (0, 0, 0),
        "skills[freight]": (6, 6, 6),
        LOOP: (0, 0, 0),
        VERIFY: (0, 0, 0),
        "memory.entries[shelf]": (6, 0, 0),
        "memory.entries[moon]": (0, 0, 0),
    }
    assert {a.episodes for a in seen.values()} == {12}


def events(episode: Trajectory, *more: Event) -> Trajectory:
    return episode.model_copy(update={"events": (*episode.events, *more)})


async def test_a_part_counts_once_an_episode_and_a_lost_note_not_at_all(
    lab: "Lab", full: Harness, imitator: Student
) -> None:
    (one,) = await lab.run(full, imitator(), count=1)
    twice = events(
        one,
        Activated(turn=0, part="tools[stock].aliases"),
        Activated(turn=1, part="tools[stock].aliases"),
        Adhered(turn=1, part="skills[asleep]", followed=False),
        Remembered(turn=0, action="evicted", entry="moon"),
    )
    seen = activity([twice], full)
    assert seen["tools[stock].aliases"].active == 1
    assert seen["memory.entries[moon]"].active == 0
    assert (seen["skills[asleep]"].judged, seen["skills[asleep]"].followed) == (1, 0)


async def test_infra_and_other_harnesses_episodes_do_not_count(
    lab: "Lab", sound: Harness, full: Harness, imitator: Student
) -> None:
    mine = await lab.run(full, imitator(), count=2)
    lost = mine[0].model_copy(update={"outcome": Outcome.INFRA})
    other = await lab.run(sound, imitator(), count=3)
    seen = activity([*mine, lost, *other], full)
    assert {a.episodes for a in seen.values()} == {2}
    assert {a.episodes for a in activity([], full).values()} == {0}


def acted(*, episodes: int = 9, active: int = 0, judged: int = 0, followed: int = 0) -> Activity:
    return Activity(content="c", episodes=episodes, active=active, judged=judged, followed=followed)


@pytest.mark.parametrize(
    ("now", "before", "is_idle"),
    [
        (acted(), acted(), True),
        (acted(), acted(active=1), False),
        (acted(active=1), acted(), False),
        (acted(active=4, judged=3), acted(active=2, judged=1), True),
        (acted(active=4, judged=3, followed=1), acted(), False),
        # active, and nothing to tell whether it was followed
        (acted(active=4), acted(active=4), False),
        (acted(), acted(active=2, judged=1), True),
        # nothing was run: nothing is known
        (acted(episodes=0), acted(), False),
        (acted(), acted(episodes=0), False),
    ],
)
def test_a_part_is_idle_when_two_rounds_say_so(
    now: Activity, before: Activity, is_idle: bool
) -> None:
    assert idle({"skills[s]": now}, {"skills[s]": before}) == (("skills[s]",) if is_idle else ())


def test_a_new_or_changed_part_has_not_had_its_two_rounds() -> None:
    other = acted().model_copy(update={"content": "other"})
    assert idle({"skills[s]": acted()}, {}) == ()
    assert idle({"skills[s]": acted()}, {"skills[s]": other}) == ()


async def test_a_part_that_was_changed_has_other_content(
    lab: "Lab", full: Harness, imitator: Student
) -> None:
    skill, *rest = full.skills
    changed = full.model_copy(
        update={"skills": (skill.model_copy(update={"text": "Now other."}), *rest)}
    )
    before = activity(await lab.run(full, imitator(), count=2), full)
    now = activity(await lab.run(changed, imitator(), count=2), changed)
    found = idle(now, before)
    assert "skills[asleep]" not in found
    assert LOOP in found
    assert "skills[asleep]" in idle(before, before)


PARTS = ("prompt.examples", "skills[asleep]", LOOP, "tools[stock].aliases",
         "tools[stock].arguments.part", "memory.entries[moon]")  # fmt: skip


def test_all_idle_parts_go_at_once_or_each_alone(lab: "Lab", full: Harness) -> None:
    whole, *alone = removals(full, PARTS, background=lab.background)
    assert len(alone) == len(PARTS)
    bare = whole.patch.apply(full)
    check(bare, lab.background.actions)
    assert bare.prompt.examples == ()
    assert [s.name for s in bare.skills] == ["freight"]
    assert bare.middleware.hooks == Hooks(before_finish=(Hook(name="verify_answer"),))
    assert (bare.tools[0].aliases, bare.tools[0].arguments) == ((), {})
    assert [n.name for n in bare.memory.entries] == ["shelf"]
    assert whole.patch.inverse(full).apply(bare) == full
    ranks = [p.rank for p in alone]
    assert ranks == sorted(ranks, reverse=True)
    assert alone[0].patch.apply(full).prompt.examples == ()
    for proposal in (whole, *alone):
        assert (proposal.kind, proposal.author, proposal.group) == ("simplify", "rule", "idle")
        assert proposal.signatures == ()
    assert {p.patch.edits[0].field_path for p in alone} == set(PARTS)
    assert all(len(p.patch.edits) == 1 for p in alone)
    assert len({p.name for p in (whole, *alone)}) == len(PARTS) + 1


def test_one_idle_part_is_one_proposal_and_none_is_none(lab: "Lab", full: Harness) -> None:
    (only,) = removals(full, ("skills[asleep]", "skills[asleep]"), background=lab.background)
    assert only.name == "without-skills-asleep"
    assert removals(full, (), background=lab.background) == ()
    # what is gone already cannot be removed
    assert removals(full, ("skills[gone]",), background=lab.background) == ()


def test_a_hook_that_stands_twice_is_removed_twice(lab: "Lab", full: Harness) -> None:
    twice = Hooks(before_tool=(Hook(name="loop_guard"), Hook(name="loop_guard")))
    harness = full.model_copy(
        update={"middleware": full.middleware.model_copy(update={"hooks": twice})}
    )
    (only,) = removals(harness, (LOOP,), background=lab.background)
    assert only.patch.apply(harness).middleware.hooks == Hooks()


def test_a_removal_that_leaves_no_harness_that_runs_is_not_offered(
    lab: "Lab", full: Harness
) -> None:
    endless = full.model_copy(update={"tools": full.tools[:2], "skills": full.skills[:1]})
    assert removals(endless, ("skills[asleep]", LOOP), background=lab.background) == ()


def test_an_argument_that_no_path_can_name_is_left_out(lab: "Lab", full: Harness) -> None:
    odd = json.loads(json.dumps(full.tools[0].document()))
    odd["arguments"] = {"0x": {"strip": True}}
    tool = Tool.model_validate_json(json.dumps(odd))
    assert not [
        part
        for part in activity([], full.model_copy(update={"tools": (tool,)}))
        if part.startswith("tools[stock].arguments")
    ]


def test_an_argument_called_aliases_is_no_list_of_aliases(lab: "Lab", full: Harness) -> None:
    schema = {"type": "object", "properties": {"aliases": {"type": "string"}}}
    stock, *rest = full.tools
    odd = stock.model_copy(
        update={"parameters": schema, "arguments": {"aliases": ArgumentRule(strip=True)}}
    )
    harness = full.model_copy(update={"tools": (odd, *rest)})
    part = "tools[stock].arguments.aliases"
    assert part in activity([], harness)
    (only,) = removals(harness, (part,), background=lab.background)
    assert only.patch.apply(harness).tools[0].arguments == {}
