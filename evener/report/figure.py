"""How a figure is written, the same everywhere: points with a sign, shares in percent."""

from evener.protocols.summary import Comparison


def points(difference: float) -> str:
    """`+65`; below one point with a decimal, so that a bound beside 0 keeps its sign."""
    value = difference * 100 + 0.0
    return f"{value:+.1f}" if 0 < abs(value) < 1 else f"{value:+.0f}"


def fine(difference: float | None) -> str:
    """`+65.0`, for tables; a dash where there is none."""
    return "–" if difference is None else f"{difference * 100 + 0.0:+.1f}"


def span(low: float | None, high: float | None) -> str:
    """`+50.1 to +76.3`, for tables."""
    return "–" if low is None or high is None else f"{fine(low)} to {fine(high)}"


def share(rate: float) -> str:
    """`65%`."""
    return f"{rate:.0%}"


def shares(low: float, high: float) -> str:
    """`52%–76%`."""
    return f"{low:.0%}–{high:.0%}"


def evidence(found: Comparison) -> str:
    """`+65 points, 95 % +50 to +76, n 60`."""
    return (
        f"{points(found.difference)} points, 95 % {points(found.low)} to {points(found.high)}, "
        f"n {found.n}"
    )
