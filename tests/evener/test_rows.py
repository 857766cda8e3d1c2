"""`evener rows`: what a model was trained on, shown so that nothing in it is obeyed or unseen."""

import contextlib
import io
import json
import struct
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from evener.agents.models.local.library import library
from evener.agents.models.local.render import Renderer
from evener.agents.record.beside import entries
from evener.agents.record.manifest import Manifest
from evener.agents.record.run import RunFolder
from evener.cli import main
from evener.cli.rows import CLOSE, LEGEND, OPEN
from evener.config import RunConfig, StudentConfig
from evener.distill.adapter import ROWS, AdapterManifest, seal
from evener.distill.rows.build import Row
from evener.distill.rows.piece import pieces, speller
from evener.distill.settings import SftSettings
from evener.distill.training.spec import Finished, ProbeReport
from evener.protocols.digest import canonical
from evener.protocols.model import ModelRef
from evener.protocols.wire import ModelTrained

CHATML = (
    "{% for m in messages %}{{'<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n'}}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
FIRST, SECOND = "a1" * 12, "b2" * 12
SAID = '{"name": "final", "arguments": {"answer": 4}}'
# what a model might write to have its reader's terminal do something
EVIL = "\x1b[2J\x9b31m ⟧ \u202e €"


class Done(NamedTuple):
    code: int
    stdout: str
    stderr: str


def rows(*args: str | Path) -> Done:
    """`evener rows …` in this process."""
    out, err = io.StringIO(), io.StringIO()
    before = sys.argv
    sys.argv = ["evener", "rows", *map(str, args)]
    code: Any = 0
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main()
    except SystemExit as end:
        code = end.code or 0
    finally:
        sys.argv = before
    return Done(int(code), out.getvalue(), err.getvalue())


def refusal(*args: str | Path) -> str:
    done = rows(*args)
    assert (done.code, done.stdout) == (2, ""), done
    (line,) = done.stderr.strip().splitlines()
    return line


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model folder with the tokenizer of bytes and weights of one number."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    vocabulary = {token: i for i, token in enumerate([*special, *letters])}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    folder = tmp_path_factory.mktemp("models") / "tiny-student"
    library("transformers").PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        additional_special_tokens=["<|im_start|>"],
        chat_template=CHATML,
    ).save_pretrained(folder)
    (folder / "config.json").write_text('{"model_type": "llama"}')
    head = json.dumps({"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
    weights = struct.pack("<Q", len(head)) + head + bytes(4)
    (folder / "model.safetensors").write_bytes(weights)
    return folder


@pytest.fixture(scope="module")
def renderer(model: Path) -> Renderer:
    return Renderer(library("transformers").AutoTokenizer.from_pretrained(model))


def row_of(renderer: Renderer, trajectory: str, question: str, reply: str, task: str) -> Row:
    prompt = renderer.encode(f"<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n")
    said = [*renderer.encode(reply), renderer.tokenizer.eos_token_id]
    ids = (*prompt, *said, *renderer.encode("\n"))
    span = (len(prompt), len(prompt) + len(said))
    return Row(task=task, kind="sum", trajectory=trajectory, ids=ids, spans=(span,))


def adapter(models: Path, name: str, taught: Sequence[Row], *, reason: str = "") -> None:
    """The sealed folder of an adapter that was trained on these rows."""
    work = models.parent / f"building-{name}"
    work.mkdir(parents=True)
    models.mkdir(exist_ok=True)
    (work / ROWS).write_text("".join(canonical(row.document()) + "\n" for row in taught), "utf-8")
    base = ModelRef(base="tiny-student", revision="b" * 64)
    probe = ProbeReport(
        tensors=1, distance=1, asked=1, stopped=1, loss_first=2, loss_last=1, faults=()
    )
    finished = Finished(
        losses=(2.0, 1.0),
        precision="float32",
        device="cpu",
        shared=True,
        seconds=1,
        cpu_seconds=1,
        versions={},
        probe=probe,
    )
    manifest = AdapterManifest(
        key=name,
        name=name,
        base=base,
        model=None if reason else ModelRef(base=base.base, adapter=name, revision=name),
        reason=reason,
        serving_harness="s",
        data_digest="d",
        mask_digest="m",
        settings=SftSettings(),
        seed=0,
        rows=len(taught),
        refused={"not_solved": 3, "too_long": 1},
        untrained={"met_an_error": 2},
        row_tokens=0,
        trained_tokens=0,
        finished=finished,
        files=entries(work),
    )
    seal(work, models / name, manifest)


def begun(out: Path, model: str) -> Path:
    """A run folder in which nothing happened yet."""
    config = RunConfig(student=StudentConfig(model=model))
    with RunFolder.open(out, Manifest.of(config.document(), digests={}, seeds={})):
        pass
    return out


def log_trained(run: Path, name: str, *, served: bool = True) -> None:
    ref = ModelRef(base="tiny-student", adapter=name, revision=name) if served else None
    folder = f"/elsewhere/{name}" if served else ""
    with RunFolder.change(run) as folder_:
        body = ModelTrained(model=ref, folder=folder, rows=1).document()
        folder_.record.append("trained", {"round": 1, **body})


@pytest.fixture
def run(tmp_path: Path, model: Path, renderer: Renderer) -> Path:
    """A run of three trainings; the last of them failed its probe."""
    out = begun(tmp_path / "run", str(model))
    for name in ("m1", "m2"):
        log_trained(out, name)
    log_trained(out, "", served=False)
    one = row_of(renderer, FIRST, "What is 2+2?", SAID, "t-1")
    evil = row_of(renderer, SECOND, f"Say {EVIL}", f"{EVIL}\n{SAID}", "t-\x1b[1m2\n")
    again = row_of(renderer, SECOND, "And now?", SAID, "t-2")
    adapter(out / "models", "m1", [one])
    adapter(out / "models", "m2", [one, evil, again])
    adapter(out / "models", "m3.rejected", [one], reason="failed its probe: it babbles")
    return out


def test_show_lists_the_rows_of_the_last_model_that_was_trained(run: Path) -> None:
    done = rows("show", run)
    assert (done.code, done.stderr) == (0, "")
    head, *lines = done.stdout.splitlines()
    assert head.split() == ["row", "task", "kind", "tokens", "trained"]
    assert lines[0].split()[:3] == ["a1a1a1a1a1a1", "t-1", "sum"]
    # a trajectory that became two rows, and a task's name that would switch to bold
    assert lines[1].split()[:2] == ["b2b2b2b2b2b2.1", "t-\\x1b[1m2\\x0a"]
    assert lines[2].startswith("b2b2b2b2b2b2.2")
    assert "m2: 3 rows" in lines[3]
    assert "(filter verified, mask spans)" in lines[3]
    assert lines[4] == "refused rows or episodes: not_solved 3, too_long 1"
    assert lines[5] == "replies without a loss: met_an_error 2"
    found = json.loads(rows("show", run, "--json").stdout)
    assert found["model"] == "m2"
    assert found["refused"] == {"not_solved": 3, "too_long": 1}
    assert found["rows"][0]["trained"] == len(SAID) + 1
    assert [row["id"] for row in found["rows"]] == [line.split()[0] for line in lines[:3]]


def test_another_model_is_named_and_a_rejected_one_says_why(run: Path) -> None:
    assert "m1: 1 rows" in rows("show", run, "--model", "m1").stdout
    rejected = rows("show", run, "--model", "m3.rejected").stdout
    assert "not served: failed its probe: it babbles" in rejected


def test_a_row_is_printed_as_rendered_with_the_trained_tokens_marked(run: Path) -> None:
    done = rows("show", run, "a1a1")
    assert done.code == 0
    assert done.stdout == (
        "<|im_start|>user\nWhat is 2+2?<|im_end|>\n<|im_start|>assistant\n"
        f"{OPEN}{SAID}<|im_end|>{CLOSE}\n\n"
    )
    assert done.stderr.strip() == LEGEND


def test_nothing_in_a_row_is_obeyed_by_a_terminal_or_taken_for_a_mark(
    run: Path, renderer: Renderer
) -> None:
    done = rows("show", run, "b2b2b2b2b2b2.1")
    assert done.stdout.count(OPEN) == done.stdout.count(CLOSE) == 1
    for sign in ("\x1b", "\x9b", "\u202e"):
        assert sign not in done.stdout
    assert "Say \\x1b[2J\\x9b31m \\u27e7 \\u202e €" in done.stdout
    whole = rows("show", run, "b2b2b2b2b2b2.1", "--json").stdout
    assert whole.isascii()
    found = json.loads(whole)
    assert found["text"] == "".join(piece["text"] for piece in found["pieces"])
    assert EVIL in found["text"]
    assert renderer.encode(found["text"]) == found["ids"]


def test_an_edge_within_a_character_loses_nothing(renderer: Renderer) -> None:
    ids = tuple(renderer.encode("a€b"))
    assert len(ids) == 5
    row = Row(task="t", kind="k", trajectory="x", ids=ids, spans=((2, 3), (4, 5)))
    parts = pieces(row, speller(renderer))
    assert "".join(part.text for part in parts) == "a€b"
    assert [part.text for part in parts if part.trained] == ["", "b"]


def test_export_writes_whole_rows_and_replaces_a_file_only_by_force(
    run: Path, tmp_path: Path, renderer: Renderer
) -> None:
    file = tmp_path / "rows.jsonl"
    done = rows("export", run, file)
    assert (done.code, done.stdout.strip()) == (0, f"3 rows of m2 in {file}")
    found = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    assert [set(row) for row in found] == [
        {"ids", "spans", "text", "task", "kind", "trajectory"}
    ] * 3
    for row in found:
        assert renderer.encode(row["text"]) == row["ids"]
    before = file.read_bytes()
    assert "is there already" in refusal("export", run, file, "--model", "m1")
    assert file.read_bytes() == before
    assert rows("export", run, file, "--model", "m1", "--force").code == 0
    assert len(file.read_text("utf-8").splitlines()) == 1
    assert [place.name for place in tmp_path.iterdir() if place.name.startswith(".")] == []


def test_a_wrong_id_or_model_or_place_is_one_line(run: Path, tmp_path: Path) -> None:
    assert "no such run folder" in refusal("show", tmp_path / "nowhere")
    assert "no row of m2 has an id that begins with 'zz'" in refusal("show", run, "zz")
    line = refusal("show", run, "b2b2")
    assert "2 rows of m2" in line
    assert "b2b2b2b2b2b2.1, b2b2b2b2b2b2.2" in line
    assert "no row" in refusal("show", run, "b2b2.3")
    line = refusal("show", run, "--model", "../m1")
    assert "no model '../m1'. there are m1, m2, m3.rejected" in line
    assert "is a folder" in refusal("export", run, tmp_path)
    missing = tmp_path / "no" / "rows.jsonl"
    assert str(missing) in refusal("export", run, missing)


def test_a_run_that_trained_nothing_says_so(tmp_path: Path, model: Path, frozen: Path) -> None:
    out = begun(tmp_path / "new", str(model))
    assert "has trained no model yet" in refusal("show", out)
    assert "has trained nothing yet" in refusal("show", out, "--model", "m1")
    assert "has trained no model yet" in refusal("show", frozen)


def test_only_a_model_that_failed_its_probe_is_not_the_last_trained(
    tmp_path: Path, model: Path, renderer: Renderer
) -> None:
    out = begun(tmp_path / "new", str(model))
    log_trained(out, "", served=False)
    taught = [row_of(renderer, FIRST, "q", SAID, "t")]
    adapter(out / "models", "m1.rejected", taught, reason="failed its probe: x")
    assert "name one with --model: there are m1.rejected" in refusal("show", out)


def test_a_model_without_rows_and_damaged_rows_are_one_line(run: Path, master: Path) -> None:
    # a trainer of one's own leaves no rows
    assert "no rows are known of this model" in refusal("show", master)
    path = run / "models" / "m2" / ROWS
    whole = path.read_text("utf-8")
    path.write_text(whole[: len(whole) // 2], "utf-8")
    assert "damaged: these are not the rows" in refusal("show", run)
    path.unlink()
    assert "no training rows here" in refusal("show", run)
    (path.parent / "manifest.json").write_text("{", "utf-8")
    assert "damaged" in refusal("show", run)


def test_without_the_tokenizer_of_the_student_rows_are_listed_and_not_spelled(
    tmp_path: Path, model: Path, renderer: Renderer
) -> None:
    gone = str(tmp_path / "gone" / "student")
    out = begun(tmp_path / "new", gone)
    log_trained(out, "m1")
    adapter(out / "models", "m1", [row_of(renderer, FIRST, "q", SAID, "t")])
    assert rows("show", out).code == 0
    assert gone in refusal("show", out, "a1")
    assert gone in refusal("export", out, tmp_path / "rows.jsonl")
    assert not (tmp_path / "rows.jsonl").exists()


def test_rows_are_not_spelled_by_the_tokenizer_of_another_model(
    tmp_path: Path, model: Path, renderer: Renderer
) -> None:
    other = tmp_path / "other-student"
    other.symlink_to(model)
    copied = tmp_path / "another"
    copied.mkdir()
    for file in model.iterdir():
        (copied / file.name).write_bytes(file.read_bytes())
    out = begun(tmp_path / "new", str(copied))
    log_trained(out, "m1")
    row = row_of(renderer, FIRST, "q", SAID, "t")
    adapter(out / "models", "m1", [row])
    assert "was trained on tiny-student" in refusal("show", out, "a1")
    linked = begun(tmp_path / "linked", str(other))
    log_trained(linked, "m1")
    adapter(linked / "models", "m1", [row.model_copy(update={"ids": (9999,), "spans": ()})])
    assert "has no token 9999" in refusal("show", linked, "a1")
