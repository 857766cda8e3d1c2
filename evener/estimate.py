"""What a plan will cost at most, said before it starts."""

from evener.agents.harness.context import characters
from evener.agents.harness.observation import CHARACTERS_A_TOKEN
from evener.agents.harness.render import opening
from evener.agents.models.remote.price import Price
from evener.agents.models.remote.provider import is_remote
from evener.agents.models.vllm.name import is_managed
from evener.agents.plan import Plan
from evener.choose import choose_environment, choose_harness
from evener.config import DistillConfig, RunConfig
from evener.protocols.digest import Wire
from evener.protocols.harness import Harness


class Stage(Wire):
    """At most so many episodes in one kind of stage."""

    name: str
    rollouts: int


class PerEpisode(Wire):
    """The most calls of one episode, and the most tokens that these read and write."""

    calls: int
    read: int
    written: int


class Estimate(Wire):
    """Upper bounds in episodes. CPU-seconds only for the embedded student, where they were
    measured: `per_episode` and `per_row` on one core. Calls, tokens read and written, and money
    where the prices are given, only for a student behind an interface or on a vLLM server."""

    stages: tuple[Stage, ...]
    rollouts: int
    training_rows: int
    cpu_seconds: float | None
    calls: int | None = None
    read: int | None = None
    written: int | None = None
    usd: float | None = None

    def sentence(self) -> str:
        """One line for a person."""
        parts = ", ".join(f"{s.name} {s.rollouts}" for s in self.stages)
        cost = f", about {self.cpu_seconds:.0f} CPU-seconds" if self.cpu_seconds else ""
        rows = f" and training on up to {self.training_rows} rows" if self.training_rows else ""
        if self.calls is not None and self.read is not None and self.written is not None:
            price = f", {self.usd:,.2f} USD" if self.usd is not None else ""
            tokens = (
                f"{self.read / 1e6:,.1f} million tokens read, {self.written / 1e6:,.1f} written"
            )
            cost = f", {self.calls:,} calls, {tokens}{price}"
        return f"estimate: at most {self.rollouts} episodes ({parts}){rows}{cost}"

    def behind(self, config: RunConfig) -> "Estimate":
        """The same in calls, tokens and money, where the student is behind an interface or on a
        vLLM server."""
        student = config.student
        if not student.api_base and not is_remote(student.model) and not is_managed(student.model):
            return self
        environment = choose_environment(config)
        specs = (config.harness.start, *config.harness.arms.values())
        each = [episode(choose_harness(spec, environment), config.plan) for spec in specs]
        calls = self.rollouts * max(one.calls for one in each)
        read = self.rollouts * max(one.read for one in each)
        written = self.rollouts * max(one.written for one in each)
        usd = Price(student.provider.price_in, student.provider.price_out).of(read, written)
        return self.model_copy(
            update={"calls": calls, "read": read, "written": written, "usd": usd}
        )


def episode(harness: Harness, plan: Plan) -> PerEpisode:
    """Bounds for one episode under a harness that grows as far as the plan lets it. Tokens are
    estimated from characters."""
    loop, context = harness.middleware.loop, harness.middleware.context
    calls = loop.max_turns * loop.votes
    shown = sum(map(characters, opening(harness, ""))) + plan.search.growth
    told = context.keep_tokens
    if context.policy == "all":
        told = loop.max_turns * (loop.max_reply_tokens + context.tool_output_tokens)
    each = -(-shown // CHARACTERS_A_TOKEN) + told
    return PerEpisode(calls=calls, read=calls * each, written=calls * loop.max_reply_tokens)


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
