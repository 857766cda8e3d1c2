"""What a round accepted, tried once more as a whole on fresh tasks, against where it began.

Each accepted patch passed a gate that errs now and then, and a round makes many trials. The gate
divides the error of this one over the rounds; what it does not confirm is rolled back.
"""

from evener.agents.plan import derive
from evener.agents.rounds.judge import enter, judge
from evener.agents.run import Run, Standing
from evener.protocols.verdict import Ruling


async def confirm(run: Run, number: int, before: Standing, after: Standing) -> Standing:
    """`after` where the gate confirms it, else `before`, which is in force again then."""
    name = f"round {number}: {before.version} to {after.version}"
    verdict = await judge(
        run,
        before,
        after,
        trial=f"{number}-confirm",
        kind="confirm",
        about=name,
        seed=derive(run.plan.seed, "trial", "confirm", number),
    )
    kept = after if verdict.ruling is Ruling.ACCEPT else before
    enter(
        run,
        verdict,
        number=number,
        iteration=run.plan.search.iterations + 1,
        patch=f"{before.version}…{after.version}",
        author="conductor",
        version=kept.version,
    )
    text = f"confirmation of {name}: {verdict.ruling} ({verdict.reason})"
    await run.announce("verdict", text, round=number)
    if kept is before:
        reason = f"round {number} was not confirmed: {verdict.ruling}"
        run.registry.retreat(before.version, reason=reason)
    return kept
