"""What is asked of a vLLM server beside replies: is it ready, does it compute, adapters in and out.

Each question is asked once and answered or refused; every wait ends.
"""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import JsonValue

from evener.agents.models.remote.address import Address
from evener.agents.models.remote.extra import extra
from evener.agents.models.remote.key import Key
from evener.agents.models.remote.outcome import plain
from evener.agents.models.remote.refusal import error_of
from evener.protocols.digest import JsonObject
from evener.protocols.error import InfraError, ModelError

if TYPE_CHECKING:
    import aiohttp

_COUNTERS = ("vllm:prompt_tokens_total", "vllm:generation_tokens_total")
_QUICK_S = 10.0
_LOAD_S = 300.0


class Admin:
    """The server at `address`. The session opens with the first question."""

    def __init__(self, address: Address, key: Key) -> None:
        self._address = address
        self._key = key
        self._root = address.base.removesuffix("/v1")
        self._aiohttp: Any = extra("aiohttp")
        self._session: aiohttp.ClientSession | None = None

    async def healthy(self) -> bool:
        """Whether it says that it can answer."""
        found = await self._look("/health")
        return found is not None

    async def version(self) -> str:
        """Of vLLM; empty where it is not told."""
        text = await self._look("/version")
        try:
            body: JsonValue = json.loads(text or "null")
        except ValueError:
            return ""
        return str(body.get("version", "")) if isinstance(body, dict) else ""

    async def pulse(self) -> str | None:
        """Something that changes as long as tokens are read or written; None: no answer."""
        text = await self._look("/metrics")
        if text is None:
            return None
        return " ".join(line for line in text.splitlines() if line.startswith(_COUNTERS))

    async def load(self, name: str, folder: Path) -> None:
        """Load an adapter under a name. ModelError in the server's words where it takes none,
        InfraError where it does not answer."""
        body: JsonObject = {"lora_name": name, "lora_path": str(folder)}
        status, said = await self._post("/load_lora_adapter", body)
        if status == 200:
            return
        if status in (404, 405) and "adapter" not in said.lower():
            raise ModelError(
                "the server loads no adapters while it runs",
                where=self._address.host,
                remedy="start it with --enable-lora and VLLM_ALLOW_RUNTIME_LORA_UPDATING=True",
            )
        if status in (401, 403):
            raise ModelError(f"no adapter may be loaded: {said}", where=self._address.host)
        raise ModelError(
            f"the server refuses the adapter: {said}",
            where=str(folder),
            remedy="its log says more",
        )

    async def unload(self, name: str) -> bool:
        """Unload it; whether the server did."""
        try:
            status, _ = await self._post("/unload_lora_adapter", {"lora_name": name})
        except InfraError:
            return False
        return status == 200

    async def prompt_ids(self, model: str, said: str) -> tuple[int, ...] | None:
        """The tokens that it makes of what a user said; None where it does not tell."""
        body: JsonObject = {
            "model": model,
            "messages": [{"role": "user", "content": said}],
            "max_tokens": 1,
            "temperature": 0,
            "return_token_ids": True,
        }
        status, text = await self._post("/chat/completions", body, whole=True)
        if status >= 500:
            raise InfraError(f"the server does not answer: {_said(text)}", kind="overloaded")
        if status != 200:
            raise ModelError(f"the server does not answer: {_said(text)}", where=self._address.host)
        try:
            answer: JsonValue = json.loads(text)
        except ValueError:
            return None
        ids = answer.get("prompt_token_ids") if isinstance(answer, dict) else None
        return tuple(i for i in ids if isinstance(i, int)) if isinstance(ids, list) else None

    async def close(self) -> None:
        """Give back the connections."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def _look(self, path: str) -> str | None:
        """The text at a path beside the API; None where there is no good answer."""
        http = self._aiohttp
        timeout = http.ClientTimeout(total=_QUICK_S)
        try:
            async with self._opened().get(f"{self._root}{path}", timeout=timeout) as answer:
                text = str(await answer.text())
                return text if answer.status == 200 else None
        except (http.ClientError, OSError, TimeoutError, UnicodeDecodeError):
            return None

    async def _post(self, path: str, body: JsonObject, *, whole: bool = False) -> tuple[int, str]:
        http = self._aiohttp
        value = self._key.value()
        headers = {"Authorization": f"Bearer {value}"} if value else {}
        timeout = http.ClientTimeout(total=_LOAD_S)
        url = f"{self._address.base}{path}"
        try:
            async with self._opened().post(
                url, json=body, headers=headers, timeout=timeout, allow_redirects=False
            ) as answer:
                text = self._key.hide(str(await answer.text()))
                return int(answer.status), text if whole else _said(text)
        except (http.ClientError, OSError, TimeoutError, UnicodeDecodeError) as error:
            raise InfraError(
                f"{self._address.host}: no answer to {path} ({type(error).__name__})",
                kind="unreachable",
            ) from None

    def _opened(self) -> "aiohttp.ClientSession":
        if self._session is None:
            self._session = self._aiohttp.ClientSession(trust_env=not self._address.local)
        assert self._session is not None
        return self._session


def _said(text: str) -> str:
    """The words of an answer, in one line."""
    try:
        said, _, _ = error_of(json.loads(text))
    except ValueError:
        said = text
    return plain(said or text)
