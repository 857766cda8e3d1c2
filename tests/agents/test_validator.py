"""Trials over a real bus and a real store; only the student's luck is scripted."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from evener.agents.bus import Bus, Peer, answers
from evener.agents.gates.paired import PairedGate, PairedSettings
from evener.agents.gates.paper import PaperGate, PaperSettings
from evener.agents.pattern import Background
from evener.agents.record.memory import MemoryLog
from evener.agents.record.store import Record
from evener.agents.student import reference
from evener.agents.validator import Validator
from evener.protocols.error import DataError, ModelError
from evener.protocols.event import Ended, ParseFailed
from evener.protocols.harness import Harness
from evener.protocols.model import ModelRef, Usage
from evener.protocols.port import Gate, Session
from evener.protocols.task import Purpose, Split, Task
from evener.protocols.trajectory import EpisodeKey, Outcome, Score, Trajectory, prompt_digest
from evener.protocols.verdict import Ruling, Verdict
from evener.protocols.wire import RolloutFinished, RolloutRequest, TrialFinished, TrialRequest

BASE = ModelRef(base="m", revision="r0")
TUNED = ModelRef(base="m", adapter="m1", revision="r1")
SMALL = PairedGate(
    PairedSettings(looks_in=((6, 1.5), (12, 1.3)), looks_out=((8, 1.3), (16, 1.2)), margin=0.25)
)
LEAST = 2 * (6 + 8)


class Tasks:
    """Endless, or with so many tasks a split. Every third task is of the kind `odd`."""

    name = "tasks"
    digest = "d"

    def __init__(self, size: int | None = None) -> None:
        self.size = size

    def tasks(self, split: Split, *, count: int, seed: int) -> Sequence[Task]:
        if self.size is not None and count > self.size:
            raise DataError(f"{split} has {self.size} tasks, {count} were asked for")
        return [
            Task(
                id=f"{split}-{seed if self.size is None else 0}-{at}",
                split=split,
                kind="odd" if at % 3 == 0 else "even",
                prompt="?",
            )
            for at in range(count)
        ]

    async def open(self, task: Task, *, seed: int) -> Session:
        raise NotImplementedError


Luck = Callable[[RolloutRequest], float | None]


@dataclass
class Seen:
    """What the student was asked, and how many episodes were in flight at once."""

    requests: list[RolloutRequest] = field(default_factory=list[RolloutRequest])
    flying: int = 0
    most: int = 0


class Desk(Peer):
    """A student whose reward is a function of the request; None is an infra failure."""

    def __init__(
        self, store: Record, luck: Luck, *, tokens: Callable[[RolloutRequest], int], pause: float
    ) -> None:
        super().__init__()
        self.seen = Seen()
        self._store = store
        self._luck = luck
        self._tokens = tokens
        self._pause = pause

    @answers
    async def rollout(self, message: RolloutRequest) -> RolloutFinished:
        self.seen.requests.append(message)
        self.seen.flying += 1
        self.seen.most = max(self.seen.most, self.seen.flying)
        await asyncio.sleep(self._pause)
        self.seen.flying -= 1
        key = EpisodeKey(
            task=message.task.id,
            prompt_digest=prompt_digest(message.task),
            harness=message.harness,
            model=message.model.revision,
            purpose=message.purpose,
            seed=message.seed,
            attempt=message.attempt,
            temperature=message.temperature,
        )
        done = self._store.finished(key)
        if done is not None:
            found = self._store.get(Trajectory, done)
            return RolloutFinished(episode=reference(found, done, reused=True))
        found = trajectory(key, message, self._luck(message), self._tokens(message))
        return RolloutFinished(episode=reference(found, self._store.finish(found), reused=False))


def trajectory(
    key: EpisodeKey, message: RolloutRequest, reward: float | None, tokens: int
) -> Trajectory:
    outcome = Outcome.INFRA if reward is None else Outcome.FAILED
    if reward == 1.0:
        outcome = Outcome.SOLVED
    events = (
        ParseFailed(turn=0, fault="no_call", detail="a plain answer"),
        Ended(turn=0, reason="no_action"),
    )
    return Trajectory(
        id=key.id(),
        key=key,
        task=message.task,
        model=message.model,
        messages=(),
        events=events,
        outcome=outcome,
        score=Score(value=reward, verdict="correct" if reward == 1.0 else "incorrect"),
        usage=Usage(calls=1, completion_tokens=tokens),
    )


@dataclass
class Bench:
    """A validator on a bus with its student and a store, and the digests of two harnesses."""

    bus: Bus
    desk: Desk
    store: Record
    before: str
    after: str

    async def trial(
        self,
        *,
        limit: int = 400,
        seed: int = 1,
        temperature: float = 0.3,
        signatures: tuple[str, ...] = (),
        kind: str = "improve",
        after: str | None = None,
        after_model: ModelRef = BASE,
    ) -> Verdict:
        request = TrialRequest.model_validate(
            {
                "trial": "t",
                "kind": kind,
                "before_harness": self.before,
                "after_harness": after or self.after,
                "before_model": BASE,
                "after_model": after_model,
                "signatures": signatures,
                "rollout_limit": limit,
                "seed": seed,
                "temperature": temperature,
            }
        )
        return (await self.bus.ask("validator", request, TrialFinished)).verdict


@asynccontextmanager
async def bench(
    folder: Path,
    luck: Luck,
    *,
    gate: Gate = SMALL,
    size: int | None = None,
    window: int = 32,
    tokens: Callable[[RolloutRequest], int] = lambda _: 10,
    pause: float = 0.0,
) -> AsyncIterator[Bench]:
    with Record.open(folder / "events.db") as store:
        before, after = store.put(Harness(name="before")), store.put(Harness(name="after"))
        desk = Desk(store, luck, tokens=tokens, pause=pause)
        bus = Bus(MemoryLog())
        bus.join("student", desk)
        bus.join(
            "validator",
            Validator(Tasks(size), gate, store, background=Background(), window=window),
        )
        async with bus:
            yield Bench(bus, desk, store, before, after)


BEFORE, AFTER = (Harness(name=name).digest() for name in ("before", "after"))


def draw(message: RolloutRequest) -> float:
    """A number in 0…1 that belongs to the request."""
    return random.Random(f"{message.task.id} {message.seed} {message.harness}").random()


def chance(before: float, after: float, outside: float = 0.0) -> Luck:
    """Pass with probability `before`, under the other harness with `after` (held_in) or
    `before` + `outside` (held_out)."""

    def luck(message: RolloutRequest) -> float:
        rate = before
        if message.harness == AFTER:
            rate = after if message.task.split is Split.HELD_IN else before + outside
        return float(draw(message) < rate)

    return luck


async def test_a_repair_that_works_is_accepted_with_all_its_figures(tmp_path: Path) -> None:
    async with bench(tmp_path, chance(0.1, 0.95)) as here:
        found = await here.trial()
        assert found.ruling is Ruling.ACCEPT
        assert found.delta_in is not None
        assert found.delta_out is not None
        assert found.delta_in.low > 0
        assert found.delta_in.n == len(found.pairs_in) >= 6
        assert found.delta_out.n == len(found.pairs_out) >= 8
        assert (found.gate, found.gate_digest) == ("paired", SMALL.digest)
        assert (found.trial, found.kind, found.seed, found.aim) == ("t", "improve", 1, "all")
        assert found.coverage == 1.0
        assert found.rollouts == 2 * (len(found.pairs_in) + len(found.pairs_out))
        assert found.rollouts == len(here.desk.seen.requests)
        assert found.completion_tokens == 10 * found.rollouts
        assert found.looks >= 2
        assert "held_in +" in found.reason
        assert "pairs" in found.reason


async def test_nothing_but_gate_tasks_is_ever_asked_for(tmp_path: Path) -> None:
    async with bench(tmp_path, chance(0.1, 0.95)) as here:
        await here.trial(signatures=("plain_answer",))
        asked = here.desk.seen.requests
        assert {message.purpose for message in asked} == {Purpose.GATE}
        assert {message.task.split for message in asked} == {Split.HELD_IN, Split.HELD_OUT}
        assert {message.temperature for message in asked} == {0.3}


async def test_a_repair_that_breaks_other_things_is_refused(tmp_path: Path) -> None:
    async with bench(tmp_path, chance(0.6, 1.0, outside=-0.6)) as here:
        found = await here.trial()
        assert found.ruling is Ruling.REJECT
        assert "held_out" in found.reason


async def test_both_arms_run_on_equal_tasks_with_equal_seeds(tmp_path: Path) -> None:
    async with bench(tmp_path, chance(0.1, 0.95)) as here:
        await here.trial()
        arms: dict[str, set[tuple[str, int]]] = {BEFORE: set(), AFTER: set()}
        for message in here.desk.seen.requests:
            arms[message.harness].add((message.task.id, message.seed))
        assert arms[BEFORE] == arms[AFTER]


async def test_a_thing_tried_against_itself_gets_independent_seeds(tmp_path: Path) -> None:
    async with bench(tmp_path, chance(0.5, 0.5)) as here:
        found = await here.trial(after=here.before)
        asked = here.desk.seen.requests
        assert len({(m.task.id, m.seed) for m in asked}) == len(asked)
        assert found.reused == 0


async def test_picked_tasks_are_run_afresh_in_both_arms(tmp_path: Path) -> None:
    """Tasks that failed once pass half of the time: the trial must see that, not the failure."""
    gate = PairedGate(PairedSettings(looks_in=((30, 2.5), (60, 2.15)), looks_out=((30, 2.0),)))
    async with bench(tmp_path, chance(0.5, 0.5), gate=gate) as here:
        found = await here.trial(signatures=("plain_answer",), limit=600)
        assert found.aim == "signature"
        assert found.screened > 0
        assert found.ruling is not Ruling.ACCEPT
        before = [pair.before for pair in found.pairs_in]
        assert 0.25 < sum(before) / len(before) < 0.75
        screened = [m for m in here.desk.seen.requests if m.harness == BEFORE]
        assert len(screened) == found.screened + len(found.pairs_in) + len(found.pairs_out)
        assert "screened tasks show the failure" in found.reason


async def test_only_tasks_that_show_the_failure_are_picked(tmp_path: Path) -> None:
    def luck(message: RolloutRequest) -> float:
        return float(message.harness == AFTER or message.task.kind != "odd")

    async with bench(tmp_path, luck) as here:
        found = await here.trial(signatures=("plain_answer", "other"))
        assert {pair.kind for pair in found.pairs_in} == {"odd"}
        assert {pair.kind for pair in found.pairs_out} == {"odd", "even"}
        assert found.ruling is Ruling.ACCEPT
        assert found.rollouts == found.screened + 2 * (len(found.pairs_in) + len(found.pairs_out))


async def test_a_failure_that_does_not_show_ends_the_trial_cheaply(tmp_path: Path) -> None:
    async with bench(tmp_path, chance(0.1, 0.95)) as here:
        found = await here.trial(signatures=("tool:unknown",), limit=400)
        assert found.ruling is Ruling.INDECISIVE
        assert found.rollouts <= 100
        assert (found.delta_in, found.pairs_in) == (None, ())
        assert "too few tasks that show the failure" in found.reason
        assert f"0 of {found.screened} screened" in found.reason


async def test_at_temperature_0_nothing_is_picked_by_its_failure(tmp_path: Path) -> None:
    """There the outcome is a fixed draw, and a patch that only stirs the prompt draws anew: on
    tasks known to fail it could only gain."""

    def stirred(message: RolloutRequest) -> float:
        return float(random.Random(f"{message.task.id} {message.harness}").random() < 0.5)

    gate = PairedGate(PairedSettings(looks_in=((30, 2.5), (60, 2.15)), looks_out=((30, 2.0),)))
    async with bench(tmp_path, stirred, gate=gate) as here:
        found = await here.trial(signatures=("plain_answer",), temperature=0.0, limit=600)
        assert found.ruling is not Ruling.ACCEPT
        assert (found.aim, found.screened) == ("all", 0)
        assert "temperature 0" in found.reason


async def test_two_arms_that_behave_alike_at_temperature_0_are_not_accepted(
    tmp_path: Path,
) -> None:
    def fixed(message: RolloutRequest) -> float:
        return float(random.Random(message.task.id).random() < 0.5)

    async with bench(tmp_path, fixed) as here:
        found = await here.trial(temperature=0.0)
        assert found.ruling is not Ruling.ACCEPT
        assert found.delta_in is not None
        assert found.delta_in.value == 0.0


async def test_a_limit_under_a_first_look_is_said_at_once_with_both_numbers(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path, chance(0.1, 0.95)) as here:
        found = await here.trial(limit=LEAST - 1)
        assert found.ruling is Ruling.INDECISIVE
        assert f"limit of {LEAST - 1} rollouts is under the {LEAST}" in found.reason
        assert (found.rollouts, here.desk.seen.requests) == (0, [])
        enough = await here.trial(limit=LEAST)
        assert enough.rollouts > 0
        assert "is under" not in enough.reason


@pytest.mark.parametrize("limit", [LEAST, 40, 57])
@pytest.mark.parametrize("signatures", [(), ("plain_answer",)])
async def test_the_limit_is_kept_and_leaves_room_for_held_out(
    tmp_path: Path, limit: int, signatures: tuple[str, ...]
) -> None:
    async with bench(tmp_path, chance(0.3, 0.6)) as here:
        found = await here.trial(limit=limit, signatures=signatures)
        assert found.rollouts == len(here.desk.seen.requests) <= limit
        if found.delta_in is not None and found.delta_in.value > 0.6:
            assert len(found.pairs_out) >= 8


async def test_a_limit_that_is_reached_is_named(tmp_path: Path) -> None:
    async with bench(tmp_path, chance(0.4, 0.6)) as here:
        verdicts = [await here.trial(limit=LEAST + 2, seed=seed) for seed in range(6)]
        undecided = [v for v in verdicts if v.ruling is Ruling.INDECISIVE]
        assert undecided
        assert all(f"limit of {LEAST + 2} rollouts is reached" in v.reason for v in undecided)


async def test_an_infra_failure_is_run_again_with_the_next_attempt(tmp_path: Path) -> None:
    steady = chance(0.1, 0.95)

    def shaky(message: RolloutRequest) -> float | None:
        return None if message.attempt < 2 else steady(message)

    async with bench(tmp_path, shaky) as here:
        found = await here.trial(limit=600)
        assert found.ruling is Ruling.ACCEPT
        assert found.coverage == 1.0
        assert found.rollouts == 6 * (len(found.pairs_in) + len(found.pairs_out))
        assert {m.attempt for m in here.desk.seen.requests} == {0, 1, 2}


async def test_retries_keep_within_the_limit(tmp_path: Path) -> None:
    steady = chance(0.1, 0.95)

    def shaky(message: RolloutRequest) -> float | None:
        return None if message.attempt < 1 else steady(message)

    async with bench(tmp_path, shaky) as here:
        found = await here.trial(limit=LEAST + 4)
        assert found.rollouts == len(here.desk.seen.requests) <= LEAST + 4
        assert found.ruling is Ruling.INDECISIVE


async def test_a_pair_that_stays_infra_is_left_out_of_both_arms(tmp_path: Path) -> None:
    steady = chance(0.1, 0.95)

    def broken(message: RolloutRequest) -> float | None:
        if message.harness == AFTER and message.task.id.endswith("-5"):
            return None
        return steady(message)

    gate = PairedGate(PairedSettings(looks_in=((12, 1.5),), looks_out=((30, 1.3),), margin=0.25))
    async with bench(tmp_path, broken, gate=gate) as here:
        found = await here.trial()
        assert not [p for p in (*found.pairs_in, *found.pairs_out) if p.task.endswith("-5")]
        # one of 13 and one of 31 tasks is lost, and another is drawn in its place
        assert found.coverage == pytest.approx(42 / 44)
        assert (len(found.pairs_in), len(found.pairs_out)) == (12, 30)
        assert found.ruling is Ruling.ACCEPT


async def test_one_early_loss_does_not_end_a_trial(tmp_path: Path) -> None:
    steady = chance(0.0, 1.0)

    def broken(message: RolloutRequest) -> float | None:
        lost = message.task.split is Split.HELD_IN and message.task.id.endswith("-0")
        return None if lost else steady(message)

    async with bench(tmp_path, broken) as here:
        found = await here.trial()
        # 5 of the first 6 were scored, 14 of 15 in the end
        assert (len(found.pairs_in), len(found.pairs_out)) == (6, 8)
        assert found.ruling is Ruling.ACCEPT


async def test_a_coverage_of_nine_in_ten_is_just_enough(tmp_path: Path) -> None:
    steady = chance(0.0, 1.0)

    def broken(message: RolloutRequest) -> float | None:
        return None if message.task.id.endswith("-5") else steady(message)

    gate = PairedGate(PairedSettings(looks_in=((9, 1.5),), looks_out=((9, 1.3),), margin=0.25))
    async with bench(tmp_path, broken, gate=gate) as here:
        found = await here.trial()
        assert (found.coverage, found.ruling) == (0.9, Ruling.ACCEPT)


async def test_poor_coverage_is_undecided_however_good_the_rest_looks(tmp_path: Path) -> None:
    steady = chance(0.0, 1.0)

    def broken(message: RolloutRequest) -> float | None:
        return None if int(message.task.id.rsplit("-", 1)[1]) % 6 == 0 else steady(message)

    async with bench(tmp_path, broken) as here:
        found = await here.trial(limit=2000)
        assert found.ruling is Ruling.INDECISIVE
        assert found.coverage < 0.9
        assert "could be scored" in found.reason


async def test_an_outage_stops_the_trial_early(tmp_path: Path) -> None:
    for signatures in ((), ("plain_answer",)):
        async with bench(tmp_path, lambda _: None) as here:
            found = await here.trial(limit=4000, signatures=signatures, seed=len(signatures))
            assert found.ruling is Ruling.INDECISIVE
            assert found.coverage == 0.0
            assert found.rollouts < 250


async def test_a_finite_split_is_gone_through_again_and_clustered(tmp_path: Path) -> None:
    async with bench(tmp_path, chance(0.0, 1.0), size=5) as here:
        found = await here.trial()
        assert found.ruling is Ruling.ACCEPT
        assert len({pair.task for pair in found.pairs_out}) == 5
        assert len(found.pairs_out) >= 8
        asked = here.desk.seen.requests
        assert len({(m.task.id, m.seed, m.harness) for m in asked}) == len(asked)


async def test_at_temperature_0_a_split_that_is_too_small_is_undecided(tmp_path: Path) -> None:
    async with bench(tmp_path, chance(0.1, 0.95), size=5) as here:
        found = await here.trial(temperature=0.0)
        assert found.ruling is Ruling.INDECISIVE
        assert "held_in has no more tasks" in found.reason
        assert found.rollouts == 0


async def test_a_split_without_tasks_is_an_error(tmp_path: Path) -> None:
    async with bench(tmp_path, chance(0.1, 0.95), size=0) as here:
        with pytest.raises(DataError, match="held_in has 0 tasks"):
            await here.trial()


async def test_a_trial_run_again_gets_the_same_verdict_and_pays_nothing(tmp_path: Path) -> None:
    async with bench(tmp_path, chance(0.3, 0.8)) as here:
        first = await here.trial(signatures=("plain_answer",), limit=90)
        again = await here.trial(signatures=("plain_answer",), limit=90)
        assert first.rollouts > 0
        assert (again.rollouts, again.completion_tokens) == (0, 0)
        assert again.reused == first.rollouts
        paid = {"rollouts": 0, "reused": 0, "completion_tokens": 0}
        assert again.model_copy(update=paid) == first.model_copy(update=paid)


async def test_other_seeds_draw_other_tasks(tmp_path: Path) -> None:
    async with bench(tmp_path, chance(0.3, 0.8)) as here:
        first, second = await here.trial(seed=1), await here.trial(seed=2)
        assert not {p.task for p in first.pairs_in} & {p.task for p in second.pairs_in}


async def test_at_most_a_window_of_episodes_is_in_flight(tmp_path: Path) -> None:
    async with bench(tmp_path, chance(0.1, 0.95), window=5, pause=0.01) as here:
        await here.trial()
        assert here.desk.seen.most == 5


async def test_a_model_is_tried_under_the_harness_that_serves_it(tmp_path: Path) -> None:
    def luck(message: RolloutRequest) -> float:
        return float(draw(message) < (0.95 if message.model == TUNED else 0.2))

    async with bench(tmp_path, luck) as here:
        found = await here.trial(kind="model", after=here.before, after_model=TUNED)
        assert found.ruling is Ruling.ACCEPT
        assert found.kind == "model"
        assert {m.harness for m in here.desk.seen.requests} == {here.before}
        assert {m.model.adapter for m in here.desk.seen.requests} == {None, "m1"}


async def test_a_shorter_harness_is_accepted_for_its_tokens(tmp_path: Path) -> None:
    def tokens(message: RolloutRequest) -> int:
        return 6 if message.harness == AFTER else 10

    def fixed(message: RolloutRequest) -> float:
        return float(random.Random(message.task.id).random() < 0.5)

    async with bench(tmp_path, fixed, tokens=tokens) as here:
        found = await here.trial(kind="simplify")
        assert found.ruling is Ruling.ACCEPT
        assert {(p.cost_before, p.cost_after) for p in found.pairs_in} == {(10.0, 6.0)}
        assert (await here.trial(kind="improve", seed=2)).ruling is not Ruling.ACCEPT


async def test_the_papers_gate_rules_over_trials_too(tmp_path: Path) -> None:
    gate = PaperGate(PaperSettings(pairs_in=5, pairs_out=4))
    async with bench(tmp_path, chance(0.0, 1.0), gate=gate) as here:
        found = await here.trial()
        assert (found.ruling, found.gate, found.rollouts) == (Ruling.ACCEPT, "paper", 18)
        short = await here.trial(limit=11, seed=2)
        assert short.ruling is Ruling.ACCEPT
        assert (len(short.pairs_in), len(short.pairs_out)) == (4, 1)


async def test_a_failure_of_the_student_reaches_the_asker_as_it_is(tmp_path: Path) -> None:
    def unserved(_: RolloutRequest) -> float:
        raise ModelError("m1 is not served here")

    async with bench(tmp_path, unserved) as here:
        with pytest.raises(ModelError, match="not served"):
            await here.trial()
