"""The configuration of a run: TOML by hand, JSON by machine, one class for both.

`key=value` overrides use dotted keys; values are read as TOML where they are TOML, else as text.
Secrets come from environment variables only and have no field here.
"""

import difflib
import json
import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, cast, get_args

from pydantic import AfterValidator, Field, ValidationError, field_validator

from evener.agents.models.remote.address import Address
from evener.agents.models.remote.settings import RemoteSettings
from evener.agents.models.vllm.settings import VllmSettings
from evener.agents.plan import Plan
from evener.agents.record.run import RunFolder
from evener.agents.reviewed import MOST_REPLACEMENTS
from evener.distill.settings import ExternalSettings, SftSettings
from evener.protocols.digest import JsonObject, Wire, canonical
from evener.protocols.error import ConfigError, RunError

# what the cells of evener's own are called behind `base+`
RESERVED = ("seed", "evolved", "target", "optimized", "reviewed", "recipe", "random")
RESERVED_NUMBERED = ("evolved_", "reviewed_", "counterfactual_")


def _named(name: str) -> str:
    if not name.strip():
        raise ValueError("an empty name")
    return name


Name: TypeAlias = Annotated[str, AfterValidator(_named)]


class EnvironmentConfig(Wire):
    """Which environment, and its own settings."""

    name: Name = "storefront"
    settings: JsonObject = {}


class StudentConfig(Wire):
    """The model that acts: `embedded`, a folder, a hub id, `vllm/` before one of them, or
    `provider/name`. `threads` None: chosen at start. `api_base` and `provider` are for a model
    behind an interface, `vllm` for one that vLLM serves."""

    model: Name = "embedded"
    api_base: str | None = None
    dtype: Literal["float32", "bfloat16", "auto"] = "float32"
    threads: int | None = Field(default=None, ge=1)
    batch: int = Field(default=32, ge=1)
    concurrency: int = Field(default=64, ge=1)
    provider: RemoteSettings = RemoteSettings()
    vllm: VllmSettings = VllmSettings()


class RoleModel(Wire):
    """The model of a role other than the student's: `student` is the student's own base, any other
    name means what it means for the student."""

    model: Name = "student"
    api_base: str | None = None
    provider: RemoteSettings = RemoteSettings()

    @property
    def shared(self) -> bool:
        """Whether the student's own base plays the role."""
        return self.model == "student" and not self.api_base


class CriticConfig(RoleModel):
    """Who blames: `rule`, a `model`, or the `random` control. `critic = "rule"` is short for
    `critic.kind = "rule"`."""

    kind: Literal["rule", "model", "random"] = "rule"


def student_named(model: str, *, api_base: str | None = None) -> StudentConfig:
    """The student that a command names. Raises ConfigError for an empty name."""
    if not model.strip():
        raise ConfigError(
            "no model is named", where="the command line", remedy="give a folder or a name"
        )
    return StudentConfig(model=model, api_base=api_base)


class HarnessConfig(Wire):
    """Where the harness starts: a name that ships with the environment, or a YAML file.

    `arms` are harnesses that only the sealed test runs, name → name or file.
    """

    start: Name = "seed"
    arms: dict[str, str] = {}

    @field_validator("arms")
    @classmethod
    def _own_names(cls, arms: dict[str, str]) -> dict[str, str]:
        for name in arms:
            taken = name in RESERVED or name.startswith(RESERVED_NUMBERED)
            if taken or not re.fullmatch(r"[a-z0-9][a-z0-9_-]{0,31}", name):
                raise ValueError(
                    f"an arm cannot be called {name!r}: use lower-case letters, digits, - and _, "
                    f"none of {', '.join(RESERVED)}, and not {', '.join(RESERVED_NUMBERED)} at "
                    "its beginning"
                )
        return arms


class GateConfig(Wire):
    """The gate. `schedule` picks the looks of the paired gate."""

    kind: Literal["paired", "paper"] = "paired"
    schedule: Literal["default", "small"] = "default"


class DistillConfig(Wire):
    """Harness-Zero: which harness is taken off (`optimized`), which one stays (`target`), each a
    name that ships, a YAML file or RUN:VERSION, and who reviews.

    `reviewer` says what the student's responses are held against: `own` is its base under
    `optimized`, `recipe` rules, `model` the model of `reviewer_model` reading K, `passthrough`
    nobody. `review = "flagged"` asks only where a hint fires or the mean log-probability of the
    response is under `threshold`, and only while fewer than `most_replaced` responses of the
    episode are the reviewer's. K is `adapted` from `optimized`, `empty`, or a YAML file.
    Recovery is measured on `replicate_tasks` tasks (0: not at all), sampled at `temperature`;
    `control` trains a second student on the action format alone.
    """

    target: Name = "target"
    optimized: Name = "optimized"
    reviewer: Literal["own", "recipe", "model", "passthrough"] = "own"
    review: Literal["always", "flagged"] = "always"
    threshold: float | None = Field(default=None, le=0)
    most_replaced: int | None = Field(default=None, ge=1, lt=MOST_REPLACEMENTS)
    reviewer_model: RoleModel = RoleModel()
    knowledge: Name = "adapted"
    replicate_tasks: int = Field(default=120, ge=0)
    temperature: float = Field(default=0.3, gt=0, le=2)
    control: bool = True


class RunConfig(Wire):
    """Everything that decides a run's result, and so all of it stands in the manifest. With
    `distill` it is one of `evener distill`, which searches for nothing and has no gate."""

    environment: EnvironmentConfig = EnvironmentConfig()
    student: StudentConfig = StudentConfig()
    harness: HarnessConfig = HarnessConfig()
    critic: CriticConfig = CriticConfig()
    gate: GateConfig = GateConfig()
    plan: Plan = Plan()
    finetune: SftSettings = SftSettings()
    external: ExternalSettings = ExternalSettings()
    distill: DistillConfig | None = None

    @field_validator("critic", mode="before")
    @classmethod
    def _short(cls, critic: object) -> object:
        return {"kind": critic} if isinstance(critic, str) else critic


def load(path: Path | None, overrides: Sequence[str] = ()) -> RunConfig:
    """Read a TOML file (none: all defaults) and apply `key=value` overrides.

    Raises ConfigError with the place and the nearest known key.
    """
    data: dict[str, Any] = {}
    where = "the command line"
    if path is not None:
        where = str(path)
        try:
            data = tomllib.loads(path.read_bytes().decode("utf-8-sig"))
        except FileNotFoundError:
            raise ConfigError("no such file", where=where) from None
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"cannot be read ({error})", where=where) from None
        except (ValueError, RecursionError) as error:
            raise ConfigError(f"not TOML: {error}", where=where) from None
    for override in overrides:
        _override(data, override)
    return parse(data, where=where)


def of_run(folder: RunFolder) -> RunConfig:
    """The configuration a run was begun with. Raises RunError where it cannot be read."""
    try:
        return RunConfig.model_validate_json(canonical(folder.manifest.config))
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        if key == "compare":
            raise RunError(
                "this is a folder of evener compare, and no run",
                where=str(folder.path),
                remedy="give the same evener compare command for its result; evener trajectories "
                "reads it",
            ) from None
        if first["type"] == "extra_forbidden":
            raise RunError(
                f"its configuration has {key}, which this evener does not know",
                where=str(folder.path / "manifest.json"),
                remedy="read it with the evener that made it, or begin another run",
            ) from None
        raise RunError(
            f"its configuration cannot be read: {key}: {first['msg']}",
            where=str(folder.path / "manifest.json"),
            remedy="read it with the evener that made it, or restore the file if it was changed",
        ) from None


def parse(data: dict[str, Any], *, where: str) -> RunConfig:
    """Validate plain data. Raises ConfigError for the first thing that is wrong."""
    try:
        return _without_logins(RunConfig.model_validate_json(json.dumps(data)))
    except TypeError as error:
        raise ConfigError(f"holds a value that JSON has not ({error})", where=where) from None
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        remedy = _nearest(key) if first["type"] == "extra_forbidden" else ""
        raise ConfigError(f"{key}: {first['msg']}", where=where, remedy=remedy) from None


def _without_logins(config: RunConfig) -> RunConfig:
    """ModelError for an address with a password in it, used or not: all of this is written down."""
    tables: dict[str, StudentConfig | RoleModel] = {
        "student": config.student,
        "critic": config.critic,
    }
    if config.distill is not None:
        tables["distill.reviewer_model"] = config.distill.reviewer_model
    for table, spec in tables.items():
        if spec.api_base:
            Address.of(spec.api_base, where=f"{table}.api_base")
    return config


def _override(data: dict[str, Any], override: str) -> None:
    key, equals, text = override.partition("=")
    if not equals or not key:
        raise ConfigError(
            f"{override!r} is no key=value", where="the command line", remedy="plan.rounds=1, say"
        )
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except ValueError:
        value = text
    here = data
    *parents, last = key.split(".")
    for parent in parents:
        inner: object = here.setdefault(parent, {})
        if not isinstance(inner, dict):
            raise ConfigError(f"{parent} is not a table", where=override)
        here = cast("dict[str, Any]", inner)
    here[last] = value


def keys(model: type[Wire] = RunConfig, prefix: str = "") -> list[str]:
    """All dotted keys of the configuration."""
    found: list[str] = []
    for name, field in model.model_fields.items():
        # a table, or one that may be left out
        kinds = (field.annotation, *get_args(field.annotation))
        table = next((k for k in kinds if isinstance(k, type) and issubclass(k, Wire)), None)
        if table is not None:
            found += keys(table, f"{prefix}{name}.")
        else:
            found.append(f"{prefix}{name}")
    return found


def _nearest(key: str) -> str:
    near = difflib.get_close_matches(key, keys(), n=1, cutoff=0.4)
    return f"did you mean {near[0]}?" if near else "all keys are in docs/configuration.md"
