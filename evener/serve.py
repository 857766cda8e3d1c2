"""A configured model that vLLM serves: on a server of our own (`vllm/WEIGHTS`), or on one that runs
(`hosted_vllm/NAME`), which is a student that takes adapters."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from evener.config import RoleModel, StudentConfig
from evener.protocols.error import ConfigError
from evener.protocols.port import Model

if TYPE_CHECKING:
    from evener.agents.models.vllm.model import VllmModel

HOSTED = "hosted_vllm"


def check_managed(spec: StudentConfig | RoleModel, *, table: str, rank: int) -> bool:
    """Whether the name asks for a server of our own; ModelError or ConfigError where it cannot be
    had. Nothing is fetched and nothing started."""
    from evener.agents.models.local.resolve import check_name
    from evener.agents.models.vllm.name import is_managed, weights_of
    from evener.agents.models.vllm.settings import VllmSettings
    from evener.agents.models.vllm.start import check_rank

    if not is_managed(spec.model):
        return False
    if spec.api_base:
        raise ConfigError(
            f"{spec.model} starts a server of its own, and api_base names one that runs",
            where=table,
            remedy=f"leave api_base out, or call the model {HOSTED}/NAME",
        )
    settings = spec.vllm if isinstance(spec, StudentConfig) else VllmSettings()
    check_rank(settings, rank)
    check_name(weights_of(spec.model))
    return True


def served(
    spec: StudentConfig | RoleModel, *, table: str, role: str, student: StudentConfig, rank: int
) -> "VllmModel | None":
    """The model, where vLLM serves it; nothing is started yet. `rank` is that of the adapters that
    will be trained. Errors as from `check_managed`, and ModelError where weights cannot be had."""
    if check_managed(spec, table=table, rank=rank):
        from evener.agents.models.local.resolve import resolve
        from evener.agents.models.vllm.name import weights_of
        from evener.agents.models.vllm.start import managed

        return managed(
            resolve(weights_of(spec.model)),
            dtype=student.dtype,
            threads=student.threads,
            rank=rank,
            settings=student.vllm,
            provider=spec.provider,
            role=role,
        )
    provider, _, name = spec.model.partition("/")
    if provider != HOSTED or not isinstance(spec, StudentConfig):
        return None
    from evener.agents.models.local.resolve import resolve
    from evener.agents.models.remote.connect import check_remote
    from evener.agents.models.remote.provider import PROVIDERS
    from evener.agents.models.vllm.start import hosted

    check_remote(spec.model, api_base=spec.api_base, settings=spec.provider)
    return hosted(
        name,
        spec.api_base or os.environ[PROVIDERS[HOSTED].address_env],
        weights=resolve(spec.vllm.weights) if spec.vllm.weights else None,
        settings=spec.vllm,
        provider=spec.provider,
        role=role,
    )


def weights_folder(model: Model) -> Path | None:
    """Where the weights of a model lie on this machine; None where they are out of reach."""
    from evener.agents.models.local.engine import LocalEngine
    from evener.agents.models.vllm.model import VllmModel

    return model.folder if isinstance(model, LocalEngine | VllmModel) else None
