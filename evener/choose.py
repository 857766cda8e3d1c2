"""Names in a configuration become the parts they mean."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from evener.agents.critics.random import RandomCritic
from evener.agents.critics.rule import RuleCritic
from evener.agents.frozen import FrozenTuner
from evener.agents.gates.paired import SCHEDULES, PairedGate
from evener.agents.gates.paper import PaperGate
from evener.agents.harness.load import load
from evener.agents.pattern import Background
from evener.config import RunConfig
from evener.environments import create
from evener.protocols.digest import JsonObject
from evener.protocols.error import ConfigError, ModelError
from evener.protocols.harness import Harness
from evener.protocols.port import Critic, Environment, Equipped, FineTuner, Model, Progress

if TYPE_CHECKING:
    from evener.distill.marker import Markers


def choose_environment(config: RunConfig) -> Environment:
    """The environment by its registered name."""
    return create(config.environment.name, **config.environment.settings)


def choose_harness(spec: str, environment: Environment) -> Harness:
    """A YAML file, or a name that ships with the environment. A path wins over a name."""
    path = Path(spec)
    if path.suffix in (".yaml", ".yml") or path.is_file():
        return load(path)
    if isinstance(environment, Equipped):
        return load(environment.harness_path(spec))
    raise ConfigError(
        f"{environment.name} ships no harness",
        where=f"harness {spec!r}",
        remedy="give the path of a YAML file",
    )


def choose_gate(config: RunConfig) -> PaperGate | PairedGate:
    """The gate with its schedule; `confirm` shares its error over the planned rounds."""
    if config.gate.kind == "paper":
        return PaperGate()
    settings = SCHEDULES[config.gate.schedule]
    return PairedGate(settings.model_copy(update={"rounds": config.plan.rounds}))


def choose_critic(config: RunConfig, background: Background) -> Critic:
    """Rules that blame, or the control that draws from the same repairs and blames nothing."""
    return RandomCritic(background) if config.critic == "random" else RuleCritic(background)


def check_model(config: RunConfig) -> None:
    """Whether the student's name can mean anything, with nothing fetched and nothing loaded.
    ModelError as from `choose_model`."""
    from evener.agents.models.local.resolve import check_name
    from evener.agents.models.remote.connect import check_remote

    student = config.student
    if _remote(config):
        check_remote(student.model, api_base=student.api_base, settings=student.provider)
    else:
        check_name(student.model)


def choose_model(config: RunConfig) -> Model:
    """The student's model: behind an interface where its name is `provider/name`, else in this
    process, fetched and converted first where that is needed."""
    from evener.agents.models.local.engine import LocalEngine
    from evener.agents.models.local.resolve import resolve
    from evener.agents.models.remote.provider import near

    student = config.student
    if _remote(config):
        from evener.agents.models.remote.connect import connect

        return connect(student.model, api_base=student.api_base, settings=student.provider)
    try:
        folder = resolve(student.model)
    except ModelError as error:
        close = near(student.model)
        if not close:
            raise
        remedy = f"{error.remedy}; or did you mean {' or '.join(close)}?"
        raise ModelError(error.what, where=error.where, remedy=remedy) from None
    return LocalEngine(
        folder,
        dtype=student.dtype,
        threads=student.threads,
        max_batch=student.batch,
    )


def _remote(config: RunConfig) -> bool:
    """Whether the student is a model behind an interface."""
    from evener.agents.models.remote.provider import is_remote

    return bool(config.student.api_base) or is_remote(config.student.model)


def choose_tuner(
    config: RunConfig,
    model: Model,
    *,
    progress: Progress,
    markers: "Callable[[], Markers] | None" = None,
) -> FineTuner:
    """LoRA by TRL and PEFT on the student's own weights, or none for frozen ones. No row in which
    one of `markers` stands is trained on."""
    if config.plan.training.method == "none":
        return FrozenTuner()
    from evener.agents.models.local.engine import LocalEngine
    from evener.distill.tuner import TrlFineTuner

    if not isinstance(model, LocalEngine):
        raise ConfigError(
            f"the weights of {model.ref} are out of reach",
            where="plan.training.method",
            remedy='set it to "none"',
        )

    def hear(line: JsonObject) -> None:
        match line.get("kind"):
            case "step":
                progress.advance()
            case "rows":
                progress.stage(f"training on {line['rows']} rows, steps done", total=0)
                if line.get("warning"):
                    progress.say(str(line["warning"]))
            case _:
                pass

    return TrlFineTuner(
        model.folder,
        config.finetune,
        threads=config.student.threads,
        progress=hear,
        markers=markers,
    )
