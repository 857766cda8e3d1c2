"""The server: `async with FaultServer(answer, script) as server`, and clients call `server.url`.

It counts requests and usage itself, in `books`. With `stream` in a request it streams.
"""

import asyncio
import json
import ssl
from email.utils import formatdate
from time import time
from typing import TYPE_CHECKING, Any, Self

from evener.agents.models.remote.extra import extra
from evener.agents.models.remote.faults.answer import Answer, Body, completion, odd, pieces, words
from evener.agents.models.remote.faults.books import Books
from evener.agents.models.remote.faults.fault import Fault, Script, scripted

if TYPE_CHECKING:
    from aiohttp import web

_CONTEXT = (
    "This model's maximum context length is {window} tokens. However, your request has {read} "
    "input tokens. Please reduce the length of the input messages."
)


class FaultServer:
    """Answers at `{url}/v1` (or another `prefix`) with what `answer` says, except where `script`
    wants a fault. `models` are the names it knows (none: any), `key` is asked for where one is
    given, `takes` is the most requests at once before it says 429."""

    def __init__(
        self,
        answer: Answer | str = "hello",
        script: Script | None = None,
        *,
        models: tuple[str, ...] = (),
        window: int | None = None,
        prefix: str = "/v1",
        key: str = "",
        takes: int | None = None,
        delay: float = 0.0,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.books = Books()
        self.bodies: list[Body] = []
        self.keys: list[str] = []
        """The requests, in order."""
        self.arrivals: list[float] = []
        """When each of them came, in seconds of a monotonic clock."""
        self.url = ""
        self._answer: Answer = (lambda _: answer) if isinstance(answer, str) else answer
        self._script = script or scripted(())
        self._models = models
        self._window = window
        self._prefix = prefix
        self._key = key
        self._takes = takes
        self._delay = delay
        self._tls = tls
        self._web: Any = extra("aiohttp.web")
        self._runner: web.AppRunner | None = None
        self._arrived = asyncio.Condition()

    async def __aenter__(self) -> Self:
        app = self._web.Application(client_max_size=1 << 26)
        app.router.add_post(f"{self._prefix}/chat/completions", self._completions)
        app.router.add_get(f"{self._prefix}/models", self._listing)
        self._runner = self._web.AppRunner(
            app, handler_cancellation=True, access_log=None, shutdown_timeout=0.1
        )
        assert self._runner is not None
        await self._runner.setup()
        site = self._web.TCPSite(self._runner, "127.0.0.1", 0, ssl_context=self._tls)
        await site.start()
        port = self._runner.addresses[0][1]
        self.url = f"{'https' if self._tls else 'http'}://127.0.0.1:{port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    async def reached(self, requests: int) -> None:
        """Wait until so many requests have come."""
        async with self._arrived:
            await self._arrived.wait_for(lambda: self.books.requests >= requests)

    async def _listing(self, request: "web.Request") -> "web.StreamResponse":
        refused = self._unknown_key(request)
        if refused is not None:
            return refused
        data = [
            {"id": name, "object": "model", "max_model_len": self._window} for name in self._models
        ]
        response: web.Response = self._web.json_response({"object": "list", "data": data})
        return response

    async def _completions(self, request: "web.Request") -> "web.StreamResponse":
        body: Body = await request.json()
        number = self.books.requests
        self.books.requests += 1
        self.bodies.append(body)
        self.arrivals.append(asyncio.get_running_loop().time())
        self.books.open += 1
        self.books.most = max(self.books.most, self.books.open)
        async with self._arrived:
            self._arrived.notify_all()
        try:
            return await self._serve(request, body, self._script(number))
        finally:
            self.books.open -= 1
            self.books.untold = self.books.requests - self.books.open - self.books.told

    async def _serve(
        self, request: "web.Request", body: Body, fault: Fault | None
    ) -> "web.StreamResponse":
        refused = self._unknown_key(request)
        if refused is not None:
            return refused
        if self._models and body.get("model") not in self._models:
            return self._error(404, f"The model `{body.get('model')}` does not exist.")
        if self._takes is not None and self.books.open > self._takes:
            return self._error(429, "Too many requests at once")
        if self._delay:
            await asyncio.sleep(self._delay)
        if fault is None:
            return await self._whole(request, body, completion(body, self._answer(body)))
        self.books.faults[fault.kind] += 1
        answer = odd(body, fault.kind)
        if answer is not None:
            return await self._whole(request, body, answer)
        return await self._broken(request, body, fault)

    async def _broken(
        self, request: "web.Request", body: Body, fault: Fault
    ) -> "web.StreamResponse":
        match fault.kind:
            case "rate_limited":
                return self._error(429, "Slow down", {"Retry-After": f"{fault.seconds:g}"})
            case "rate_limited_date":
                date = formatdate(time() + fault.seconds, usegmt=True)
                return self._error(429, "Slow down", {"Retry-After": date})
            case "rate_limited_bare":
                return self._error(429, "Slow down")
            case "server_error":
                return self._error(fault.status or 500, "Internal error")
            case "overloaded":
                return self._error(fault.status or 503, "The engine is overloaded")
            case "context_exceeded":
                read = words(body)
                window = self._window or max(1, read - 1)
                return self._error(400, _CONTEXT.format(window=window, read=read))
            case "hang":
                await asyncio.sleep(3600)
            case "silence":
                silent = await self._begin(request, body)
                await asyncio.sleep(3600)
                return silent
            case "not_json":
                page: web.Response = self._web.Response(text="<html>Bad gateway</html>")
                return page
            case "latency":
                await asyncio.sleep(fault.seconds)
            case _:
                pass
        answer = completion(body, self._answer(body))
        if fault.kind == "no_usage":
            del answer["usage"]
        if fault.kind in ("cut", "garbage"):
            return await self._damaged(request, body, answer, fault)
        return await self._whole(request, body, answer)

    async def _whole(
        self, request: "web.Request", body: Body, answer: Body
    ) -> "web.StreamResponse":
        if not body.get("stream"):
            self._count(answer)
            response: web.Response = self._web.json_response(answer)
            return response
        stream = await self._begin(request, body)
        for piece in pieces(answer):
            await stream.write(f"data: {json.dumps(piece)}\n\n".encode())
        self._count(answer)
        await stream.write(b"data: [DONE]\n\n")
        await stream.write_eof()
        return stream

    async def _damaged(
        self, request: "web.Request", body: Body, answer: Body, fault: Fault
    ) -> "web.StreamResponse":
        """Half of an answer, and then the connection is gone or the other half unreadable."""
        stream = await self._begin(request, body)
        if body.get("stream"):
            first, second, *_ = [f"data: {json.dumps(piece)}\n\n" for piece in pieces(answer)]
            half, rest = first + second, 'data: {"choices": [{\n\ndata: [DONE]\n\n'
        else:
            text = json.dumps(answer)
            half, rest = text[: len(text) // 2], "\x00 }"
        await stream.write(half.encode())
        if fault.kind == "garbage":
            await stream.write(rest.encode())
            await stream.write_eof()
        elif request.transport is not None:
            request.transport.close()
        return stream

    async def _begin(self, request: "web.Request", body: Body) -> "web.StreamResponse":
        kind = "text/event-stream" if body.get("stream") else "application/json"
        stream: web.StreamResponse = self._web.StreamResponse(headers={"Content-Type": kind})
        stream.enable_chunked_encoding()
        await stream.prepare(request)
        return stream

    def _count(self, answer: Body) -> None:
        usage = answer.get("usage")
        if usage is not None:
            self.books.told += 1
            self.books.prompt_tokens += usage["prompt_tokens"]
            self.books.completion_tokens += usage["completion_tokens"]

    def _unknown_key(self, request: "web.Request") -> "web.StreamResponse | None":
        sent = request.headers.get("Authorization", "")
        self.keys.append(sent)
        if not self._key or sent == f"Bearer {self._key}":
            return None
        said = sent.removeprefix("Bearer ")
        return self._error(401, f"Incorrect API key provided: {said}")

    def _error(
        self, status: int, said: str, headers: dict[str, str] | None = None
    ) -> "web.Response":
        error = {"error": {"message": said, "type": "error", "code": status}}
        response: web.Response = self._web.json_response(error, status=status, headers=headers)
        return response
