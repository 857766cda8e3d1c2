"""Harness files: YAML on disk ↔ the immutable value. A file that loads says only what it means.

Reading is strict and every refusal is one line with the field's path. Writing is a function of
the harness's digest: equal harnesses give equal bytes.
"""

import re
from pathlib import Path

import yaml
from pydantic import ValidationError

from evener.agents.harness import document
from evener.agents.harness.complaint import complaint
from evener.protocols.digest import JsonObject, canonical
from evener.protocols.error import HarnessError
from evener.protocols.harness import Harness

_UNSURE = re.compile(
    r"[-+.]?[0-9].*|[-+]?\.(inf|nan)|~|<<|=|y|n|yes|no|on|off|true|false|null|none", re.IGNORECASE
)
# characters that YAML readers fold into a line end or leave out
_LINE_ENDS = re.compile("[\r\x85\u2028\u2029\ufeff]")


def load(path: Path) -> Harness:
    """The harness in a file (UTF-8, with or without BOM, any line ends). Raises HarnessError."""
    return parse_yaml(read_text(path), where=str(path))


def read_text(path: Path) -> str:
    """The text of a YAML file of ours. Raises HarnessError."""
    try:
        size = path.stat().st_size
        if size > 4 * document.LARGEST:
            raise HarnessError(f"{size} bytes is no harness file", where=str(path))
        data = path.read_bytes()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise HarnessError(
            f"cannot be read: {reason}", where=str(path), remedy="give the path of a harness file"
        ) from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise HarnessError(
            f"not UTF-8: byte 0x{data[error.start]:02x} at offset {error.start}",
            where=str(path),
            remedy="save the file as UTF-8",
        ) from None


def parse_yaml(text: str, *, where: str) -> Harness:
    """The harness in a YAML text; `where` names its source in messages. Raises HarnessError."""
    data = document.read(text.removeprefix("\ufeff"), where=where)
    return from_document(data, where=where)


def from_document(data: JsonObject, *, where: str) -> Harness:
    """The harness that plain data describes. Raises HarnessError with the field's path."""
    try:
        return Harness.model_validate_json(canonical(data))
    except ValidationError as error:
        if "recipes" in data and "target" in data:
            raise HarnessError("this is a K, and no harness", where=where) from None
        what, path, remedy = complaint(error, data, Harness)
        raise HarnessError(
            what, where=f"{where}: {path}" if path else where, remedy=remedy
        ) from None
    except UnicodeEncodeError:
        raise HarnessError("text with half a surrogate pair", where=where) from None


def dump_yaml(harness: Harness) -> str:
    """YAML that loads as an equal harness; long texts as blocks, nothing that reads as a type."""
    return dump_document(Harness.model_validate_json(canonical(harness.document())).document())


def dump_document(data: JsonObject) -> str:
    """Plain data as YAML; long texts as blocks, nothing that reads as a type."""
    return yaml.dump(  # pyright: ignore[reportUnknownMemberType] - PyYAML's stubs
        data,
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=True,
        default_flow_style=False,
        width=1 << 20,
    )


class _Dumper(yaml.SafeDumper):
    """Writes no aliases, and quotes every text that some YAML reader would take for a type."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def _represent_text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    style = None
    if _LINE_ENDS.search(text):
        style = '"'
    elif "\n" in text:
        style = "|"
    elif _UNSURE.fullmatch(text) or not text:
        style = '"'
    return dumper.represent_scalar(  # pyright: ignore[reportUnknownMemberType] - PyYAML's stubs
        "tag:yaml.org,2002:str", text, style=style
    )


def _represent_float(dumper: _Dumper, value: float) -> yaml.ScalarNode:
    digits, e, exponent = repr(value).partition("e")
    text = digits + ("" if "." in digits else ".0") + e + exponent
    return dumper.represent_scalar(  # pyright: ignore[reportUnknownMemberType] - PyYAML's stubs
        "tag:yaml.org,2002:float", text
    )


_Dumper.add_representer(str, _represent_text)
_Dumper.add_representer(float, _represent_float)
