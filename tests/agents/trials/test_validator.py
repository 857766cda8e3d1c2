"""Trials: which tasks, which arms, which verdict."""

import random
from typing import TYPE_CHECKING

import pytest

from evener.agents.gates.paired import PairedGate, PairedSettings
from evener.agents.gates.paper import PaperGate, PaperSettings
from evener.protocols.error import ModelError
from evener.protocols.task import Purpose, Split
from evener.protocols.verdict import Ruling
from evener.protocols.wire import RolloutRequest

if TYPE_CHECKING:
    from tests.agents.trials.conftest import Court


async def test_a_repair_that_works_is_accepted_with_all_its_figures(court: "Court") -> None:
    async with court.bench(court.chance(0.1, 0.95)) as here:
        found = await here.trial()
        assert found.ruling is Ruling.ACCEPT
        assert found.delta_in is not None
        assert found.delta_out is not None
        assert found.delta_in.low > 0
        assert found.delta_in.n == len(found.pairs_in) >= 6
        assert found.delta_out.n == len(found.pairs_out) >= 8
        assert (found.gate, found.gate_digest) == ("paired", court.small.digest)
        assert (found.trial, found.kind, found.seed, found.aim) == ("t", "improve", 1, "all")
        assert found.coverage == 1.0
        assert found.rollouts == 2 * (len(found.pairs_in) + len(found.pairs_out))
        assert found.rollouts == len(here.desk.seen.requests)
        assert found.completion_tokens == 10 * found.rollouts
        assert found.looks >= 2
        assert "held_in +" in found.reason
        assert "pairs" in found.reason


async def test_nothing_but_gate_tasks_is_ever_asked_for(court: "Court") -> None:
    async with court.bench(court.chance(0.1, 0.95)) as here:
        await here.trial(signatures=("plain_answer",))
        asked = here.desk.seen.requests
        assert {message.purpose for message in asked} == {Purpose.GATE}
        assert {message.task.split for message in asked} == {Split.HELD_IN, Split.HELD_OUT}
        assert {message.temperature for message in asked} == {0.3}


async def test_a_repair_that_breaks_other_things_is_refused(court: "Court") -> None:
    async with court.bench(court.chance(0.6, 1.0, outside=-0.6)) as here:
        found = await here.trial()
        assert found.ruling is Ruling.REJECT
        assert "held_out" in found.reason


async def test_both_arms_run_on_equal_tasks_with_equal_seeds(court: "Court") -> None:
    async with court.bench(court.chance(0.1, 0.95)) as here:
        await here.trial()
        arms: dict[str, set[tuple[str, int]]] = {court.before: set(), court.after: set()}
        for message in here.desk.seen.requests:
            arms[message.harness].add((message.task.id, message.seed))
        assert arms[court.before] == arms[court.after]


async def test_a_thing_tried_against_itself_gets_independent_seeds(court: "Court") -> None:
    async with court.bench(court.chance(0.5, 0.5)) as here:
        found = await here.trial(after=here.before)
        asked = here.desk.seen.requests
        assert len({(m.task.id, m.seed) for m in asked}) == len(asked)
        assert found.reused == 0


async def test_picked_tasks_are_run_afresh_in_both_arms(court: "Court") -> None:
    """Tasks that failed once pass half of the time: the trial must see that, not the failure."""
    gate = PairedGate(PairedSettings(looks_in=((30, 2.5), (60, 2.15)), looks_out=((30, 2.0),)))
    async with court.bench(court.chance(0.5, 0.5), gate=gate) as here:
        found = await here.trial(signatures=("plain_answer",), limit=600)
        assert found.aim == "signature"
        assert found.screened > 0
        assert found.ruling is not Ruling.ACCEPT
        before = [pair.before for pair in found.pairs_in]
        assert 0.25 < sum(before) / len(before) < 0.75
        screened = [m for m in here.desk.seen.requests if m.harness == court.before]
        assert len(screened) == found.screened + len(found.pairs_in) + len(found.pairs_out)
        assert "screened tasks show the failure" in found.reason


async def test_only_tasks_that_show_the_failure_are_picked(court: "Court") -> None:
    def luck(message: RolloutRequest) -> float:
        return float(message.harness == court.after or message.task.kind != "odd")

    async with court.bench(luck) as here:
        found = await here.trial(signatures=("plain_answer", "other"))
        assert {pair.kind for pair in found.pairs_in} == {"odd"}
        assert {pair.kind for pair in found.pairs_out} == {"odd", "even"}
        assert found.ruling is Ruling.ACCEPT
        assert found.rollouts == found.screened + 2 * (len(found.pairs_in) + len(found.pairs_out))


async def test_a_failure_that_does_not_show_ends_the_trial_cheaply(court: "Court") -> None:
    async with court.bench(court.chance(0.1, 0.95)) as here:
        found = await here.trial(signatures=("tool:unknown",), limit=400)
        assert found.ruling is Ruling.INDECISIVE
        assert found.rollouts <= 100
        assert (found.delta_in, found.pairs_in) == (None, ())
        assert "too few tasks that show the failure" in found.reason
        assert f"0 of {found.screened} screened" in found.reason


async def test_at_temperature_0_nothing_is_picked_by_its_failure(court: "Court") -> None:
    """There the outcome is a fixed draw, and a patch that only stirs the prompt draws anew: on
    tasks known to fail it could only gain."""

    def stirred(message: RolloutRequest) -> float:
        return float(random.Random(f"{message.task.id} {message.harness}").random() < 0.5)

    gate = PairedGate(PairedSettings(looks_in=((30, 2.5), (60, 2.15)), looks_out=((30, 2.0),)))
    async with court.bench(stirred, gate=gate) as here:
        found = await here.trial(signatures=("plain_answer",), temperature=0.0, limit=600)
        assert found.ruling is not Ruling.ACCEPT
        assert (found.aim, found.screened) == ("all", 0)
        assert "temperature 0" in found.reason


async def test_two_arms_that_behave_alike_at_temperature_0_are_not_accepted(court: "Court") -> None:
    def fixed(message: RolloutRequest) -> float:
        return float(random.Random(message.task.id).random() < 0.5)

    async with court.bench(fixed) as here:
        found = await here.trial(temperature=0.0)
        assert found.ruling is not Ruling.ACCEPT
        assert found.delta_in is not None
        assert found.delta_in.value == 0.0


async def test_other_seeds_draw_other_tasks(court: "Court") -> None:
    async with court.bench(court.chance(0.3, 0.8)) as here:
        first, second = await here.trial(seed=1), await here.trial(seed=2)
        assert not {p.task for p in first.pairs_in} & {p.task for p in second.pairs_in}


async def test_at_most_a_window_of_episodes_is_in_flight(court: "Court") -> None:
    async with court.bench(court.chance(0.1, 0.95), window=5, pause=0.01) as here:
        await here.trial()
        assert here.desk.seen.most == 5


async def test_a_model_is_tried_under_the_harness_that_serves_it(court: "Court") -> None:
    def luck(message: RolloutRequest) -> float:
        return float(court.draw(message) < (0.95 if message.model == court.tuned else 0.2))

    async with court.bench(luck) as here:
        found = await here.trial(kind="model", after=here.before, after_model=court.tuned)
        assert found.ruling is Ruling.ACCEPT
        assert found.kind == "model"
        assert {m.harness for m in here.desk.seen.requests} == {here.before}
        assert {m.model.adapter for m in here.desk.seen.requests} == {None, "m1"}


async def test_a_shorter_harness_is_accepted_for_its_tokens(court: "Court") -> None:
    def tokens(message: RolloutRequest) -> int:
        return 6 if message.harness == court.after else 10

    def fixed(message: RolloutRequest) -> float:
        return float(random.Random(message.task.id).random() < 0.5)

    async with court.bench(fixed, tokens=tokens) as here:
        found = await here.trial(kind="simplify")
        assert found.ruling is Ruling.ACCEPT
        assert {(p.cost_before, p.cost_after) for p in found.pairs_in} == {(10.0, 6.0)}
        assert (await here.trial(kind="improve", seed=2)).ruling is not Ruling.ACCEPT


async def test_the_papers_gate_rules_over_trials_too(court: "Court") -> None:
    gate = PaperGate(PaperSettings(pairs_in=5, pairs_out=4))
    async with court.bench(court.chance(0.0, 1.0), gate=gate) as here:
        found = await here.trial()
        assert (found.ruling, found.gate, found.rollouts) == (Ruling.ACCEPT, "paper", 18)
        short = await here.trial(limit=11, seed=2)
        assert short.ruling is Ruling.ACCEPT
        assert (len(short.pairs_in), len(short.pairs_out)) == (4, 1)


async def test_a_failure_of_the_student_reaches_the_asker_as_it_is(court: "Court") -> None:
    def unserved(_: RolloutRequest) -> float:
        raise ModelError("m1 is not served here")

    async with court.bench(unserved) as here:
        with pytest.raises(ModelError, match="not served"):
            await here.trial()
