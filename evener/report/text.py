"""A summary for the terminal: the table of cells, the comparisons, the verdicts, the cost."""

from evener.protocols.summary import Summary, VerdictLine
from evener.report.table import table


def render(summary: Summary) -> str:
    """Everything a person needs to judge the run, and the verdict sentence last."""
    parts = [_cells(summary)]
    if summary.comparisons:
        parts.append(_comparisons(summary))
    if summary.verdicts:
        parts.append("verdicts\n" + "\n".join(_verdict(v) for v in summary.verdicts))
    parts += [_cost(summary), summary.verdict_sentence]
    return "\n\n".join(parts)


def _cells(summary: Summary) -> str:
    rows = [
        (
            c.name,
            c.split,
            f"{c.solved}/{c.n}",
            f"{c.rate:.0%}",
            f"{c.low:.0%}–{c.high:.0%}",
            f"{c.coverage:.0%}",
            f"{c.tool_error_rate:.0%}",
            c.calls,
            c.tokens,
            c.seed,
        )
        for c in summary.cells
    ]
    header = (
        "cell", "split", "solved", "rate", "95 %", "coverage", "tool errors", "calls", "tokens",
        "seed",
    )  # fmt: skip
    return table(header, rows)


def _comparisons(summary: Summary) -> str:
    rows = [
        (
            f"{c.a} − {c.b}",
            c.split,
            f"{c.difference * 100:+.1f}",
            f"{c.low * 100:+.1f} to {c.high * 100:+.1f}",
            c.n,
        )
        for c in summary.comparisons
    ]
    return table(("difference (paired)", "split", "points", "95 %", "n"), rows)


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
    return (
        f"cost: {budget.cpu_seconds:.0f} CPU-seconds, {budget.wall_seconds:.0f} s, "
        f"{budget.rollouts} episodes{calls}; {rows}\n"
        f"critic: {summary.critic}; gate: {summary.gate}; stopped because {summary.stop_reason}"
    )
