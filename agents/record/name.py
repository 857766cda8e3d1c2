"""One rule for every name that becomes a path, a peer or a version, whoever made it up.

`[a-z0-9][a-z0-9._-]{0,63}`: lower case ASCII, so that no two names differ in case or in Unicode
form alone, no path separators, and no name that a file system keeps for a device.
"""

import re
import unicodedata
from collections.abc import Iterable

from evener.protocols.error import UserError

SAFE = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
DEVICES = {"con", "prn", "aux", "nul"} | {f"{d}{n}" for d in ("com", "lpt") for n in range(10)}


def safe_name(name: str, *, what: str = "name", taken: Iterable[str] = ()) -> str:
    """The name itself, where it may be used. Raises UserError for one that may not, or that equals
    one of `taken` once both are normalised (NFC) and case-folded."""
    shown = repr(name if len(name) <= 80 else name[:77] + "…")
    if not SAFE.fullmatch(name) or name.endswith(".") or name.split(".")[0] in DEVICES:
        raise UserError(
            f"{shown} cannot be the name of a {what}",
            remedy="use 1–64 of a–z, 0–9, '.', '_', '-', beginning with a letter or digit; "
            "device names such as 'con' are kept out",
        )
    if folded(name) in {folded(other) for other in taken}:
        raise UserError(f"two {what}s are named {shown}", remedy="choose another name")
    return name


def folded(name: str) -> str:
    """The form in which two names count as equal."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def slug(text: str, *, fallback: str = "unnamed") -> str:
    """A safe name that resembles `text`, for display names that come from a model."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    made = re.sub(r"[^a-z0-9]+", "-", plain.casefold()).strip("-")[:48].strip("-") or fallback
    return f"{made}-1" if made in DEVICES else made
