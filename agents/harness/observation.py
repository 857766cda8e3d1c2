"""Output of the world made fit to show: text only, and no longer than the harness allows."""

import re

CHARACTERS_A_TOKEN = 4
LONGEST_KEPT = 65_536

_NOT_TEXT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufeff\ufffe\uffff]")


def safe(text: str) -> str:
    """The text with everything that is no text replaced, and a word on how much that was."""
    text = text.replace("\r\n", "\n")
    made, count = _NOT_TEXT.subn("\ufffd", text)
    return f"{made}\n[{count} unprintable characters replaced]" if count else made


def kept(text: str) -> str:
    """The part of a safe text that is recorded; the rest is gone."""
    return text[:LONGEST_KEPT]


def shown(text: str, error_kind: str | None, tokens: int, *, length: int | None = None) -> str:
    """What a student reads of a safe text: at most `tokens` of it (4 characters each), and a
    visible word on what is left out. `length` is the text's own where only a part is at hand."""
    if not text:
        return f"error: {error_kind}" if error_kind else "(no output)"
    limit = tokens * CHARACTERS_A_TOKEN
    length = len(text) if length is None else length
    if length <= limit:
        return text
    text = text[:limit]
    return f"{text}\n[showing {len(text)} of {length} characters]"
