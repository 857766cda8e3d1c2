from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from evener.agents.record.store import Record
from evener.agents.rollouts import Rollouts
from evener.agents.rounds.race import PROMISE, Entry, Race, aimed_at, winners
from evener.progress import Silent
from evener.protocols.attribution import (
    Attribution,
    Evidence,
    Proposal,
    RootCause,
    Severity,
)
from evener.protocols.digest import Wire
from evener.protocols.harness import Harness
from evener.protocols.model import ModelRef
from evener.protocols.patch import between
from evener.protocols.reference import EpisodeRef
from evener.protocols.task import Split, Task
from evener.protocols.trajectory import Outcome
from evener.protocols.wire import RolloutFinished, RolloutRequest

HARNESS = Harness(name="start")
MODEL = ModelRef(base="clerk", revision="r")
TASKS = [Task(id=f"t{i}", split=Split.MINE, kind="k", prompt=f"p{i}") for i in range(40)]


class Track:
    """Answers each episode by the harness's name: how many of the tasks it solves."""

    def __init__(self, store: Record, solves: Mapping[str, int]) -> None:
        self.store = store
        self.solves = solves
        self.ran: Counter[str] = Counter()

    async def ask(
        self, recipient: str, message: Wire, reply: type[RolloutFinished], /
    ) -> RolloutFinished:
        assert isinstance(message, RolloutRequest)
        name = self.store.get(Harness, message.harness).name
        self.ran[name] += 1
        solved = int(message.task.id[1:]) < self.solves[name]
        return RolloutFinished(
            episode=EpisodeRef(
                trajectory="",
                episode="",
                task=message.task.id,
                kind="k",
                outcome=Outcome.SOLVED if solved else Outcome.FAILED,
                reward=float(solved),
                prompt_tokens=10,
                completion_tokens=3,
            )
        )


def proposal(name: str, *, group: str = "g") -> Proposal:
    patch = between(HARNESS, HARNESS.model_copy(update={"name": name}))
    return Proposal(name=name, author="rule", patch=patch, group=group)


Found = tuple[tuple[Entry, ...], Counter[str]]
Run = Callable[..., Awaitable[Found]]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Record]:
    with Record.open(tmp_path / "events.db") as record:
        yield record


@pytest.fixture
def race(store: Record) -> Run:
    async def run(
        solves: Mapping[str, int], *, budget: int, groups: Sequence[str] = (), tasks: int = 4
    ) -> Found:
        track = Track(store, solves)
        offers = [
            proposal(name, group=groups[at] if groups else "g") for at, name in enumerate(solves)
        ]
        entries = await course(track, store, budget=budget, tasks=tasks).run(
            offers, aims=dict.fromkeys(solves, TASKS), harness=HARNESS, model=MODEL, seed=1
        )
        return entries, track.ran

    return run


def course(track: Track, store: Record, *, budget: int, tasks: int) -> Race:
    rollouts = Rollouts(track)
    return Race(rollouts, store, tasks=tasks, budget=budget, progress=Silent())


async def test_of_rivals_the_better_half_goes_on_and_the_best_of_the_last_heat_wins(
    race: Run,
) -> None:
    entries, ran = await race({"none": 0, "few": 1, "good": 6, "best": 12}, budget=32)
    assert ran == {"none": 4, "few": 4, "good": 12, "best": 12}
    assert [e.proposal.name for e in entries] == ["best", "good", "few", "none"]
    assert [e.heats for e in entries] == [2, 2, 1, 1]
    assert [(e.tokens, e.written) for e in entries] == [(13 * e.n, 3 * e.n) for e in entries]
    assert [e.proposal.name for e in winners(entries)] == ["best"]


async def test_a_race_never_spends_more_than_its_budget(
    race: Run,
) -> None:
    for budget in (4, 5, 16, 31, 100):
        _, ran = await race({"a": 40, "b": 40, "c": 40, "d": 40}, budget=budget)
        assert ran.total() <= budget
        assert set(ran.values()) != {0}


async def test_where_the_budget_has_not_one_episode_for_each_rival_all_run_one(race: Run) -> None:
    _, ran = await race({"a": 1, "b": 1, "c": 1}, budget=2)
    assert ran == {"a": 1, "b": 1, "c": 1}


async def test_two_rivals_race_on_until_the_tasks_are_used_up(race: Run) -> None:
    _, ran = await race({"a": 40, "b": 40}, budget=1000)
    assert ran == {"a": 40, "b": 40}


async def test_of_five_rivals_three_go_on(race: Run) -> None:
    entries, _ = await race(dict.fromkeys("abcde", 4), budget=5 * 4 + 3 * 8)
    assert sorted(entry.heats for entry in entries) == [1, 1, 2, 2, 2]


def test_a_longer_race_counts_more_than_a_better_start_and_a_rank_breaks_ties() -> None:
    far = Entry(proposal=proposal("far"), heats=2, solved=6, n=12, tokens=9)
    fast = Entry(proposal=proposal("fast"), heats=1, solved=4, n=4, tokens=1)
    ranked = proposal("ranked").model_copy(update={"rank": 2.0})
    tie = Entry(proposal=ranked, heats=2, solved=6, n=12, tokens=9)
    assert sorted([fast, far, tie], key=lambda e: e.order) == [tie, far, fast]


def test_exactly_the_share_that_is_promised_wins() -> None:
    entry = Entry(proposal=proposal("a"), heats=2, solved=PROMISE * 20, n=20)
    assert winners([entry]) == [entry]


async def test_a_proposal_without_rivals_runs_one_heat_alone(
    race: Run,
) -> None:
    _, ran = await race({"a": 3, "b": 3}, groups=("x", "y"), budget=100)
    assert ran == {"a": 4, "b": 4}


async def test_who_solved_nothing_neither_goes_on_nor_wins(
    race: Run,
) -> None:
    entries, ran = await race({"a": 0, "b": 0}, budget=100)
    assert ran == {"a": 4, "b": 4}
    assert winners(entries) == []


async def test_of_equals_the_one_with_fewer_tokens_is_ahead() -> None:
    costly, cheap = (
        Entry(proposal=proposal(name), heats=1, solved=2, n=4, tokens=tokens)
        for name, tokens in (("costly", 90), ("cheap", 40))
    )
    assert sorted([costly, cheap], key=lambda e: e.order) == [cheap, costly]


@pytest.mark.parametrize(("solved", "won"), [(2, 0), (3, 1)])
def test_a_winner_solves_a_share_that_is_worth_a_trial(solved: int, won: int) -> None:
    entry = Entry(proposal=proposal("a"), heats=2, solved=solved, n=20)
    assert len(winners([entry])) == won


async def test_a_patch_that_does_not_apply_is_named_and_runs_nothing(store: Record) -> None:
    track = Track(store, {})
    stale = Proposal(name="stale", author="rule", patch=between(Harness(name="other"), HARNESS))
    (entry,) = await course(track, store, budget=40, tasks=4).run(
        [stale], aims={"stale": TASKS}, harness=HARNESS, model=MODEL, seed=1
    )
    assert "is against" in entry.fault
    assert not track.ran


@pytest.mark.parametrize("solved", [0.0, 1.0])
def test_without_a_group_each_stands_alone(solved: float) -> None:
    entries = [
        Entry(proposal=proposal(name, group=""), heats=1, solved=solved, n=4) for name in "ab"
    ]
    assert len(winners(entries)) == (2 if solved else 0)


def blame(trajectory: str, signature: str) -> Attribution:
    return Attribution(
        trajectory=trajectory,
        author="rule",
        root_cause=RootCause.AGENT_ERROR,
        harness_dim=None,
        severity=next(iter(Severity)),
        signature=signature,
        evidence=Evidence(trajectory=trajectory, event=0, quote=""),
    )


def test_a_proposal_is_run_on_the_failures_that_show_its_signature() -> None:
    failures = [
        (
            task,
            EpisodeRef(
                trajectory=f"e{at}",
                episode="",
                task=task.id,
                kind="k",
                outcome=Outcome.FAILED,
                reward=0.0,
            ),
        )
        for at, task in enumerate(TASKS[:3])
    ]
    blamed = [blame("e0", "s"), blame("e1", "t"), blame("e2", "s")]
    aimed = proposal("a").model_copy(update={"signatures": ("s",)})
    assert aimed_at(aimed, blamed, failures) == [TASKS[0], TASKS[2]]
    assert aimed_at(proposal("a"), blamed, failures) == TASKS[:3]
