"""YAML text → plain data, without the parts of YAML that explode or bite.

No anchors, aliases, tags, merge keys or second document; keys are text and occur once; size and
depth are bounded. Only `true`, `false`, `null`, plain decimal integers and decimals are not text:
`no`, `012`, `1e3`, `1_000` and dates stay the strings that were written.
"""

import math
import re
from dataclasses import dataclass

import yaml
from pydantic import JsonValue

from evener.protocols.digest import JsonObject
from evener.protocols.error import HarnessError

LARGEST = 1 << 20
DEEPEST = 40
MOST_NODES = 100_000

_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,17})")
_DECIMAL = re.compile(r"-?(0|[1-9][0-9]{0,17})\.[0-9]{1,30}([eE][-+][0-9]{1,3})?")
_WORDS: dict[str, JsonValue] = {"true": True, "false": False, "null": None, "~": None, "": None}
_LOADER = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader


def scalar(text: str) -> JsonValue:
    """What a plain (unquoted) scalar stands for."""
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    if _DECIMAL.fullmatch(text) and math.isfinite(float(text)):
        return float(text)
    return text


@dataclass
class _Open:
    """A collection that is being read; `key` is the mapping key whose value comes next."""

    value: JsonObject | list[JsonValue]
    key: str | None = None


def read(text: str, *, where: str) -> JsonObject:
    """The mapping that the text holds. Raises HarnessError with the line of the first fault."""
    if len(text) > LARGEST:
        raise HarnessError(
            f"{len(text)} characters; at most {LARGEST} are read",
            where=where,
            remedy="move data out of the harness file",
        )
    try:
        return _Builder(where).build(text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f"{where}, line {mark.line + 1}" if mark else where
        raise HarnessError(f"not YAML: {error.problem or error.context}", where=line) from None
    except yaml.YAMLError as error:
        first = str(error).strip().splitlines()[0]
        raise HarnessError(f"not YAML: {first}", where=where) from None


class _Builder:
    """Builds data from parser events, so that nothing is ever expanded."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._stack: list[_Open] = []
        self._root: JsonValue = None
        self._documents = 0
        self._nodes = 0

    def build(self, text: str) -> JsonObject:
        for event in yaml.parse(text, Loader=_LOADER):
            self._take(event)
        if self._root is None:
            raise HarnessError("the file is empty", where=self._where, remedy="it needs a name")
        if not isinstance(self._root, dict):
            raise HarnessError(
                f"expected a mapping with name, prompt, tools …, found {kind(self._root)}",
                where=self._where,
            )
        return self._root

    def _take(self, event: yaml.Event) -> None:
        match event:
            case yaml.DocumentStartEvent():
                self._documents += 1
                if self._documents > 1:
                    raise self._fault(event, "a second document", "keep one harness in a file")
            case yaml.AliasEvent():
                raise self._fault(event, "YAML aliases are not allowed", "write the value out")
            case yaml.ScalarEvent():
                self._check(event)
                plain = event.implicit[0] and not event.style
                self._put(event, scalar(event.value) if plain else event.value, text=event.value)
            case yaml.MappingStartEvent() | yaml.SequenceStartEvent():
                self._check(event)
                value: JsonObject | list[JsonValue]
                value = {} if isinstance(event, yaml.MappingStartEvent) else []
                self._put(event, value)
                self._stack.append(_Open(value))
                if len(self._stack) > DEEPEST:
                    raise self._fault(event, f"nested deeper than {DEEPEST}", "flatten it")
            case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                self._stack.pop()
            case _:
                pass

    def _check(
        self, event: yaml.ScalarEvent | yaml.MappingStartEvent | yaml.SequenceStartEvent
    ) -> None:
        self._nodes += 1
        if event.anchor is not None:
            raise self._fault(event, "YAML anchors are not allowed", "write the value out")
        if event.tag is not None and event.tag != "!":
            raise self._fault(event, f"YAML tags are not allowed: {event.tag}", "remove it")
        if self._nodes > MOST_NODES:
            raise self._fault(event, f"more than {MOST_NODES} values", "move data out of it")

    def _put(self, event: yaml.Event, value: JsonValue, *, text: str | None = None) -> None:
        if not self._stack:
            self._root = value
            return
        top = self._stack[-1]
        if isinstance(top.value, list):
            top.value.append(value)
        elif top.key is not None:
            top.value[top.key] = value
            top.key = None
        elif text is None or not isinstance(value, str):
            raise self._fault(event, "a key that is not text", "put the key in quotes")
        elif text in top.value:
            raise self._fault(event, f"the key {text!r} twice", "keep one of them")
        else:
            top.key = text

    def _fault(self, event: yaml.Event, what: str, remedy: str) -> HarnessError:
        mark = event.start_mark
        line = f", line {mark.line + 1}" if mark else ""
        return HarnessError(what, where=f"{self._where}{line}", remedy=remedy)


def kind(value: JsonValue) -> str:
    """What a value is, in words."""
    match value:
        case None:
            return "nothing"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return f"the number {value}"
        case str():
            return f"the text {value[:40]!r}"
        case list():
            return "a list"
        case dict():
            return "a mapping"
