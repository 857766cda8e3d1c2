"""`provider/name` becomes a model, by the client that fits. Nothing is sent yet.

OpenAI-compatible servers get the lean client, everything else litellm.
"""

import os

from evener.agents.models.remote.address import Address
from evener.agents.models.remote.key import Key
from evener.agents.models.remote.litellm import LiteLLMModel
from evener.agents.models.remote.model import RemoteModel
from evener.agents.models.remote.openai import OpenAIModel
from evener.agents.models.remote.provider import ANY, PROVIDERS, Provider, is_remote, unknown
from evener.agents.models.remote.settings import RemoteSettings
from evener.protocols.error import ModelError


def connect(
    model: str,
    *,
    api_base: str | None = None,
    role: str = "student",
    settings: RemoteSettings | None = None,
    table: str = "student",
) -> RemoteModel:
    """The model of that name for one role; `table` is where a configuration names it.

    ModelError where the provider is unknown, the key is missing, or an address is needed or wrong.
    `OPENAI_API_KEY` is OpenAI's: another server gets a key only where `api_key_env` names it.
    """
    settings = settings or RemoteSettings()
    check_remote(model, api_base=api_base, settings=settings, table=table)
    name, provider, found = _split(model)
    address = _address(provider, found, api_base, table=table)
    if provider == ANY or not address:
        spec = name if provider == ANY else model
        return LiteLLMModel(spec, api_base=address, role=role, settings=settings)
    return OpenAIModel(
        name,
        address,
        provider=provider,
        key=found.key if found.lean else "",
        vllm=provider == "hosted_vllm",
        role=role,
        settings=settings,
    )


def check_remote(
    model: str,
    *,
    api_base: str | None = None,
    settings: RemoteSettings | None = None,
    table: str = "student",
) -> None:
    """Whether `connect` would take it, as far as that is known without loading a library."""
    settings = settings or RemoteSettings()
    if not is_remote(model):
        raise unknown(model)
    _, provider, found = _split(model)
    address = _address(provider, found, api_base, table=table)
    if settings.api_key_env:
        Key(settings.api_key_env).require(model)
    elif not found.lean and not address:
        found.require(model)


def _split(model: str) -> tuple[str, str, Provider]:
    provider, _, name = model.partition("/")
    return name, provider, PROVIDERS.get(provider, Provider())


def _address(provider: str, found: Provider, api_base: str | None, *, table: str) -> str | None:
    """The address to call; None where the provider's own library knows it."""
    address = api_base or os.environ.get(found.address_env, "") or found.address
    if not address and found.lean:
        raise ModelError(
            f"{provider} is a server of your own: where is it?",
            where=f"{table}.api_base" if table else "--api-base",
            remedy="http://127.0.0.1:8000, say",
        )
    if address:
        Address.of(address, where=f"{table}.api_base" if table else "--api-base")
    return address or None
