"""Names in a configuration become the parts they mean."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from evener.agents.critics.model import ModelCritic
from evener.agents.critics.random import RandomCritic
from evener.agents.critics.rule import RuleCritic
from evener.agents.frozen import FrozenTuner
from evener.agents.gates.paired import SCHEDULES, PairedGate
from evener.agents.gates.paper import PaperGate
from evener.agents.harness.check import check
from evener.agents.harness.load import load
from evener.agents.pattern import Background
from evener.config import RoleModel, RunConfig, StudentConfig
from evener.environments import create
from evener.protocols.digest import JsonObject
from evener.protocols.error import ConfigError, HarnessError, ModelError
from evener.protocols.harness import Harness
from evener.protocols.port import (
    ActionSpec,
    Critic,
    Environment,
    Equipped,
    FineTuner,
    Model,
    Progress,
)
from evener.serve import check_managed, served, weights_folder

if TYPE_CHECKING:
    from evener.distill.outside.secret import Secrets
    from evener.distill.rows.marker import Markers


def choose_environment(config: RunConfig) -> Environment:
    """The environment by its registered name."""
    return create(config.environment.name, **config.environment.settings)


def choose_harness(spec: str, environment: Environment) -> Harness:
    """A YAML file, or a name that ships with the environment. A path wins over a name."""
    path = Path(spec)
    there = path.exists() and not path.is_dir()  # a file, or a pipe
    if path.suffix in (".yaml", ".yml") or there:
        return load(path)
    if isinstance(environment, Equipped):
        return load(environment.harness_path(spec))
    raise ConfigError(
        f"{environment.name} ships no harness",
        where=f"harness {spec!r}",
        remedy=f"give the path of a YAML file in the place of {spec!r}",
    )


def check_named(spec: str, harness: Harness, actions: Sequence[ActionSpec]) -> None:
    """Raises HarnessError for one that does not fit the environment's actions, with its name."""
    try:
        check(harness, actions)
    except HarnessError as error:
        raise HarnessError(
            error.what, where=f"{spec}: {error.where}", remedy=error.remedy
        ) from None


def choose_gate(config: RunConfig) -> PaperGate | PairedGate:
    """The gate with its schedule; `confirm` shares its error over the planned rounds."""
    if config.gate.kind == "paper":
        return PaperGate()
    settings = SCHEDULES[config.gate.schedule]
    return PairedGate(settings.model_copy(update={"rounds": config.plan.rounds}))


def choose_critic(config: RunConfig, background: Background, model: Model | None) -> Critic:
    """Rules that blame, `model` that does, or the control that draws from the same repairs and
    blames nothing."""
    match config.critic.kind:
        case "rule":
            return RuleCritic(background)
        case "random":
            return RandomCritic(background)
        case "model":
            if model is None:
                raise ConfigError("no model to blame with", where="critic", remedy="name one")
            return ModelCritic(model, background)


def check_model(config: RunConfig) -> None:
    """Whether the student's name and those of other roles can mean anything, with nothing fetched
    and nothing loaded. ModelError as from `choose_model`."""
    _check_name(config.student, table="student", rank=config.finetune.rank)
    for table, spec in role_models(config).items():
        if not spec.shared:
            _check_name(spec, table=table)


def role_models(config: RunConfig) -> dict[str, RoleModel]:
    """The models that roles beside the student are given, by their tables."""
    found: dict[str, RoleModel] = {}
    if config.critic.kind == "model":
        found["critic"] = config.critic
    if config.distill is not None and config.distill.reviewer == "model":
        found["distill.reviewer_model"] = config.distill.reviewer_model
    return found


def choose_model(config: RunConfig) -> Model:
    """The student's model: behind an interface where its name is `provider/name`, else in this
    process, fetched and converted first where that is needed."""
    return named_model(
        config.student,
        role="student",
        table="student",
        student=config.student,
        rank=config.finetune.rank,
    )


def named_model(
    spec: StudentConfig | RoleModel,
    *,
    role: str,
    table: str,
    student: StudentConfig,
    rank: int = 1,
) -> Model:
    """The model of a role, by its name in the configuration's `table`. One in this process, or on a
    server of our own, runs as the student's does. ModelError where the name means nothing."""
    from evener.agents.models.local.engine import LocalEngine
    from evener.agents.models.local.resolve import resolve
    from evener.agents.models.remote.provider import near

    on_server = served(spec, table=table, role=role, student=student, rank=rank)
    if on_server is not None:
        return on_server
    if _remote(spec):
        from evener.agents.models.remote.connect import connect

        return connect(
            spec.model, api_base=spec.api_base, role=role, settings=spec.provider, table=table
        )
    try:
        folder = resolve(spec.model)
    except ModelError as error:
        close = near(spec.model)
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


def _check_name(spec: StudentConfig | RoleModel, *, table: str, rank: int = 1) -> None:
    from evener.agents.models.local.resolve import check_name
    from evener.agents.models.remote.connect import check_remote

    if check_managed(spec, table=table, rank=rank):
        return
    if _remote(spec):
        check_remote(spec.model, api_base=spec.api_base, settings=spec.provider, table=table)
    else:
        check_name(spec.model)


def _remote(spec: StudentConfig | RoleModel) -> bool:
    """Whether it is a model behind an interface."""
    from evener.agents.models.remote.provider import is_remote

    return bool(spec.api_base) or is_remote(spec.model)


def check_training(config: RunConfig) -> None:
    """ConfigError for a command of the user's that cannot train, before anything is written."""
    if config.plan.training.method == "external":
        from evener.distill.outside.elsewhere import check_command

        check_command(config.external.command, _secrets(config))


def _secrets(config: RunConfig) -> "Secrets":
    """What no file may hold, whatever the variables of the keys are called."""
    from evener.distill.outside.secret import Secrets

    providers = [config.student.provider, *(spec.provider for spec in role_models(config).values())]
    return Secrets(more=[p.api_key_env for p in providers if p.api_key_env])


def choose_tuner(
    config: RunConfig,
    model: Model,
    *,
    progress: Progress,
    markers: "Callable[[], Markers] | None" = None,
) -> FineTuner:
    """LoRA by TRL and PEFT on the student's own weights, a command of the user's, or none for
    frozen weights. No row in which one of `markers` stands is trained on."""
    method = config.plan.training.method
    if method == "none":
        return FrozenTuner()
    from evener.distill.tuner import TrlFineTuner

    def lora(folder: Path) -> TrlFineTuner:
        return TrlFineTuner(
            folder,
            config.finetune,
            threads=config.student.threads,
            progress=hear,
            markers=markers,
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

    folder = weights_folder(model)
    if method == "external":
        from evener.distill.outside.external import ExternalTuner

        return ExternalTuner(
            config.external,
            config.finetune,
            student=model,
            base=str(folder) if folder else config.student.model.partition("/")[2],
            local=None if folder is None else lora(folder),
            markers=markers,
            say=progress.say,
            secrets=_secrets(config),
        )
    if folder is None:
        raise ConfigError(
            f"the weights of {model.ref} are out of reach",
            where="plan.training.method",
            remedy='set it to "none" or "external", or say in student.vllm.weights what a vLLM '
            "server has",
        )

    return lora(folder)
