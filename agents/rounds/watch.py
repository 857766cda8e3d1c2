"""A second look at the version in force: did it do harm where nobody was looking?

At a round's end HEAD and the version that the round began with are run on fresh `held_out` tasks
under the model now in force, which may not be the one that HEAD was accepted with. Clear harm rolls
back.
A finite split that has fewer gives all its tasks, whether a trial had them or not.
"""

from collections.abc import Sequence

from evener.agents.plan import derive
from evener.agents.run import Run, Standing
from evener.agents.trials.supply import up_to
from evener.protocols.interval import Interval, paired
from evener.protocols.reference import EpisodeRef
from evener.protocols.task import Purpose, Split


async def watch(run: Run, number: int, standing: Standing, before: Standing) -> Standing:
    """`standing`, or its harness rolled back to `before`'s where the 95 % interval of the
    difference lies below 0."""
    seed = derive(run.plan.seed, "watch", number)
    tasks = up_to(run.environment, Split.HELD_OUT, count=run.plan.trials.watch, seed=seed)

    async def arm(side: Standing) -> tuple[EpisodeRef, ...]:
        return await run.rollouts.run(
            tasks,
            harness=side.harness,
            model=standing.model,
            purpose=Purpose.GATE,
            seed=seed,
            label=f"round {number}: a later look at {side.version} under {standing.model}",
        )

    found = difference(await arm(before), await arm(standing), seed=seed)
    harm = found.high < 0
    run.record(
        "watched",
        {
            "round": number,
            "version": standing.version,
            "against": before.version,
            "model": str(standing.model),
            "difference": found.value,
            "low": found.low,
            "high": found.high,
            "n": found.n,
            "rolled_back": harm,
        },
    )
    text = (
        f"a later look: {standing.version} − {before.version} under {standing.model} "
        f"{100 * found.value:+.0f} points ({100 * found.low:+.0f} to {100 * found.high:+.0f}, "
        f"n = {found.n})"
    )
    if not harm:
        run.progress.say(text)
        return standing
    await run.announce("verdict", f"{text}: rolled back to {before.version}", round=number)
    run.registry.retreat(before.version, reason=f"round {number}: {standing.version} did harm")
    return Standing(version=before.version, harness=before.harness, model=standing.model)


def difference(before: Sequence[EpisodeRef], after: Sequence[EpisodeRef], *, seed: int) -> Interval:
    """after − before over the tasks that both scored, with its 95 % interval."""
    pairs = [
        [b.reward - a.reward]
        for a, b in zip(before, after, strict=True)
        if a.reward is not None and b.reward is not None
    ]
    return paired(pairs, seed=seed)
