"""Every model under every harness: whether weights and harness compound is read off this table."""

from evener.matrix.bench import Bench
from evener.matrix.history import History


def skip(history: History) -> str:
    """A run that changed nothing has no versions."""
    pairs = len(history.models) * len(history.harnesses)
    return "" if pairs > 1 else "the run changed neither harness nor weights"


def rollouts(history: History) -> int:
    """All pairs; those that the run has scored already are free."""
    known = {("base", "seed"), ("base", _last(history))} | {
        (model, harness)
        for model in list(history.models)[1:][-1:]
        for harness in ("seed", _last(history))
    }
    evaluation = history.config.plan.evaluation
    pairs = {(m, h) for m in history.models for h in history.harnesses}
    return len(pairs - known) * (evaluation.test_tasks + evaluation.ood_tasks)


def _last(history: History) -> str:
    return next(n for n, v in history.harnesses.items() if v.digest == history.last.harness)


async def run(bench: Bench) -> str:
    """Cells `trained_1+evolved_2` and so on."""
    history = bench.history
    async with bench.open() as scorer:
        for model, ref in history.models.items():
            for name, harness in history.harnesses.items():
                await scorer.cell(f"{model}+{name}", model=ref, harness=harness)
    return (
        f"{', '.join(history.models)} each under {', '.join(history.harnesses)}, scored on "
        "the sealed tasks"
    )
