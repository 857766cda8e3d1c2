"""What a finished run did, as its log tells it: the standings it went through, what it spent."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from evener.agents.record.log import latest
from evener.agents.record.run import RunFolder
from evener.agents.record.store import Record
from evener.agents.run import Standing
from evener.config import RunConfig, of_run
from evener.protocols.digest import JsonObject
from evener.protocols.error import RunError
from evener.protocols.model import ModelRef
from evener.protocols.trajectory import Trajectory
from evener.protocols.wire import StartRun


class Version(NamedTuple):
    """A harness by its store digest, and what people call it."""

    digest: str
    label: str


class Spent(NamedTuple):
    """What one stage of one round took."""

    round: int
    stage: str
    rollouts: int


@dataclass(frozen=True, kw_only=True)
class History:
    """`models` are those in force after each round (`base`, `trained_1` …); `searched` the harness
    of each round as its search left it, `ended` as its end left it; `trained_tokens` by round that
    trained; `calls` are model calls a task of each cell on `test`."""

    config: RunConfig
    state: Literal["finished", "budget"]
    base: ModelRef
    seed: Version
    last: Standing
    models: Mapping[str, ModelRef]
    searched: Mapping[int, Version]
    ended: Mapping[int, Version]
    spent: tuple[Spent, ...]
    trained_tokens: Mapping[int, int]
    calls: Mapping[str, float]

    @classmethod
    def read(cls, run: Path) -> "History":
        """Raises RunError for a run that is not over."""
        with RunFolder.read(run) as folder:
            record = folder.record
            ends = list(record.bodies("ended"))
            if not ends:
                raise RunError(
                    "the run is not over, so there is nothing to put arms beside",
                    where=str(run),
                    remedy="go on with it first",
                )
            start = _start(record)
            states = [s.state for s in folder.sessions() if s.state in ("finished", "budget")]
            rounds = _by_round(record.bodies("round_end"))
            return cls(
                config=of_run(folder),
                state="budget" if states[-1:] == ["budget"] else "finished",
                base=start.model,
                seed=Version(start.harness, "v0"),
                last=_standing({**ends[-1]}),
                models=_models(start.model, rounds),
                searched=_versions(_by_round(record.bodies("searched"))),
                ended=_versions(rounds),
                spent=_spent(record.bodies("spent")),
                trained_tokens={
                    number: _int(body["trained_tokens"])
                    for number, body in _by_round(record.bodies("trained")).items()
                },
                calls=calls_by_cell(record),
            )

    @property
    def harnesses(self) -> dict[str, Version]:
        """`seed`, `evolved_1` … as each search left them; `kept_1` … where the round's end left
        another one in force; `evolved` for the last one if it is none of these. Each once."""
        named: dict[str, Version] = {"seed": self.seed}

        def add(name: str, version: Version) -> None:
            if version.digest not in {known.digest for known in named.values()}:
                named[name] = version

        for number, version in self.searched.items():
            add(f"evolved_{number}", version)
        for number, version in self.ended.items():
            if version.digest != self.last.harness:
                add(f"kept_{number}", version)
        add("evolved", Version(self.last.harness, self.last.version))
        return named

    @property
    def evolved(self) -> Version:
        """The harness in force at the end."""
        return Version(self.last.harness, self.last.version)

    @property
    def deployed(self) -> str:
        """The cell that the run's gain is claimed for."""
        return "trained+evolved" if "trained+evolved" in self.calls else "base+evolved"

    def rollouts(self, *stages: str, rounds: Iterable[int] | None = None) -> int:
        """Episodes that the run spent on stages (all of them) of rounds (all of them)."""
        chosen = None if rounds is None else set(rounds)
        return sum(
            one.rollouts
            for one in self.spent
            if (not stages or one.stage in stages) and (chosen is None or one.round in chosen)
        )


def _start(record: Record) -> StartRun:
    for body in record.bodies("message"):
        if body["type"] == "StartRun":
            return StartRun.model_validate(body["body"])
    raise RunError("damaged: the log does not say how it began", where=str(record.database.path))


def _by_round(bodies: Iterable[JsonObject]) -> dict[int, JsonObject]:
    return dict(sorted((_int(body["round"]), body) for body in latest(bodies, "round")))


def _standing(body: JsonObject) -> Standing:
    return Standing.model_validate({key: body[key] for key in Standing.model_fields})


def _versions(rounds: Mapping[int, JsonObject]) -> dict[int, Version]:
    return {
        number: Version(str(body["harness"]), str(body["version"]))
        for number, body in rounds.items()
    }


def _models(base: ModelRef, rounds: Mapping[int, JsonObject]) -> dict[str, ModelRef]:
    models = {"base": base}
    for number, body in rounds.items():
        model = ModelRef.model_validate(body["model"])
        if model not in models.values():
            models[f"trained_{number}"] = model
    return models


def _spent(bodies: Iterable[JsonObject]) -> tuple[Spent, ...]:
    return tuple(
        Spent(_int(body["round"]), str(body["stage"]), _int(body["rollouts"]))
        for body in latest(bodies, "round", "stage")
    )


def calls_by_cell(record: Record) -> dict[str, float]:
    """Model calls a task of each cell on `test`, cached ones included."""
    found: dict[str, float] = {}
    for body in record.bodies("cell"):
        digests = body["episodes"]
        if body["split"] == "test" and "spent" not in body and isinstance(digests, list):
            usages = [record.get(Trajectory, str(digest)).usage for digest in digests]
            calls = sum(usage.made for usage in usages)
            found[str(body["name"])] = calls / max(1, len(usages))
    return found


def _int(value: object) -> int:
    assert isinstance(value, int)
    return value
