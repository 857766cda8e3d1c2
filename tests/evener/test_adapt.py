"""`evener harness adapt`: the table, the file, and one line for what cannot be."""

import asyncio
import contextlib
import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from evener.adapt import adapted, render
from evener.agents.harness.load import dump_yaml, load
from evener.agents.knowledge.load import load as load_knowledge
from evener.agents.models.remote.faults import FaultServer
from evener.cli import main
from evener.environments.storefront import Storefront
from evener.protocols.task import Split


def evener(*args: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    before = sys.argv
    sys.argv = ["evener", "harness", "adapt", *args]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main()
        code: object = 0
    except SystemExit as error:
        code = error.code
    finally:
        sys.argv = before
    return int(str(code or 0)), out.getvalue(), err.getvalue()


def test_the_table_has_a_line_for_each_part_and_the_file_holds_k(tmp_path: Path) -> None:
    out = tmp_path / "k.yaml"
    code, shown, _ = evener("optimized", "--target", "target", "--out", str(out))
    assert code == 0
    desk = Storefront()
    optimized, target = (load(desk.harness_path(n)) for n in ("optimized", "target"))
    found = asyncio.run(adapted(optimized, target, environment=desk))
    *told, kept = shown.splitlines()
    assert "\n".join(told) == render(found)
    assert kept.startswith(f"wrote {out}; distill.knowledge=")
    assert load_knowledge(out) == found.knowledge
    lines = {line.split()[0]: line for line in shown.splitlines()}
    assert {line.part for line in found.parts} <= set(lines)
    assert "recipe quote" in lines["tools[quote].steps"]
    assert lines["middleware.loop.votes"].endswith("the target answers once")


def test_json_is_k_and_where_each_part_went() -> None:
    code, shown, _ = evener("hand", "--json")
    assert code == 0
    answer = json.loads(shown)
    assert answer["knowledge"]["name"] == "storefront-hand for storefront-target"
    assert all(line["entries"] or line["reasons"] for line in answer["parts"])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("action: lookup", "action: find"), "the target harness mine, tools[lookup].action"),
        (("name: mine", "name: mine\nweights: 1"), "unknown field"),
    ],
)
def test_a_harness_that_is_not_fit_is_one_line(
    change: tuple[str, str], said: str, tmp_path: Path
) -> None:
    harness = load(Storefront().harness_path("target")).model_copy(update={"name": "mine"})
    path = tmp_path / "mine.yaml"
    path.write_text(dump_yaml(harness).replace(*change, 1), "utf-8")
    out = tmp_path / "k.yaml"
    code, shown, error = evener("optimized", "--target", str(path), "--out", str(out))
    assert (code, shown) == (2, "")
    assert said in error
    assert "Traceback" not in error
    assert not out.exists()


def test_a_harness_that_repeats_a_task_makes_no_k(tmp_path: Path) -> None:
    desk = Storefront()
    task = desk.tasks(Split.TEST, count=5, seed=0)[1].prompt
    harness = load(desk.harness_path("optimized"))
    skill = harness.skills[0].model_copy(update={"text": f"Know this one: {task}"})
    path = tmp_path / "leaky.yaml"
    leaky = harness.model_copy(update={"skills": (skill, *harness.skills[1:])})
    path.write_text(dump_yaml(leaky), "utf-8")
    code, _, error = evener(str(path))
    assert code == 2
    assert "it repeats the words of a task of" in error


async def test_a_server_s_model_may_word_k_and_what_it_spoils_stays(tmp_path: Path) -> None:
    def said(body: dict[str, Any]) -> str:
        text: str = body["messages"][1]["content"]
        return "" if "convert" in text else f"Mind this: {text}"

    async with FaultServer(said, models=("writer",)) as server:
        out = tmp_path / "k.yaml"
        code, shown, _ = await asyncio.to_thread(
            evener,
            *("optimized", "--rewriter", "hosted_vllm/writer", "--api-base", server.url),
            *("--out", str(out)),
        )
    assert code == 0
    made = load_knowledge(out)
    texts = [recipe.text for recipe in made.recipes if recipe.text]
    assert any(text.startswith("Mind this: ") for text in texts)
    assert not any(text.startswith("Mind this: ") and "convert" in text for text in texts)
    assert "texts rewritten by the model; kept as they were: " in shown
    assert "empty" in shown.splitlines()[-2]
