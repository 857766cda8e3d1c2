"""The weights' half of a round: collect accepted runs, fine-tune, try the new model, serve it.

A new model is tried under the harness that will serve it, the one its rows were rendered with.
If the gate does not accept it, the old model stays.
"""

from evener.agents.plan import collect_seed, derive, train_seed
from evener.agents.rounds.harvest import collect_tasks, harvest
from evener.agents.rounds.judge import enter, judge
from evener.agents.run import Run, Standing
from evener.protocols.model import ModelRef
from evener.protocols.verdict import Ruling, Verdict
from evener.protocols.wire import ModelServed, ModelTrained, ServeModel, TrainRequest


async def learn(
    run: Run, number: int, standing: Standing, *, base: ModelRef
) -> tuple[Standing, ModelRef | None]:
    """Where things stand after training, and the model that was trained, accepted or not."""
    run.meter.check()
    plan = run.plan
    tasks = collect_tasks(run.environment, plan, number)
    with run.spending(number, "collect"):
        episodes = await harvest(
            run.rollouts,
            tasks,
            harness=standing.harness,
            model=standing.model,
            training=plan.training,
            seed=collect_seed(plan, number),
        )
    run.progress.stage("training", total=0)
    trained = await run.peer.ask(
        "trainer",
        TrainRequest(
            name=f"m{number}",
            trajectories=tuple(episode.trajectory for episode in episodes),
            serving_harness=standing.harness,
            base=base,
            seed=train_seed(plan, number),
        ),
        ModelTrained,
    )
    run.record("trained", {"round": number, **trained.document()})
    if trained.model is None:
        text = f"no model from round {number}: {trained.reason}"
        await run.announce("model", text, round=number)
        return standing, None
    await run.peer.ask(
        "student", ServeModel(model=trained.model, folder=trained.folder), ModelServed
    )
    with run.spending(number, "model"):
        verdict = await try_model(run, number, standing, trained.model, author="trainer")
    if verdict.ruling is Ruling.ACCEPT:
        standing = standing.model_copy(update={"model": trained.model})
    return standing, trained.model


async def try_model(
    run: Run, number: int, standing: Standing, model: ModelRef, *, author: str
) -> Verdict:
    """The gate on `model` against the one in force, under the harness in force."""
    # the same weights from outside get the same fresh tasks, others get others
    outside = () if author == "trainer" else (model.revision,)
    verdict = await judge(
        run,
        standing,
        standing.model_copy(update={"model": model}),
        trial=f"{number}-model-{model.adapter}",
        kind="model",
        about=str(model),
        seed=derive(run.plan.seed, "trial", "model", number, *outside),
    )
    enter(
        run,
        verdict,
        number=number,
        iteration=0,
        patch=str(model),
        author=author,
        version=standing.version,
    )
    text = f"{model}: {verdict.ruling} ({verdict.reason})"
    await run.announce("model", text, round=number, about=model.revision)
    return verdict
