"""What a run did, in tables: its trials, versions, controls, predictions, arms and cost."""

from collections.abc import Sequence

from evener.protocols.summary import Effect, Summary
from evener.report.figure import fine, share, span
from evener.report.table import Table


def verdicts(runs: Sequence[Summary]) -> Table:
    """Every trial at the gate."""
    rows = [
        (
            run.seed, f"{v.round}.{v.iteration}", v.patch, v.kind, v.author, v.outcome,
            fine(v.delta_in), span(v.delta_in_low, v.delta_in_high), v.n_in,
            fine(v.delta_out), span(v.delta_out_low, v.delta_out_high), v.n_out,
            share(v.coverage), v.rollouts,
        )
        for run in runs
        for v in run.verdicts
    ]  # fmt: skip
    header = (
        "seed", "trial", "patch", "kind", "author", "outcome", "held in", "95 %", "n",
        "held out", "95 %", "n", "coverage", "rollouts",
    )  # fmt: skip
    return Table("verdicts", header, rows)


def effects(runs: Sequence[Summary]) -> Table:
    """What each accepted version is worth: HEAD against HEAD without it."""
    rows = [
        (
            run.seed, e.version, e.patch, e.model, e.split, fine(e.difference),
            span(e.low, e.high), e.n, _worth(e),
        )
        for run in runs
        for e in run.effects
    ]  # fmt: skip
    header = ("seed", "version", "patch", "model", "split", "points", "95 %", "n", "found")
    return Table("with each accepted version against without it", header, rows)


def _worth(effect: Effect) -> str:
    if effect.fault or effect.low is None or effect.high is None:
        return f"not measured: {effect.fault or 'no figure'}"
    if effect.high < 0:
        return "harms"
    return "helps" if effect.low > 0 else "redundant: not shown to help"


def controls(runs: Sequence[Summary]) -> Table:
    """How often the gate accepts where nothing is to be found."""
    rows = [
        (
            run.seed, c.name, c.trials, c.accepted, f"{c.rate:.1%}", f"{c.low:.1%}–{c.high:.1%}",
            c.pairs, fine(c.difference), span(c.difference_low, c.difference_high),
            "–" if c.temperature is None else f"{c.temperature:g}",
        )
        for run in runs
        for c in run.controls
    ]  # fmt: skip
    header = (
        "seed", "control", "trials", "accepted", "rate", "95 %", "pairs", "points", "95 %",
        "temperature",
    )  # fmt: skip
    return Table("the gate where nothing is to be found", header, rows)


def predictions(runs: Sequence[Summary]) -> Table:
    """What was predicted of each accepted patch, and what came true."""
    rows = [
        (
            run.seed, f"{p.round}.{p.iteration}", p.patch, f"{p.fixes_true}/{p.fixes}",
            f"{p.breaks_true}/{p.breaks}", p.fixed, p.broken,
        )
        for run in runs
        for p in run.predictions
    ]  # fmt: skip
    header = (
        "seed", "trial", "patch", "repairs: true/predicted", "breaks: true/predicted",
        "all repaired", "all broken",
    )  # fmt: skip
    return Table("predictions", header, rows)


def arms(runs: Sequence[Summary]) -> Table:
    """What each arm beside the run used, of what it might."""
    rows = [
        (
            run.seed, a.name, _of(a.rollouts, a.rollout_limit),
            _of(a.trained_tokens, a.token_limit),
            "–" if a.calls_per_task is None else f"{a.calls_per_task:.2f}", a.note,
        )
        for run in runs
        for a in run.arms
    ]  # fmt: skip
    header = (
        "seed", "arm", "rollouts of search and collection", "trained tokens", "calls a task",
        "note",
    )  # fmt: skip
    return Table("budgets of the arms: used/allowed", header, rows)


def _of(used: int, limit: int) -> str:
    return f"{used}/{limit}" if limit else str(used)


def costs(runs: Sequence[Summary]) -> Table:
    """What each run used."""
    rows = [
        (
            run.seed, run.state, f"{run.budget.cpu_seconds:.0f}", f"{run.budget.wall_seconds:.0f}",
            run.budget.rollouts, student.calls if student else "–",
            student.tokens if student else "–", run.rows.accepted, run.stop_reason,
        )
        for run in runs
        for student in (run.budget.by_role.get("student"),)
    ]  # fmt: skip
    header = (
        "seed", "state", "CPU-seconds", "wall-clock s", "episodes", "model calls",
        "generated tokens", "training rows", "stopped because",
    )  # fmt: skip
    return Table("cost", header, rows)
