"""Each layer imports only what stands to its left, and nothing heavy when it is loaded.

The rules are functions over a folder, so that each is also shown a tree that breaks it.
"""

import ast
import os
import re
import sys
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LAYERS = ("protocols", "environments", "agents", "distill", "evener")
CONTRACT_LIBRARIES = {"pydantic", "pydantic_core"}
HEAVY = {
    "accelerate",
    "autogen_agentchat",
    "datasets",
    "gguf",
    "huggingface_hub",
    "litellm",
    "networkx",
    "pandas",
    "peft",
    "safetensors",
    "scipy",
    "tokenizers",
    "torch",
    "transformers",
    "trl",
    "vllm",
}
BUS = Path("agents/bus.py")
AGENTCHAT = Path("agents/agentchat")
"""For those who have AutoGen loaded already: no other module imports it."""


@dataclass(frozen=True)
class Import:
    """One imported module: where, under which full name, and whether loading the file runs it."""

    file: Path
    line: int
    module: str
    at_load: bool
    typing_only: bool

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line} imports {self.module}"

    @property
    def library(self) -> str:
        return self.module.partition(".")[0]


def sources(root: Path, layer: str) -> Iterator[Path]:
    for folder, folders, files in os.walk(root / layer, followlinks=False):
        folders[:] = sorted(name for name in folders if not (Path(folder) / name).is_symlink())
        yield from (Path(folder) / name for name in sorted(files) if name.endswith(".py"))


def imported_names(node: ast.AST, package: str) -> Iterator[str]:
    """The full module names that a statement or a call to `import_module` names."""
    match node:
        case ast.Import(names=names):
            yield from (alias.name for alias in names)
        case ast.ImportFrom(module=module, names=names, level=level):
            above = package.split(".")[: len(package.split(".")) - level + 1] if level else []
            base = ".".join([*above, *([module] if module else [])])
            if base == "evener":
                yield from (f"evener.{alias.name}" for alias in names)
            else:
                yield base
        case ast.Call(
            func=ast.Name(id="import_module" | "__import__") | ast.Attribute(attr="import_module"),
            args=[ast.Constant(value=str(name)), *_],
        ):
            yield name
        case _:
            pass


def imports_in(root: Path, file: Path) -> Iterator[Import]:
    relative = file.relative_to(root)
    inside = relative.parent if relative.parts[0] == "evener" else Path("evener") / relative.parent
    package = ".".join(inside.parts)

    def visit(node: ast.AST, *, at_load: bool, typing_only: bool) -> Iterator[Import]:
        for name in imported_names(node, package):
            line = getattr(node, "lineno", 0)
            yield Import(relative, line, name, at_load, typing_only)
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                at_load = False
            case ast.If(test=ast.Name(id="TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING")):
                for statement in node.body:
                    yield from visit(statement, at_load=False, typing_only=True)
                for statement in node.orelse:
                    yield from visit(statement, at_load=at_load, typing_only=typing_only)
                return
            case _:
                pass
        for child in ast.iter_child_nodes(node):
            yield from visit(child, at_load=at_load, typing_only=typing_only)

    yield from visit(ast.parse(file.read_text("utf-8")), at_load=True, typing_only=False)


def imports(root: Path) -> list[Import]:
    found: list[Import] = []
    for layer in LAYERS:
        for file in sources(root, layer):
            found.extend(imports_in(root, file))
    return found


def layer_of(module: str) -> str | None:
    parts = module.split(".")
    if parts[0] != "evener":
        return None
    return parts[1] if len(parts) > 1 and parts[1] in LAYERS else "evener"


def wrong_direction(root: Path) -> list[str]:
    wrong: list[str] = []
    for found in imports(root):
        here, there = found.file.parts[0], layer_of(found.module)
        if there is not None and LAYERS.index(there) > LAYERS.index(here):
            wrong.append(found.place)
    return wrong


def beyond_the_contracts(root: Path) -> list[str]:
    allowed = CONTRACT_LIBRARIES | set(sys.stdlib_module_names) | {"evener"}
    return [
        found.place
        for found in imports(root)
        if found.file.parts[0] == "protocols" and found.library not in allowed
    ]


def heavy_at_load(root: Path) -> list[str]:
    return [
        found.place
        for found in imports(root)
        if found.at_load
        and found.library in HEAVY
        and not (found.library == "autogen_agentchat" and found.file.parent == AGENTCHAT)
    ]


def agentchat_asked_for(root: Path) -> list[str]:
    home = ".".join(["evener", *AGENTCHAT.parts])
    return [
        found.place
        for found in imports(root)
        if f"{found.module}.".startswith(f"{home}.") and found.file.parent != AGENTCHAT
    ]


def runtime_outside_the_bus(root: Path) -> list[str]:
    return [
        found.place
        for found in imports(root)
        if found.library == "autogen_core"
        and not found.module.startswith("autogen_core.models")
        and found.file != BUS
        and found.file.parent != AGENTCHAT
    ]


def layers_at_top_level(root: Path) -> list[str]:
    return [
        found.place
        for found in imports(root)
        if found.library in {"agents", "protocols", "environments", "distill"}
    ]


def package_of(module: str) -> tuple[str, str] | None:
    """Layer and what stands first in it, a folder or a file."""
    layer = layer_of(module)
    if layer is None:
        return None
    inside = module.split(".")[1 if layer == "evener" else 2 :]
    return layer, inside[0] if inside else "__init__"


def packages_in_a_circle(root: Path) -> list[str]:
    """Folders of a layer that import each other, over however many others."""
    edges: dict[tuple[str, str], set[tuple[str, str]]] = {}
    for found in imports(root):
        layer, first = found.file.parts[0], found.file.parts[1].removesuffix(".py")
        there = package_of(found.module)
        if there is not None and there != (layer, first):
            edges.setdefault((layer, first), set()).add(there)
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        return [" → ".join("/".join(package) for package in reversed(error.args[1]))]
    return []


Rule = Callable[[Path], list[str]]
RULES: list[Rule] = [
    wrong_direction,
    beyond_the_contracts,
    heavy_at_load,
    agentchat_asked_for,
    runtime_outside_the_bus,
    layers_at_top_level,
    packages_in_a_circle,
]


@pytest.mark.parametrize("rule", RULES)
def test_the_tree_keeps_the_rule(rule: Rule) -> None:
    assert rule(ROOT) == []


def test_every_layer_was_walked() -> None:
    assert [layer for layer in LAYERS if not any(sources(ROOT, layer))] == []
    assert {"protocols", "evener"} <= {found.file.parts[0] for found in imports(ROOT)}


def tree(root: Path, file: str, text: str) -> Path:
    path = root / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return root


@pytest.mark.parametrize(
    ("rule", "file", "text"),
    [
        (wrong_direction, "environments/shop.py", "from evener.agents.bus import Bus"),
        (wrong_direction, "agents/trainer.py", "from evener import distill"),
        (wrong_direction, "agents/trainer.py", "from ..distill import sft"),
        (wrong_direction, "agents/trainer.py", "def f():\n    import evener.distill.training.sft"),
        (wrong_direction, "agents/trainer.py", "import_module('evener.distill')"),
        (wrong_direction, "distill/training/sft.py", "from evener.version import VERSION"),
        (beyond_the_contracts, "protocols/task.py", "def f():\n    import yaml"),
        (heavy_at_load, "distill/training/sft.py", "import torch.nn"),
        (heavy_at_load, "evener/graph/build.py", "class A:\n    from networkx import DiGraph"),
        (
            heavy_at_load,
            "distill/training/sft.py",
            "try:\n    import trl\nexcept ImportError:\n    pass",
        ),
        (
            heavy_at_load,
            "distill/training/sft.py",
            "if TYPE_CHECKING:\n    import torch\nelse:\n    import torch",
        ),
        (heavy_at_load, "agents/student.py", "from autogen_agentchat.base import Team"),
        (agentchat_asked_for, "agents/bus.py", "from evener.agents.agentchat import RunTeam"),
        (agentchat_asked_for, "evener/team.py", "import evener.agents.agentchat.team"),
        (runtime_outside_the_bus, "agents/student.py", "from autogen_core import AgentId"),
        (layers_at_top_level, "agents/student.py", "from agents.bus import Bus"),
    ],
)
def test_a_tree_that_breaks_the_rule_is_seen(
    rule: Rule, file: str, text: str, tmp_path: Path
) -> None:
    found = rule(tree(tmp_path, file, text))
    assert len(found) == 1
    assert found[0].startswith(file)


def test_a_circle_of_packages_is_seen(tmp_path: Path) -> None:
    tree(tmp_path, "agents/hooks/table.py", "from evener.agents.harness.load import load")
    tree(tmp_path, "agents/harness/load.py", "def f():\n    from evener.agents.models import error")
    assert packages_in_a_circle(tmp_path) == []
    tree(tmp_path, "agents/models/error.py", "from ..hooks import table")
    (circle,) = packages_in_a_circle(tmp_path)
    assert set(circle.split(" → ")) == {"agents/hooks", "agents/harness", "agents/models"}


@pytest.mark.parametrize(
    ("file", "text"),
    [
        (
            "distill/training/sft.py",
            "def train():\n    import torch\n    from evener.agents import student",
        ),
        ("agents/bus.py", "from autogen_core import SingleThreadedAgentRuntime"),
        ("agents/agentchat/team.py", "from autogen_agentchat.base import Team"),
        ("agents/agentchat/seat.py", "from autogen_core import CancellationToken"),
        ("agents/agentchat/seat.py", "from evener.agents.agentchat.turn import Turns"),
        ("agents/student.py", "if TYPE_CHECKING:\n    import torch"),
        ("evener/report/page.py", "from . import table\nfrom ..protocols import task"),
    ],
)
def test_a_tree_that_keeps_the_rules_is_let_through(file: str, text: str, tmp_path: Path) -> None:
    root = tree(tmp_path, file, text)
    assert [place for rule in RULES for place in rule(root)] == []


def test_every_library_that_is_imported_is_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = [line for lines in project["optional-dependencies"].values() for line in lines]
    declared = {
        re.split(r"[\[<>=!~; ]", line, maxsplit=1)[0].lower().replace("_", "-")
        for line in [*project["dependencies"], *extras]
    }
    homes = packages_distributions()
    undeclared = [
        found.place
        for found in imports(ROOT)
        if found.library not in sys.stdlib_module_names
        and found.library not in {"evener", "pydantic_core", "vllm"}
        and not declared & {home.lower().replace("_", "-") for home in homes.get(found.library, [])}
    ]
    assert undeclared == []
