"""What a plan will cost at most, said before it starts."""

from evener.agents.plan import Plan
from evener.config import DistillConfig
from evener.protocols.digest import Wire


class Stage(Wire):
    """At most so many episodes in one kind of stage."""

    name: str
    rollouts: int


class Estimate(Wire):
    """Upper bounds in episodes. CPU-seconds only for the embedded student, where they were
    measured: `per_episode` and `per_row` on one core."""

    stages: tuple[Stage, ...]
    rollouts: int
    training_rows: int
    cpu_seconds: float | None

    def sentence(self) -> str:
        """One line for a person."""
        parts = ", ".join(f"{s.name} {s.rollouts}" for s in self.stages)
        cost = f", about {self.cpu_seconds:.0f} CPU-seconds" if self.cpu_seconds else ""
        rows = f" and training on up to {self.training_rows} rows" if self.training_rows else ""
        return f"estimate: at most {self.rollouts} episodes ({parts}){rows}{cost}"


def estimate(
    plan: Plan, *, arms: int, per_episode: float | None = None, per_row: float = 0.0
) -> Estimate:
    """Bounds for a plan with `arms` extra harnesses in the sealed test."""
    search, training, trials = plan.search, plan.training, plan.trials
    trained = training.method != "none"
    rounds = plan.rounds
    tried = search.iterations + int(trials.confirm and search.iterations > 0) + int(trained)
    # with the same weights throughout there is something to take out after two idle rounds
    lightened = (rounds if trained else rounds - 1) if search.lighter else 0
    ranked = 2 * search.race_tasks * (1 + search.proposals)
    collect = training.collect_tasks * (1 + training.resamples) if trained else 0
    cells = 2 + arms + (2 if trained else 0)
    stages = (
        Stage(name="mining", rollouts=rounds * (1 + search.iterations) * search.mine_tasks),
        Stage(
            name="racing",
            rollouts=rounds * search.iterations * max(search.race_rollouts, search.proposals),
        ),
        Stage(
            name="gate",
            rollouts=rounds * tried * trials.rollouts,
        ),
        Stage(
            name="lighter harnesses",
            rollouts=lightened * (ranked + search.lighter * trials.rollouts),
        ),
        Stage(name="later looks", rollouts=rounds * 2 * trials.watch),
        Stage(name="collecting", rollouts=rounds * collect),
        Stage(
            name="sealed test",
            rollouts=cells * (plan.evaluation.test_tasks + plan.evaluation.ood_tasks),
        ),
    )
    used = tuple(stage for stage in stages if stage.rollouts)
    total = sum(stage.rollouts for stage in stages)
    rows = rounds * training.collect_tasks if trained else 0
    cost = None if per_episode is None else total * per_episode + rows * per_row
    return Estimate(stages=used, rollouts=total, training_rows=rows, cpu_seconds=cost)


def distillation(plan: Plan, settings: DistillConfig, *, arms: int) -> Estimate:
    """Bounds for a distillation with `arms` extra harnesses in the sealed test. What reviewing
    takes comes on top of the episodes; it is said in the report."""
    control = int(settings.control)
    collect = plan.training.collect_tasks * (1 + plan.training.resamples)
    cells = 4 + arms + control
    stages = (
        Stage(name="replicates", rollouts=settings.replicate_tasks * (5 + control)),
        Stage(name="collecting under review", rollouts=collect),
        Stage(
            name="sealed test",
            rollouts=cells * (plan.evaluation.test_tasks + plan.evaluation.ood_tasks),
        ),
    )
    used = tuple(stage for stage in stages if stage.rollouts)
    return Estimate(
        stages=used,
        rollouts=sum(stage.rollouts for stage in stages),
        training_rows=plan.training.collect_tasks * (1 + control),
        cpu_seconds=None,
    )
