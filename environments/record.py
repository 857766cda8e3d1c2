"""A person's task file, read strictly: JSON lines in, checked records out, one line a fault.

A byte order mark, CRLF and blank lines change nothing. Ids are text: 1 and "1" are the same id.
"""

import json
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from pydantic import JsonValue

from evener.protocols.digest import JsonObject
from evener.protocols.error import DataError
from evener.protocols.task import Split

FIELDS: tuple[str, ...] = ("id", "prompt", "answer", "split", "kind")
_SPLITS = ", ".join(split.value for split in Split)


@dataclass(frozen=True)
class Record:
    """One task of the file with its hidden answer; `split` is None where the file names none."""

    id: str
    prompt: str
    answer: JsonValue
    split: Split | None
    kind: str
    line: int


def read(
    path: Path, *, fields: Mapping[str, str] | None = None, encoding: str = "utf-8"
) -> tuple[Record, ...]:
    """All records, checked for doubles and for overlap of splits. Raises DataError.

    `fields` says which key of the file holds each of `FIELDS`, where it is not the field's name.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DataError(
            f"cannot be read: {error.strerror}",
            where=str(path),
            remedy="Give the path of a file of JSON lines",
        ) from None
    keys = _keys(fields or {})
    lines = _decode(data, path, encoding).removeprefix("\ufeff").split("\n")
    records = [
        _record(line, keys, _Place(path, number))
        for number, line in enumerate(lines, start=1)
        if line.strip()
    ]
    if not records:
        raise DataError("no task in it", where=str(path), remedy="Write one JSON object a line")
    _unique(records, path)
    _disjoint(records, path)
    return tuple(records)


@dataclass(frozen=True)
class _Place:
    path: Path
    line: int

    def fault(self, what: str, remedy: str = "") -> DataError:
        return DataError(what, where=f"{self.path}, line {self.line}", remedy=remedy)


def _keys(fields: Mapping[str, str]) -> dict[str, str]:
    unknown = sorted(set(fields) - set(FIELDS))
    if unknown:
        raise DataError(
            f"{unknown[0]!r} is not a field of a task",
            where="fields",
            remedy=f"The fields are {', '.join(FIELDS)}",
        )
    return {field: fields.get(field, field) for field in FIELDS}


def _decode(data: bytes, path: Path, encoding: str) -> str:
    try:
        return data.decode(encoding)
    except LookupError:
        raise DataError(f"no encoding is called {encoding!r}", where=str(path)) from None
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"byte 0x{data[error.start]:02x}, byte offset {error.start}, is not {encoding.upper()}",
            where=f"{path}, line {line}",
            remedy="Save the file as UTF-8, or name its encoding",
        ) from None


def _constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _record(line: str, keys: Mapping[str, str], place: _Place) -> Record:
    try:
        value: JsonValue = json.loads(line, parse_constant=_constant)
    except RecursionError:
        raise place.fault("nested too deeply") from None
    except json.JSONDecodeError as error:
        two = error.msg == "Extra data"
        what = "a second value" if two else f"not JSON ({error.msg}"
        what += f" at column {error.colno}" if two else f" at column {error.colno})"
        raise place.fault(what, "Write exactly one JSON object a line") from None
    except ValueError as error:
        raise place.fault(str(error), "Write exactly one JSON object a line") from None
    if not isinstance(value, dict):
        raise place.fault(
            f"a {type(value).__name__}, not an object", "Write one JSON object a line"
        )
    missing = [keys[field] for field in ("id", "prompt", "answer") if keys[field] not in value]
    if missing:
        raise place.fault(
            f"no {missing[0]!r} among its keys {sorted(value)}",
            "Add it, or map the file's own key with fields",
        )
    return Record(
        id=_id(value[keys["id"]], place),
        prompt=_text(value, keys["prompt"], place),
        answer=value[keys["answer"]],
        split=_split(value.get(keys["split"]), place),
        kind=_text(value, keys["kind"], place) if keys["kind"] in value else "",
        line=place.line,
    )


def _id(value: JsonValue, place: _Place) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, str) and value.strip():
        return value
    raise place.fault(f"the id {value!r} is neither text nor a whole number")


def _text(value: JsonObject, key: str, place: _Place) -> str:
    text = value[key]
    if isinstance(text, str) and text.strip():
        return text
    raise place.fault(f"{key!r} is {text!r}, not text")


def _split(value: JsonValue, place: _Place) -> Split | None:
    if value is None:
        return None
    if isinstance(value, str) and value in set(Split):
        return Split(value)
    raise place.fault(f"there is no split {value!r}", f"The splits are {_SPLITS}")


def _unique(records: Sequence[Record], path: Path) -> None:
    for first, second in _doubles(records, lambda record: record.id):
        across = first.split != second.split
        splits = f", in the splits {first.split} and {second.split}" if across else ""
        raise DataError(
            f"lines {first.line} and {second.line} have the same id {first.id!r}{splits}",
            where=str(path),
            remedy='Give every task an id of its own; 1 and "1" are the same',
        )


def _disjoint(records: Sequence[Record], path: Path) -> None:
    unsplit = [record for record in records if record.split is None]
    if unsplit and len(unsplit) < len(records):
        raise DataError(
            "no split, while other lines name one",
            where=f"{path}, line {unsplit[0].line}",
            remedy="Name the split on every line or on none",
        )
    for first, second in _doubles(records, lambda record: normalized(record.prompt)):
        if first.split != second.split:
            raise DataError(
                f"lines {first.line} and {second.line} ask the same in the splits "
                f"{first.split} and {second.split}",
                where=str(path),
                remedy="Keep one of them: a task that was seen in training proves nothing",
            )


def _doubles(
    records: Sequence[Record], key: Callable[[Record], str]
) -> list[tuple[Record, Record]]:
    """Each record whose key occurred before under another split or at all, with that record."""
    seen: dict[str, list[Record]] = {}
    found: list[tuple[Record, Record]] = []
    for record in records:
        earlier = seen.setdefault(key(record), [])
        differing = [other for other in earlier if other.split != record.split]
        if earlier:
            found.append(((differing or earlier)[0], record))
        earlier.append(record)
    return found


def normalized(prompt: str) -> str:
    """A prompt's words, whatever its case, spacing, punctuation and form of characters."""
    folded = unicodedata.normalize("NFKC", prompt).casefold()
    return " ".join(re.sub(r"[^\w+\-*/=<>^%.]+", " ", folded).split()).rstrip(".")
