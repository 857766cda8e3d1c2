"""What a model's name in a configuration means: which provider, which client, which key.

Only well-known names stand here, so that a name is understood without loading anything; `litellm/`
before `provider/name` reaches every other one.
"""

from dataclasses import dataclass
from difflib import get_close_matches

from evener.agents.models.home import expanded
from evener.agents.models.remote.key import Key
from evener.protocols.error import ModelError

ANY = "litellm"
MANAGED = "vllm"
"""Before the name of weights: they are served by a vLLM server of our own."""


@dataclass(frozen=True)
class Provider:
    """`lean` ones speak the OpenAI protocol at an address and get the client for it. `address` is
    the default one, `address_env` the variable that may hold it, `key` the key's variable, `others`
    variables that do as well. Without a key a service finds out by itself who is calling."""

    lean: bool = False
    address: str = ""
    address_env: str = ""
    key: str = ""
    others: tuple[str, ...] = ()

    def require(self, where: str) -> None:
        """ModelError that names the variable where a key is needed and none is set."""
        if not any(Key(name).value() for name in self.others):
            Key(self.key).require(where)


PROVIDERS: dict[str, Provider] = {
    # servers
    "hosted_vllm": Provider(
        lean=True, address_env="HOSTED_VLLM_API_BASE", key="HOSTED_VLLM_API_KEY"
    ),
    "lm_studio": Provider(
        lean=True, address="http://127.0.0.1:1234", address_env="LM_STUDIO_API_BASE"
    ),
    "llamafile": Provider(
        lean=True, address="http://127.0.0.1:8080", address_env="LLAMAFILE_API_BASE"
    ),
    "ollama": Provider(lean=True, address="http://127.0.0.1:11434", address_env="OLLAMA_API_BASE"),
    # services
    "openai": Provider(key="OPENAI_API_KEY"),
    "anthropic": Provider(key="ANTHROPIC_API_KEY"),
    "azure": Provider(key="AZURE_API_KEY", others=("AZURE_AD_TOKEN",)),
    "bedrock": Provider(),
    "cerebras": Provider(key="CEREBRAS_API_KEY"),
    "cohere": Provider(key="COHERE_API_KEY", others=("CO_API_KEY",)),
    "deepinfra": Provider(key="DEEPINFRA_API_KEY"),
    "deepseek": Provider(key="DEEPSEEK_API_KEY"),
    "fireworks_ai": Provider(
        key="FIREWORKS_AI_API_KEY",
        others=("FIREWORKS_API_KEY", "FIREWORKSAI_API_KEY", "FIREWORKS_AI_TOKEN"),
    ),
    "gemini": Provider(key="GEMINI_API_KEY", others=("GOOGLE_API_KEY",)),
    "groq": Provider(key="GROQ_API_KEY"),
    "mistral": Provider(key="MISTRAL_API_KEY"),
    "nvidia_nim": Provider(key="NVIDIA_NIM_API_KEY"),
    "openrouter": Provider(key="OPENROUTER_API_KEY", others=("OR_API_KEY",)),
    "perplexity": Provider(key="PERPLEXITYAI_API_KEY", others=("PERPLEXITY_API_KEY",)),
    "together_ai": Provider(
        key="TOGETHERAI_API_KEY",
        others=("TOGETHER_API_KEY", "TOGETHER_AI_API_KEY", "TOGETHER_AI_TOKEN"),
    ),
    "vertex_ai": Provider(),
    "watsonx": Provider(key="WATSONX_APIKEY", others=("WATSONX_API_KEY", "WATSONX_TOKEN")),
    "xai": Provider(key="XAI_API_KEY"),
}


def is_remote(model: str) -> bool:
    """Whether a name is `provider/name`. A folder that exists is a folder, and with a revision
    (`owner/name@revision`) it is of the hub, whatever they are called."""
    provider, slash, name = model.partition("/")
    if not slash or not name or (provider not in PROVIDERS and provider != ANY):
        return False
    if "@" in name and provider != "vertex_ai":
        return False
    return not expanded(model).exists()


def near(model: str) -> tuple[str, ...]:
    """`model` with the names of providers that are written much like its own."""
    provider, _, name = model.partition("/")
    found = get_close_matches(provider, [*PROVIDERS, ANY, MANAGED], n=3, cutoff=0.7)
    return tuple(f"{one}/{name or '…'}" for one in found)


def unknown(model: str) -> ModelError:
    """What is said of a name that should be `provider/name` and is not."""
    close = near(model)
    remedy = f"nearest: {', '.join(close)}" if close else f"providers: {', '.join(PROVIDERS)}"
    return ModelError("no such provider", where=repr(model), remedy=remedy)
