"""The gate where nothing is to be found: how often does it accept all the same?

`A/A` tries the last harness against itself at the trials' temperature, both arms with seeds of
their own. `sign flips` swaps the pairs of the run's own verdicts at random and costs no rollout.
"""

from evener.agents.gates.null import aa_control, null_control
from evener.agents.plan import derive
from evener.choose import choose_gate
from evener.control import stored_verdicts
from evener.matrix.bench import Bench, Scorer
from evener.matrix.history import History
from evener.protocols.summary import Control
from evener.protocols.verdict import Verdict
from evener.protocols.wire import TrialFinished, TrialRequest

TRIALS = 2
FLIPS = 1000


def skip(history: History) -> str:
    """Every run has a gate."""
    del history
    return ""


def rollouts(history: History) -> int:
    """The A/A trials at their limit; at temperature 0 there are none."""
    trials = history.config.plan.trials
    return TRIALS * trials.rollouts if trials.temperature else 0


async def run(bench: Bench) -> str:
    """One `control` entry each."""
    history = bench.history
    temperature = history.config.plan.trials.temperature
    seed = derive(history.config.plan.seed, "controls")
    found: list[Control] = []
    async with bench.open() as scorer:
        if temperature:
            trials = [await _trial(scorer, history, number) for number in range(1, TRIALS + 1)]
            found.append(aa_control(trials, temperature=temperature, seed=seed))
        gate = bench.parts.gate or choose_gate(history.config)
        verdicts = stored_verdicts(scorer.record.bodies("verdict"), scorer.record)
        found.append(null_control(gate, verdicts, flips=FLIPS, seed=seed))
        for control in found:
            scorer.note("control", control, same=("name",))
    said = [f"{c.name}: {c.accepted} of {c.trials} accepted ({c.pairs} pairs)" for c in found]
    if not temperature:
        said.append("no A/A: at temperature 0 a harness and itself are the same by construction")
    return "; ".join(said)


async def _trial(scorer: Scorer, history: History, number: int) -> Verdict:
    plan = history.config.plan
    model = await scorer.team.serve(history.last.model.adapter or "base")
    request = TrialRequest(
        trial=f"a-a-{number}",
        kind="improve",
        before_harness=history.last.harness,
        after_harness=history.last.harness,
        before_model=model,
        after_model=model,
        rollout_limit=plan.trials.rollouts,
        seed=derive(plan.seed, "A/A", number),
        temperature=plan.trials.temperature,
    )
    return (await scorer.team.bus.ask("validator", request, TrialFinished)).verdict
