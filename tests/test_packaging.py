"""What is installed is the tree: every package, every data file, and nothing at the top level."""

import fnmatch
import hashlib
import os
import resource
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
LAYERS = ("agents", "protocols", "environments", "distill")
LONGEST = 400
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
SETUPTOOLS: dict[str, Any] = PROJECT["tool"]["setuptools"]
SKIPPED = {"__pycache__", ".venv", "runs", "models", "build", "dist", "LICENSE"}


def package_files() -> list[tuple[str, Path]]:
    """Every file of the five package folders with the dotted package that it belongs to."""
    found: list[tuple[str, Path]] = []
    for top in ("evener", *LAYERS):
        for folder, folders, files in os.walk(ROOT / top, followlinks=False):
            folders[:] = [
                name
                for name in folders
                if name not in SKIPPED - {"models"} and not (Path(folder) / name).is_symlink()
            ]
            inside = Path(folder).relative_to(ROOT).parts
            package = ".".join(inside if top == "evener" else ("evener", *inside))
            found.extend((package, Path(folder) / name) for name in sorted(files))
    return found


def test_the_package_list_is_the_tree() -> None:
    listed = SETUPTOOLS["packages"]
    there = {package for package, file in package_files() if file.suffix == ".py"}
    missing, gone = sorted(there - set(listed)), sorted(set(listed) - there)
    assert not missing, f"add to [tool.setuptools] packages in pyproject.toml: {missing}"
    assert not gone, f"remove from [tool.setuptools] packages in pyproject.toml: {gone}"
    assert len(listed) == len(set(listed))


def test_every_package_has_an_init_file() -> None:
    with_code = {file.parent for _, file in package_files() if file.suffix == ".py"}
    assert [str(folder) for folder in with_code if not (folder / "__init__.py").is_file()] == []


def test_every_data_file_is_package_data() -> None:
    patterns = SETUPTOOLS["package-data"]["*"]
    lost = [
        str(file.relative_to(ROOT))
        for _, file in package_files()
        if file.suffix not in {".py", ".pyc"}
        and not any(fnmatch.fnmatch(file.name, pattern.removeprefix("**/")) for pattern in patterns)
    ]
    assert lost == []


@pytest.mark.parametrize("layer", LAYERS)
def test_the_link_points_at_the_layer(layer: str) -> None:
    link = ROOT / "evener" / layer
    assert link.is_symlink(), f"{link} must be a symbolic link: git config core.symlinks true"
    assert link.readlink() == Path("..") / layer
    assert not (ROOT / layer).is_symlink()


def test_git_keeps_the_links_as_links() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    paths = [f"evener/{layer}" for layer in LAYERS]
    listed = subprocess.run(
        ["git", "ls-files", "--stage", *paths],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.splitlines()
    assert [line.split()[0] for line in listed] == ["120000"] * len(LAYERS)


def long_files(root: Path) -> list[str]:
    found: list[str] = []
    for folder, folders, files in os.walk(root, followlinks=False):
        here = Path(folder)
        folders[:] = [
            name
            for name in folders
            if name not in SKIPPED - {"models"} | ({"models"} if here == root else set[str]())
            and (not name.startswith(".") or name == ".ci")
            and not name.endswith(".egg-info")  # written by an installation
        ]
        for name in files:
            if name in SKIPPED or name.startswith("."):
                continue
            text = (here / name).read_bytes()
            if b"\0" not in text and text.count(b"\n") > LONGEST:
                found.append(str((here / name).relative_to(root)))
    return found


def test_no_file_is_longer_than_the_limit() -> None:
    assert long_files(ROOT) == []


def test_a_file_that_is_too_long_is_seen(tmp_path: Path) -> None:
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "long.py").write_text("x = 1\n" * (LONGEST + 1))
    (tmp_path / "agents" / "short.py").write_text("x = 1\n" * LONGEST)
    assert long_files(tmp_path) == ["agents/long.py"]


HEAVY = {"torch", "transformers", "trl", "peft", "datasets", "litellm", "vllm", "networkx"} | {
    "autogen_core",
    "scipy",
    "numpy",
    "pandas",
    "sqlalchemy",
}


def test_help_imports_nothing_heavy(tmp_path: Path) -> None:
    command = [sys.executable, "-X", "importtime", "-m", "evener", "--help"]
    shown = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
    assert "Usage" in shown.stdout
    lines = [line for line in shown.stderr.splitlines() if line.startswith("import time:")]
    loaded = {line.rpartition("|")[2].strip().partition(".")[0] for line in lines}
    assert "typer" in loaded
    assert loaded & HEAVY == set()


def test_help_costs_little_more_than_the_libraries_that_print_it(tmp_path: Path) -> None:
    """A ratio, for this machine may be slow or busy: both are run in turn, and the best of each
    counts."""
    libraries = "import asyncio, pydantic, typer.main, typer.rich_utils, rich.markdown"
    bare: list[float] = []
    whole: list[float] = []
    for _ in range(5):
        bare.append(cpu_seconds([sys.executable, "-c", libraries], tmp_path))
        whole.append(cpu_seconds([sys.executable, "-m", "evener", "--help"], tmp_path))
    assert min(whole) < 3 * min(bare), f"CPU-seconds: help {whole}, its libraries {bare}"


def cpu_seconds(command: list[str], folder: Path) -> float:
    """What one run of the command costs."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def copy_of_the_tree(target: Path) -> Path:
    """The files that a build needs, copied with links kept, so that it leaves no trace here."""
    tree = target / "tree"
    tree.mkdir()
    names = ["evener", *LAYERS, "pyproject.toml", "README.md", "LICENSE"]
    subprocess.run(["cp", "-a", *[str(ROOT / name) for name in names], str(tree)], check=True)
    return tree


def build(kind: str, tree: Path, out: Path) -> Path:
    code = f"from setuptools import build_meta; print(build_meta.build_{kind}({str(out)!r}))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tree, check=True, capture_output=True, text=True
    )
    return out / done.stdout.splitlines()[-1]


def contents(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    return build("wheel", copy_of_the_tree(out), out)


def test_the_wheel_holds_the_tree_and_nothing_at_the_top_level(wheel: Path) -> None:
    expected = {
        "/".join([*package.split("."), file.name])
        for package, file in package_files()
        if file.suffix != ".pyc"
    }
    assert contents(wheel) == expected
    assert {name.partition("/")[0] for name in expected} == {"evener"}


def test_a_wheel_from_the_source_archive_is_the_same(wheel: Path, tmp_path: Path) -> None:
    archive = build("sdist", copy_of_the_tree(tmp_path), tmp_path)
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path / "unpacked", filter="data")
    (unpacked,) = (tmp_path / "unpacked").iterdir()
    assert contents(build("wheel", unpacked, tmp_path)) == contents(wheel)


def digest(folder: Path) -> str:
    digest = hashlib.sha256()
    for file in sorted(folder.rglob("*")):
        if file.is_file() and file.suffix != ".pyc":
            digest.update(str(file.relative_to(folder)).encode() + file.read_bytes())
    return digest.hexdigest()


@pytest.mark.slow
def test_installing_leaves_another_package_called_agents_whole(wheel: Path, tmp_path: Path) -> None:
    """openai-agents installs a top-level `agents`; a stand-in has the same top-level name."""
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    other = tmp_path / "other"
    (other / "agents").mkdir(parents=True)
    (other / "agents" / "__init__.py").write_text("WHO = 'the other package'\n")
    (other / "agents" / "bus.py").write_text("")
    (other / "pyproject.toml").write_text(
        "[project]\nname = 'other-agents'\nversion = '1'\n"
        "[build-system]\nrequires = ['setuptools']\nbuild-backend = 'setuptools.build_meta'\n"
        "[tool.setuptools]\npackages = ['agents']\n"
    )
    pip = [str(python), "-m", "pip", "install", "--quiet", "--no-index", "--no-deps"]
    subprocess.run([*pip, str(build("wheel", other, tmp_path))], check=True)
    (installed,) = (tmp_path / "venv" / "lib").glob("python3*/site-packages/agents")
    whole = digest(installed)

    subprocess.run([*pip, str(wheel)], check=True)
    assert digest(installed) == whole
    ask = "import agents, evener.agents; print(agents.WHO, evener.agents.__name__)"
    told = subprocess.run(
        [str(python), "-c", ask], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    assert told.stdout.strip() == "the other package evener.agents"

    subprocess.run([str(python), "-m", "pip", "uninstall", "--quiet", "-y", "evener"], check=True)
    assert digest(installed) == whole
