"""What makes a reply a call, whichever call it is: tags, braces, commas, colons, quotes, and the
keys `name` and `arguments`.

Left out is all that says which call: the tool's name, the names of its arguments and their values
(of a text its quotes are form, a number or a list is value from end to end). Reasoning before a
call and white space round it are no part of its form. Read strictly: what a lenient parser would
forgive is not well formed.
"""

from collections.abc import Iterator
from typing import TypeAlias

from evener.agents.harness.decode import Malformed, value_at
from evener.agents.harness.parse import admits_several
from evener.agents.harness.shape import call_of, split_reasoning
from evener.agents.harness.strict import CLOSE, OPEN
from evener.distill.rows.mask import without
from evener.protocols.harness import Harness

Stretch: TypeAlias = tuple[int, int]
"""Half-open range of characters."""


def skeleton(text: str, harness: Harness) -> list[Stretch]:
    """Where in a reply the form stands, in order; empty for one that is no call by the letter of
    the harness's protocol, `json` or `hermes`."""
    visible, _ = split_reasoning(text)
    start = _skip(text, len(text) - len(visible))
    try:
        if harness.middleware.protocol.format == "hermes":
            open_end = CLOSE in harness.middleware.loop.stop
            end, holes = _blocks(text, start, open_end=open_end)
        else:
            end, holes = _calls(text, start, several=admits_several(harness))
    except Malformed:
        return []
    if text[end:].strip() or end == start:
        return []
    return without([(start, end)], [hole for hole in holes if hole[0] < hole[1]])


def _blocks(text: str, at: int, *, open_end: bool) -> tuple[int, list[Stretch]]:
    """Where the last block ends, and all that is not form. `open_end`: a stop string may have taken
    the last closing tag."""
    end, holes, closed = at, list[Stretch](), True
    while text.startswith(OPEN, at):
        at = _skip(text, at + len(OPEN))
        if not text.startswith("{", at):
            raise Malformed("there is no object behind the tag")
        while text.startswith("{", at):
            end, found = _call(text, at)
            holes += found
            at = _skip(text, end)
        closed = text.startswith(CLOSE, at)
        if closed:
            end = at + len(CLOSE)
            at = _skip(text, end)
    if not (closed or (open_end and at == len(text))):
        raise Malformed("the block is not closed")
    return end, holes


def _calls(text: str, at: int, *, several: bool) -> tuple[int, list[Stretch]]:
    """Where the call that begins at `at` ends, or the last of `several`; all that is not form."""
    end, holes = _call(text, at)
    while several and text.startswith("{", at := _skip(text, end)):
        end, found = _call(text, at)
        holes += found
    return end, holes


def _call(text: str, start: int) -> tuple[int, list[Stretch]]:
    """Where the call that begins at `start` ends, and all of it that is not form."""
    value, end = value_at(text, start)
    wrong = call_of(value)
    if isinstance(wrong, str):
        raise Malformed(wrong)
    holes: list[Stretch] = []
    for key, value_place in _members(text, start):
        if value_at(text, key[0])[0] == "name":
            holes.append(_inside(text, value_place))
            continue
        for argument, given in _members(text, value_place[0]):
            holes += [_inside(text, argument), _inside(text, given)]
    return end, holes


def _members(text: str, start: int) -> Iterator[tuple[Stretch, Stretch]]:
    """Where each key and each value stands of the valid object that begins at `start`."""
    at = _skip(text, start + 1)
    while text[at] != "}":
        _, colon = value_at(text, at)
        begin = _skip(text, _skip(text, colon) + 1)
        _, end = value_at(text, begin)
        yield (at, colon), (begin, end)
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)


def _inside(text: str, place: Stretch) -> Stretch:
    """A text without its quotes; anything else whole."""
    start, end = place
    return (start + 1, end - 1) if text[start] == '"' else place


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at
