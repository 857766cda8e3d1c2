"""Calls by the letter of a protocol: where an object ends is found by decoding it."""

from evener.agents.harness.decode import Malformed, value_at
from evener.agents.harness.shape import Shape, call_of
from evener.protocols.event import ParseFault

OPEN, CLOSE = "<tool_call>", "</tool_call>"


class Unread(Exception):
    """No call could be read: the fault, what is wrong in words, and text that looks like a call
    where the fault does not say so."""

    def __init__(self, fault: ParseFault, detail: str, *, ignored: str = "") -> None:
        self.fault: ParseFault = fault
        self.detail = detail
        self.ignored = ignored
        super().__init__(detail)


def strict_calls(text: str, *, form: str, several: bool, open_end: bool) -> list[Shape]:
    """The calls of a text that is nothing but calls in `form` (json or hermes). Raises Unread.

    `open_end`: the last closing tag may be missing, for it stopped the reply.
    """
    text = text.strip()
    if form == "hermes":
        shapes = _blocks(text, open_end=open_end)
        if len(shapes) > 1 and not several:
            raise too_many([shape.name for shape in shapes])
        return shapes
    if not text.startswith("{"):
        raise Unread("no_call", "there is no call" if text else "the reply is empty")
    shape, at = _object(text, 0)
    shapes = [shape]
    at = _skip(text, at)
    while several and text.startswith("{", at):
        shape, at = _object(text, at)
        shapes.append(shape)
        at = _skip(text, at)
    rest = text[at:]
    if not rest:
        return shapes
    if not several and rest.lstrip(";,\n ").startswith("{"):
        raise too_many(_names(text))
    raise Unread("call_like_text", "there is text after the JSON object")


def too_many(names: list[str]) -> Unread:
    """The fault of a reply that makes several calls where one is allowed; it names them all."""
    return Unread("several_calls", f"more than one call: {', '.join(names)}")


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


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at
