"""What a person names to be compared becomes a harness under a model.

A harness is a YAML file, a name that ships with the environment, or `RUN:VERSION`; a model what
`--model` takes elsewhere, or `RUN:NAME` for one that a run trained. Nothing else is read of a run.
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from evener.agents.pattern.background import published
from evener.agents.record.run import RunFolder
from evener.choose import check_named, choose_harness, choose_model
from evener.config import EnvironmentConfig, RunConfig, StudentConfig, load, of_run, student_named
from evener.protocols.harness import Harness
from evener.protocols.model import ModelRef
from evener.protocols.port import Environment, Model
from evener.protocols.wire import ServeModel
from evener.searched import registry_of
from evener.trained import trained_model


@dataclass(frozen=True, kw_only=True)
class Contender:
    """A harness, the base model it runs on, and the adapter to load first, if there is one. `runs`
    are the run folders that any of it was taken from."""

    label: str
    harness: Harness
    model: Model
    adapter: ServeModel | None = None
    runs: tuple[Path, ...] = ()

    @property
    def ref(self) -> ModelRef:
        """The weights that will answer."""
        return self.adapter.model if self.adapter else self.model.ref


@dataclass(frozen=True, kw_only=True)
class NamedModel:
    """A model by its name: how to load its base, and the adapter on it."""

    student: StudentConfig
    adapter: ServeModel | None = None
    run: Path | None = None


@asynccontextmanager
async def contenders(
    harnesses: tuple[str, str], models: tuple[str, str], *, environment: Environment
) -> AsyncGenerator[tuple[Contender, Contender]]:
    """Both, with their models loaded; one engine where both have one base. Everything that can be
    wrong with a name is said before a model is loaded."""
    actions = (await published(environment)).actions
    found = [named_harness(spec, environment) for spec in harnesses]
    for spec, (harness, _) in zip(harnesses, found, strict=True):
        check_named(spec, harness, actions)
    named = [named_model(spec) for spec in models]
    async with AsyncExitStack() as stack:
        engines: dict[str, Model] = {}
        made: list[Contender] = []
        for spec, (harness, run), model in zip(harnesses, found, named, strict=True):
            key = model.student.digest()
            if key not in engines:
                engines[key] = choose_model(RunConfig(student=model.student))
                stack.push_async_callback(engines[key].close)
            made.append(
                Contender(
                    label=spec,
                    harness=harness,
                    model=engines[key],
                    adapter=model.adapter,
                    runs=tuple(dict.fromkeys(r for r in (run, model.run) if r is not None)),
                )
            )
        yield made[0], made[1]


def named_harness(spec: str, environment: Environment) -> tuple[Harness, Path | None]:
    """The harness, and the run it is a version of."""
    taken = _in_run(spec)
    if taken is None:
        return choose_harness(spec, environment), None
    run, version = taken
    with RunFolder.read(run) as folder:
        registry = registry_of(folder)
        return (registry.head()[1] if version == "HEAD" else registry.get(version)), run


def named_model(spec: str) -> NamedModel:
    """How to load it. Raises ConfigError that names the models of the run."""
    taken = _in_run(spec)
    if taken is None:
        return NamedModel(student=student_named(spec))
    run, name = taken
    with RunFolder.read(run) as folder:
        student = of_run(folder).student
        if name == "base":
            return NamedModel(student=student, run=run)
        adapter = trained_model(folder, name, where=spec)
    return NamedModel(student=student, adapter=adapter, run=run)


def environment_of(given: str | None, specs: Sequence[str]) -> EnvironmentConfig:
    """An environment by its name, or with the settings of a TOML configuration; none given: that
    of the first run among `specs`, or the default."""
    if given is not None:
        path = Path(given)
        return load(path).environment if path.suffix == ".toml" else EnvironmentConfig(name=given)
    for spec in specs:
        taken = _in_run(spec)
        if taken is not None:
            with RunFolder.read(taken[0]) as folder:
                return of_run(folder).environment
    return EnvironmentConfig()


def _in_run(spec: str) -> tuple[Path, str] | None:
    """`RUN:NAME` taken apart; None for a file, a folder, and a name without a colon."""
    run, colon, name = spec.rpartition(":")
    if not colon or not run or Path(spec).exists():
        return None
    return Path(run), name
