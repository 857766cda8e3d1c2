"""A reply → the calls it makes, or why none could be read. Nothing is dropped in silence.

One reader for every protocol. Strict (`strict: true`): the reply is exactly what the format asks
for. Lenient: the first object that is a call, however it is wrapped; the event then says `repaired`
and how. A reply that was cut by the length limit is never executed, a call inside the reasoning is
not one unless the protocol says so, and ids are our own.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from evener.agents.harness.lenient import Near, near_calls
from evener.agents.harness.reasoning import set_apart
from evener.agents.harness.shape import Shape, looks_like_call
from evener.agents.harness.strict import CLOSE, Unread, strict_calls, too_many
from evener.protocols.event import Parsed, ParseFailed, Repair
from evener.protocols.harness import Harness
from evener.protocols.message import Call
from evener.protocols.model import ModelRef, Reply, StopReason

FORMATS_OF_SEVERAL = ("hermes", "native")
LONGEST_IGNORED = 400

_NOBODY = ModelRef(base="nobody", revision="")

# a call with nothing but these around it is itself written by the letter
_AROUND: frozenset[Repair] = frozenset({"text", "fence", "tags", "python_tag"})


@dataclass(frozen=True)
class _Read:
    shapes: Sequence[Shape]
    repairs: tuple[Repair, ...] = ()
    ignored: str = ""


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
        read = _read(reply, harness, offered, strict=strictly)
    except Unread as unread:
        ignored = unread.ignored[:LONGEST_IGNORED]
        if unread.fault == "no_call" and _stopped(reply, harness):
            return Parsed(turn=turn, calls=(), ignored=ignored)
        more = "; what looks like a call stands inside the reasoning" if ignored else ""
        return ParseFailed(turn=turn, fault=unread.fault, detail=f"{unread.detail}{more}")
    calls = tuple(
        Call(id=f"call_{turn}_{index}", name=shape.name, arguments=shape.arguments)
        for index, shape in enumerate(read.shapes)
    )
    return Parsed(
        turn=turn,
        calls=calls,
        repaired=bool(read.repairs),
        repairs=read.repairs,
        ignored=read.ignored[:LONGEST_IGNORED],
    )


def read_text(
    text: str, harness: Harness, offered: Sequence[str], *, strict: bool | None = None
) -> Parsed | ParseFailed:
    """What a text says, as a whole reply of whomever."""
    return read_reply(Reply(text=text, model=_NOBODY), harness, offered, strict=strict)


def first_call(reading: Parsed | ParseFailed) -> Call | None:
    """The first call that was read, None where there is none."""
    return next(iter(reading.calls), None) if isinstance(reading, Parsed) else None


def admits_several(harness: Harness) -> bool:
    """Whether a turn may make several calls."""
    wire = harness.middleware.protocol
    return wire.format in FORMATS_OF_SEVERAL if wire.several is None else wire.several


def said_besides(text: str, offered: Sequence[str]) -> str:
    """What a reply says besides calls written as text: no reasoning, wrapper or control token."""
    visible, _ = set_apart(text)
    near = near_calls(visible, offered, several=True)
    return visible.strip() if near is None else near.rest


def _read(reply: Reply, harness: Harness, offered: Sequence[str], *, strict: bool) -> _Read:
    limit = harness.middleware.loop.max_reply_tokens
    # a reviewer's text is whole: what it cost to sample the one it replaced says nothing of it
    full = reply.author == "student" and reply.usage.written >= limit
    native = harness.middleware.protocol.format == "native"
    if reply.stop_reason is StopReason.LENGTH or (full and native and reply.calls):
        raise Unread("cut_by_length", f"the reply was cut at {limit} tokens")
    text, reasoning = set_apart(reply.text)
    if native and reply.calls:
        return _native(reply, text, offered, several=admits_several(harness), strict=strict)
    text = _without_stop(text, harness)
    reasoning = f"{reasoning}\n{reply.reasoning or ''}"
    try:
        if native:
            raise Unread("no_call", "there is no tool call")
        return _Read(_strictly(text, harness, reply))
    except Unread as unread:
        if full:
            raise Unread("cut_by_length", f"the reply was cut at {limit} tokens") from None
        if not strict:
            near = near_calls(text, offered, several=admits_several(harness))
            if near is not None:
                return _repaired(near, text, harness, offered)
        if unread.fault == "no_call":
            found = _look_again(text, reasoning, harness, offered, strict=strict, first=unread)
            if found is not None:
                return found
        raise


def _native(
    reply: Reply, text: str, offered: Sequence[str], *, several: bool, strict: bool
) -> _Read:
    """The provider's own calls, of which only the first may be wanted."""
    shapes = [Shape(call.name, call.arguments) for call in reply.calls]
    if len(shapes) > 1 and not several:
        names = [shape.name for shape in shapes]
        if strict:
            raise too_many(names)
        return _Read(shapes[:1], ("first_of_several",), ", ".join(names[1:]))
    return _Read(shapes, ignored=text.strip() if looks_like_call(text, offered) else "")


def _repaired(near: Near, text: str, harness: Harness, offered: Sequence[str]) -> _Read:
    """A lenient reading with all that was mended, and what is left that looks like a call."""
    form = harness.middleware.protocol.format
    repairs: list[Repair] = []
    if form == "native":
        repairs.append("as_text")
    # its own tags are no repair of hermes, unless nothing but they can be at fault
    repairs.extend(repair for repair in near.repairs if (form, repair) != ("hermes", "tags"))
    ignored = near.rest if looks_like_call(near.rest, offered) else ""
    if not admits_several(harness):
        further = near_calls(text, offered, several=True)
        if further is not None and len(further.shapes) > 1:
            repairs.append("first_of_several")
            ignored = ", ".join(shape.name for shape in further.shapes[1:])
    if not repairs:
        repairs.append("tags" if form == "hermes" else "text")
    return _Read(near.shapes, tuple(repairs), ignored)


def _look_again(
    text: str,
    reasoning: str,
    harness: Harness,
    offered: Sequence[str],
    *,
    strict: bool,
    first: Unread,
) -> _Read | None:
    """The call of the reasoning where it is executed, None where nothing looks like a call. Raises
    Unread with what there is otherwise."""
    if looks_like_call(text, offered):
        raise Unread("call_like_text", "there is text that looks like a call") from None
    if not looks_like_call(reasoning, offered):
        return None
    if text.strip():
        raise Unread(first.fault, first.detail, ignored=reasoning.strip()) from None
    if harness.middleware.protocol.in_reasoning == "execute":
        near = near_calls(reasoning, offered, several=admits_several(harness))
        if near is not None and (not strict or _AROUND.issuperset(near.repairs)):
            found = _repaired(near, reasoning, harness, offered)
            more: tuple[Repair, ...] = tuple(r for r in found.repairs if r == "first_of_several")
            return _Read(found.shapes, ("in_reasoning", *near.repairs, *more), found.ignored)
    raise Unread("call_in_reasoning", "the call is inside the reasoning") from None


def _strictly(text: str, harness: Harness, reply: Reply) -> list[Shape]:
    return strict_calls(
        text,
        form=harness.middleware.protocol.format,
        several=admits_several(harness),
        open_end=_stopped_at(reply, harness, CLOSE),
    )


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
