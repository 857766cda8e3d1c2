import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evener.agents.harness.load import load
from evener.agents.models.scripted import ScriptedModel
from evener.agents.record.manifest import Manifest
from evener.agents.record.registry import Registry
from evener.agents.record.run import RunFolder
from evener.compare import compare
from evener.compared import EXIT, Compared, Finding, judge
from evener.config import RunConfig, of_run
from evener.contender import Contender, environment_of, named_harness, named_model
from evener.progress import Silent
from evener.protocols.error import ConfigError, InfraError, ModelError, RunError, UserError
from evener.protocols.model import ModelRef, Reply, Request
from evener.protocols.summary import Comparison
from evener.protocols.task import Split
from evener.protocols.wire import ServeModel
from evener.report.compared import render, sentence

Hire = Callable[[Any], ScriptedModel]


def side(desk: Any, model: Any, name: str, **fields: Any) -> Contender:
    return Contender(label=name, harness=load(desk.harness_path(name)), model=model, **fields)


async def run(a: Contender, b: Contender, desk: Any, **changes: Any) -> Compared:
    settings: dict[str, Any] = {"split": Split.HELD_OUT, "count": 30, "seed": 0, **changes}
    return await compare(a, b, environment=desk, progress=Silent(), **settings)


async def test_a_harness_that_solves_more_is_better_and_the_other_way_round_worse(
    desk: Any, hire: Hire
) -> None:
    model = hire(desk)
    seed, hand = side(desk, model, "seed"), side(desk, model, "hand")
    found = await run(seed, hand, desk)
    assert found.finding == "better"
    assert (found.a.harness, found.b.harness) == ("seed", "hand")
    assert found.a.solved < found.b.solved
    assert found.difference.n == found.a.n == found.b.n == 30
    assert found.difference.difference == (found.b.solved - found.a.solved) / 30
    back = await run(hand, seed, desk)
    assert back.finding == "worse"
    assert back.difference.difference == -found.difference.difference
    assert "worse than A" in render(back)


async def test_one_harness_under_one_model_is_run_once_and_called_the_same(
    desk: Any, hire: Hire
) -> None:
    model = hire(desk)
    alone = hire(desk)
    found = await run(side(desk, model, "seed"), side(desk, model, "seed"), desk)
    await run(side(desk, alone, "seed"), side(desk, alone, "hand"), desk)
    assert found.finding == "same"
    assert len(model.requests) < len(alone.requests)
    assert "cannot differ" in sentence(found)


async def test_a_change_that_does_nothing_needs_a_margin_to_pass(desk: Any, hire: Hire) -> None:
    model = hire(desk)
    seed = side(desk, model, "seed")
    prompt = seed.harness.prompt.model_copy(update={"system": "Do the task, please."})
    other = seed.harness.model_copy(update={"prompt": prompt})
    changed = Contender(label="changed", harness=other, model=model)
    strict = await run(seed, changed, desk)
    assert (strict.finding, strict.difference.difference) == ("cannot tell", 0.0)
    assert "a loss of more than 11.4 points is ruled out" in sentence(strict)
    lax = await run(seed, changed, desk, margin=0.12)
    assert lax.finding == "not worse"
    assert "better is not shown" in sentence(lax)


async def test_two_models_are_compared_under_one_harness(desk: Any, hire: Hire) -> None:
    idle = ScriptedModel(lambda _: "?", name="idle")
    found = await run(side(desk, hire(desk), "hand"), side(desk, idle, "hand"), desk)
    assert (found.finding, found.b.solved) == ("worse", 0)
    assert (found.a.model, found.b.model) == ("scripted:clerk", "scripted:idle")


class Able:
    """The adapter at work, under its own ref."""

    def __init__(self, model: ScriptedModel, ref: ModelRef) -> None:
        self.model = model
        self.ref = ref

    async def complete(self, request: Request) -> Reply:
        return await self.model.complete(request)

    async def close(self) -> None:
        pass


class Adapted:
    """A base that answers nonsense, and one adapter that can do the work."""

    def __init__(self, able: ScriptedModel) -> None:
        self.able = able
        self.ref = ModelRef(base="clerk", revision="base")
        self.adapter = ModelRef(base="clerk", adapter="m1", revision="m1")

    async def complete(self, request: Request) -> Reply:
        return Reply(text="?", model=self.ref)

    async def load_adapter(self, name: str, folder: Path) -> ModelRef:
        return self.adapter

    def use(self, ref: ModelRef) -> Any:
        return Able(self.able, ref) if ref == self.adapter else self

    async def close(self) -> None:
        pass


async def test_an_adapter_is_loaded_beside_the_base_it_stands_against(
    desk: Any, hire: Hire
) -> None:
    model = Adapted(hire(desk))
    trained = ServeModel(model=model.adapter, folder="models/m1")
    found = await run(side(desk, model, "hand"), side(desk, model, "hand", adapter=trained), desk)
    assert (found.finding, found.a.solved, found.b.model) == ("better", 0, "clerk+m1")


async def test_an_adapter_that_was_changed_since_is_refused(desk: Any, hire: Hire) -> None:
    model = Adapted(hire(desk))
    other = ServeModel(model=model.adapter.model_copy(update={"revision": "x"}), folder="m1")
    with pytest.raises(ModelError, match="changed after training"):
        await run(side(desk, model, "hand"), side(desk, model, "hand", adapter=other), desk)


async def test_failures_of_the_machinery_are_no_wrong_answers_and_leave_no_verdict(
    desk: Any, hire: Hire
) -> None:
    able = hire(desk)
    tasks = desk.tasks(Split.HELD_OUT, count=20, seed=0)
    down = {task.prompt for task in tasks[:6]}

    async def reply(request: Request) -> Reply:
        if any(message.content in down for message in request.messages):
            raise InfraError("no answer within 60 s", kind="timeout")
        return await able.complete(request)

    broken = ScriptedModel(reply, name="broken")
    found = await run(side(desk, able, "hand"), side(desk, broken, "hand"), desk, count=20)
    assert (found.b.n, found.b.coverage, found.difference.n) == (14, 0.7, 14)
    assert found.unscored == {"B": {"timeout": 6}}
    assert found.finding == "cannot tell"
    assert "only 70% of the pairs were scored" in render(found)
    assert "6 timeout" in render(found)


async def test_a_kept_comparison_goes_on_and_is_not_mixed_with_another(
    desk: Any, hire: Hire, tmp_path: Path
) -> None:
    first = await run(side(desk, hire(desk), "seed"), side(desk, hire(desk), "hand"), desk,
                      out=tmp_path / "kept")  # fmt: skip
    model = hire(desk)
    seed, hand = side(desk, model, "seed"), side(desk, model, "hand")
    again = await run(seed, hand, desk, out=tmp_path / "kept")
    assert model.requests == []
    assert again.difference == first.difference
    with pytest.raises(RunError, match=r"compare\.seed: 0 → 1"):
        await run(seed, hand, desk, out=tmp_path / "kept", seed=1)


@pytest.fixture
def kept_run(desk: Any, tmp_path: Path) -> Path:
    """A run that has a harness and a trained model."""
    path = tmp_path / "run"
    manifest = Manifest.of(RunConfig().document(), digests={}, seeds={"run": 0})
    with RunFolder.open(path, manifest) as folder:
        Registry(folder.harness).start(load(desk.harness_path("hand")))
        model = ModelRef(base="clerk", adapter="m1", revision="m1")
        folder.record.append(
            "trained", {"round": 1, "folder": "elsewhere/m1", "model": model.document()}
        )
        assert folder.session is not None
        folder.session.end_as("finished")
    return path


def test_a_version_and_a_model_of_a_run_go_by_their_names(kept_run: Path, desk: Any) -> None:
    hand = load(desk.harness_path("hand"))
    for version in ("v0", "HEAD"):
        assert named_harness(f"{kept_run}:{version}", desk) == (hand, kept_run)
    assert named_harness("hand", desk) == (hand, None)
    found = named_model(f"{kept_run}:m1")
    assert found.adapter is not None
    assert found.adapter.folder == str(kept_run / "models" / "m1")
    assert named_model(f"{kept_run}:base").adapter is None
    assert named_model("embedded").run is None
    assert environment_of(None, ["hand", f"{kept_run}:m1"]).name == "storefront"


@pytest.mark.parametrize(
    ("spec", "says"),
    [("{run}:v9", "there are v0"), ("{run}:seed", "there are v0"), ("{run}x:v0", "no such run")],
)
def test_a_version_that_is_not_there_is_named(
    kept_run: Path, desk: Any, spec: str, says: str
) -> None:
    with pytest.raises(UserError, match=says):
        named_harness(spec.format(run=kept_run), desk)


def test_a_model_that_is_not_there_is_named_with_those_there_are(kept_run: Path) -> None:
    with pytest.raises(ConfigError, match="there are base, m1"):
        named_model(f"{kept_run}:m9")


def test_an_environment_may_have_the_settings_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_text('[environment]\nname = "jsonl"\nsettings = { path = "t.jsonl" }\n')
    assert environment_of(str(file), []).settings == {"path": "t.jsonl"}
    assert environment_of("storefront", []).name == "storefront"


async def test_a_look_at_a_sealed_split_is_counted_where_the_harness_is_from(
    kept_run: Path, desk: Any, hire: Hire
) -> None:
    model = hire(desk)
    seed = side(desk, model, "seed")
    hand = side(desk, model, "hand", runs=(kept_run,))
    for number in (1, 2):
        found = await run(seed, hand, desk, split=Split.TEST, count=6)
        assert found.looks == {str(kept_run): number}
        assert f"look number {number} at test" in render(found)
    assert (await run(seed, hand, desk, count=6)).looks == {}
    unseen = await run(seed, side(desk, model, "hand"), desk, split=Split.OOD, count=6)
    assert "a look at the sealed split ood" in render(unseen)


@pytest.mark.parametrize(
    ("low", "high", "margin", "finding", "code"),
    [
        (0.01, 0.2, 0.0, "better", 0),
        (0.0, 0.2, 0.0, "cannot tell", 3),
        (-0.04, 0.2, 0.05, "not worse", 0),
        (-0.05, 0.2, 0.05, "cannot tell", 3),
        (-0.04, -0.01, 0.05, "not worse", 0),
        (-0.2, -0.01, 0.05, "worse", 1),
        (-0.2, 0.0, 0.0, "cannot tell", 3),
        (-0.2, 0.1, 0.0, "cannot tell", 3),
    ],
)
def test_the_verdict_is_what_the_interval_and_the_margin_show(
    low: float, high: float, margin: float, finding: Finding, code: int
) -> None:
    found = Comparison(
        a="B", b="A", split="test", difference=(low + high) / 2, low=low, high=high, n=60
    )
    assert judge(found, margin, coverage=1.0, same=False) == finding
    assert EXIT[finding] == code
    assert judge(found, margin, coverage=0.89, same=False) == "cannot tell"


async def test_the_folder_of_a_comparison_is_told_from_a_run(
    desk: Any, hire: Hire, tmp_path: Path
) -> None:
    model = hire(desk)
    sides = side(desk, model, "seed"), side(desk, model, "hand")
    await run(*sides, desk, count=3, out=tmp_path / "cmp")
    with (
        RunFolder.read(tmp_path / "cmp") as folder,
        pytest.raises(RunError, match="a folder of evener compare"),
    ):
        of_run(folder)


async def test_a_comparison_reads_back_from_its_json(desk: Any, hire: Hire) -> None:
    model = hire(desk)
    found = await run(side(desk, model, "seed"), side(desk, model, "hand"), desk, count=3)
    assert Compared.model_validate_json(json.dumps(found.document())) == found
