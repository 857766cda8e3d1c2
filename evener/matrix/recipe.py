"""The recipe rules as a policy of their own, so that nobody takes a hand-written solver for
something distilled.

`recipe+target` is what they make of a student that says nothing, `base+recipe` what they make of
the base. They read all of K, whatever the run's own reviewer read.
"""

from evener.agents.models.scripted import ScriptedModel
from evener.agents.sealed import CellPlan
from evener.matrix.distilled import Distilled
from evener.matrix.review_bench import ReviewBench, Reviewing
from evener.protocols.digest import digest
from evener.protocols.model import ModelRef, Reply, Request, Usage

SILENT = ModelRef(base="scripted:silent", revision=digest("scripted:silent"))


def skip(history: Distilled) -> str:
    """Beside every distillation."""
    del history
    return ""


def rollouts(history: Distilled) -> int:
    """Two cells."""
    return 2 * (history.test_tasks + history.ood_tasks)


async def run(bench: ReviewBench) -> str:
    """Cells `recipe+target` and `base+recipe`, on `ood` too."""
    history, knowledge = bench.history, bench.lesson.secret
    settings = history.settings.model_copy(update={"reviewer": "recipe", "review": "always"})
    cell = history.base("target", name="base+recipe")
    alone = CellPlan(name="recipe+target", model=SILENT, harness=cell.harness, label=cell.label)
    said = await bench.score(Reviewing(alone, settings, knowledge, ood=True), student=silent())
    more = await bench.score(Reviewing(cell, settings, knowledge, ood=True))
    return f"{said}; {more}"


def silent() -> ScriptedModel:
    """A student that answers every request with nothing, at no cost."""

    def nothing(request: Request) -> Reply:
        del request
        return Reply(text="", usage=Usage(), model=SILENT)

    return ScriptedModel(nothing, name="silent")
