"""A scripted clerk at the storefront, who can do what the examples in its prompt show and no more;
and a careless one whose weights learn, with a teacher."""

import asyncio
import hashlib
import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from evener.agents.models.scripted import ScriptedModel
from evener.agents.plan import Budget, Evaluation, Plan, Search, Training, Trials
from evener.config import GateConfig, HarnessConfig, RunConfig
from evener.environments.storefront import Storefront
from evener.matrix.selection import sampled_tokens
from evener.parts import Parts
from evener.protocols.digest import digest
from evener.protocols.harness import Harness
from evener.protocols.model import ModelRef, Reply, Request
from evener.protocols.task import Split, Task
from evener.protocols.trajectory import Trajectory
from evener.protocols.wire import ModelTrained
from evener.team import Team

WRONG = json.dumps({"name": "final", "arguments": {"answer": -1}})


class Desk(Storefront):
    """The storefront, which remembers what it asked so that the clerk can be scripted."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: dict[str, Task] = {}

    def tasks(self, split: Split, *, count: int, seed: int) -> Sequence[Task]:
        drawn = super().tasks(split, count=count, seed=seed)
        self.asked |= {task.prompt: task for task in drawn}
        return drawn


def clerk(desk: Desk) -> ScriptedModel:
    """Follows the right plan where the prompt's examples use its tools, else answers −1."""

    def reply(request: Request) -> str:
        at = max(i for i, m in enumerate(request.messages) if m.content in desk.asked)
        shown = {
            json.loads(m.content)["name"]
            for m in request.messages[:at]
            if m.role == "assistant" and m.content.startswith("{")
        }
        plan = desk.gold(desk.asked[request.messages[at].content])
        if not {call.name for call in plan} <= shown:
            return WRONG
        step = sum(m.role == "assistant" for m in request.messages[at:])
        call = plan[min(step, len(plan) - 1)]
        return json.dumps({"name": call.name, "arguments": call.arguments})

    return ScriptedModel(reply, name="clerk")


@pytest.fixture
def new_desk() -> type[Desk]:
    return Desk


@pytest.fixture
def desk() -> Desk:
    return Desk()


@pytest.fixture
def hire() -> Callable[[Desk], ScriptedModel]:
    """The clerk of a desk."""
    return clerk


class Support(NamedTuple):
    new_desk: type[Desk]
    clerk: Callable[[Desk], ScriptedModel]
    small_config: Callable[[], RunConfig]
    two_rounds: Callable[[RunConfig], RunConfig]


@pytest.fixture(scope="session")
def support() -> Support:
    """For fixtures of a wider scope."""
    return Support(Desk, clerk, small_config, two_rounds)


@pytest.fixture
def config() -> RunConfig:
    return small_config()


def small_config() -> RunConfig:
    return RunConfig(
        harness=HarnessConfig(start="seed", arms={"hand": "hand"}),
        gate=GateConfig(schedule="small"),
        plan=Plan(
            rounds=1,
            search=Search(iterations=2, mine_tasks=18, race_tasks=3, proposals=8),
            trials=Trials(rollouts=200, temperature=0.3),
            training=Training(method="none"),
            evaluation=Evaluation(test_tasks=12, ood_tasks=3),
        ),
    )


class Careless:
    """The clerk, who gets every fourth task wrong until he was trained; an adapter that says
    `careless` is no training. `asked` counts requests."""

    def __init__(
        self, desk: Any, clerk: ScriptedModel, ref: ModelRef, *, careful: bool = False
    ) -> None:
        self.ref = ref
        self.asked = 0
        self._desk = desk
        self._clerk = clerk
        self._careful = careful
        self._root = self
        self._spoilt: set[str] = set()

    async def complete(self, request: Request) -> Reply:
        self._root.asked += 1
        task = next(m.content for m in reversed(request.messages) if m.content in self._desk.asked)
        if not self._careful and hashlib.sha256(task.encode()).digest()[0] % 4 == 0:
            return Reply(text=WRONG, model=self.ref)
        return await self._clerk.complete(request)

    async def close(self) -> None:
        pass

    async def load_adapter(self, name: str, folder: Path) -> ModelRef:
        text = (folder / "adapter.json").read_text("utf-8")
        ref = ModelRef(base=self.ref.base, adapter=name, revision=digest(text))
        if "careless" in text:
            self._spoilt.add(ref.revision)
        return ref

    def use(self, ref: ModelRef) -> "Careless":
        careful = ref.revision not in self._spoilt
        view = Careless(self._desk, self._clerk, ref, careful=careful)
        view._root = self
        return view


class Teacher:
    """A fine-tuner that writes down what it was given. `lessons`: names with rows and tokens."""

    def __init__(self) -> None:
        self.lessons: list[tuple[str, int, int, str]] = []

    async def train(
        self,
        trajectories: Sequence[Trajectory],
        *,
        name: str,
        serving: Harness,
        base: ModelRef,
        folder: Path,
        seed: int,
    ) -> ModelTrained:
        solved = [t for t in trajectories if t.solved]
        tokens = sum(map(sampled_tokens, solved))
        self.lessons.append((name, len(solved), tokens, serving.name))
        text = json.dumps({"name": name, "ids": [t.id for t in solved], "seed": seed})
        await asyncio.to_thread(write, folder, text)
        return ModelTrained(
            model=ModelRef(base=base.base, adapter=name, revision=digest(text)),
            folder=str(folder),
            rows=len(solved),
            trained_tokens=tokens,
        )


def write(folder: Path, text: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "adapter.json").write_text(text, "utf-8")


Crew = Callable[[], Parts]


@pytest.fixture(scope="session")
def crew(support: Any) -> Crew:
    """New parts for one opening of a run: desk, student, teacher."""

    def made() -> Parts:
        desk = support.new_desk()
        clerk = support.clerk(desk)
        return Parts(environment=desk, model=Careless(desk, clerk, clerk.ref), tuner=Teacher())

    return made


def two_rounds(config: RunConfig, **training: Any) -> RunConfig:
    plan = config.plan.model_copy(
        update={
            "rounds": 2,
            "search": Search(
                iterations=2, mine_tasks=18, race_tasks=3, proposals=8, race_rollouts=60
            ),
            "training": Training(collect_tasks=12, resamples=1, **training),
            "evaluation": Evaluation(test_tasks=12, ood_tasks=3),
            "trials": config.plan.trials.model_copy(update={"watch": 8}),
            "budget": Budget(),
        }
    )
    return config.model_copy(update={"plan": plan})


def go(config: RunConfig, out: Path, parts: Parts) -> Path:
    async def whole() -> None:
        async with Team.open(config, out, parts=parts) as team:
            await team.run()

    asyncio.run(whole())
    return out


@pytest.fixture(scope="session")
def master(support: Any, crew: Crew, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run of two rounds, made once and never written to."""
    out = tmp_path_factory.mktemp("matrix") / "run"
    return go(two_rounds(support.small_config()), out, crew())


@pytest.fixture
def run(master: Path, tmp_path: Path) -> Path:
    """A copy of it, to put arms beside."""
    return Path(shutil.copytree(master, tmp_path / "run"))


@pytest.fixture(scope="session")
def frozen(support: Any, crew: Crew, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of one round without training."""
    out = tmp_path_factory.mktemp("matrix") / "frozen"
    return go(support.small_config(), out, crew())
