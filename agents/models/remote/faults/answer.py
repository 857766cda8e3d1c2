"""Bodies of answers, good and odd, and their pieces where they stream. Tokens are words."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from evener.agents.models.remote.faults.fault import FaultKind

Body: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Answered:
    """What the model behind the server says: text, and calls as (name, arguments)."""

    text: str = ""
    calls: tuple[tuple[str, Body], ...] = ()
    reasoning: str | None = None


Answer: TypeAlias = Callable[[Body], str | Answered]
"""From the request's body to what is said."""


def words(body: Body) -> int:
    """Words of all messages of a request: its prompt tokens here."""
    return sum(len(str(m.get("content") or "").split()) for m in body["messages"])


def completion(body: Body, said: str | Answered) -> Body:
    """A good answer, cut where it is longer than `max_tokens` words."""
    answer = Answered(text=said) if isinstance(said, str) else said
    limit = int(body.get("max_tokens") or 1_000_000)
    spoken = answer.text.split(" ")
    cut = len(spoken) > limit
    text = " ".join(spoken[:limit])
    message: Body = {"role": "assistant", "content": text}
    written = len(text.split())
    if answer.reasoning is not None:
        message["reasoning_content"] = answer.reasoning
    if answer.calls:
        message["content"] = answer.text or None
        message["tool_calls"] = [
            _call("call_0", name, json.dumps(arguments)) for name, arguments in answer.calls
        ]
        written += sum(3 + len(arguments) for _, arguments in answer.calls)
    finish = "length" if cut else "tool_calls" if answer.calls else "stop"
    choice: Body = {"index": 0, "message": message, "finish_reason": finish}
    if body.get("logprobs"):
        tokens = text.split() or [""]
        choice["logprobs"] = {"content": [{"token": t, "logprob": -0.5} for t in tokens]}
    if body.get("return_token_ids"):
        choice["token_ids"] = [*range(len(text.split())), 2]
    made = _whole(body, choice, written=max(1, written))
    if body.get("return_token_ids"):
        made["prompt_token_ids"] = [1, *range(words(body))]
    return made


def odd(body: Body, kind: FaultKind) -> Body | None:
    """The answer of a fault that is a success by its status; None for every other fault."""
    limit = int(body.get("max_tokens") or 16)
    match kind:
        case "error_body":
            return {"error": {"message": "upstream overloaded", "code": 502}}
        case "null_choices":
            return {"choices": None, "error": {"message": "upstream overloaded"}}
        case "empty_choices":
            return _whole(body, None, written=0)
        case "null_message":
            return _whole(body, {"index": 0, "message": None, "finish_reason": "stop"}, written=0)
        case "null_content":
            return _whole(body, _says(None, "stop"), written=0)
        case "content_filter":
            return _whole(body, _says(None, "content_filter"), written=1)
        case "malformed_call":
            return _whole(body, _calls('{"path": plan.md, "body": 3}'), written=7)
        case "cut_call":
            return _whole(
                body, _calls('{"path": "plan.md", "body": "# Plan\\n1. Mea'), written=limit
            )
        case "cut_by_length":
            return _whole(body, _says("It was a dark and", "length"), written=limit)
        case "reasoning_only":
            choice = _says(None, "length")
            choice["message"]["reasoning_content"] = "Let me think about"
            return _whole(body, choice, written=limit)
        case _:
            return None


def pieces(whole: Body) -> Iterator[Body]:
    """The same answer in pieces, its usage last."""
    rest = {key: whole[key] for key in ("id", "object", "model", "created") if key in whole}
    if "error" in whole:
        yield {"error": whole["error"]}
        return
    for choice in whole.get("choices") or ():
        message = choice.get("message")
        if message is not None:
            for delta in _deltas(message):
                yield rest | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        last: Body = {key: value for key, value in choice.items() if key != "message"}
        last["delta"] = {}
        yield rest | {"choices": [last]}
    if "usage" in whole:
        yield rest | {"choices": [], "usage": whole["usage"]}


def _deltas(message: Body) -> Iterator[Body]:
    yield {"role": "assistant"}
    if message.get("reasoning_content"):
        yield {"reasoning_content": message["reasoning_content"]}
    text = message.get("content")
    if text is not None:
        half = len(text) // 2
        yield {"content": text[:half]}
        yield {"content": text[half:]}
    for index, call in enumerate(message.get("tool_calls") or ()):
        function = call["function"]
        half = len(function["arguments"]) // 2
        first = {"name": function["name"], "arguments": function["arguments"][:half]}
        head = {"index": index, "id": call["id"], "type": "function", "function": first}
        yield {"tool_calls": [head]}
        tail = {"index": index, "function": {"arguments": function["arguments"][half:]}}
        yield {"tool_calls": [tail]}


def _whole(body: Body, choice: Body | None, *, written: int) -> Body:
    read = words(body)
    return {
        "id": "chatcmpl-0",
        "object": "chat.completion",
        "created": 0,
        "model": body.get("model"),
        "choices": [] if choice is None else [choice],
        "usage": {
            "prompt_tokens": read,
            "completion_tokens": written,
            "total_tokens": read + written,
        },
    }


def _says(content: str | None, finish: str) -> Body:
    message: Body = {"role": "assistant", "content": content}
    return {"index": 0, "message": message, "finish_reason": finish}


def _calls(arguments: str) -> Body:
    choice = _says(None, "tool_calls")
    choice["message"]["tool_calls"] = [_call("c1", "save_file", arguments)]
    return choice


def _call(name_id: str, name: str, arguments: str) -> Body:
    return {
        "id": name_id,
        "type": "function",
        "function": {"name": name, "arguments": arguments},
    }
