"""One trial as the Conductor sees it: ask the validator, count what it cost, log the verdict.

The same path for patches, models, confirmations and lighter harnesses.
"""

from evener.agents.run import Run, Standing
from evener.protocols.attribution import TrialKind
from evener.protocols.verdict import Verdict
from evener.protocols.wire import TrialFinished, TrialRequest


async def judge(
    run: Run,
    before: Standing,
    after: Standing,
    *,
    trial: str,
    kind: TrialKind,
    about: str,
    seed: int,
    signatures: tuple[str, ...] = (),
) -> Verdict:
    """The validator's verdict on `about`: `after` against `before` within the plan's limits for a
    trial."""
    run.progress.stage(f"trial of {about}", total=0)
    request = TrialRequest(
        trial=trial,
        kind=kind,
        before_harness=before.harness,
        after_harness=after.harness,
        before_model=before.model,
        after_model=after.model,
        signatures=signatures,
        rollout_limit=run.plan.trials.rollouts,
        seed=seed,
        temperature=run.plan.trials.temperature,
    )
    verdict = (await run.peer.ask("validator", request, TrialFinished)).verdict
    run.meter.add(
        rollouts=verdict.rollouts + verdict.reused,
        calls=verdict.calls,
        completion_tokens=verdict.completion_tokens,
    )
    return verdict


def enter(
    run: Run,
    verdict: Verdict,
    *,
    number: int,
    iteration: int,
    patch: str,
    author: str,
    version: str,
) -> None:
    """Log a verdict: in which round and iteration, on what, and the version in force after it."""
    run.record(
        "verdict",
        {
            "round": number,
            "iteration": iteration,
            "patch": patch,
            "author": author,
            "version": version,
            "verdict": run.store.put(verdict),
        },
    )
