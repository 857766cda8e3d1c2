"""What decides a fine-tune besides its data and seed. All of it stands in the manifest."""

import shlex
from typing import Literal, cast

from pydantic import Field, field_validator

from evener.distill.select import Keep
from evener.protocols.digest import Wire

Precision = Literal["auto", "float32", "bfloat16"]


class SftSettings(Wire):
    """Rows, adapter, optimiser and probe.

    `filter` says which episodes are taught: `verified` are the solved ones, `all` the failed as
    well. `per_task` bounds the runs kept of one task, `max_tokens` a row's length; a longer row is
    cut after its last whole reply that fits, or with `overlong = "refuse"` left out. With
    `mask = "template"` every row's mask must also be the one that the chat template's generation
    marks give; with `mask = "format"` only what makes a call well formed carries the loss, not the
    tool, its arguments or their values. `precision` is that of the frozen base during training (the
    adapter stays in float32); `auto` takes bfloat16 where the hardware computes in it.
    `probe_tokens` bounds a probe's reply: the new student must end its turn within it.
    """

    filter: Keep = "verified"
    per_task: int = Field(default=1, ge=1)
    min_rows: int = Field(default=8, ge=1)
    max_tokens: int = Field(default=2048, ge=8)
    overlong: Literal["cut", "refuse"] = "cut"
    mask: Literal["spans", "template", "format"] = "spans"

    rank: int = Field(default=16, ge=1)
    alpha: int = Field(default=32, ge=1)
    learning_rate: float = Field(default=1e-3, gt=0)
    warmup_steps: int = Field(default=3, ge=0)
    batch_rows: int = Field(default=8, ge=1)
    epochs: int = Field(default=2, ge=1)
    precision: Precision = "auto"
    pass_tokens: int = Field(default=4096, ge=64)

    probe_prompts: int = Field(default=3, ge=1)
    probe_tokens: int = Field(default=96, ge=1)


class ExternalSettings(Wire):
    """A trainer outside: `command` is run without a shell, a text split as a shell would. In it
    `{rows}`, `{out}`, `{base}` and `{seed}` stand for the file of rows, the folder to write to, the
    base model and the seed. After `time_limit_s` seconds it is ended."""

    command: tuple[str, ...] = ()
    time_limit_s: float = Field(default=86_400.0, gt=0, le=30 * 86_400)

    @field_validator("command", mode="before")
    @classmethod
    def _split(cls, command: object) -> object:
        parts = shlex.split(command) if isinstance(command, str) else command
        # strict: what a validator hands on is no JSON any more
        return tuple(cast("list[object]", parts)) if isinstance(parts, list) else parts
