"""What the rule critic takes, what it says of an episode, and what it never offers."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from evener.agents.critics import RuleCritic, edits_digest
from evener.agents.pattern.lexical import grams
from evener.protocols.attribution import RootCause
from evener.protocols.digest import canonical
from evener.protocols.error import EvenerError
from evener.protocols.harness import Harness
from evener.protocols.patch import FieldEdit
from evener.protocols.path import ABSENT
from evener.protocols.task import Purpose, Split
from evener.protocols.trajectory import Outcome, Score, Trajectory

if TYPE_CHECKING:
    from tests.agents.critics.conftest import Imitator, Lab

Student = Callable[..., "Imitator"]


def without_examples(harness: Harness) -> Harness:
    return harness.model_copy(update={"prompt": harness.prompt.model_copy(update={"examples": ()})})


async def failure(lab: "Lab", harness: Harness, imitator: Student) -> Trajectory:
    found = await lab.run(harness, imitator(), count=2)
    return next(t for t in found if not t.solved)


@pytest.mark.parametrize("purpose", [p for p in Purpose if p is not Purpose.MINE])
async def test_it_refuses_episodes_of_every_other_purpose(
    lab: "Lab", sound: Harness, imitator: Student, purpose: Purpose
) -> None:
    bare = without_examples(sound)
    failed = await failure(lab, bare, imitator)
    other = failed.model_copy(update={"key": failed.key.model_copy(update={"purpose": purpose})})
    with pytest.raises(EvenerError, match="mining episodes only"):
        await RuleCritic(lab.background).attribute(other, bare)


@pytest.mark.parametrize("split", [s for s in Split if s is not Split.MINE])
async def test_it_refuses_episodes_of_every_other_split(
    lab: "Lab", sound: Harness, imitator: Student, split: Split
) -> None:
    bare = without_examples(sound)
    failed = await failure(lab, bare, imitator)
    other = failed.model_copy(update={"task": failed.task.model_copy(update={"split": split})})
    with pytest.raises(EvenerError, match="mining episodes only"):
        await RuleCritic(lab.background).attribute(other, bare)


@pytest.mark.parametrize("outcome", [Outcome.INFRA, Outcome.SOLVED])
async def test_it_refuses_what_is_no_failure(
    lab: "Lab", sound: Harness, imitator: Student, outcome: Outcome
) -> None:
    bare = without_examples(sound)
    failed = await failure(lab, bare, imitator)
    with pytest.raises(EvenerError, match="only failures"):
        await RuleCritic(lab.background).attribute(
            failed.model_copy(update={"outcome": outcome}), bare
        )


async def test_it_refuses_an_episode_of_another_harness(
    lab: "Lab", sound: Harness, imitator: Student
) -> None:
    failed = await failure(lab, without_examples(sound), imitator)
    with pytest.raises(EvenerError, match="ran under the harness"):
        await RuleCritic(lab.background).attribute(failed, sound)


async def test_evidence_is_a_real_event_and_its_own_words(
    lab: "Lab", sound: Harness, imitator: Student
) -> None:
    bare = without_examples(sound)
    critic = RuleCritic(lab.background)
    for failed in await lab.run(bare, imitator()):
        blamed = await critic.attribute(failed, bare)
        event = failed.events[blamed.evidence.event]
        assert blamed.trajectory == blamed.evidence.trajectory == failed.digest()
        assert blamed.evidence.quote in canonical(event.document())
        assert blamed.evidence.quote in event.model_dump_json()
        assert blamed.diff_suggestion is not None


async def test_a_failure_that_the_harness_does_not_explain_is_the_students(
    lab: "Lab", sound: Harness, imitator: Student
) -> None:
    # the documented calls in the documented order, the right result passed on: not right all the
    # same, as when an operand was misread
    worked = (await lab.run(sound, imitator(), count=1))[0]
    wrong = worked.model_copy(
        update={"outcome": Outcome.FAILED, "score": Score(value=0.0, verdict="incorrect")}
    )
    critic = RuleCritic(lab.background)
    blamed = await critic.attribute(wrong, sound)
    assert blamed.root_cause is RootCause.AGENT_ERROR
    assert blamed.harness_dim is None
    assert blamed.diff_suggestion is None
    assert await critic.propose([blamed], sound) == ()


async def test_equal_input_gives_equal_proposals(
    lab: "Lab", sound: Harness, imitator: Student
) -> None:
    bare = without_examples(sound)
    failures = await lab.run(bare, imitator())
    answers = []
    for _ in range(2):
        critic = RuleCritic(lab.background)
        blamed = [await critic.attribute(f, bare) for f in failures]
        answers.append(await critic.propose(blamed, bare, limit=6, seed=3))
    assert answers[0] == answers[1]
    assert len(answers[0]) == 6
    assert len({p.name for p in answers[0]}) == 6


async def test_the_best_of_every_group_comes_first_and_each_stands_alone(
    lab: "Lab", sound: Harness, imitator: Student
) -> None:
    bare = without_examples(sound)
    critic = RuleCritic(lab.background)
    failures = await lab.run(bare, imitator())
    shelf = next(f for f in failures if f.task.kind == "shelf")
    # by rank alone, every rival of the many would come before the best of the one
    many = [f for f in failures if f.task.kind == "freight"]
    blamed = [await critic.attribute(f, bare) for f in (*many, shelf)]
    offered = await critic.propose(blamed, bare, limit=40)
    groups = list(dict.fromkeys(p.group for p in offered))
    assert {"teach:shelf", "teach:freight"} <= set(groups)
    assert [p.group for p in offered[: len(groups)]] == groups
    for rivals in ([p.rank for p in offered if p.group == group] for group in groups):
        assert rivals[0] == max(rivals)
    # each mends one pattern: nothing is put together before it has run
    assert all(len(p.signatures) == 1 for p in offered)
    assert all(sum("skills[" in e.field_path for e in p.patch.edits) <= 1 for p in offered)


async def test_nothing_refused_is_offered_again(
    lab: "Lab", sound: Harness, imitator: Student
) -> None:
    bare = without_examples(sound)
    critic = RuleCritic(lab.background)
    blamed = [await critic.attribute(f, bare) for f in await lab.run(bare, imitator())]
    refused: set[str] = set()
    for _ in range(40):
        offered = await critic.propose(blamed, bare, refused=frozenset(refused), limit=4)
        digests = {edits_digest(p.patch) for p in offered}
        assert not digests & refused
        refused |= digests
        if not offered:
            break
    else:
        pytest.fail("the critic never ran out of proposals")
    assert len(refused) > 6


async def test_counts_of_examples_are_rivals_of_one_group(
    lab: "Lab", sound: Harness, imitator: Student
) -> None:
    bare = without_examples(sound)
    critic = RuleCritic(lab.background)
    blamed = [await critic.attribute(f, bare) for f in await lab.run(bare, imitator())]
    offered = await critic.propose(blamed, bare, limit=40)
    skills = {p.name: p for p in offered if p.name.startswith("skill-shelf-")}
    assert {"skill-shelf-1", "skill-shelf-2", "skill-shelf-3"} <= set(skills)
    assert {p.group for p in skills.values()} == {"teach:shelf"}
    for count in (1, 2, 3):
        patched = skills[f"skill-shelf-{count}"].patch.apply(bare)
        assert len(patched.skills[0].examples) == count
        assert patched.skills[0].tools == ("stock", "close")
        assert not {"freight", "unpack"} & set(patched.skills[0].when.words)


async def test_a_suggestion_that_repeats_a_mining_task_is_not_offered(
    lab: "Lab", sound: Harness, imitator: Student
) -> None:
    failed = await failure(lab, without_examples(sound), imitator)
    harness = without_examples(sound)
    critic = RuleCritic(lab.background)
    blamed = await critic.attribute(failed, harness)
    old = harness.prompt.system
    for text, count in ((failed.task.prompt, 0), ("Take your time.", 1)):
        hint = FieldEdit(field_path="prompt.system", old_value=old, new_value=f"{old}\n{text}")
        told = blamed.model_copy(update={"signature": "own words", "diff_suggestion": hint})
        assert len(await critic.propose([told], harness)) == count


async def test_no_proposal_repeats_a_run_of_words_of_a_mining_task(
    lab: "Lab", sound: Harness, imitator: Student
) -> None:
    # the documentation happens to hold a task of the mining split, word for word
    bare = without_examples(sound)
    shelf = lab.background.of("shelf")
    stolen = next(t.content for t in shelf[0].turns if t.role == "user" and t.content is not None)
    failures = await lab.run(bare, imitator())
    failed = next(f for f in failures if f.task.kind == "shelf")
    taken = failed.model_copy(
        update={"task": failed.task.model_copy(update={"prompt": f"Note well. {stolen} Thanks."})}
    )
    critic = RuleCritic(lab.background)
    plain = await critic.propose([await critic.attribute(failed, bare)], bare, limit=40)
    assert any(stolen in canonical(p.patch.document()) for p in plain)

    careful = RuleCritic(lab.background)
    blamed = [await careful.attribute(f, bare) for f in (taken, failed)]
    offered = await careful.propose(blamed, bare, limit=40)
    assert offered
    private = {g for g in grams(taken.task.prompt) if not lab.background.common(g)}
    assert private
    for proposal in offered:
        for edit in proposal.patch.edits:
            text = "" if edit.new_value is ABSENT else canonical(edit.new_value)
            assert not private & grams(text)
