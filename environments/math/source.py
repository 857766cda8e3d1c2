"""Problems of other people: a file of JSON lines, or a data set of the hub by its id.

Read strictly, and told by file and line where something is wrong. A text is passed through as it
is, with the code of its figures.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from evener.environments.record import Record, read
from evener.environments.scoring import written
from evener.environments.scoring.shape import fault
from evener.protocols.error import DataError

HUB = "hub:"
FIELDS: tuple[str, ...] = ("id", "problem", "answer")

_HUB = re.compile(r"hub:([\w.-]+/[\w.-]+|[\w.-]+)(?:/([\w.-]+))?(?:#([\w.-]+))?")
_NOWHERE = "\0"


def records(
    source: str, *, fields: Mapping[str, str] | None = None, encoding: str = "utf-8"
) -> tuple[Record, ...]:
    """All problems of a source, their answers as text. Raises DataError in one line.

    `source` is a path, or `hub:owner/name`, `hub:owner/name/config#split`. `fields` says which key
    holds each of `FIELDS`, where it is not the field's name.
    """
    keys = _keys(fields or {})
    if source.startswith(HUB):
        found = _hub(source, keys)
    else:
        path = Path(source).expanduser()
        # a split or a kind in the file means something else there
        mapped = {"id": keys["id"], "prompt": keys["problem"], "answer": keys["answer"]}
        mapped |= {"split": _NOWHERE, "kind": _NOWHERE}
        found = read(path, fields=mapped, encoding=encoding)
    return tuple(replace(record, answer=_answer(record, source)) for record in found)


def place(source: str, line: int) -> str:
    """How a message names a problem's origin."""
    return f"{source}, {'row' if source.startswith(HUB) else 'line'} {line}"


def _keys(fields: Mapping[str, str]) -> dict[str, str]:
    unknown = sorted(set(fields) - set(FIELDS))
    if unknown:
        raise DataError(
            f"{unknown[0]!r} is not a field of a problem",
            where="fields",
            remedy=f"The fields are {', '.join(FIELDS)}",
        )
    return {field: fields.get(field, field) for field in FIELDS}


def _answer(record: Record, source: str) -> str:
    """The gold answer as text. Raises DataError where it is none, or has no shape."""
    where, value = place(source, record.line), record.answer
    if value is None or isinstance(value, bool | list | dict):
        raise DataError(
            f"the answer is {json.dumps(value)[:60]}",
            where=where,
            remedy="Write it as text or as a number",
        )
    text = value if isinstance(value, str) else written(value)
    why = fault(text)
    if why is not None:
        raise DataError(
            f"the answer {text[:60]!r} cannot be read: it {why}",
            where=where,
            remedy="Write one exact answer in LaTeX, without words round it",
        )
    return text


def _hub(source: str, keys: Mapping[str, str]) -> tuple[Record, ...]:
    found = _HUB.fullmatch(source)
    if found is None:
        raise DataError(
            "not a data set of the hub",
            where=source[:80],
            remedy="Write hub:owner/name, or hub:owner/name/config#split",
        )
    name, config, split = found[1], found[2], found[3] or "train"
    # the library's types are open
    load: Any = import_module("datasets").load_dataset
    try:
        rows: list[dict[str, JsonValue]] = [dict(row) for row in load(name, config, split=split)]
    except Exception as error:  # noqa: BLE001 - many libraries' errors; told in one line
        said = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise DataError(
            f"cannot be loaded: {said[:200]}",
            where=source,
            remedy="Without a network (or with HF_HUB_OFFLINE=1) give the path of a file",
        ) from None
    if not rows:
        raise DataError("no problem in it", where=source)
    return tuple(_row(row, at, keys, source) for at, row in enumerate(rows, start=1))


def _row(row: dict[str, JsonValue], at: int, keys: Mapping[str, str], source: str) -> Record:
    where = place(source, at)
    for field in ("problem", "answer"):
        if keys[field] not in row:
            raise DataError(
                f"no {keys[field]!r} among its columns {sorted(row)}",
                where=where,
                remedy="Map the data set's own column with fields",
            )
    prompt = row[keys["problem"]]
    if not isinstance(prompt, str) or not prompt.strip():
        raise DataError(f"{keys['problem']!r} is {str(prompt)[:60]!r}, not text", where=where)
    named = row.get(keys["id"])
    return Record(
        id=str(at if named is None else named),
        prompt=prompt,
        answer=row[keys["answer"]],
        split=None,
        kind="",
        line=at,
    )
