"""Names that become paths, files that are whole or not there, folders that are complete or not."""

import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from evener.agents.record.atomic import write_atomically, write_error
from evener.agents.record.name import folded, safe_name, slug
from evener.agents.record.seal import complete, seal, sealing, verify
from evener.protocols.error import RunError, UserError

BAD_NAMES = [
    "../../outside",
    "/abs/x",
    "a/b",
    "..",
    ".",
    "",
    "con",
    "com1.txt",
    "nul",
    "Plan",
    "re\u0301sume\u0301",
    "r\u00e9sum\u00e9",
    "x\u0000y",
    "n" * 300,
    "a\n",
    "trailing.",
    "-rf",
    "ｆｕｌｌ",
]


@pytest.mark.parametrize("name", BAD_NAMES)
def test_a_name_that_could_escape_or_collide_is_refused(name: str) -> None:
    with pytest.raises(UserError) as caught:
        safe_name(name)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


def test_good_names_pass_and_are_unique_without_regard_to_case_or_form() -> None:
    assert safe_name("v1.2_x-3") == "v1.2_x-3"
    assert safe_name("n" * 64) == "n" * 64
    with pytest.raises(UserError, match="two plans are named 'plan'"):
        safe_name("plan", what="plan", taken=["Plan"])
    assert folded("re\u0301sume\u0301") == folded("R\u00c9SUM\u00c9")


@pytest.mark.parametrize("text", [*BAD_NAMES, "Fix the calculator's argument"])
def test_every_text_has_a_slug_that_is_a_safe_name(text: str) -> None:
    assert safe_name(slug(text))


def test_a_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_atomically(path, "one")
    write_atomically(path, b"two")
    assert path.read_bytes() == b"two"
    assert path.stat().st_mode & 0o777 == 0o644
    assert list(tmp_path.iterdir()) == [path]


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "registry.json"
    path.write_text("good")
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limit[1]))
    try:
        with pytest.raises(RunError, match=r"cannot be written.*\(5000 bytes needed\)"):
            write_atomically(path, "x" * 5000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        signal.signal(signal.SIGXFSZ, handler)
    assert path.read_text() == "good"
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_is_called_that() -> None:
    error = write_error(Path("x"), OSError(28, "No space left on device"), needed=7)
    assert str(error).startswith("x: disk full (7 bytes needed)")


def adapter(folder: Path) -> None:
    (folder / "adapter_config.json").write_text("{}")
    (folder / "weights").mkdir()
    (folder / "weights" / "adapter_model.safetensors").write_bytes(bytes(range(256)) * 8)


def test_a_sealed_folder_is_complete(tmp_path: Path) -> None:
    with sealing(tmp_path / "models" / "m1") as work:
        adapter(work)
        assert not (tmp_path / "models" / "m1").exists()
    verify(tmp_path / "models" / "m1")
    assert complete(tmp_path / "models") == ((tmp_path / "models" / "m1",), {})
    assert sorted(p.name for p in (tmp_path / "models").iterdir()) == ["m1"]


def test_equal_folders_have_equal_seals(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        adapter(tmp_path / name)
    assert seal(tmp_path / "a") == seal(tmp_path / "b")


def test_the_newest_folder_is_skipped_if_it_is_not_whole_and_is_not_deleted(tmp_path: Path) -> None:
    for name in ("m1", "m2", "m3", "m4", "m5"):
        with sealing(tmp_path / name) as work:
            adapter(work)
    weights = "weights/adapter_model.safetensors"
    os.truncate(tmp_path / "m2" / weights, 100)
    (tmp_path / "m3" / "sealed.json").unlink()
    changed = tmp_path / "m4" / weights
    changed.write_bytes(changed.read_bytes()[:-1] + b"\0")
    (tmp_path / "m5" / "adapter_config.json").unlink()
    (tmp_path / "m5" / "more").write_text("")
    whole, skipped = complete(tmp_path)
    assert [folder.name for folder in whole] == ["m1"]
    assert skipped == {
        "m2": f"{weights} has 100 bytes, 2048 were sealed",
        "m3": "no sealed.json: it was not written to its end",
        "m4": f"{weights} was changed",
        "m5": "adapter_config.json is missing; more is not sealed",
    }
    assert len(list(tmp_path.iterdir())) == 5
    with pytest.raises(RunError, match="was changed"):
        verify(tmp_path / "m4")


@pytest.mark.parametrize(
    "seal_text", ["", "[]", '{"files": 3}', '{"files": {"a": {}}}', '{"files": {}}']
)
def test_a_damaged_seal_is_no_seal(tmp_path: Path, seal_text: str) -> None:
    adapter(tmp_path)
    (tmp_path / "sealed.json").write_text(seal_text)
    with pytest.raises(RunError, match=r"sealed\.json is damaged"):
        verify(tmp_path)


def test_a_kill_while_saving_leaves_no_folder(tmp_path: Path) -> None:
    script = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from evener.agents.record.seal import sealing\n"
        "with sealing(Path(sys.argv[1])) as work:\n"
        "    (work / 'half').write_text('x')\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path / "m1")], check=False)
    assert complete(tmp_path) == ((), {})
    assert len(list(tmp_path.iterdir())) == 1
    with sealing(tmp_path / "m1") as work:
        adapter(work)
    assert [child.name for child in tmp_path.iterdir()] == ["m1"]


def test_an_exception_while_saving_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), sealing(tmp_path / "m1") as work:
        (work / "half").write_text(str(1 // 0))
    assert list(tmp_path.iterdir()) == []


def test_a_taken_or_unsafe_name_links_and_emptiness_are_refused(tmp_path: Path) -> None:
    (tmp_path / "m1").mkdir()
    with pytest.raises(RunError, match="is there already"), sealing(tmp_path / "m1"):
        pass
    with pytest.raises(UserError), sealing(tmp_path / "M2"):
        pass
    with pytest.raises(RunError, match="no files"), sealing(tmp_path / "m3"):
        pass
    with pytest.raises(RunError, match="symbolic link"), sealing(tmp_path / "m4") as work:
        (work / "passwd").symlink_to("/etc/passwd")
    assert [child.name for child in tmp_path.iterdir()] == ["m1"]


def test_the_seal_lists_sizes_and_hashes(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    seal(tmp_path)
    assert json.loads((tmp_path / "sealed.json").read_text()) == {
        "files": {
            "a": {
                "size": 3,
                "sha256": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
            }
        }
    }
