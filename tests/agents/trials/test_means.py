"""Trials whose means run out: rollouts, tasks, machinery; and trials that are run again."""

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from evener.agents.gates.paired import PairedGate, PairedSettings
from evener.protocols.error import DataError
from evener.protocols.task import Split
from evener.protocols.verdict import Ruling
from evener.protocols.wire import RolloutRequest

if TYPE_CHECKING:
    from tests.agents.trials.conftest import Court


async def test_a_limit_under_a_first_look_is_said_at_once_with_both_numbers(court: "Court") -> None:
    async with court.bench(court.chance(0.1, 0.95)) as here:
        found = await here.trial(limit=court.least - 1)
        assert found.ruling is Ruling.INDECISIVE
        assert f"limit of {court.least - 1} rollouts is under the {court.least}" in found.reason
        assert (found.rollouts, here.desk.seen.requests) == (0, [])
        enough = await here.trial(limit=court.least)
        assert enough.rollouts > 0
        assert "is under" not in enough.reason


@pytest.mark.parametrize("limit", [28, 40, 57])
@pytest.mark.parametrize("signatures", [(), ("plain_answer",)])
async def test_the_limit_is_kept_and_leaves_room_for_held_out(
    court: "Court", limit: int, signatures: tuple[str, ...]
) -> None:
    async with court.bench(court.chance(0.3, 0.6)) as here:
        found = await here.trial(limit=limit, signatures=signatures)
        assert found.rollouts == len(here.desk.seen.requests) <= limit
        if found.delta_in is not None and found.delta_in.value > 0.6:
            assert len(found.pairs_out) >= 8


async def test_a_limit_that_is_reached_is_named(court: "Court") -> None:
    async with court.bench(court.chance(0.4, 0.6)) as here:
        verdicts = [await here.trial(limit=court.least + 2, seed=seed) for seed in range(6)]
        undecided = [v for v in verdicts if v.ruling is Ruling.INDECISIVE]
        assert undecided
        assert all(f"limit of {court.least + 2} rollouts is reached" in v.reason for v in undecided)


def shaky(
    steady: Callable[[RolloutRequest], float | None], failures: int
) -> Callable[[RolloutRequest], float | None]:
    """Every episode fails so often for reasons that are not the student's."""
    seen: Counter[str] = Counter()

    def reward(message: RolloutRequest) -> float | None:
        episode = message.digest()
        seen[episode] += 1
        return None if seen[episode] <= failures else steady(message)

    return reward


async def test_an_infra_failure_is_run_again_as_it_was(court: "Court") -> None:
    async with court.bench(shaky(court.chance(0.1, 0.95), 2)) as here:
        found = await here.trial(limit=600)
        assert found.ruling is Ruling.ACCEPT
        assert found.coverage == 1.0
        assert found.rollouts == 6 * (len(found.pairs_in) + len(found.pairs_out))
        times = Counter(m.digest() for m in here.desk.seen.requests)
        assert set(times.values()) == {3}  # an equal request, so equal seeds in both arms


@pytest.mark.parametrize("failures", [1, 2])
async def test_retries_keep_within_the_limit(court: "Court", failures: int) -> None:
    async with court.bench(shaky(court.chance(0.1, 0.95), failures)) as here:
        found = await here.trial(limit=court.least)
        assert found.rollouts == len(here.desk.seen.requests) <= court.least
        assert found.ruling is Ruling.INDECISIVE


async def test_a_pair_that_stays_infra_is_left_out_of_both_arms(court: "Court") -> None:
    steady = court.chance(0.1, 0.95)

    def broken(message: RolloutRequest) -> float | None:
        if message.harness == court.after and message.task.id.endswith("-5"):
            return None
        return steady(message)

    gate = PairedGate(PairedSettings(looks_in=((12, 1.5),), looks_out=((30, 1.3),), margin=0.25))
    async with court.bench(broken, gate=gate) as here:
        found = await here.trial()
        assert not [p for p in (*found.pairs_in, *found.pairs_out) if p.task.endswith("-5")]
        # one of 13 and one of 31 tasks is lost, and another is drawn in its place
        assert found.coverage == pytest.approx(42 / 44)
        assert (len(found.pairs_in), len(found.pairs_out)) == (12, 30)
        assert found.ruling is Ruling.ACCEPT


async def test_one_early_loss_does_not_end_a_trial(court: "Court") -> None:
    steady = court.chance(0.0, 1.0)

    def broken(message: RolloutRequest) -> float | None:
        lost = message.task.split is Split.HELD_IN and message.task.id.endswith("-0")
        return None if lost else steady(message)

    async with court.bench(broken) as here:
        found = await here.trial()
        # 5 of the first 6 were scored, 14 of 15 in the end
        assert (len(found.pairs_in), len(found.pairs_out)) == (6, 8)
        assert found.ruling is Ruling.ACCEPT


async def test_a_coverage_of_nine_in_ten_is_just_enough(court: "Court") -> None:
    steady = court.chance(0.0, 1.0)

    def broken(message: RolloutRequest) -> float | None:
        return None if message.task.id.endswith("-5") else steady(message)

    gate = PairedGate(PairedSettings(looks_in=((9, 1.5),), looks_out=((9, 1.3),), margin=0.25))
    async with court.bench(broken, gate=gate) as here:
        found = await here.trial()
        assert (found.coverage, found.ruling) == (0.9, Ruling.ACCEPT)


async def test_poor_coverage_is_undecided_however_good_the_rest_looks(court: "Court") -> None:
    steady = court.chance(0.0, 1.0)

    def broken(message: RolloutRequest) -> float | None:
        return None if int(message.task.id.rsplit("-", 1)[1]) % 6 == 0 else steady(message)

    async with court.bench(broken) as here:
        found = await here.trial(limit=2000)
        assert found.ruling is Ruling.INDECISIVE
        assert found.coverage < 0.9
        assert "could be scored" in found.reason


async def test_an_outage_stops_the_trial_early(court: "Court") -> None:
    for signatures in ((), ("plain_answer",)):
        async with court.bench(lambda _: None) as here:
            found = await here.trial(limit=4000, signatures=signatures, seed=len(signatures))
            assert found.ruling is Ruling.INDECISIVE
            assert found.coverage == 0.0
            assert found.rollouts < 250


async def test_a_finite_split_is_gone_through_again_and_clustered(court: "Court") -> None:
    async with court.bench(court.chance(0.0, 1.0), size=5) as here:
        found = await here.trial()
        assert found.ruling is Ruling.ACCEPT
        assert len({pair.task for pair in found.pairs_out}) == 5
        assert len(found.pairs_out) >= 8
        asked = here.desk.seen.requests
        assert len({(m.task.id, m.seed, m.harness) for m in asked}) == len(asked)


async def test_at_temperature_0_a_split_that_is_too_small_is_undecided(court: "Court") -> None:
    async with court.bench(court.chance(0.1, 0.95), size=5) as here:
        found = await here.trial(temperature=0.0)
        assert found.ruling is Ruling.INDECISIVE
        assert "held_in has no more tasks" in found.reason
        assert found.rollouts == 0


async def test_a_split_without_tasks_is_an_error(court: "Court") -> None:
    async with court.bench(court.chance(0.1, 0.95), size=0) as here:
        with pytest.raises(DataError, match="held_in has 0 tasks"):
            await here.trial()


async def test_a_trial_run_again_gets_the_same_verdict_and_pays_nothing(court: "Court") -> None:
    async with court.bench(court.chance(0.3, 0.8)) as here:
        first = await here.trial(signatures=("plain_answer",), limit=90)
        again = await here.trial(signatures=("plain_answer",), limit=90)
        assert first.rollouts > 0
        assert again.rollouts == 0
        assert (again.calls, again.completion_tokens) == (first.calls, first.completion_tokens)
        assert again.reused == first.rollouts
        paid = {"rollouts": 0, "reused": 0}
        assert again.model_copy(update=paid) == first.model_copy(update=paid)
