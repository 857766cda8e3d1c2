"""Fine-tuning alone: the seed harness stays, and the run's whole effort goes into collecting.

Up to as many rollouts as the run spent on everything, and as many trained tokens, from base, with
no gate: what is reached so needed no search for a harness. Collecting ends early where several
passes in a row over all the tasks that are left solve none of them.
"""

from evener.agents.plan import derive
from evener.agents.rounds.harvest import collect_tasks, harvest
from evener.distill.select import select
from evener.matrix.bench import Bench, Scorer
from evener.matrix.history import History
from evener.matrix.selection import within
from evener.protocols.digest import digest
from evener.protocols.reference import EpisodeRef
from evener.protocols.summary import Arm
from evener.protocols.task import Task
from evener.protocols.trajectory import Outcome, Trajectory
from evener.protocols.wire import ModelTrained, TrainRequest

NAME = "trained_seed"
PATIENCE = 3  # passes over all unsolved tasks: after so many without a solved one more are no use


def skip(history: History) -> str:
    """Only beside a run that trained."""
    if history.config.plan.training.method == "none":
        return "the run trains no weights"
    if not sum(history.trained_tokens.values()):
        return "the run trained on no token, so there is nothing to match"
    return "" if history.rollouts() else "the log does not say what the run spent"


def rollouts(history: History) -> int:
    """As many as the run spent, and two cells."""
    evaluation = history.config.plan.evaluation
    return history.rollouts() + 2 * evaluation.test_tasks + evaluation.ood_tasks


async def run(bench: Bench) -> str:
    """Cells `trained_seed+seed` and `trained_seed+evolved`."""
    history = bench.history
    limit, tokens = history.rollouts(), sum(history.trained_tokens.values())
    async with bench.open() as scorer:
        episodes = await _collect(scorer, history, limit)
        chosen, solved = _choose(scorer, history, episodes, tokens)
        trained = await _train(bench, scorer, chosen)
        arm = Arm(
            name=NAME,
            rollouts=len(episodes),
            rollout_limit=limit,
            trained_tokens=trained.trained_tokens,
            token_limit=tokens,
            note=f"{solved} tasks solved in collection, {len(chosen)} of them trained on"
            + (f"; {PATIENCE} passes in a row solved nothing more" if len(episodes) < limit else "")
            + (f"; no model: {trained.reason}" if trained.model is None else ""),
        )
        if trained.model is not None:
            calls = await scorer.cell(
                f"{NAME}+seed", model=trained.model, harness=history.seed, ood=True
            )
            await scorer.cell(f"{NAME}+evolved", model=trained.model, harness=history.evolved)
            arm = arm.model_copy(update={"calls_per_task": calls})
        scorer.note("arm", arm, same=("name",))
    return (
        f"{arm.rollouts} of {limit} rollouts, {arm.trained_tokens} of {tokens} trained tokens; "
        f"{arm.note}"
    )


async def _collect(scorer: Scorer, history: History, limit: int) -> tuple[EpisodeRef, ...]:
    """The tasks that the run collected on, greedily, then those that are not solved again and
    again, until the rollouts are used, none is left, or they stay unsolved."""
    plan = history.config.plan
    tasks: dict[str, Task] = {}
    for number in history.trained_tokens:
        drawn = collect_tasks(scorer.team.environment, plan, number)
        tasks |= {task.id: task for task in drawn}
    return await harvest(
        scorer.rollouts,
        list(tasks.values()),
        harness=history.seed.digest,
        model=history.base,
        training=plan.training.model_copy(update={"resamples": limit}),
        seed=derive(plan.seed, "arms", NAME),
        limit=limit,
        patience=PATIENCE,
    )


def _choose(
    scorer: Scorer, history: History, episodes: tuple[EpisodeRef, ...], tokens: int
) -> tuple[tuple[str, ...], int]:
    """Digests of the episodes to train on, and how many tasks were solved."""
    solved = [e for e in episodes if e.outcome is Outcome.SOLVED]
    bodies = {e.trajectory: scorer.record.get(Trajectory, e.trajectory) for e in solved}
    digests = {body.id: found for found, body in bodies.items()}
    per_task = history.config.finetune.per_task
    usable = select(list(bodies.values()), per_task=per_task).episodes
    kept = within(usable, tokens=tokens)
    return tuple(digests[body.id] for body in kept), len({e.task for e in solved})


async def _train(bench: Bench, scorer: Scorer, chosen: tuple[str, ...]) -> ModelTrained:
    """The model, trained once for equal episodes."""
    history = bench.history
    request = TrainRequest(
        name=NAME,
        trajectories=chosen,
        serving_harness=history.seed.digest,
        base=history.base,
        seed=derive(history.config.plan.seed, "train", NAME),
    )
    asked = digest(request.document())
    for body in scorer.record.bodies("arm_model"):
        if body["asked"] == asked:
            return ModelTrained.of_log(body)
    bench.parts.progress.stage(f"training {NAME} on {len(chosen)} episodes", total=0)
    trained = await scorer.team.bus.ask("trainer", request, ModelTrained)
    scorer.record.append("arm_model", {"arm": NAME, "asked": asked, **trained.document()})
    if trained.model is not None:
        await scorer.team.serve(NAME)
    return trained
