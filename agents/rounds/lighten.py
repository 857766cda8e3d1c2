"""After training: does the student still need all of its harness?

Lighter harnesses are first run on mining tasks beside the one in force, which only ranks; the first
of them that keeps up (the lightest forms come first, then the harness without what had no effect)
goes to the gate as `simplify`: not worse on either side, and cheaper.
"""

from collections.abc import Sequence

from evener.agents.plan import derive
from evener.agents.rollouts import together
from evener.agents.rounds.attempt import Attempt
from evener.agents.run import Run, Standing
from evener.agents.trials.supply import up_to
from evener.protocols.attribution import Proposal
from evener.protocols.harness import Harness
from evener.protocols.reference import EpisodeRef
from evener.protocols.task import Purpose, Split
from evener.protocols.verdict import Ruling, Verdict

SLACK = 0.1  # a candidate may fall behind by this share of the tasks: the margin is the gate's


async def lighten(
    run: Run, number: int, standing: Standing, candidates: Sequence[Proposal]
) -> Standing:
    """`standing` with the first lighter harness that the gate accepts, within `search.lighter`
    trials. Candidates come in the order in which they are tried."""
    kept = await _race(run, number, standing, candidates)
    for trial, proposal in enumerate(kept[: run.plan.search.lighter], start=1):
        run.meter.check()
        iteration = run.plan.search.iterations + 1 + trial
        attempt = Attempt(run, proposal, standing, number=number, iteration=iteration)
        after, _ = await attempt.at_the_gate()
        if after is not None:
            return after
    return standing


async def _race(
    run: Run, number: int, standing: Standing, candidates: Sequence[Proposal]
) -> list[Proposal]:
    """The candidates that keep up on mining tasks, in their order; the others are kept as turned
    down."""
    seed = derive(run.plan.seed, "lighter", number)
    tasks = up_to(run.environment, Split.MINE, count=2 * run.plan.search.race_tasks, seed=seed)
    harness = run.store.get(Harness, standing.harness)

    async def episodes(digest: str) -> tuple[EpisodeRef, ...]:
        return await run.rollouts.run(
            tasks, harness=digest, model=standing.model, purpose=Purpose.MINE, seed=seed
        )

    total = len(tasks) * (1 + len(candidates))
    run.progress.stage(f"round {number}: {len(candidates)} lighter harnesses", total=total)
    lighter = [run.store.put(proposal.patch.apply(harness)) for proposal in candidates]
    # all at once, so that the engine's batches are full
    now, *found = await together(map(episodes, [standing.harness, *lighter]))
    least = _rate(now) - SLACK
    kept: list[Proposal] = []
    for proposal, done in zip(candidates, found, strict=True):
        if _rate(done) >= least:
            kept.append(proposal)
            continue
        attempt = Attempt(run, proposal, standing, number=number, iteration=0)
        attempt.turned_down(verdict=_behind(run, number, proposal, done, least=least))
    return kept


def _rate(episodes: Sequence[EpisodeRef]) -> float:
    scored = [e.reward for e in episodes if e.reward is not None]
    return sum(scored) / len(scored) if scored else 0.0


def _behind(
    run: Run, number: int, proposal: Proposal, done: Sequence[EpisodeRef], *, least: float
) -> Verdict:
    """The record of a candidate that solves too few mining tasks to be worth a trial."""
    n = sum(e.reward is not None for e in done)
    rate = _rate(done)
    return Verdict(
        trial=f"lighter-{number}",
        kind=proposal.kind,
        gate="race on mining tasks",
        gate_digest="",
        ruling=Ruling.REJECT,
        delta_in=None,
        delta_out=None,
        coverage=n / len(done) if done else 0.0,
        looks=1,
        rollouts=n,
        completion_tokens=sum(e.completion_tokens for e in done),
        seed=run.plan.seed,
        reason=f"solved {rate:.0%} of {n} mining tasks; {least:.0%} were asked for",
    )
