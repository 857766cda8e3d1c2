"""Text as a terminal may print it. What tasks and models wrote is untrusted: a terminal obeys
control and direction signs, so that a reply could repaint what stands above it."""

import json
import re
import unicodedata

_OBEYED = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}  # general categories of Unicode
_NOT_PLAIN = re.compile(r"[^ -~]")


def printable(text: str, *, lines: bool = True, besides: str = "") -> str:
    """The text with everything escaped that a terminal obeys, and the signs `besides`; line ends
    and tabs are kept with `lines`."""
    kept = "\n\t" if lines else ""

    def shown(found: re.Match[str]) -> str:
        sign = found[0]
        return _escaped(sign) if sign not in kept and (sign in besides or _obeyed(sign)) else sign

    return _NOT_PLAIN.sub(shown, text)


def printable_json(text: str) -> str:
    """JSON that means the same and holds no sign that a terminal obeys."""

    def shown(found: re.Match[str]) -> str:
        sign = found[0]
        # between its tokens JSON has line ends and spaces alone
        return json.dumps(sign)[1:-1] if sign != "\n" and _obeyed(sign) else sign

    return _NOT_PLAIN.sub(shown, text)


def _obeyed(sign: str) -> bool:
    return unicodedata.category(sign) in _OBEYED


def _escaped(sign: str) -> str:
    """A sign by its number, as Python writes it."""
    code = ord(sign)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
