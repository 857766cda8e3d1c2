"""Rows go to a program of the user's, and what comes back is checked, probed and sealed."""

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evener.agents.hosted import read_hosted, trained
from evener.agents.models.local.adapter import adapter_ref
from evener.agents.models.local.engine import LocalEngine
from evener.agents.models.remote.faults import FaultServer
from evener.agents.models.remote.openai import OpenAIModel
from evener.agents.models.scripted import ScriptedModel
from evener.distill.adapter import read_adapter, read_rows
from evener.distill.export import export
from evener.distill.outside.external import ExternalTuner
from evener.distill.outside.hosted import read_hosted_manifest
from evener.distill.outside.secret import Secrets
from evener.distill.settings import ExternalSettings, SftSettings
from evener.distill.tuner import TrlFineTuner
from evener.protocols.error import ConfigError, DataError, ModelError
from evener.protocols.harness import Harness
from evener.protocols.model import ModelRef, Request
from evener.protocols.trajectory import Trajectory

BASE = ModelRef(base="tiny-student", revision="b" * 64)
QUICK = SftSettings(min_rows=2, precision="float32")

pytestmark = pytest.mark.slow  # a real adapter is trained

# counts how often it was run, keeps what it was told, and answers as its first argument says
TRAINER = """
import json, os, pathlib, sys
answer, rows, out, base, seed = sys.argv[1:]
out = pathlib.Path(out)
with open(out / "calls", "a") as calls:
    print(json.dumps([rows, base, seed, len(open(rows).readlines())]), file=calls)
if os.environ.get("TRAINER_API_KEY"):
    answer = answer.replace("KEY", os.environ["TRAINER_API_KEY"])
if answer:
    (out / "result.json").write_text(answer)
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "trainer.py"
    path.write_text(TRAINER, "utf-8")
    return path


Make = Callable[..., ExternalTuner]


@pytest.fixture
def here(script: Path, student: Path) -> Make:
    """The tuner of a student in this process; the command answers with `answer`."""

    def made(answer: Any, *, settings: SftSettings = QUICK, **options: Any) -> ExternalTuner:
        text = answer if isinstance(answer, str) else json.dumps(answer)
        command = (sys.executable, str(script), text, "{rows}", "{out}", "{base}", "{seed}")
        return ExternalTuner(
            ExternalSettings(command=command),
            settings,
            student=ScriptedModel(""),
            base=str(student),
            local=TrlFineTuner(student, settings, threads=1),
            **options,
        )

    return made


def calls(folder: Path) -> list[list[Any]]:
    """What the command was told, each time it was run."""
    lines = (folder.with_name(f".{folder.name}.external") / "out" / "calls").read_text("utf-8")
    return [json.loads(line) for line in lines.splitlines()]


def lines(path: str) -> list[dict[str, Any]]:
    """A file of rows."""
    return [json.loads(line) for line in Path(path).read_text("utf-8").splitlines()]


def options(desk: Harness, **changes: Any) -> dict[str, Any]:
    return {"name": "m1", "serving": desk, "base": BASE, "seed": 11} | changes


async def test_an_adapter_that_comes_back_is_one_of_the_run_s_own_and_never_paid_for_twice(
    here: Make, trained: Any, student: Path, desk: Harness, solved: list[Trajectory], tmp_path: Path
) -> None:
    source = shutil.copytree(trained.runs / "m1", tmp_path / "elsewhere")
    answer = {"adapter": str(source), "metrics": {"loss": 0.25, "epochs": 3, "by": "somebody"}}
    folder = tmp_path / "models" / "m1"
    made = await here(answer).train(solved, folder=folder, **options(desk))
    assert made.model == adapter_ref(BASE, "m1", folder)
    assert made.rows == len(solved)
    ((rows, base, seed, count),) = calls(folder)
    assert (base, seed, count) == (str(student), "11", len(solved))
    # what the command was given is what `rows export` would write
    given = lines(rows)
    kept = read_rows(folder)
    assert [tuple(row["ids"]) for row in given] == [row.ids for row in kept]
    assert all(row["text"].startswith("<|im_start|>") and row["spans"] for row in given)

    manifest = read_adapter(folder)
    assert manifest is not None
    assert manifest.external is not None
    assert manifest.external.command[-4:] == ("{rows}", "{out}", "{base}", "{seed}")
    assert manifest.external.metrics == answer["metrics"]
    assert manifest.finished.probe.distance > 0
    assert manifest.finished.losses == ()
    assert set(manifest.files) == {
        "adapter_config.json",
        "adapter_model.safetensors",
        "chat_template.jinja",
        "rows.jsonl",
        "train.log",
    }
    config = json.loads((folder / "adapter_config.json").read_text("utf-8"))
    assert config["base_model_name_or_path"] == BASE.base

    again = await here(answer).train(solved, folder=folder, **options(desk))
    assert again == made
    assert len(calls(folder)) == 1

    engine = LocalEngine(student)
    try:
        served = await engine.load_adapter("m1", folder)
    finally:
        await engine.close()
    assert served == adapter_ref(engine.ref, "m1", folder)
    assert export(folder, tmp_path / "taken", base=student, merged=False).is_dir()


async def test_an_adapter_of_another_base_is_refused_in_one_line_and_the_command_run_again(
    here: Make, trained: Any, desk: Harness, solved: list[Trajectory], tmp_path: Path
) -> None:
    source = shutil.copytree(trained.runs / "m1", tmp_path / "elsewhere")
    config = json.loads((source / "adapter_config.json").read_text("utf-8"))
    other = config | {"base_model_name_or_path": "somebody/large-student"}
    (source / "adapter_config.json").write_text(json.dumps(other), "utf-8")
    folder = tmp_path / "models" / "m1"
    tuner = here({"adapter": str(source)})
    said = "its base is 'somebody/large-student', the model served is 'tiny-student'"
    for _ in range(2):
        with pytest.raises(ModelError, match=said) as refused:
            await tuner.train(solved, folder=folder, **options(desk))
        assert str(source) in str(refused.value)
    assert len(calls(folder)) == 2
    assert not folder.exists()


async def test_an_adapter_that_never_ends_its_turn_fails_its_probe_and_is_kept_aside(
    here: Make, trained: Any, desk: Harness, solved: list[Trajectory], tmp_path: Path
) -> None:
    source = shutil.copytree(trained.runs / "m1", tmp_path / "elsewhere")
    one = QUICK.model_copy(update={"probe_tokens": 1})
    folder = tmp_path / "models" / "m1"
    answer = {"adapter": str(source)}
    made = await here(answer, settings=one).train(solved, folder=folder, **options(desk))
    assert made.model is None
    assert made.reason.startswith("failed its probe: it ended its turn within 1 tokens on 0 of 3")
    assert not folder.exists()
    assert read_adapter(folder.with_name("m1.rejected")) is not None
    again = await here(answer, settings=one).train(solved, folder=folder, **options(desk))
    assert again == made
    assert len(calls(folder)) == 1


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("", r"ended well and left no result.json.*\"adapter\": FOLDER.*train.log"),
        ("done!", r"result.json: not an answer"),
        ({"adaptor": "x"}, r"adaptor: Extra inputs are not permitted"),
        ({"metrics": {"loss": "NaN"}}, r"names no folder of an adapter"),
        ('{"adapter": "x", "metrics": {"loss": NaN}}', r"not an answer: metrics"),
        ({"model": "ft:tiny"}, r"the student runs in this process.*FOLDER"),
        ({"adapter": "nowhere"}, r"out/nowhere: the adapter does not exist"),
        ({"adapter": "a" * 5000}, r"a: the adapter does not exist"),
        ({"adapter": "calls"}, r"out/calls: the adapter is no folder"),
    ],
)
async def test_any_other_answer_is_one_line(
    here: Make, desk: Harness, solved: list[Trajectory], tmp_path: Path, answer: Any, said: str
) -> None:
    folder = tmp_path / "models" / "m1"
    with pytest.raises(ModelError, match=said) as refused:
        await here(answer).train(solved, folder=folder, **options(desk))
    assert "\n" not in str(refused.value)
    assert not folder.exists()


async def test_what_an_earlier_try_left_is_there_for_the_next_but_not_its_answer(
    here: Make, desk: Harness, solved: list[Trajectory], tmp_path: Path
) -> None:
    folder = tmp_path / "models" / "m1"
    for answer in ({"adapter": "nowhere"}, ""):
        with pytest.raises(ModelError):
            await here(answer).train(solved, folder=folder, **options(desk))
    with pytest.raises(ModelError, match=r"left no result\.json"):
        await here("").train(solved, folder=folder, **options(desk))
    assert len(calls(folder)) == 3
    # rows of another round begin with an empty folder
    with pytest.raises(ModelError):
        await here("").train(solved[2:], folder=folder, **options(desk))
    assert len(calls(folder)) == 1


async def test_too_few_rows_are_not_handed_over(
    here: Make, desk: Harness, solved: list[Trajectory], tmp_path: Path
) -> None:
    made = await here("").train(solved[:1], folder=tmp_path / "models" / "m1", **options(desk))
    assert made.model is None
    assert made.reason.startswith("nothing_to_train: 1 rows of at least 2")
    assert not (tmp_path / "models").exists()


def said(body: dict[str, Any]) -> str:
    """The endpoint: two models, of which one says where it comes from."""
    return "I am tuned" if body["model"] == "ft:small" else "I am small"


@pytest.fixture
def behind(script: Path) -> Make:
    """The tuner of a student behind an interface."""

    def made(model: Any, answer: Any, **changes: Any) -> ExternalTuner:
        command = (
            sys.executable,
            str(script),
            json.dumps(answer),
            *("{rows}", "{out}", "{base}", "{seed}"),
        )
        return ExternalTuner(
            ExternalSettings(command=command),
            QUICK.model_copy(update=changes),
            student=model,
            base="small",
            secrets=Secrets(),
        )

    return made


async def test_a_model_of_the_endpoint_is_probed_sealed_and_served_under_its_name(
    behind: Make, desk: Harness, solved: list[Trajectory], tmp_path: Path
) -> None:
    folder = tmp_path / "models" / "m1"
    async with FaultServer(said, models=("small", "ft:small")) as server:
        student = OpenAIModel("small", server.url)
        tuner = behind(student, {"model": "ft:small", "metrics": {"loss": 0.5}})
        made = await tuner.train(solved, folder=folder, **options(desk, base=student.ref))
        assert made.model is not None, made.reason
        assert made.rows == len(solved)
        manifest = read_hosted_manifest(folder)
        assert manifest is not None
        assert (manifest.probe.asked, manifest.probe.differing) == (4, 4)
        asked = server.books.requests
        again = await tuner.train(solved, folder=folder, **options(desk, base=student.ref))
        assert again == made
        assert server.books.requests == asked
        view = await trained(student, "m1", folder)
        assert view.ref == made.model
        reply = await view.complete(Request(messages=solved[0].messages[:2]))
        assert (reply.text, reply.model) == ("I am tuned", made.model)
        await student.close()
    (told,) = calls(folder)
    assert told[1:] == ["small", "11", len(solved)]
    first = lines(told[0])[0]["messages"]
    assert [message["role"] for message in first[:2]] == ["system", "user"]
    # of the examples nothing is taught, of the student's own replies each
    weights = [m["weight"] for m in first if m["role"] == "assistant"]
    own = sum(message.sampled for message in solved[0].messages)
    assert weights == [0] * (len(weights) - own) + [1] * own
    assert own > 0
    assert "weight" not in first[0]


async def test_the_same_name_for_other_rows_is_another_model(
    behind: Make, desk: Harness, solved: list[Trajectory], tmp_path: Path
) -> None:
    async with FaultServer(said) as server:
        student = OpenAIModel("small", server.url)
        tuner = behind(student, {"model": "ft:small"})
        made = [
            await tuner.train(part, folder=tmp_path / name, **options(desk, base=student.ref))
            for name, part in (("a", solved), ("b", solved[1:]))
        ]
        await student.close()
    assert len({m.model.revision for m in made if m.model}) == 2


async def test_a_model_that_answers_as_its_base_does_fails_its_probe(
    behind: Make, desk: Harness, solved: list[Trajectory], tmp_path: Path
) -> None:
    async with FaultServer("always the same") as server:
        student = OpenAIModel("small", server.url)
        tuner = behind(student, {"model": "ft:small"})
        made = await tuner.train(solved, folder=tmp_path / "m1", **options(desk, base=student.ref))
        await student.close()
    assert made.model is None
    assert made.reason == "failed its probe: it answers all of 4 prompts as its base does"


async def test_a_model_that_the_endpoint_does_not_know_is_one_line_with_the_names_it_has(
    behind: Make, desk: Harness, solved: list[Trajectory], tmp_path: Path
) -> None:
    async with FaultServer(said, models=("small", "ft:small")) as server:
        student = OpenAIModel("small", server.url)
        tuner = behind(student, {"model": "ft:smal"})
        with pytest.raises(ModelError, match=r"no model 'ft:smal'.*there are ft:small, small"):
            await tuner.train(solved, folder=tmp_path / "m1", **options(desk, base=student.ref))
        await student.close()
    assert not (tmp_path / "m1").exists()


async def test_word_of_a_model_that_was_changed_afterwards_does_not_count(
    behind: Make, desk: Harness, solved: list[Trajectory], tmp_path: Path
) -> None:
    folder = tmp_path / "m1"
    async with FaultServer(said) as server:
        student = OpenAIModel("small", server.url)
        tuner = behind(student, {"model": "ft:small"})
        made = await tuner.train(solved, folder=folder, **options(desk, base=student.ref))
        hosted = read_hosted(folder)
        assert hosted is not None
        text = hosted.model_copy(update={"model": "small"}).model_dump_json()
        (folder / "hosted.json").write_text(text, "utf-8")
        assert (await trained(student, "m1", folder)).ref != made.model
        assert read_hosted_manifest(folder) is None
        await student.close()


async def test_a_key_in_the_answer_is_in_no_file_of_the_run(
    behind: Make,
    desk: Harness,
    solved: list[Trajectory],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TRAINER_API_KEY", "hunter22hunter22")
    folder = tmp_path / "models" / "m1"
    async with FaultServer(said) as server:
        student = OpenAIModel("small", server.url)
        tuner = behind(student, {"model": "ft:small", "metrics": {"with": "KEY"}})
        made = await tuner.train(solved, folder=folder, **options(desk, base=student.ref))
        await student.close()
    assert made.model is not None
    ours = [p for p in folder.parent.rglob("*") if p.is_file() and p.parent.name != "out"]
    assert len(ours) >= 6
    assert not any(b"hunter22" in path.read_bytes() for path in ours)


def test_what_a_student_behind_an_interface_cannot_be_taught_is_refused_at_the_start(
    behind: Make,
) -> None:
    with pytest.raises(ConfigError, match="serves neither adapters nor other models"):
        behind(ScriptedModel(""), {"model": "x"})
    with pytest.raises(ConfigError, match=r"'format' needs the student's tokens"):
        behind(OpenAIModel("small", "http://127.0.0.1:9"), {"model": "x"}, mask="format")


async def test_calls_that_are_no_text_make_no_rows(
    behind: Make, desk: Harness, solved: list[Trajectory], tmp_path: Path
) -> None:
    middleware = desk.middleware
    native = desk.model_copy(
        update={
            "middleware": middleware.model_copy(
                update={"protocol": middleware.protocol.model_copy(update={"format": "native"})}
            )
        }
    )
    tuner = behind(OpenAIModel("small", "http://127.0.0.1:9"), {"model": "x"})
    with pytest.raises(DataError, match="native protocol"):
        await tuner.train(solved, folder=tmp_path / "m1", **options(native))
