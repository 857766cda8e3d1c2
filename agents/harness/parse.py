"""A reply → the calls it makes, or why none could be read. Nothing is dropped in silence.

Strict (`strict: true`): the reply is exactly what the format asks for. Lenient: the first object
that is a call, however it is wrapped; the event then says `repaired`. A reply that was cut by the
length limit is never executed, a call inside the reasoning is not one, and ids are our own.
"""

from collections.abc import Sequence

from evener.agents.harness.decode import Malformed, value_at
from evener.agents.harness.lenient import loose_calls
from evener.agents.harness.shape import Shape, call_of, looks_like_call, split_reasoning
from evener.protocols.event import Parsed, ParseFailed, ParseFault
from evener.protocols.harness import Harness
from evener.protocols.message import Call
from evener.protocols.model import Reply, StopReason

OPEN, CLOSE = "<tool_call>", "</tool_call>"
FORMATS_OF_SEVERAL = ("hermes", "native")


class Unread(Exception):
    """No call could be read: the fault, and what is wrong in words."""

    def __init__(self, fault: ParseFault, detail: str) -> None:
        self.fault: ParseFault = fault
        self.detail = detail
        super().__init__(detail)


def read_reply(
    reply: Reply,
    harness: Harness,
    offered: Sequence[str],
    *,
    turn: int = 0,
    strict: bool | None = None,
) -> Parsed | ParseFailed:
    """What a reply says under the harness's protocol.

    `offered` are the names of the tools on offer; `strict` overrules the protocol's own. A reply
    that a stop string ended and that makes no call is a plain answer: Parsed without calls.
    """
    wire = harness.middleware.protocol
    strictly = wire.strict if strict is None else strict
    try:
        shapes, repaired = _read(reply, harness, offered, strict=strictly)
    except Unread as unread:
        if unread.fault == "no_call" and _stopped(reply, harness):
            return Parsed(turn=turn, calls=())
        return ParseFailed(turn=turn, fault=unread.fault, detail=unread.detail)
    calls = tuple(
        Call(id=f"call_{turn}_{index}", name=shape.name, arguments=shape.arguments)
        for index, shape in enumerate(shapes)
    )
    return Parsed(turn=turn, calls=calls, repaired=repaired)


def _read(
    reply: Reply, harness: Harness, offered: Sequence[str], *, strict: bool
) -> tuple[list[Shape], bool]:
    limit = harness.middleware.loop.max_reply_tokens
    # a reviewer's text is whole: what it cost to sample the one it replaced says nothing of it
    full = reply.author == "student" and reply.usage.written >= limit
    native = harness.middleware.protocol.format == "native"
    if reply.stop_reason is StopReason.LENGTH or (full and native and reply.calls):
        raise Unread("cut_by_length", f"the reply was cut at {limit} tokens")
    if native and reply.calls:
        return [Shape(call.name, call.arguments) for call in reply.calls], False
    text, reasoning = split_reasoning(reply.text)
    text = _without_stop(text, harness)
    reasoning = f"{reasoning}\n{reply.reasoning or ''}"
    try:
        if native:
            raise Unread("no_call", "there is no tool call")
        return _strictly(text, harness, reply), False
    except Unread as unread:
        if full:
            raise Unread("cut_by_length", f"the reply was cut at {limit} tokens") from None
        if not strict and not native:
            loose = loose_calls(text, offered, several=_several(harness))
            if loose:
                return loose, True
        if unread.fault == "no_call":
            if looks_like_call(text, offered):
                raise Unread("call_like_text", "there is text that looks like a call") from None
            if looks_like_call(reasoning, offered) and not text.strip():
                raise Unread("call_in_reasoning", "the call is inside the reasoning") from None
        raise


def _strictly(text: str, harness: Harness, reply: Reply) -> list[Shape]:
    text = text.strip()
    if harness.middleware.protocol.format == "hermes":
        return _blocks(text, open_end=_stopped_at(reply, harness, CLOSE))
    if not text.startswith("{"):
        raise Unread("no_call", "there is no call" if text else "the reply is empty")
    shape, end = _object(text, 0)
    rest = text[end:].strip()
    if not rest:
        return [shape]
    if rest.lstrip(";,\n ").startswith("{"):
        raise Unread("several_calls", f"more than one call: {', '.join(_names(text))}")
    raise Unread("call_like_text", "there is text after the JSON object")


def _blocks(text: str, *, open_end: bool) -> list[Shape]:
    """The calls of one or more blocks with nothing but white space between them."""
    shapes: list[Shape] = []
    at = 0
    while at < len(text):
        if not text.startswith(OPEN, at):
            if shapes:
                raise Unread("call_like_text", "there is text outside the tool_call tags")
            raise Unread("no_call", "there is no tool_call block")
        at = _skip(text, at + len(OPEN))
        while text.startswith("{", at):
            shape, at = _object(text, at)
            shapes.append(shape)
            at = _skip(text, at)
        if text.startswith(CLOSE, at):
            at = _skip(text, at + len(CLOSE))
        elif at < len(text) or not open_end:
            raise Unread("invalid_json", f"the block is not one object and {CLOSE}")
    if not shapes:
        raise Unread("no_call", "there is no tool_call block")
    return shapes


def _object(text: str, start: int) -> tuple[Shape, int]:
    try:
        value, end = value_at(text, start)
    except Malformed as error:
        raise Unread("invalid_json", f"not valid JSON: {error}") from None
    shape = call_of(value)
    if isinstance(shape, str):
        raise Unread("wrong_shape", shape)
    return shape, end


def _names(text: str) -> list[str]:
    """The names of the calls that follow each other, as far as they can be read."""
    names: list[str] = []
    at = text.find("{")
    while at >= 0:
        try:
            value, at = value_at(text, at)
        except Malformed:
            break
        shape = call_of(value)
        names.append("?" if isinstance(shape, str) else shape.name)
        at = text.find("{", at)
    return names


def _several(harness: Harness) -> bool:
    return harness.middleware.protocol.format in FORMATS_OF_SEVERAL


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _stopped(reply: Reply, harness: Harness) -> bool:
    """Whether a stop string ended the reply, or stands in it."""
    stops = harness.middleware.loop.stop
    return bool(stops) and (
        reply.stop_reason is StopReason.STOP or any(stop in reply.text for stop in stops)
    )


def _stopped_at(reply: Reply, harness: Harness, text: str) -> bool:
    return reply.stop_reason is StopReason.STOP and text in harness.middleware.loop.stop


def _without_stop(text: str, harness: Harness) -> str:
    """The text before a stop string that ends it."""
    stripped = text.rstrip()
    for stop in harness.middleware.loop.stop:
        if stop and stripped.endswith(stop) and stop not in (CLOSE, "}"):
            return stripped[: -len(stop)]
    return text
