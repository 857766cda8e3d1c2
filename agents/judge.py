"""One trial as the Conductor sees it: ask the validator, count what it cost, log the verdict.

The same path for patches, models, confirmations and lighter harnesses.
"""

from evener.agents.run import Run
from evener.protocols.verdict import Verdict
from evener.protocols.wire import TrialFinished, TrialRequest


async def judge(run: Run, request: TrialRequest, *, about: str) -> Verdict:
    """The validator's verdict on `about`."""
    run.progress.stage(f"trial of {about}", total=0)
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
