"""How a vLLM server is started and watched, and which weights one that runs already serves."""

from typing import ClassVar, Literal, TypeAlias

from pydantic import Field, field_validator

from evener.protocols.digest import Wire

RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)
"""The values of `--max-lora-rank` that vLLM takes."""

Dtype: TypeAlias = Literal["float32", "bfloat16", "auto"]


class VllmSettings(Wire):
    """Settings of a student that vLLM serves.

    `python` is the interpreter that has vLLM (None: `EVENER_VLLM_PYTHON`, else this one). A server
    has `start_s` seconds to load, counts as hung where it answers nothing and computes nothing for
    `silence_s`, and is started again at most `restarts` times. `max_model_len` None is the model's
    own window. `cache_gib` is the memory for what it has read (None: with a GPU what vLLM finds
    free, else 2). `adapters` is how many are loaded at once; others are loaded again when they are
    asked. `max_lora_rank` None has room for what is trained here. `arguments` go to the server as
    they are. `weights` says which weights a server at `api_base` has, as `student.model` would, so
    that they can be trained.
    """

    OURS: ClassVar[tuple[str, ...]] = (
        "--model",
        "--served-model-name",
        "--host",
        "--port",
        "--uds",
        "--api-key",
        "--dtype",
        "--max-model-len",
        "--enable-lora",
        "--no-enable-lora",
        "--max-lora-rank",
        "--max-loras",
        "--max-cpu-loras",
        "--chat-template",
        "--root-path",
        "--kv-cache-memory-bytes",
        "--config",
    )
    """What evener says itself."""

    python: str | None = None
    max_model_len: int | None = Field(default=None, ge=64)
    cache_gib: float | None = Field(default=None, gt=0)
    adapters: int = Field(default=2, ge=1)
    max_lora_rank: int | None = Field(default=None, ge=1, le=RANKS[-1])
    arguments: tuple[str, ...] = ()
    start_s: float = Field(default=900.0, gt=0, le=86_400)
    silence_s: float = Field(default=300.0, gt=0, le=86_400)
    restarts: int = Field(default=5, ge=0)
    weights: str | None = None

    @field_validator("arguments")
    @classmethod
    def _not_ours(cls, arguments: tuple[str, ...]) -> tuple[str, ...]:
        for argument in arguments:
            # vLLM takes `_` for `-`, and a beginning that only one option has
            name = argument.partition("=")[0].replace("_", "-")
            ours = any(option.startswith(name) for option in cls.OURS)
            if name.startswith("--") and len(name) > 4 and ours:
                raise ValueError(
                    f"{argument} is said by evener itself: leave it out (its value follows from "
                    "the other keys of [student] and [student.vllm])"
                )
        return arguments

    def rank(self, trained: int) -> int:
        """The largest rank that the server is to take, where `trained` is that of adapters made
        here: the next one that vLLM has. ValueError where it has none."""
        wanted = max(trained, self.max_lora_rank or 0)
        for rank in RANKS:
            if rank >= wanted:
                return rank
        raise ValueError(f"vLLM serves adapters up to rank {RANKS[-1]}, not {wanted}")
