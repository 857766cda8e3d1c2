"""The one border: a provider's body becomes one typed reply, or a fault with a name.

Both clients hand their bodies in here, in the shape of an OpenAI chat completion. Nothing behind it
ever looks at a provider's own types. A call in a reply that was cut is not handed on: the reply
says `length`, and what was written of the call stands in its text.
"""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from pydantic import JsonValue, ValidationError

from evener.agents.models.remote.outcome import CallFault
from evener.agents.models.remote.refusal import error_of, refusal
from evener.agents.models.remote.sound import BULK, LARGEST, sound
from evener.agents.models.remote.tool_call import ReadCalls, calls_as_text, read_calls
from evener.protocols.digest import JsonObject
from evener.protocols.model import ModelRef, Reply, Request, StopReason, Usage

Price: TypeAlias = Callable[[int, int], float | None]
"""USD for (prompt tokens, completion tokens); None where it is unknown."""


def read_reply(
    body: JsonValue, request: Request, *, ref: ModelRef, price: Price, seconds: float, wall: float
) -> Reply:
    """The reply in `body`. Raises CallFault, which knows the tokens that were charged all the same.

    `Usage` counts this one attempt. Tokens that the server does not tell are 0, their cost unknown.
    """
    tokens = tokens_of(body)
    try:
        usage = _usage(tokens, price, seconds)
        return _reply(sound(body), request, ref=ref, usage=usage, wall=wall)
    except CallFault as fault:
        fault.tokens = tokens
        raise
    except (ValidationError, RecursionError) as error:
        malformed = CallFault("malformed", f"the answer is no reply: {type(error).__name__}")
        malformed.tokens = tokens
        raise malformed from None


def tokens_of(body: JsonValue) -> tuple[int, int] | None:
    """(prompt, completion) tokens that a body reports. No prompt has 0: that says nothing."""
    usage = body.get("usage") if isinstance(body, dict) else None
    if not isinstance(usage, dict):
        return None
    read, written = usage.get("prompt_tokens"), usage.get("completion_tokens")
    if not _count(read) or not read:
        return None
    return int(str(read)), int(str(written)) if _count(written) else 0


def _reply(body: JsonValue, request: Request, *, ref: ModelRef, usage: Usage, wall: float) -> Reply:
    if not isinstance(body, dict):
        raise CallFault("malformed", "the answer is no JSON object")
    choices = body.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    for place in (body, choice):
        if isinstance(place, dict) and place.get("error"):
            raise _error_in(place, wall=wall)
    if not isinstance(choices, list) or not choices:
        raise CallFault("empty", "the answer has no choices")
    if not isinstance(choice, dict):
        raise CallFault("empty", "the answer's choice is null")
    finish = choice.get("finish_reason")
    if finish in ("content_filter", "safety"):
        raise CallFault("content_filter", "the provider's filter withheld the reply")
    if finish == "error":
        raise CallFault("provider_error", "the provider broke off with an error")
    if finish in (None, "", "abort"):
        raise CallFault("cut", "the answer ends without saying why")
    message = choice.get("message")
    if not isinstance(message, dict):
        raise CallFault("empty", "the answer has no message")
    text = _text(message.get("content"))
    reasoning = _text(message.get("reasoning_content")) or _text(message.get("reasoning"))
    before = sum(len(m.calls) for m in request.messages)
    made = read_calls(message.get("tool_calls"), first=before)
    if text is None:
        text = _text(message.get("refusal"))
    if text is None and not (made.calls or made.text or reasoning):
        raise CallFault("empty", "the content is null")
    stop = _stop(choice, made, usage, limit=request.sampling.max_tokens)
    if stop is StopReason.LENGTH and made.calls:
        made = ReadCalls(text=calls_as_text(made.calls))
    parts = (part for part in (text, made.text) if part)
    return Reply(
        text="\n".join(parts),
        reasoning=reasoning or None,
        calls=made.calls,
        stop_reason=stop,
        usage=usage,
        token_ids=_ids(choice.get("token_ids")),
        mean_logprob=_mean_logprob(choice.get("logprobs")),
        model=ref,
        raw=_without_bulk(body),
    )


def _error_in(place: Mapping[str, JsonValue], *, wall: float) -> CallFault:
    """The fault of a success that holds an error."""
    said, code, status = error_of(dict(place))
    if status is not None or code:
        fault = refusal(status or 400, said, code=code, wall=wall)
        if fault.kind != "refused":
            return fault
    return CallFault("provider_error", said or "the answer holds an error")


def _stop(choice: JsonObject, made: ReadCalls, usage: Usage, *, limit: int) -> StopReason:
    """Why it stopped. A reply with a call that used all its tokens was cut, whatever it says."""
    finish = choice.get("finish_reason")
    called = bool(made.calls or made.text)
    if finish in ("length", "max_tokens", "model_length") or made.unclosed:
        return StopReason.LENGTH
    if called and usage.completion_tokens >= limit:
        return StopReason.LENGTH
    if made.calls:
        return StopReason.TOOL_CALLS
    # vLLM says which stop string it was; null is the end of the turn
    stopped = isinstance(choice.get("stop_reason"), str) or finish == "stop_sequence"
    return StopReason.STOP if stopped else StopReason.END


def _text(value: JsonValue) -> str | None:
    """Text, or the text parts of a list of parts; None where there is neither."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        parts = [p.get("text") for p in value if isinstance(p, dict)]
        texts = [part for part in parts if isinstance(part, str)]
        return "".join(texts) if texts else None
    return None


def _usage(tokens: tuple[int, int] | None, price: Price, seconds: float) -> Usage:
    read, written = tokens or (0, 0)
    return Usage(
        calls=1,
        prompt_tokens=read,
        completion_tokens=written,
        seconds=seconds,
        cost_usd=price(read, written) if tokens else None,
    )


def _ids(value: JsonValue) -> tuple[int, ...] | None:
    if not isinstance(value, list) or not value:
        return None
    ids = [item for item in value if type(item) is int and 0 <= item < LARGEST]
    return tuple(ids) if len(ids) == len(value) else None


def _mean_logprob(value: JsonValue) -> float | None:
    """Over the sampled tokens; None where the server tells none."""
    content = value.get("content") if isinstance(value, dict) else None
    if not isinstance(content, list):
        return None
    found = [item.get("logprob") for item in content if isinstance(item, dict)]
    numbers = [float(x) for x in found if isinstance(x, int | float) and abs(x) < LARGEST]
    return sum(numbers) / len(numbers) if numbers and len(numbers) == len(content) else None


def _without_bulk(body: JsonObject) -> JsonObject:
    """The body without what is long and stands elsewhere."""
    kept: JsonObject = {key: value for key, value in body.items() if key not in BULK}
    choices = kept.get("choices")
    if isinstance(choices, list):
        kept["choices"] = [
            {k: v for k, v in choice.items() if k not in BULK}
            if isinstance(choice, dict)
            else choice
            for choice in choices
        ]
    return kept


def _count(value: JsonValue) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < LARGEST
