"""A round on the environment math: a scripted student, a real interpreter, a real verifier."""

import json
from pathlib import Path
from typing import Any

from evener.agents.harness.load import dump_yaml, load
from evener.agents.models.scripted import ScriptedModel
from evener.agents.plan import Evaluation, Plan, Search, Training, Trials
from evener.agents.record.run import RunFolder
from evener.config import EnvironmentConfig, GateConfig, HarnessConfig, RunConfig
from evener.environments.math import MathEnvironment
from evener.evaluate import repeated
from evener.parts import Parts
from evener.protocols.event import Acted, Voted
from evener.protocols.model import Request
from evener.protocols.task import Split, Task
from evener.protocols.trajectory import Trajectory
from evener.team import Team


class Maths(MathEnvironment):
    """The environment, which remembers what it asked so that the student can be scripted."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: dict[str, Task] = {}

    def tasks(self, split: Split, *, count: int, seed: int) -> Any:
        drawn = super().tasks(split, count=count, seed=seed)
        self.asked |= {task.prompt: task for task in drawn}
        return drawn


def pupil(maths: Maths) -> ScriptedModel:
    """Computes what it has seen an example of, and answers anything else with −1."""
    kinds = {example.turns[0].content: example.kind for example in maths.examples()}

    def reply(request: Request) -> str:
        at = max(i for i, m in enumerate(request.messages) if m.content in maths.asked)
        task = maths.asked[request.messages[at].content]
        shown = {kinds.get(message.content) for message in request.messages[:at]}
        plan = maths.gold(task)
        if task.kind not in shown:
            return call("final", {"answer": "-1"})
        step = plan[sum(m.role == "assistant" for m in request.messages[at:])]
        return call(step.name, step.arguments)

    return ScriptedModel(reply, name="pupil")


def call(name: str, arguments: dict[str, Any]) -> str:
    return json.dumps({"name": name, "arguments": arguments})


async def test_a_round_finds_worked_examples_runs_python_and_is_scored(tmp_path: Path) -> None:
    maths = Maths()
    seed = load(maths.harness_path("seed"))
    loop = seed.middleware.loop.model_copy(update={"votes": 3})
    voting = seed.model_copy(
        update={"middleware": seed.middleware.model_copy(update={"loop": loop})}
    )
    (tmp_path / "voting.yaml").write_text(dump_yaml(voting), "utf-8")
    config = RunConfig(
        environment=EnvironmentConfig(name="math"),
        harness=HarnessConfig(start="seed", arms={"voting": str(tmp_path / "voting.yaml")}),
        gate=GateConfig(schedule="small"),
        plan=Plan(
            rounds=1,
            search=Search(iterations=1, mine_tasks=12, race_tasks=2, proposals=6),
            trials=Trials(rollouts=200, temperature=0.3, watch=0, confirm=False),
            training=Training(method="none"),
            evaluation=Evaluation(test_tasks=12, ood_tasks=4),
        ),
    )
    run = tmp_path / "run"
    async with Team.open(config, run, parts=Parts(environment=maths, model=pupil(maths))) as team:
        summary = await team.run()
    cells = {(cell.name, cell.split): cell for cell in summary.cells}
    before, after = cells["base+seed", "test"], cells["base+evolved", "test"]
    assert (before.n, before.solved, before.coverage) == (12, 1, 1.0)
    assert after.solved > before.solved
    assert cells["base+seed", "ood"].solved == 0
    accepted = [v for v in summary.verdicts if v.outcome == "ACCEPT"]
    assert [v.author for v in accepted] == ["rule"]
    assert cells["base+voting", "test"].solved == before.solved
    assert cells["base+voting", "test"].calls == 3 * before.calls

    with RunFolder.read(run) as folder:
        found = [folder.record.get(Trajectory, r.trajectory) for r in folder.record.trajectories()]
    acts = [e for one in found for e in one.events if isinstance(e, Acted)]
    assert any(json.loads(e.observation)["stdout"] for e in acts if e.tool == "python")
    assert all(any(part.startswith("sandbox:") for part in one.score.parts) for one in found)
    assert any(isinstance(event, Voted) for one in found for event in one.events)

    looked = await repeated(
        run,
        version="HEAD",
        model="base",
        split=Split.TEST,
        count=12,
        seed=1,
        tries=4,
        temperature=0.5,
        parts=Parts(environment=maths, model=pupil(maths)),
    )
    assert looked.average.name == "avg@4"
    assert looked.average.value == looked.majority.value
    assert looked.average.error is not None
    assert looked.average.error > 0
    maths.close()
