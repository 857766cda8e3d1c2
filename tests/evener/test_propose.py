"""A person's change of the harness and a cell out of turn, on a run that is over."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evener.agents.harness.load import load
from evener.agents.models.scripted import ScriptedModel
from evener.agents.record.registry import Registry
from evener.agents.record.run import RunFolder
from evener.config import RunConfig
from evener.environments.storefront import harness_path
from evener.evaluate import Repeated, evaluate, repeated
from evener.parts import Parts
from evener.propose import propose, propose_model
from evener.protocols.error import ConfigError, PatchError
from evener.protocols.harness import Harness, Prompt
from evener.protocols.task import Split
from evener.protocols.verdict import Ruling
from evener.team import Team

Hire = Callable[[Any], ScriptedModel]


@pytest.fixture
async def run(config: RunConfig, hire: Hire, desk: Any, tmp_path: Path) -> Path:
    parts = Parts(environment=desk, model=hire(desk))
    async with Team.open(config, tmp_path / "run", parts=parts) as team:
        await team.run()
    return tmp_path / "run"


def head(run: Path) -> tuple[str, Harness]:
    return Registry(run / "harness").head()


async def test_a_harmful_change_is_turned_down_and_kept_with_its_figures(
    run: Path, hire: Hire, desk: Any
) -> None:
    _, good = head(run)
    worse = good.model_copy(update={"skills": (), "prompt": Prompt(system=good.prompt.system)})
    parts = Parts(environment=desk, model=hire(desk))
    record = await propose(run, worse, name="no examples", model="base", parts=parts)
    assert record.verdict is not None
    assert record.verdict.ruling is Ruling.REJECT
    assert record.proposal.author == "person"
    assert head(run) == ("v1", good)
    assert any(
        r.proposal.name.startswith("no examples-")
        for r in Registry(run / "harness").not_accepted().values()
    )
    with RunFolder.read(run) as folder:
        assert folder.state == "finished"


async def test_a_good_change_becomes_the_next_version(run: Path, hire: Hire, desk: Any) -> None:
    Registry(run / "harness").rollback("v0", actor="test", reason="start over")
    hand = load(harness_path("hand"))
    parts = Parts(environment=desk, model=hire(desk))
    record = await propose(run, hand, name="by hand", model="base", parts=parts)
    assert record.verdict is not None
    assert record.verdict.ruling is Ruling.ACCEPT
    assert head(run) == ("v2", hand)


async def test_a_change_that_changes_nothing_is_refused_without_a_rollout(
    run: Path, hire: Hire, desk: Any
) -> None:
    model = hire(desk)
    with pytest.raises(PatchError):
        await propose(
            run, head(run)[1], name="same", model="base", parts=Parts(environment=desk, model=model)
        )
    assert model.requests == []


async def test_a_look_at_the_sealed_split_is_counted(run: Path, hire: Hire, desk: Any) -> None:
    looks: list[int] = []
    for _ in range(2):
        cell, look = await evaluate(
            run,
            version="v1",
            model="base",
            split=Split.TEST,
            count=6,
            seed=1,
            parts=Parts(environment=desk, model=hire(desk)),
        )
        looks.append(look)
        assert (cell.n, cell.solved) == (6, 6)
    assert looks == [1, 2]


async def test_several_tries_a_task_give_their_mean_and_their_majority(
    run: Path, hire: Hire, desk: Any
) -> None:
    """Each task's answer is wrong in one of three attempts: the mean suffers, the majority not."""
    clerk = hire(desk)
    seeds: dict[str, list[int]] = {}

    def reply(request: Any) -> Any:
        prompt = request.messages[-1].content
        if prompt in desk.asked and request.sampling.temperature:
            seen = seeds.setdefault(prompt, [])
            seen.append(request.sampling.seed)
            if len(seen) == 1 + len(prompt) % 3:
                return '{"name": "final", "arguments": {"answer": -1}}'
        return clerk.complete(request)

    async def go(tries: int) -> Repeated:
        return await repeated(
            run,
            version="v1",
            model="base",
            split=Split.TEST,
            count=6,
            seed=1,
            tries=tries,
            temperature=0.5,
            parts=Parts(environment=desk, model=ScriptedModel(reply, name="clerk")),
        )

    found = await go(3)
    again = await go(3)
    assert found.average.value == pytest.approx(2 / 3)
    assert found.average.error == 0
    assert (found.average.name, found.average.n, found.average.k) == ("avg@3", 6, 3)
    assert found.majority.value == 1
    assert (found.look, again.look) == (1, 2)
    assert again.average == found.average


async def test_a_model_the_run_has_not_is_refused_with_those_it_has(
    run: Path, hire: Hire, desk: Any
) -> None:
    with pytest.raises(ConfigError, match="there are base"):
        await evaluate(
            run,
            version="HEAD",
            model="m7",
            split=Split.HELD_OUT,
            count=3,
            seed=1,
            parts=Parts(environment=desk, model=hire(desk)),
        )


async def test_weights_of_ones_own_go_through_the_gate_and_change_nothing_in_force(
    master: Path, crew: Callable[[], Parts], tmp_path: Path
) -> None:
    run = Path(shutil.copytree(master, tmp_path / "run"))
    before = (run / "summary.json").read_text("utf-8")
    adapter = tmp_path / "mine"
    adapter.mkdir()
    (adapter / "adapter.json").write_text('{"careless": true}', "utf-8")
    tried = await propose_model(run, adapter, name="mine", parts=crew())
    assert tried.verdict.kind == "model"
    assert tried.verdict.ruling is Ruling.REJECT
    with RunFolder.read(run) as folder:
        assert folder.state == "finished"
        last = list(folder.record.bodies("verdict"))[-1]
        assert (last["author"], last["round"]) == ("person", 0)
    assert (run / "summary.json").read_text("utf-8") == before
    with pytest.raises(ConfigError, match="the run has a model 'm1'"):
        await propose_model(run, adapter, name="m1", parts=crew())


async def test_a_patch_is_tried_under_the_model_in_force(
    master: Path, crew: Callable[[], Parts], tmp_path: Path
) -> None:
    run = Path(shutil.copytree(master, tmp_path / "run"))
    _, good = head(run)
    worse = good.model_copy(update={"skills": (), "prompt": Prompt(system=good.prompt.system)})
    record = await propose(run, worse, name="bare", parts=crew())
    assert record.model.adapter is not None
    assert record.verdict is not None
    assert record.verdict.ruling is Ruling.REJECT
