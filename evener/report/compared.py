"""A comparison for the terminal: both cells, the paired difference, and the verdict."""

from evener.compared import COVERAGE, Compared
from evener.report.figure import points, share, shares, span
from evener.report.table import table


def render(found: Compared) -> str:
    """The table, the difference, what could not be scored, looks, and the verdict sentence last."""
    header = (
        "", "harness", "model", "solved", "rate", "95 %", "coverage", "tool errors", "calls",
        "tokens", "CPU-seconds",
    )  # fmt: skip
    rows = [
        (
            c.name, c.harness, c.model, f"{c.solved}/{c.n}", share(c.rate), shares(c.low, c.high),
            share(c.coverage), share(c.tool_error_rate), c.calls, c.tokens, f"{c.cpu_seconds:.0f}",
        )
        for c in (found.a, found.b)
    ]  # fmt: skip
    delta = found.difference
    lines = [
        f"B − A: {points(delta.difference)} points, 95 % {span(delta.low, delta.high)}, paired on "
        f"{delta.n} tasks of {delta.split}, seed {found.a.seed}, "
        f"temperature {found.temperature:g}"
    ]
    for name, causes in found.unscored.items():
        listed = ", ".join(f"{count} {cause}" for cause, count in causes.items())
        lines.append(f"{name}: not scored, and not wrong: {listed}")
    lines += looked(found)
    return f"{table(header, rows)}\n\n" + "\n".join(lines) + f"\n\n{sentence(found)}"


def looked(found: Compared) -> list[str]:
    """That a sealed split was looked at, and where that is counted."""
    split = found.difference.split
    if split not in ("test", "ood"):
        return []
    if not found.looks:
        return [f"this was a look at the sealed split {split}, and no run counts it"]
    return [
        f"look number {count} at {split} of {run}, beside its sealed test; it is in its log"
        for run, count in found.looks.items()
    ]


def sentence(found: Compared) -> str:
    """What the interval shows, and no more."""
    delta = found.difference
    most = f"a loss of more than {max(0.0, -delta.low) * 100:.1f} points is ruled out"
    match found.finding:
        case "same":
            return "A and B are one harness under one model: they cannot differ."
        case "better":
            return "B is better than A: the whole interval lies above 0."
        case "not worse":
            return (
                f"B is not worse than A by {found.margin * 100:g} points or more: {most}. "
                "That it is better is not shown."
            )
        case "worse":
            return "B is worse than A: the whole interval lies below 0."
        case "cannot tell" if found.coverage < COVERAGE:
            return (
                f"Cannot tell: only {share(found.coverage)} of the pairs were scored, "
                f"{share(COVERAGE)} are needed."
            )
        case "cannot tell":
            return (
                f"Cannot tell: on {delta.n} tasks B may be better or worse than A; {most}. "
                "More tasks (--count) narrow the interval; --margin says which loss does not "
                "matter."
            )
