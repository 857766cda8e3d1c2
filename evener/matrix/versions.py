"""Every model under every harness: whether weights and harness compound is read off this table.

A harness that only a round's end put in force is scored under that round's weights alone.
"""

from collections.abc import Iterator

from evener.matrix.bench import Bench
from evener.matrix.history import History


def skip(history: History) -> str:
    """A run that changed nothing has no versions."""
    pairs = len(history.models) * len(history.harnesses)
    return "" if pairs > 1 else "the run changed neither harness nor weights"


def rollouts(history: History) -> int:
    """All pairs; those that the run has scored already are free."""
    last = next(n for n, v in history.harnesses.items() if v.digest == history.last.harness)
    known = {("base", "seed"), ("base", last)} | {
        (model, harness) for model in list(history.models)[1:][-1:] for harness in ("seed", last)
    }
    return len(set(pairs(history)) - known) * history.config.plan.evaluation.test_tasks


def pairs(history: History) -> Iterator[tuple[str, str]]:
    """The names of model and harness of each cell."""
    for model in history.models:
        for harness in history.harnesses:
            number = harness.removeprefix("kept_")
            if number == harness or model == f"trained_{number}":
                yield model, harness


async def run(bench: Bench) -> str:
    """Cells `trained_1+evolved_2` and so on."""
    history = bench.history
    async with bench.open() as scorer:
        for model, harness in pairs(history):
            await scorer.cell(
                f"{model}+{harness}",
                model=history.models[model],
                harness=history.harnesses[harness],
            )
    return (
        f"{', '.join(history.models)} under {', '.join(history.harnesses)}, scored on the sealed "
        "tasks"
    )
