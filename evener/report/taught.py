"""A distillation in tables: how far each pattern came along, and what reviewing took."""

from collections.abc import Sequence

from evener.protocols.summary import MeanFigure, Recovery, Summary
from evener.report.figure import share, shares
from evener.report.table import Table


def recovery(runs: Sequence[Summary]) -> Table:
    """Every pattern with figures, then the means, then those without and why."""
    header = (
        "seed", "pattern", "support", "base", "with h*", "distilled", "format only", "paper",
        "95 %", "recovered", "95 %", "note",
    )  # fmt: skip
    rows: list[Sequence[object]] = []
    for run in runs:
        told = [line for line in run.recovery if line.paper is not None]
        rows += [_pattern(run.seed, line) for line in told]
        means = run.recovery_means
        if means is not None:
            rows.append(_mean(run.seed, "mean", means.paper, means.recovered, note=means.note))
            rows.append(
                _mean(
                    run.seed,
                    "mean, format only",
                    means.control_paper,
                    means.control_recovered,
                    note="",
                )
            )
        rows += [_pattern(run.seed, line) for line in run.recovery if line.paper is None]
    note = (
        "support: tasks where base + h* shows the pattern and base + h does not, chosen in "
        "replicate A; rates are of replicate B. paper: share of the support where distilled + h "
        "shows it; recovered: (distilled - base) / (with h* - base)."
    )
    return Table("recovery of the harness's patterns", header, rows, note if rows else "")


def reviews(runs: Sequence[Summary]) -> Table:
    """What each reviewer was asked, what for, did, and took."""
    rows = [
        (
            run.seed, r.reviewer, r.served or "–", r.candidates, _part(r.reviewed, r.candidates),
            _part(r.replaced, r.candidates), r.carried_on, r.invalid_attempts, r.given_up,
            r.calls, r.tokens,
        )
        for run in runs
        for r in run.reviews
    ]  # fmt: skip
    header = (
        "seed", "reviewer", "for", "responses", "reviewed", "replaced", "carried on",
        "invalid attempts", "given up", "calls", "tokens, read too",
    )  # fmt: skip
    note = (
        "responses: of an episode those up to its last allowed replacement, what comes after "
        "passes unseen; reviewed: a reviewer was asked; carried on: replaced without asking, as "
        "the rest of what an earlier review of the episode began."
    )
    return Table("reviews", header, rows, note if rows else "")


def _pattern(seed: int, line: Recovery) -> Sequence[object]:
    note = f"counts as {line.group}" if line.group not in ("", line.pattern) else line.note
    return (
        seed, line.pattern, line.support, _rate(line.base), _rate(line.with_harness),
        _rate(line.distilled), _rate(line.control), _rate(line.paper),
        _span(line.paper_low, line.paper_high), _rate(line.recovered), _span(line.low, line.high),
        note,
    )  # fmt: skip


def _mean(
    seed: int, name: str, paper: MeanFigure, corrected: MeanFigure, *, note: str
) -> Sequence[object]:
    counted = f"over {paper.patterns} and {corrected.patterns} patterns"
    return (
        seed, name, "", "", "", "", "", _rate(paper.value), _span(paper.low, paper.high),
        _rate(corrected.value), _span(corrected.low, corrected.high), note or counted,
    )  # fmt: skip


def _rate(value: float | None) -> str:
    return "–" if value is None else share(value)


def _span(low: float | None, high: float | None) -> str:
    return "–" if low is None or high is None else shares(low, high)


def _part(count: int, whole: int) -> str:
    return f"{count} ({share(count / whole)})" if whole else str(count)
