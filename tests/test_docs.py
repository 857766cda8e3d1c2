"""The documents say what is there: links resolve, targets exist, and no path of a machine."""

import json
import os
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
import typer
import yaml

from evener.agents.gates.paired import SCHEDULES, PairedGate
from evener.agents.harness.check import check
from evener.agents.harness.hooks.table import TABLE, bind
from evener.agents.harness.load import parse_yaml
from evener.agents.models.remote.settings import RemoteSettings
from evener.agents.pattern.background import published
from evener.agents.trials.supply import Supply
from evener.agents.trials.trial import REPEATS
from evener.cli import commands
from evener.cli.app import app
from evener.config import DistillConfig, RunConfig, parse
from evener.enough import enough
from evener.environments import create
from evener.protocols.digest import Wire
from evener.protocols.error import DataError, InfraError
from evener.protocols.harness import (
    ArgumentRule,
    Context,
    Harness,
    Hook,
    Loop,
    Memory,
    Prompt,
    Skill,
    Step,
    Tool,
    When,
    WireFormat,
)
from evener.protocols.message import Call, Message
from evener.protocols.model import Request, Sampling
from evener.protocols.patch import FieldEdit, Patch
from evener.protocols.port import Auditable, Documented, Environment, Model
from evener.protocols.task import Split

ROOT = Path(__file__).resolve().parents[1]
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
MAKE = re.compile(r"`make ([a-z-]+)[^`]*`|^ {4}make ([a-z-]+)", re.MULTILINE)
COMMAND = re.compile(r"(?:`| {4})evener ([a-z]+)(?: ([a-z]+)\b)?")
MACHINE = re.compile(r"(?<![\w.])/(?:home|root|Users|work)/\w+")


def pages(root: Path) -> list[Path]:
    return sorted([*root.glob("*.md"), *(root / "docs").rglob("*.md")])


def anchors(page: Path) -> set[str]:
    """The anchors that a page's headings get on a forge: lower case, hyphens, no punctuation."""
    text = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ +(.+?) *$", text, flags=re.MULTILINE)
    kept = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {heading.replace(" ", "-") for heading in kept}


def broken_links(root: Path) -> Iterator[str]:
    for page in pages(root):
        text = CODE.sub("", page.read_text("utf-8"))
        for target in LINK.findall(text):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = unquote(target).partition("#")
            there = (page.parent / path).resolve() if path else page
            if not there.exists():
                yield f"{page.relative_to(root)}: {target} does not exist"
            elif anchor and anchor not in anchors(there):
                yield f"{page.relative_to(root)}: {target} has no such heading"


def test_every_link_between_pages_resolves() -> None:
    assert len(pages(ROOT)) > 5
    assert list(broken_links(ROOT)) == []


def test_a_broken_link_and_a_broken_anchor_are_seen(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text(
        "# Top\n[a](docs/a.md) [b](docs/b.md) [c](docs/a.md#one-two) [d](docs/a.md#three)\n"
        "[e](#top) [f](https://example.org) `[g](nowhere.md)`\n"
    )
    (tmp_path / "docs" / "a.md").write_text("# One, two\n```\n# three\n```\n")
    assert list(broken_links(tmp_path)) == [
        "README.md: docs/b.md does not exist",
        "README.md: docs/a.md#three has no such heading",
    ]


def test_every_page_can_be_reached_from_the_readme() -> None:
    seen: set[Path] = set()
    left = [ROOT / "README.md"]
    while left:
        page = left.pop()
        if page in seen or not page.is_file():
            continue
        seen.add(page)
        for target in LINK.findall(CODE.sub("", page.read_text("utf-8"))):
            there = (page.parent / unquote(target).partition("#")[0]).resolve()
            if there.suffix == ".md":
                left.append(there)
    assert [str(page.relative_to(ROOT)) for page in pages(ROOT) if page not in seen] == []


def test_every_make_target_that_is_named_exists() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, flags=re.MULTILINE))
    assert {"venv", "demo", "test", "check", "fix"} <= targets
    named = {
        (str(page.relative_to(ROOT)), first or second)
        for page in pages(ROOT)
        for first, second in MAKE.findall(page.read_text("utf-8"))
    }
    assert named
    assert {(page, target) for page, target in named if target not in targets} == set()


def test_every_command_that_is_named_exists() -> None:
    commands.attach()
    top: Any = typer.main.get_command(app)
    unknown: list[str] = []
    named: set[str] = set()
    for page in pages(ROOT):
        for command, after in COMMAND.findall(page.read_text("utf-8")):
            named.add(command)
            found = top.commands.get(command)
            inner = getattr(found, "commands", None)
            if found is None or (inner is not None and after and after not in inner):
                unknown.append(f"{page.relative_to(ROOT)}: evener {command} {after}".strip())
    assert unknown == []
    assert {"harness", "evaluate", "gate", "models"} <= named


@pytest.mark.parametrize("page", pages(ROOT), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_snippets_of_a_page_parse(page: Path) -> None:
    for language, text in FENCE.findall(page.read_text("utf-8")):
        match language:
            case "python":
                compile(text, str(page), "exec")
            case "toml":
                tomllib.loads(text)
            case "yaml":
                yaml.safe_load(text)
            case _:
                pass


def snippets(page: str, language: str) -> list[str]:
    text = (ROOT / "docs" / page).read_text("utf-8")
    return [body for found, body in FENCE.findall(text) if found == language]


def test_the_environment_of_the_page_passes_its_own_audit() -> None:
    _, *whole = snippets("own-environment.md", "python")
    code = "\n".join(whole)
    names: dict[str, Any] = {"__name__": "page"}
    exec(compile(code, "own-environment.md", "exec"), names)
    environment: Environment = names["Letters"]()
    assert isinstance(environment, Documented)
    assert isinstance(environment, Auditable)
    ids = [task.id for split in Split for task in environment.tasks(split, count=10, seed=3)]
    assert len(set(ids)) == len(ids)
    with pytest.raises(DataError):
        environment.tasks(Split.OOD, count=99, seed=0)


async def test_the_file_of_the_page_is_an_environment_with_its_own_verifier(tmp_path: Path) -> None:
    code = snippets("own-environment.md", "python")[0]
    names: dict[str, Any] = {"__name__": "page"}
    exec(compile(code, "own-environment.md", "exec"), names)
    text = (ROOT / "docs" / "own-environment.md").read_text("utf-8")
    lines = re.findall(r"^ {4}(\{\"id\".*\})$", text, flags=re.MULTILINE)
    (tmp_path / "tasks.jsonl").write_text("\n".join(lines))
    (start,) = snippets("own-environment.md", "yaml")
    plain = create("jsonl", path=str(tmp_path / "tasks.jsonl"), scorer="number")
    check(parse_yaml(start, where="mine.yaml"), (await published(plain)).actions)
    environment: Environment = names["warehouse"](tmp_path / "tasks.jsonl")
    (task,) = environment.tasks(Split.TEST, count=1, seed=0)
    session = await environment.open(task, seed=0)
    seen = await session.act(Call(name="stock", arguments={"item": "crate"}))
    assert (seen.text, seen.error_kind) == ("12", None)
    assert (await session.act(Call(name="stock", arguments={"item": "box"}))).error_kind
    await session.act(Call(name="final", arguments={"answer": 60.3}))
    assert (await session.score()).value == 1


async def test_the_model_of_the_page_answers_and_reports_the_machinery_s_failure() -> None:
    code, _ = snippets("own-model.md", "python")
    names: dict[str, Any] = {"__name__": "page"}
    exec(compile(code, "own-model.md", "exec"), names)

    def answer(messages: list[dict[str, str]], seed: int) -> str:
        if not messages:
            raise OSError("connection refused")
        return f"{messages[-1]['content']} {seed}"

    model: Model = names["FunctionModel"](answer, version="1")
    asked = Request(messages=(Message(role="user", content="hello"),), sampling=Sampling(seed=7))
    assert (await model.complete(asked)).text == "hello 7"
    with pytest.raises(InfraError, match="connection refused"):
        await model.complete(Request(messages=()))


def test_the_settings_that_pages_show_are_settings() -> None:
    shown = [
        tomllib.loads(body)
        for page in ("own-model.md", "own-environment.md", "../README.md")
        for body in snippets(page, "toml")
    ]
    runs = [data for data in shown if "project" not in data]
    assert len(runs) > 3
    for data in runs:
        parse(data, where="a page")


def test_the_harness_of_the_page_loads_and_its_patch_applies() -> None:
    whole, _, patch = snippets("harness.md", "yaml")
    harness = parse_yaml(whole, where="harness.md")
    edits = tuple(FieldEdit.model_validate(edit) for edit in yaml.safe_load(patch)["edits"])
    patched = Patch(base=harness.digest(), edits=edits).apply(harness)
    assert patched.middleware.loop.max_turns != harness.middleware.loop.max_turns


def test_every_field_of_a_harness_is_explained() -> None:
    text = (ROOT / "docs" / "harness.md").read_text("utf-8")
    of_tools = (Tool, ArgumentRule, Step)
    parts = (Harness, Prompt, *of_tools, Skill, When, WireFormat, Loop, Context, Memory)
    fields = {name for part in parts for name in part.model_fields}
    assert sorted(name for name in fields if not re.search(rf"\b{name}\b", text)) == []


def table_rows(page: str) -> dict[str, list[str]]:
    """The rows of a page's tables by the code in their first column; the other columns."""
    text = (ROOT / "docs" / page).read_text("utf-8")
    rows = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("| `")]
    return {row[0].strip(" `"): [cell.strip() for cell in row[1:]] for row in rows}


def test_every_hook_is_in_the_table_with_its_stages_settings_and_defaults() -> None:
    rows = table_rows("harness.md")
    for name, hook in TABLE.items():
        stages, settings, _ = rows[name]
        assert re.findall(r"`(\w+)`", stages) == list(hook.stages)
        assert re.findall(r"`(\w+)` \(|`(text)`", settings) == [
            ("", field) if field == "text" else (field, "") for field in hook.settings.model_fields
        ]
        for field, info in hook.settings.model_fields.items():
            default: Any = info.default
            match default:
                case tuple():
                    shown = ", ".join(f"`{one}`" for one in default)
                case str():  # a text is named without being repeated
                    continue
                case _:
                    shown = str(default).lower().removesuffix(".0")
            assert f"`{field}` ({shown})" in settings


def test_the_hooks_that_the_page_shows_bind() -> None:
    _, shown, _ = snippets("harness.md", "yaml")
    hooks = yaml.safe_load(shown)["middleware"]["hooks"]
    assert hooks
    for stage, entries in hooks.items():
        for entry in entries:
            bind(Hook.model_validate(entry), stage)


def defaults(model: type[Wire], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, field in model.model_fields.items():
        inner = DistillConfig if name == "distill" else field.annotation
        if inner is RemoteSettings and prefix != "student.":
            yield f"{prefix}{name}", "as the student's"
        elif isinstance(inner, type) and issubclass(inner, Wire):
            yield from defaults(inner, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", field.default


def test_every_key_of_a_configuration_is_on_the_page_with_its_default() -> None:
    rows = table_rows("configuration.md")
    settings = dict(defaults(RunConfig))
    assert sorted(rows) == sorted(settings)
    for key, default in settings.items():
        text = rows[key][0].strip("`")
        match default:
            case dict() | tuple():
                assert text == "none", key
            case None:
                assert text in {"no limit", "chosen at start"}, key
            case str():
                assert text == default, key
            case bool():
                assert text == str(default).lower(), key
            case _:
                assert float(text) == default, key


def leaves(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    inner = getattr(command, "commands", None)
    if inner is None:
        yield " ".join(path), command
        return
    for name, one in inner.items():
        yield from leaves(one, (*path, name))


def test_every_command_and_every_option_is_on_the_page() -> None:
    commands.attach()
    text = (ROOT / "docs" / "commands.md").read_text("utf-8")
    found = dict(leaves(typer.main.get_command(app)))
    assert len(found) > 15
    assert [name for name in found if f"evener {name}" not in text] == []
    options = {option for command in found.values() for p in command.params for option in p.opts}
    long = {option for option in options if option.startswith("--")}
    assert {"--out", "--merged"} <= long
    assert sorted(o for o in long if not re.search(rf"{o}\b(?!-)", text)) == []
    named = set(re.findall(r"(?<!-)--[a-z][a-z-]*", text)) - {"--json", "--help", "--version"}
    assert named <= long


def test_a_file_of_the_size_that_the_page_names_feeds_the_plan_it_shows(tmp_path: Path) -> None:
    shown = [tomllib.loads(body) for body in snippets("own-environment.md", "toml")]
    (data,) = [found for found in shown if "plan" in found]
    config = parse(data, where="the page")
    sizes = {Split.MINE: 30, Split.HELD_IN: 20, Split.HELD_OUT: 20, Split.TEST: 20}
    rows = [
        {"id": f"{split}{i}", "prompt": f"{split} {i}?", "answer": str(i), "split": split}
        for split, size in sizes.items()
        for i in range(size)
    ]
    path = tmp_path / "tasks.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows))
    environment = create("jsonl", path=str(path), scorer="number")
    enough(environment, config)
    assert config.gate.schedule == "small"
    gate = PairedGate(SCHEDULES["small"])
    for split, pairs in zip((Split.HELD_IN, Split.HELD_OUT), gate.most("improve"), strict=True):
        supply = Supply(environment, split, seed=0, repeats=REPEATS)
        assert len(supply.take(pairs)) == pairs


def machine_paths(root: Path) -> Iterator[str]:
    for folder, folders, files in os.walk(root, followlinks=False):
        here = Path(folder)
        folders[:] = [
            name
            for name in folders
            if (name == ".ci" or not name.startswith("."))
            and name not in {"__pycache__", "build", "dist"}
            and not (here == root and name in {"runs", "models"})
        ]
        for name in files:
            if (here / name).suffix in {".py", ".md", ".toml", ".yaml", ".txt"} or here != root:
                text = (here / name).read_bytes().decode("utf-8", "replace")
                yield from (
                    f"{(here / name).relative_to(root)}: {found}" for found in MACHINE.findall(text)
                )


def test_no_file_holds_a_path_of_somebody_s_machine() -> None:
    assert list(machine_paths(ROOT)) == []


def test_a_path_of_somebody_s_machine_is_seen(tmp_path: Path) -> None:
    home = "/".join(("", "home", "somebody"))  # in pieces, or this file would hold one
    (tmp_path / "a.md").write_text(f"see {home}/evener and docs{home}/x, http://a.b{home}/c")
    assert list(machine_paths(tmp_path)) == [f"a.md: {home}"]
