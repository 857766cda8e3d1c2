"""A loaded model and the one forward pass that everything else is built from.

At load the batched pass is compared with the library's plain pass: an architecture that it would
answer wrongly for (recurrent state, its own cache) is refused, not served.
"""

import contextlib
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from evener.agents.models.local.attention import ATTENTION, Run, register, shared_runs
from evener.agents.models.local.library import library
from evener.agents.models.local.slot import Geometry, Slots
from evener.protocols.error import ModelError

if TYPE_CHECKING:
    import torch

Dtype: TypeAlias = Literal["float32", "bfloat16", "auto"]

_PLAIN = "eager"


class Weights:
    """A causal language model on one device. Not safe for threads: one worker owns it."""

    def __init__(
        self, folder: Path, tokenizer: Any, *, dtype: Dtype = "float32", device: str = "cpu"
    ) -> None:
        import torch

        transformers = library("transformers")
        register()
        self.device = device
        self._vocabulary = len(tokenizer)
        half = resolve_dtype(dtype, device=device) == "bfloat16"
        self.dtype = torch.bfloat16 if half else torch.float32
        with quiet_bars():
            try:
                self.model: Any = transformers.AutoModelForCausalLM.from_pretrained(
                    str(folder),
                    dtype=self.dtype,
                    attn_implementation=_PLAIN,
                    local_files_only=True,
                )
            except (OSError, ValueError, KeyError, TypeError, RuntimeError) as error:
                if isinstance(error, torch.OutOfMemoryError):
                    raise
                raise ModelError(
                    f"transformers cannot load this model ({_first_line(error)})",
                    where=str(folder),
                ) from error
        self.model.to(device).eval()
        self.window = _window(self.model.config, tokenizer)
        self.ends = _ends(self.model, tokenizer)
        self.geometry = self._prove(folder)

    def forward(
        self,
        slots: Slots,
        first: int,
        ids: "torch.Tensor",
        positions: "torch.Tensor",
        *,
        pad: "torch.Tensor | None" = None,
        runs: Sequence[Run] = (),
        keep: int = 1,
    ) -> "torch.Tensor":
        """Logits [rows, keep, vocabulary] in float32 after each row's last `keep` tokens.

        `ids` and `positions` are [rows, tokens] for the rows from slot `first` on. `pad` marks
        entries that belong to no row, always before a row's own; their position is 0. `runs` are
        rows that begin alike, where the caller knows some.
        """
        import torch

        padding = torch.zeros_like(ids, dtype=torch.bool) if pad is None else pad
        columns = slots.aim(first, positions, padding)
        hidden = torch.arange(columns, device=ids.device) > positions[:, None, :, None]
        mask = torch.zeros(hidden.shape, dtype=self.dtype, device=ids.device)
        with shared_runs(runs):
            output = self.model(
                input_ids=ids,
                attention_mask=mask.masked_fill_(hidden, float("-inf")),
                position_ids=positions,
                past_key_values=slots.cache,
                use_cache=True,
                logits_to_keep=keep,
            )
        logits: torch.Tensor = output.logits.float()
        return logits

    def _prove(self, folder: Path) -> Geometry:
        """Geometry, once a batched pass gives the logits of the library's plain one."""
        import torch

        size = min(8, self.window)
        ids = torch.arange(1, size + 1, device=self.device)[None] % self._vocabulary
        try:
            with torch.inference_mode():
                plain = self.model(input_ids=ids, use_cache=True)
                geometry = self._geometry(plain.past_key_values)
                expected = plain.logits[0, -1].float()
                # bfloat16 differs by a tenth from one attention to another, wrong ones by it all
                bound = 0.001 if self.dtype == torch.float32 else 0.3
                # softcaps and sinks are known to the library's own attention alone
                for attention in (ATTENTION, _PLAIN):
                    self.model.set_attn_implementation(attention)
                    batched = self._in_pieces(geometry, ids)
                    off = float((batched - expected).std() / (expected.std() + 1e-6))
                    if off < bound:
                        return geometry
        except (AttributeError, TypeError, ValueError, RuntimeError, KeyError) as error:
            if isinstance(error, torch.OutOfMemoryError):
                raise
            raise _unsupported(folder, _first_line(error)) from error
        raise _unsupported(folder, f"batched logits are off by {off:.2g} deviations")

    def _geometry(self, cache: Any) -> Geometry:
        layers = [(layer.keys, layer.values) for layer in cache.layers]
        shapes = {tuple(part.shape) for layer in layers for part in layer}
        if len(shapes) != 1:
            raise ValueError("its layers keep keys and values of unequal shapes")
        _, heads, _, width = shapes.pop()
        return Geometry(
            layers=len(layers),
            heads=heads,
            width=width,
            bytes_per_token=2 * len(layers) * heads * width * self.dtype.itemsize,
        )

    def _in_pieces(self, geometry: Geometry, ids: "torch.Tensor") -> "torch.Tensor":
        """The last logits by way of slots: a piece, a padded piece, and one token that shares."""
        import torch

        size = ids.shape[1]
        cut = size // 2
        slots = Slots(geometry, dtype=self.dtype, device=self.device)
        slots.reserve(1, size)
        positions = torch.arange(size, device=self.device)[None]
        self.forward(slots, 0, ids[:, :cut], positions[:, :cut])
        zero = torch.zeros(1, 1, dtype=torch.long, device=self.device)
        rest = torch.cat([zero, ids[:, cut:-1]], dim=1)
        places = torch.cat([zero, positions[:, cut:-1]], dim=1)
        pad = torch.zeros_like(rest, dtype=torch.bool)
        pad[:, 0] = True
        self.forward(slots, 0, rest, places, pad=pad)
        shared = [Run(0, 1, cut)]
        return self.forward(slots, 0, ids[:, -1:], positions[:, -1:], runs=shared)[0, -1]


def resolve_dtype(dtype: Dtype, *, device: str) -> Literal["float32", "bfloat16"]:
    """`auto` is bfloat16 where the hardware computes in it, else float32.

    bfloat16 answers depend on the batch: figures are made in float32 or in fixed batches.
    """
    if dtype != "auto":
        return dtype
    torch = library("torch")
    if device != "cpu":
        return "bfloat16" if torch.cuda.is_bf16_supported() else "float32"
    capable: bool = torch.cpu.get_capabilities().get("avx512_bf16", False)
    return "bfloat16" if capable else "float32"


def load_tokenizer(folder: Path) -> Any:
    """The folder's tokenizer. ModelError where it has none, or no chat template."""
    try:
        tokenizer: Any = library("transformers").AutoTokenizer.from_pretrained(
            str(folder), local_files_only=True
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(
            f"the tokenizer cannot be loaded ({_first_line(error)})", where=str(folder)
        ) from error
    if not tokenizer.chat_template:
        raise ModelError(
            "the tokenizer has no chat template",
            where=str(folder),
            remedy="put the model's template into chat_template.jinja",
        )
    return tokenizer


@contextlib.contextmanager
def quiet_bars() -> Generator[None]:
    """No progress bars of transformers for a while."""
    logging = library("transformers").utils.logging
    shown: bool = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def _window(config: Any, tokenizer: Any) -> int:
    """Tokens that a prompt and its reply may have together.

    A model with sliding layers is used up to its sliding window, where they are full attention.
    """
    text = config.get_text_config(decoder=True)
    bounds = [getattr(text, "max_position_embeddings", None), tokenizer.model_max_length]
    kinds = getattr(text, "layer_types", None)
    if kinds is None or "sliding_attention" in kinds:
        bounds.append(getattr(text, "sliding_window", None))
    return min(int(bound) for bound in bounds if bound)


def _ends(model: Any, tokenizer: Any) -> frozenset[int]:
    """Ids that end a turn."""
    configured: Any = model.generation_config.eos_token_id
    ids: list[int | None] = [tokenizer.eos_token_id]
    ids += configured if isinstance(configured, list) else [configured]
    return frozenset(i for i in ids if i is not None)


def _unsupported(folder: Path, why: str) -> ModelError:
    return ModelError(
        f"this architecture cannot be served in batches here ({why})",
        where=str(folder),
        remedy="serve it with vLLM and give its address",
    )


def _first_line(error: BaseException) -> str:
    text = str(error).strip()
    return text.splitlines()[0][:200] if text else type(error).__name__
