"""The weights' half of a round: collect accepted runs, fine-tune, try the new model, serve it.

A new model is tried under the harness that will serve it, the one its rows were rendered with.
If the gate does not accept it, the old model stays.
"""

from evener.agents.harvest import harvest
from evener.agents.plan import derive
from evener.agents.run import Run, Standing
from evener.protocols.model import ModelRef
from evener.protocols.task import Split
from evener.protocols.verdict import Ruling
from evener.protocols.wire import (
    ModelServed,
    ModelTrained,
    ServeModel,
    TrainRequest,
    TrialFinished,
    TrialRequest,
)


async def learn(
    run: Run, number: int, standing: Standing, *, base: ModelRef
) -> tuple[Standing, ModelRef | None]:
    """Where things stand after training, and the model that was trained, accepted or not."""
    run.meter.check()
    plan = run.plan
    tasks = run.environment.tasks(
        Split.MINE,
        count=plan.training.collect_tasks,
        seed=derive(plan.seed, "collect", number),
    )
    episodes = await harvest(
        run.rollouts,
        tasks,
        harness=standing.harness,
        model=standing.model,
        training=plan.training,
        seed=derive(plan.seed, "collect", number),
    )
    run.progress.stage("training", total=0)
    trained = await run.peer.ask(
        "trainer",
        TrainRequest(
            name=f"m{number}",
            trajectories=tuple(episode.trajectory for episode in episodes),
            serving_harness=standing.harness,
            base=base,
            seed=derive(plan.seed, "train", number),
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
    accepted = await _try(run, number, standing, trained.model)
    if accepted:
        standing = Standing(version=standing.version, harness=standing.harness, model=trained.model)
    return standing, trained.model


async def _try(run: Run, number: int, standing: Standing, model: ModelRef) -> bool:
    run.progress.stage(f"trial of {model}", total=0)
    answer = await run.peer.ask(
        "validator",
        TrialRequest(
            trial=f"{number}-model-{model.adapter}",
            kind="model",
            before_harness=standing.harness,
            after_harness=standing.harness,
            before_model=standing.model,
            after_model=model,
            rollout_limit=run.plan.trials.rollouts,
            seed=derive(run.plan.seed, "trial", "model", number),
            temperature=run.plan.trials.temperature,
        ),
        TrialFinished,
    )
    verdict = answer.verdict
    run.meter.add(
        rollouts=verdict.rollouts + verdict.reused,
        calls=verdict.calls,
        completion_tokens=verdict.completion_tokens,
    )
    run.record(
        "verdict",
        {
            "round": number,
            "iteration": 0,
            "patch": str(model),
            "author": "trainer",
            "version": standing.version,
            "verdict": run.store.put(verdict),
        },
    )
    text = f"{model}: {verdict.ruling} ({verdict.reason})"
    await run.announce("model", text, round=number, about=model.revision)
    return verdict.ruling is Ruling.ACCEPT
