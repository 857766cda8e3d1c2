"""A model's name in a configuration becomes a student on a vLLM server. Nothing is started yet."""

import json
from pathlib import Path
from typing import Any

from evener.agents.models.local.engine import model_name
from evener.agents.models.local.folder import check_folder
from evener.agents.models.local.revision import model_revision
from evener.agents.models.remote.address import Address
from evener.agents.models.remote.key import Key
from evener.agents.models.remote.openai import Server
from evener.agents.models.remote.price import Price
from evener.agents.models.remote.provider import PROVIDERS
from evener.agents.models.remote.settings import RemoteSettings
from evener.agents.models.vllm.admin import Admin
from evener.agents.models.vllm.command import Launch, find_python
from evener.agents.models.vllm.life import ForeignServer, Life
from evener.agents.models.vllm.model import VllmModel
from evener.agents.models.vllm.preflight import Preflight
from evener.agents.models.vllm.server import ManagedServer
from evener.agents.models.vllm.settings import Dtype, VllmSettings
from evener.agents.models.vllm.tokens import Tokens
from evener.protocols.digest import digest
from evener.protocols.error import ConfigError
from evener.protocols.model import ModelRef


def managed(
    folder: Path,
    *,
    dtype: Dtype = "float32",
    threads: int | None = None,
    rank: int = 1,
    role: str = "student",
    settings: VllmSettings | None = None,
    provider: RemoteSettings | None = None,
) -> VllmModel:
    """The weights in `folder` on a server of our own, which the first request starts and `close`
    ends. `rank` is that of the adapters to come. ConfigError where vLLM has no room for it."""
    settings, provider = settings or VllmSettings(), provider or RemoteSettings()
    check_folder(folder)
    folder = folder.resolve()
    most = _rank(settings, rank)
    name = model_name(folder)
    content = {"files": model_revision(folder), "dtype": dtype, "engine": "vllm"}
    launch = Launch(
        python=find_python(settings.python),
        folder=folder,
        name=name,
        dtype=dtype,
        rank=most,
        settings=settings,
        threads=threads,
    )

    tokens = Tokens(folder)

    async def proved(life: Life) -> None:
        await tokens.prove(life, name)

    server = ManagedServer(
        launch,
        timeouts=provider.timeouts,
        price=Price(provider.price_in, provider.price_out),
        proved=proved,
    )
    return VllmModel(
        server,
        name=name,
        ref=ModelRef(base=name, revision=digest({**content})),
        host=f"vllm/{name}",
        preflight=Preflight(folder, names=(name, str(folder), folder.name), rank=most),
        adapters=settings.adapters,
        tokens=tokens,
        folder=folder,
        window=settings.max_model_len or _window(folder),
        role=role,
        settings=provider,
    )


def hosted(
    name: str,
    address: str,
    *,
    weights: Path | None = None,
    role: str = "student",
    settings: VllmSettings | None = None,
    provider: RemoteSettings | None = None,
) -> VllmModel:
    """`name` on a vLLM server that runs at `address`. With `weights` it can be trained here."""
    settings, provider = settings or VllmSettings(), provider or RemoteSettings()
    found = Address.of(address)
    key = Key(provider.api_key_env or PROVIDERS["hosted_vllm"].key)
    price = Price(provider.price_in, provider.price_out)
    client = Server(found, key=key, timeouts=provider.timeouts, price=price)
    base = f"hosted_vllm/{name}"
    ref = ModelRef(base=base, revision=f"{base}@{found.host}")
    known = (str(weights), weights.name, model_name(weights)) if weights is not None else ()
    return VllmModel(
        ForeignServer(found.base, client, Admin(found, key)),
        name=name,
        ref=ref,
        host=found.host,
        preflight=Preflight(
            weights, names=(base, name, Path(name).name, *known), rank=settings.max_lora_rank
        ),
        adapters=settings.adapters,
        tokens=Tokens(weights),
        folder=weights,
        role=role,
        settings=provider,
    )


def check_rank(settings: VllmSettings, rank: int) -> None:
    """ConfigError where vLLM serves no adapter of that rank."""
    _rank(settings, rank)


def _rank(settings: VllmSettings, rank: int) -> int:
    try:
        return settings.rank(rank)
    except ValueError as error:
        raise ConfigError(str(error), where="finetune.rank", remedy="lower it") from None


def _window(folder: Path) -> int | None:
    """Tokens that the model was made for, by its configuration."""
    config: dict[str, Any] = json.loads((folder / "config.json").read_text("utf-8"))
    found = config.get("max_position_embeddings")
    return found if isinstance(found, int) else None
