"""A proposal's record as a YAML file that people read and that `DiffRecord` comes back from.

Its first line is the SHA-256 of the rest. The pairs behind a verdict stay in the event log; the
file has their number, the deltas and the intervals.
"""

import hashlib
import re
from pathlib import Path

import yaml
from pydantic import ValidationError

from evener.protocols.diff import DiffRecord
from evener.protocols.digest import JsonObject, canonical, digest
from evener.protocols.error import RunError

_HEAD = "# sha256 "
_LINE_ENDS = re.compile("[\r\x85\u2028\u2029]")  # YAML readers turn these into plain newlines
_LOADER = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader


class _Dumper(yaml.SafeDumper):
    """Without anchors: what occurs twice is written twice. Long text becomes a block."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = '"' if _LINE_ENDS.search(text) else "|" if "\n" in text else None
    return dumper.represent_scalar(  # pyright: ignore[reportUnknownMemberType] - partial stubs
        "tag:yaml.org,2002:str", text, style=style
    )


_Dumper.add_representer(str, _represent_text)


def identity(record: DiffRecord) -> str:
    """What makes two records the same proposal at the same place of the run. The verdict is no part
    of it: run again, the same trial counts fewer fresh episodes."""
    return digest(
        {
            "round": record.round,
            "iteration": record.iteration,
            "parent": record.parent,
            "name": record.proposal.name,
            "patch": record.proposal.patch.digest(),
        }
    )


def dump_diff(record: DiffRecord, *, applied: str | None, equals: str | None) -> str:
    """`applied` is the version that the record made, `equals` one with the same content."""
    data = record.document()
    verdict = data.get("verdict")
    if isinstance(verdict, dict):
        pairs = {side: verdict.pop(f"pairs_{side}") for side in ("in", "out")}
        verdict |= {
            f"n_{side}": len(found) for side, found in pairs.items() if isinstance(found, list)
        }
    document: JsonObject = {"applied": applied, "equals": equals, **data}
    text: str = yaml.dump(  # pyright: ignore[reportUnknownMemberType] - partial stubs
        document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100
    )
    return f"{_HEAD}{hashlib.sha256(text.encode()).hexdigest()}\n{text}"


def load_diff(path: Path) -> DiffRecord:
    """The record in a file. Raises RunError for one that was changed or is not whole."""
    fault = diff_fault(path)
    if fault:
        raise RunError(fault, where=str(path))
    data: JsonObject = yaml.load(path.read_bytes(), Loader=_LOADER)
    verdict = data.get("verdict")
    if isinstance(verdict, dict):
        del verdict["n_in"], verdict["n_out"]
    try:
        return DiffRecord.model_validate_json(
            canonical({key: data[key] for key in data if key not in ("applied", "equals")})
        )
    except ValidationError as error:
        raise RunError(f"damaged: {error.errors()[0]['msg']}", where=str(path)) from error


def diff_fault(path: Path) -> str | None:
    """Why the file cannot be trusted, or None."""
    try:
        head, _, rest = path.read_bytes().partition(b"\n")
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    if head.decode(errors="replace") != _HEAD + hashlib.sha256(rest).hexdigest():
        return "was changed"
    return None
