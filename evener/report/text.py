"""A summary for the terminal: cells, differences, rounds, verdicts, cost, and a sentence last."""

from collections.abc import Sequence

from evener.protocols.summary import PooledSummary, RoleUse, Summary, VerdictLine
from evener.report import section, taught
from evener.report.finding import covers
from evener.report.grid import compounding
from evener.report.sealed import cells, comparisons, pooled_cells, pooled_comparisons
from evener.report.table import Table, plain


def render(summary: Summary) -> str:
    """Everything a person needs to judge the run, and the verdict sentence last."""
    run = (summary,)
    verdicts = "\n".join(map(_verdict, summary.verdicts))
    return _joined(
        _state(summary),
        *_shown(cells(summary.cells), comparisons(summary.comparisons), *grids(run)),
        f"verdicts\n{verdicts}" if verdicts else "",
        *_shown(*tables(run)),
        _cost(summary),
        summary.verdict_sentence,
    )


def render_pooled(pooled: PooledSummary) -> str:
    """Several seeds together: pooled figures with those of every seed, and what they cover."""
    return _joined(
        *map(_state, pooled.runs),
        *_shown(
            pooled_cells(pooled.cells, pooled.seeds),
            pooled_comparisons(pooled.comparisons, pooled.seeds),
            *grids(pooled.runs),
            *tables(pooled.runs),
            section.costs(pooled.runs),
        ),
        "\n".join(pooled.notes),
        f"cost: {pooled.cpu_seconds:.0f} CPU-seconds, {len(pooled.runs)} runs",
        covers(pooled),
        pooled.verdict_sentence,
    )


def grids(runs: Sequence[Summary]) -> list[Table]:
    """The compounding table of each sealed split."""
    return [compounding([run.cells for run in runs], split) for split in ("test", "ood")]


def tables(runs: Sequence[Summary]) -> list[Table]:
    """What stands beside the sealed test."""
    return [
        section.effects(runs),
        section.controls(runs),
        section.predictions(runs),
        section.arms(runs),
        taught.recovery(runs),
        taught.reviews(runs),
    ]


def _shown(*found: Table) -> list[str]:
    return [plain(one) for one in found if one.rows]


def _joined(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part)


def _state(summary: Summary) -> str:
    match summary.state:
        case "finished":
            return ""
        case "budget":
            return f"{summary.run} ended at its budget: {summary.stop_reason}"
        case "interrupted" | "running":
            return f"{summary.run} is {summary.state}: this is as far as it has come"


def _verdict(line: VerdictLine) -> str:
    inside = "no held-in"
    if line.delta_in is not None:
        inside = f"{line.delta_in * 100:+.0f} on {line.n_in} held-in"
    outside = "no held-out"
    if line.delta_out is not None:
        outside = f"{line.delta_out * 100:+.0f} on {line.n_out} held-out"
    return (
        f"  {line.round}.{line.iteration} {line.patch} ({line.kind}, by {line.author}): "
        f"{line.outcome} [{inside}, {outside}, {line.rollouts} rollouts]"
    )


def _cost(summary: Summary) -> str:
    budget = summary.budget
    student = budget.by_role.get("student")
    calls = f", {student.calls} model calls, {student.tokens} tokens" if student else ""
    refused = ", ".join(f"{count} {reason}" for reason, count in summary.rows.refused.items())
    rows = f"{summary.rows.accepted} training rows" + (f" (refused: {refused})" if refused else "")
    charges = "".join(
        f"{role}: {charge}\n" for role, use in budget.by_role.items() if (charge := _charge(use))
    )
    stopped = f"; stopped because {summary.stop_reason}" if summary.stop_reason else ""
    return (
        f"cost: {budget.cpu_seconds:.0f} CPU-seconds, {budget.wall_seconds:.0f} s, "
        f"{budget.rollouts} episodes{calls}; {rows}\n"
        f"{charges}critic: {summary.critic}; gate: {summary.gate}{stopped}"
    )


def _charge(use: RoleUse) -> str:
    """What a model behind an interface was sent, and what that cost; nothing for any other."""
    if not use.requests:
        return ""
    parts = [f"{use.requests} requests"]
    if use.usd is not None:
        parts.append(f"{use.usd:.4f} USD")
    if use.unpriced:
        parts.append(f"unknown price for {use.unpriced} calls")
    if use.untold:
        parts.append(f"unknown usage of {use.untold}")
    return ", ".join(parts)
