"""Can a server take this adapter? All that speaks against it is said at once, and nothing is sent.

The base is drawn from its configuration without weights, so that the check costs no memory.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evener.agents.models.local.adapter import CONFIG, check_adapter
from evener.agents.models.local.library import library
from evener.agents.models.local.weights import quiet_bars
from evener.protocols.error import ModelError


class Preflight:
    """The pre-flight check of one base model: `folder` holds it (None: it is not known here),
    `names` are those that its adapters may carry, `rank` is the most that the server takes."""

    def __init__(self, folder: Path | None, *, names: Sequence[str], rank: int | None) -> None:
        self._folder = folder
        self._names = tuple(names)
        self._rank = rank
        self._skeleton: Any = None

    def check(self, adapter: Path) -> None:
        """ModelError that lists every fault of the adapter in this folder."""
        faults = check_adapter(self._model(), adapter, base_names=self._names)
        faults += self._unserved(adapter)
        if faults:
            raise refused(adapter, faults)

    def _unserved(self, adapter: Path) -> list[str]:
        """What vLLM does not serve, although PEFT does."""
        try:
            config: dict[str, Any] = json.loads((adapter / CONFIG).read_text("utf-8"))
        except (OSError, ValueError):
            return []
        faults: list[str] = []
        rank = config.get("r")
        if self._rank is not None and isinstance(rank, int) and rank > self._rank:
            faults.append(
                f"its rank is {rank} and the server takes {self._rank} "
                f"(student.vllm.max_lora_rank = {rank} makes room)"
            )
        if config.get("use_dora"):
            faults.append("it is a DoRA, which vLLM does not serve")
        for key in ("rank_pattern", "alpha_pattern"):
            if config.get(key):
                faults.append(f"its modules differ in rank or scale ({key}), which vLLM ignores")
        return faults

    def _model(self) -> Any:
        if self._folder is None:
            return None
        if self._skeleton is None:
            torch, transformers = library("torch"), library("transformers")
            try:
                with quiet_bars(), torch.device("meta"):
                    config = transformers.AutoConfig.from_pretrained(
                        str(self._folder), local_files_only=True
                    )
                    self._skeleton = transformers.AutoModelForCausalLM.from_config(config)
            except (OSError, ValueError, KeyError, TypeError, RuntimeError) as error:
                raise ModelError(
                    f"transformers cannot draw this model ({str(error).splitlines()[0][:200]})",
                    where=str(self._folder),
                ) from error
        return self._skeleton


def refused(folder: Path, faults: Sequence[str]) -> ModelError:
    """One line for all faults."""
    return ModelError(
        "the adapter is refused: " + "; ".join(faults),
        where=str(folder),
        remedy="train it again on the model that serves it",
    )
