"""What a gate's rulings are worth, for a person to read: rates, plans and flips."""

from pydantic import JsonValue

from evener.agents.gates.plan import GatePlan
from evener.agents.gates.regime import Tasks
from evener.agents.gates.simulate import GateRates, Share
from evener.control import SignFlips
from evener.report.figure import fine
from evener.report.table import table


def rates_text(rates: GateRates) -> str:
    """One simulated effect."""
    limit = "" if rates.rollout_limit is None else f" (limit {rates.rollout_limit})"
    rows = [
        ("accepted", _share(rates.accept)),
        ("rejected", _share(rates.reject)),
        ("undecided", _share(rates.indecisive)),
        (
            "rollouts",
            f"{rates.mean_rollouts:.0f} on average ({rates.mean_rollouts_low:.1f} to "
            f"{rates.mean_rollouts_high:.1f}), at most {rates.max_rollouts}{limit}",
        ),
        ("pairs", f"{rates.mean_pairs_in:.0f} held in, {rates.mean_pairs_out:.0f} held out"),
        (
            "true effect",
            f"{fine(rates.gain)} points held in, {fine(-rates.loss)} held out; over all simulated "
            f"tasks {fine(rates.effect_in)} and {fine(rates.effect_out)}",
        ),
    ]
    return "\n".join(
        (
            _gate(rates.gate, rates.kind, rates.gate_digest),
            table(("", "share of trials, 95 % interval"), rows),
            f"{rates.replicates} simulated trials, seed {rates.seed}; {_regime(rates.regime)}",
        )
    )


def plan_text(plan: GatePlan) -> str:
    """The table of gains, which of them is seen, and what that takes."""
    first = plan.rows[0]
    asked = (("CPU-seconds", plan.cpu_per_rollout), ("tokens", plan.tokens_per_rollout))
    prices = [(name, price) for name, price in asked if price is not None]
    header = ["true gain", "accepted", "rollouts", "at most", *(name for name, _ in prices)]
    rows = [
        [
            fine(row.gain),
            f"{row.accept.rate:.2f}",
            f"{row.mean_rollouts:.0f}",
            row.max_rollouts,
            *(f"{row.mean_rollouts * price:.0f}" for _, price in prices),
        ]
        for row in plan.rows
    ]
    return "\n".join(
        (
            _gate(plan.gate, plan.kind, plan.gate_digest),
            table(header, rows),
            *_found(plan),
            f"{first.replicates} simulated trials a gain, seed {first.seed}, {fine(-first.loss)} "
            f"points held out; {_regime(first.regime)}",
        )
    )


def flips_text(found: SignFlips) -> str:
    """The control of one run."""
    control = found.control
    rest = found.trials - found.used
    return (
        f"gate {found.gate}, digest {found.gate_digest}\n"
        f"sign flips: {control.accepted} of {control.trials} accepted, rate {control.rate:.3f} "
        f"(95 % interval {control.low:.3f} to {control.high:.3f}), seed {control.seed}\n"
        f"on the {control.pairs} stored pairs of {found.used} of {found.trials} trials"
        + (f"; {rest} ended with too few pairs on a side to be accepted at all" if rest else "")
    )


def _found(plan: GatePlan) -> list[str]:
    often = f"accepted with power {plan.power:g}"
    lines = [
        f"no gain up to {fine(plan.rows[-1].gain)} points is {often}"
        if plan.smallest is None
        else f"the smallest gain {often}: {fine(plan.smallest)} points"
    ]
    need = plan.need
    if need is not None:
        cost = [f"{need.rollouts:.0f} rollouts a trial on average, at most {need.max_rollouts}"]
        if need.cpu_seconds is not None:
            cost.append(f"{need.cpu_seconds:.0f} CPU-seconds")
        if need.tokens is not None:
            cost.append(f"{need.tokens:.0f} tokens")
        lines.append(
            f"{fine(need.gain)} points take about {need.tasks_in} held-in and {need.tasks_out} "
            f"held-out tasks: {'; '.join(cost)}"
        )
    elif plan.gain is not None:
        lines.append(f"{fine(plan.gain)} points are not {often}, however many of the tasks are run")
    return lines


def _regime(regime: Tasks) -> str:
    told = [f"{key} {_value(value)}" for key, value in regime.document().items() if key != "name"]
    return f"{regime.document()['name']} tasks: {', '.join(told)}"


def _gate(name: str, kind: str, digest: str) -> str:
    return f"gate {name}, trials of kind {kind}, digest {digest}"


def _share(share: Share) -> str:
    return f"{share.rate:.4f} ({share.low:.4f} to {share.high:.4f})"


def _value(value: JsonValue) -> str:
    match value:
        case None:
            return "endless"
        case list():
            return f"Beta({', '.join(map(str, value))})"
        case _:
            return str(value)
