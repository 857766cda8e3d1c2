"""The address of an OpenAI-compatible server, in whatever spelling the server printed it."""

from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

from evener.protocols.error import ModelError

_ENDINGS = ("/chat/completions", "/completions", "/models")


@dataclass(frozen=True)
class Address:
    """`base` ends in the API's version, `/v1` where none was given. It holds no secret."""

    base: str

    @classmethod
    def of(cls, text: str, *, where: str = "api_base") -> "Address":
        """With and without `/v1`, a slash at the end, or the whole path of the completions.

        ModelError where it is no http address, or holds a password or a query: it stands in
        manifests, and keys are environment variables.
        """
        try:
            parts = urlsplit(text.strip())
            port = parts.port
        except ValueError as error:
            said = "its port is no number" if "@" in text else str(error)
            raise ModelError(f"not an address: {said}", where=where) from None
        if parts.scheme not in ("http", "https") or not parts.hostname:
            shown = text if "@" not in text else "it"
            raise ModelError(
                f"{shown!r} is no http address", where=where, remedy="http://127.0.0.1:8000, say"
            )
        if "@" in text or parts.query or parts.fragment:
            raise ModelError(
                f"the address of {parts.hostname} holds a name, a password, a query or a fragment",
                where=where,
                remedy="leave them out; a key is an environment variable",
            )
        path = parts.path.rstrip("/")
        for ending in _ENDINGS:
            path = path.removesuffix(ending)
        host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
        netloc = f"{host}:{port}" if port else host
        return cls(f"{parts.scheme}://{netloc}{path or '/v1'}")

    @property
    def completions(self) -> str:
        """Where chat completions are asked for."""
        return f"{self.base}/chat/completions"

    @property
    def models(self) -> str:
        """Where the names of the models are."""
        return f"{self.base}/models"

    @property
    def host(self) -> str:
        """Host, port and path, without the scheme."""
        return self.base.partition("://")[2]

    @property
    def local(self) -> bool:
        """Whether the server runs on this machine."""
        name = urlsplit(self.base).hostname or ""
        try:
            return ip_address(name).is_loopback
        except ValueError:
            return name == "localhost"
