"""What the training process is told, and what it says: files and lines of JSON."""

from typing import Annotated, Literal, TypeAlias

from pydantic import Field, TypeAdapter

from evener.distill.rows.build import Row
from evener.distill.settings import SftSettings
from evener.protocols.digest import Wire


class TrainSpec(Wire):
    """`model` is the base's folder, `base_name` what the adapter will say it belongs to, `out` the
    folder it goes to; `ends` are the ids that end a turn. With `probe_only` the adapter lies in
    `out` already and nothing is trained."""

    model: str
    base_name: str
    rows: tuple[Row, ...]
    settings: SftSettings
    seed: int
    out: str
    ends: tuple[int, ...]
    threads: int
    device: Literal["auto", "cpu"] = "auto"
    probe_only: bool = False


class Stepped(Wire):
    """One optimiser step; `loss` is the mean over its trained tokens."""

    kind: Literal["step"] = "step"
    step: int
    steps: int
    loss: float
    seconds: float
    cpu_seconds: float


class ProbeReport(Wire):
    """What was found of the saved adapter on a freshly loaded base. `faults` empty: it may serve.

    `distance` is the largest difference of a log-probability between base and adapter on a probe
    prompt; of `asked` prompts `stopped` ended their turn within the limit. With none asked the
    adapter does not fit the model. Losses are None where they are not known.
    """

    tensors: int
    distance: float
    asked: int
    stopped: int
    loss_first: float | None
    loss_last: float | None
    faults: tuple[str, ...]


class Finished(Wire):
    """The adapter lies in `out`. `shared` says whether beginnings were computed once."""

    kind: Literal["finished"] = "finished"
    losses: tuple[float, ...]
    precision: Literal["float32", "bfloat16"]
    device: str
    shared: bool
    seconds: float
    cpu_seconds: float
    versions: dict[str, str]
    probe: ProbeReport


Line: TypeAlias = Annotated[Stepped | Finished, Field(discriminator="kind")]
LINE: TypeAdapter[Line] = TypeAdapter(Line)
