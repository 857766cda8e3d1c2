"""How bodies travel: the seam between a client of servers and a client of providers."""

from typing import Protocol

from pydantic import JsonValue

from evener.protocols.digest import JsonObject


class Transport(Protocol):
    """Sends once. Whoever holds one retries; a transport never does."""

    async def send(self, payload: JsonObject) -> JsonValue:
        """The body of the answer to one chat completion. Raises CallFault."""
        ...

    async def names(self) -> "Listing":
        """The models that the endpoint offers. Raises CallFault where it cannot be reached, gives
        an empty listing where it does not tell."""
        ...

    def price(self, prompt_tokens: int, completion_tokens: int) -> float | None:
        """USD of a call; None where no price is known."""
        ...

    async def close(self) -> None:
        """Give back connections."""
        ...


class Listing:
    """Names of models, and the window in tokens of those that tell it."""

    def __init__(self, windows: dict[str, int | None] | None = None) -> None:
        self.windows = windows or {}

    def window(self, name: str) -> int | None:
        """The window of a model, where it is known."""
        return self.windows.get(name)
