"""LoRA adapters beside the base: checked before they answer, switched without a reload.

An adapter that applies to nothing answers like the base, and the comparison of the two then says
that training does not help. Such a one is refused, and so is every other clash, all in one line.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evener.agents.models.local.folder import safetensors_fault
from evener.agents.models.local.library import library
from evener.agents.models.local.merge import Merged
from evener.agents.models.local.weights import Weights
from evener.agents.record.beside import file_sha256
from evener.protocols.digest import JsonObject, digest
from evener.protocols.error import ModelError
from evener.protocols.model import ModelRef

if TYPE_CHECKING:
    import torch

CONFIG = "adapter_config.json"
TENSORS = "adapter_model.safetensors"
_PREFIX = "base_model.model."
_PARTS = {"lora_A": "in_features", "lora_B": "out_features"}


class Adapters:
    """The adapters of one loaded base model. `base_names` are the names its adapters may carry."""

    def __init__(self, weights: Weights, base: ModelRef, *, base_names: Sequence[str]) -> None:
        self.weights = weights
        self._base = base
        self._base_names = tuple(base_names)
        self._names: dict[str, str] = {}
        self._loads = 0
        self._peft: Any = None
        self._merged: Merged | None = None
        self._active = base

    def load(self, name: str, folder: Path) -> ModelRef:
        """Check and load the adapter in `folder`. ModelError lists all that is wrong with it.

        Loading equal content again gives the same ref. The weights in force do not change.
        """
        faults = check_adapter(self.weights.model, folder, base_names=self._base_names)
        if faults:
            raise _refused(folder, faults)
        ref = adapter_ref(self._base, name, folder)
        if ref.revision in self._names:
            return ref
        self._loads += 1
        inner = f"adapter_{self._loads}"
        active = self._active
        try:
            self._inject(inner, folder)
            self._names[ref.revision] = inner
            if not self._differs(ref):
                del self._names[ref.revision]
                raise _refused(folder, ["its log-probabilities are the base model's"])
        except (ValueError, KeyError, RuntimeError, TypeError) as error:
            raise _refused(folder, [str(error).splitlines()[0][:200]]) from error
        finally:
            self.activate(active)
        return ref

    def knows(self, ref: ModelRef) -> bool:
        """Whether `ref` can be put in force."""
        return ref == self._base or ref.revision in self._names

    def activate(self, ref: ModelRef) -> None:
        """Put the base or a loaded adapter in force for the next forward pass."""
        self._active = ref
        if self._peft is None:
            return
        if self._merged is not None:
            # before the layers are switched off: PEFT would unmerge by subtraction
            self._merged.take_out()
        if ref == self._base:
            self._peft.base_model.disable_adapter_layers()
            return
        name = self._names[ref.revision]
        self._peft.base_model.enable_adapter_layers()
        self._peft.set_adapter(name)
        # set_adapter marks the weights as trainable
        self._peft.requires_grad_(False)
        if self._merged is None or self._merged.name != name:
            self._merged = None
            self._merged = Merged(self._peft, name)
        self._merged.put_in()

    def _inject(self, inner: str, folder: Path) -> None:
        peft = library("peft")
        settings = peft.LoraConfig.from_pretrained(str(folder))
        settings.inference_mode = True
        if self._peft is None:
            # kept before its tensors are read: when they do not fit it can be switched off
            self._peft = peft.PeftModel(
                self.weights.model, settings, inner, autocast_adapter_dtype=False
            )
        else:
            self._peft.add_adapter(inner, settings, autocast_adapter_dtype=False)
        tensors = library("safetensors.torch").load_file(folder / TENSORS)
        peft.set_peft_model_state_dict(self._peft, tensors, adapter_name=inner)
        self._peft.to(self.weights.device, self.weights.dtype).eval()

    def _differs(self, ref: ModelRef) -> bool:
        """Whether base and adapter give different log-probabilities on a probe."""
        torch = library("torch")
        ids = torch.arange(1, 9, device=self.weights.device)[None]
        with torch.inference_mode():
            self.activate(self._base)
            base = self.weights.model(input_ids=ids).logits
            self.activate(ref)
            adapted = self.weights.model(input_ids=ids).logits
        return bool((base != adapted).any())


def adapter_ref(base: ModelRef, name: str, folder: Path) -> ModelRef:
    """The name of `base` with the adapter in `folder`; the revision covers settings and tensors.

    The name that the settings give the base is left out: the base counts by its own revision.
    """
    settings: JsonObject = json.loads((folder / CONFIG).read_text("utf-8"))
    settings.pop("base_model_name_or_path", None)
    tensors = file_sha256(folder / TENSORS)
    revision = digest({"base": base.revision, "settings": settings, "tensors": tensors})
    return ModelRef(base=base.base, adapter=name, revision=revision)


def check_adapter(model: Any | None, folder: Path, *, base_names: Sequence[str]) -> list[str]:
    """All that keeps the adapter in `folder` from being served on `model`; empty where nothing.
    Without a model its tensors are not compared with one."""
    try:
        config: dict[str, Any] = json.loads((folder / CONFIG).read_text("utf-8"))
    except (OSError, ValueError):
        return [f"{CONFIG} is missing or is not JSON"]
    faults: list[str] = []
    kind = config.get("peft_type")
    if kind != "LORA":
        faults.append(f"peft_type is {kind!r}, only LORA is served")
    trained_on = str(config.get("base_model_name_or_path") or "")
    if trained_on not in base_names and Path(trained_on).name not in base_names:
        faults.append(f"its base is {trained_on!r}, the model served is {base_names[0]!r}")
    if config.get("modules_to_save"):
        faults.append(f"it replaces whole modules ({config['modules_to_save']})")
    if config.get("bias", "none") != "none":
        faults.append(f"it changes biases (bias={config['bias']!r})")
    if config.get("lora_bias"):
        faults.append("it has biases of its own (lora_bias)")
    broken = safetensors_fault(folder / TENSORS)
    if broken:
        return [*faults, broken]
    tensors: dict[str, torch.Tensor] = library("safetensors.torch").load_file(folder / TENSORS)
    return faults + _tensor_faults(model, tensors)


def _tensor_faults(model: Any | None, tensors: "dict[str, torch.Tensor]") -> list[str]:
    lora = {name: tensor for name, tensor in tensors.items() if ".lora_" in name}
    unmatched: list[str] = []
    if model is not None:
        modules: dict[str, Any] = dict(model.named_modules())
        unmatched = [name for name, tensor in lora.items() if not _matches(modules, name, tensor)]
    faults: list[str] = []
    other = [name for name in tensors if name not in lora]
    if other:
        faults.append(f"it holds {len(other)} tensors that would replace the base's ({other[0]})")
    if not lora:
        faults.append("it holds no LoRA tensors")
    if unmatched:
        matched = f"{len(lora) - len(unmatched)} of {len(lora)}"
        faults.append(f"{matched} LoRA tensors match the model (not {unmatched[0]})")
    if any(not bool(tensor.isfinite().all()) for tensor in lora.values()):
        faults.append("it holds numbers that are not finite")
    seconds = [tensor for name, tensor in lora.items() if ".lora_B" in name]
    if lora and not any(bool(tensor.any()) for tensor in seconds):
        faults.append("every B matrix is zero, so that it changes nothing")
    return faults


def _matches(modules: dict[str, Any], name: str, tensor: "torch.Tensor") -> bool:
    """Whether a tensor belongs to a module of the model and has its width."""
    if not name.startswith(_PREFIX):
        return False
    path, _, rest = name.removeprefix(_PREFIX).partition(".lora_")
    module = modules.get(path)
    if module is None:
        return False
    part = "lora_" + rest.partition(".")[0]
    width = getattr(module, _PARTS.get(part, ""), None)
    return width is None or width == tensor.shape[1 if part == "lora_A" else 0]


def _refused(folder: Path, faults: list[str]) -> ModelError:
    return ModelError(
        "the adapter is refused: " + "; ".join(faults),
        where=str(folder),
        remedy="train it again on the model that serves it",
    )
