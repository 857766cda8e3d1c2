"""A stream of pieces becomes the body that the same reply would have been without streaming.

A stream that ends without a finish reason stays without one, so that the border calls it cut. A
line that cannot be read loses text: the whole call fails, and is made again.
"""

import json

from pydantic import JsonValue

from evener.agents.models.remote.outcome import CallFault
from evener.protocols.digest import JsonObject

DONE = "[DONE]"
_TEXTS = ("content", "reasoning_content", "reasoning", "refusal")


def event_of(line: str) -> JsonObject | None:
    """The JSON of one line of an event stream; None for comments, empty lines and the end."""
    line = line.strip()
    if not line or line.startswith((":", "event:", "id:", "retry:")):
        return None
    data = line.removeprefix("data:").strip()
    if data == DONE:
        return None
    try:
        value: JsonValue = json.loads(data)
    except (ValueError, RecursionError):
        value = None
    if not line.startswith("data:") or not isinstance(value, dict):
        raise CallFault("malformed", f"a line of the stream is no event: {line[:80]}")
    return value


class Merged:
    """The body so far."""

    def __init__(self) -> None:
        self.body: JsonObject = {}
        self._choice: JsonObject = {}
        self._message: JsonObject = {}
        self._calls: dict[int, JsonObject] = {}

    def add(self, event: JsonObject) -> None:
        """Take in one piece."""
        for key, value in event.items():
            if key != "choices" and value is not None:
                self.body[key] = value
        choices = event.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(choice, dict):
            return
        for key, value in choice.items():
            if key == "delta":
                self._delta(value)
            elif key == "logprobs":
                self._logprobs(value)
            elif key == "token_ids" and isinstance(value, list):
                self._longer(self._choice, "token_ids", value)
            elif value is not None:
                self._choice[key] = value

    def whole(self) -> JsonObject:
        """The body, once there are no more pieces."""
        if self._calls:
            calls: list[JsonValue] = [self._calls[index] for index in sorted(self._calls)]
            self._message["tool_calls"] = calls
        if self._choice or self._message:
            self._choice["message"] = self._message
            self.body["choices"] = [self._choice]
        return self.body

    def _delta(self, delta: JsonValue) -> None:
        if not isinstance(delta, dict):
            return
        for key in _TEXTS:
            piece = delta.get(key)
            if isinstance(piece, str):
                self._message[key] = f"{self._message.get(key, '')}{piece}"
        calls = delta.get("tool_calls")
        for place, piece in enumerate(calls if isinstance(calls, list) else ()):
            if isinstance(piece, dict):
                self._call(piece, place)

    def _call(self, piece: JsonObject, place: int) -> None:
        index = piece.get("index")
        number = index if isinstance(index, int) else place
        call = self._calls.setdefault(number, {"type": "function", "function": {}})
        if piece.get("id"):
            call["id"] = piece["id"]
        function, more = call["function"], piece.get("function")
        if isinstance(function, dict) and isinstance(more, dict):
            for key in ("name", "arguments"):
                text = more.get(key)
                if isinstance(text, str):
                    function[key] = f"{function.get(key, '')}{text}"

    def _logprobs(self, value: JsonValue) -> None:
        content = value.get("content") if isinstance(value, dict) else None
        if isinstance(content, list):
            kept = self._choice.setdefault("logprobs", {"content": []})
            if isinstance(kept, dict):
                self._longer(kept, "content", content)

    @staticmethod
    def _longer(place: JsonObject, key: str, more: list[JsonValue]) -> None:
        there = place.get(key)
        place[key] = [*(there if isinstance(there, list) else ()), *more]
