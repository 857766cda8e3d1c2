"""How a provider or a server is called, for one role."""

from pydantic import Field

from evener.protocols.digest import Wire


class Timeouts(Wire):
    """Seconds, all finite: to get a connection, between two pieces of a reply, for one attempt as a
    whole. Before its first piece a reply that does not stream is silent for all of its time."""

    connect_s: float = Field(default=10.0, gt=0, le=86_400)
    read_s: float = Field(default=300.0, gt=0, le=86_400)
    total_s: float = Field(default=600.0, gt=0, le=86_400)


class Allowance(Wire):
    """What a role may use in a run: requests sent, tokens read and written, seconds of waiting for
    replies (summed over calls), money. None: no limit."""

    calls: int | None = Field(default=None, ge=1)
    tokens: int | None = Field(default=None, ge=1)
    seconds: float | None = Field(default=None, gt=0)
    usd: float | None = Field(default=None, gt=0)


class RemoteSettings(Wire):
    """Settings of a model behind an interface.

    `api_key_env` names the environment variable that holds the key (None: the provider's own).
    `json_schema` says whether the server keeps to the JSON Schema of an answer (None: as is known
    of the provider). `attempts` counts the first try. `in_flight` is the most requests at once, to
    which the limit of an endpoint adapts from below. `price_in` and `price_out` are USD for a
    million tokens.
    """

    api_key_env: str | None = Field(default=None, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")
    attempts: int = Field(default=5, ge=1, le=20)
    longest_wait_s: float = Field(default=60.0, gt=0, le=3600)
    in_flight: int = Field(default=64, ge=1)
    stream: bool = False
    logprobs: bool = False
    json_schema: bool | None = None
    price_in: float | None = Field(default=None, ge=0)
    price_out: float | None = Field(default=None, ge=0)
    timeouts: Timeouts = Timeouts()
    budget: Allowance = Allowance()
