"""Columns: plain text for a terminal, pipes for a page."""

from collections.abc import Sequence
from typing import NamedTuple


class Table(NamedTuple):
    """Rows under a title; `note` says how to read them. One without rows is shown nowhere."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[object]]
    note: str = ""


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Columns as wide as they need to be, two spaces between them."""
    cells = [[str(cell) for cell in row] for row in [header, *rows]]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    lines = ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) for row in cells]
    return "\n".join(line.rstrip() for line in lines)


def plain(found: Table) -> str:
    """Title, columns, note."""
    parts = (found.title, table(found.header, found.rows), found.note)
    return "\n".join(part for part in parts if part)


def piped(found: Table) -> str:
    """The columns as a Markdown table, and the note."""
    head = [_line(found.header), _line(["---"] * len(found.header))]
    text = "\n".join([*head, *(_line([escape(str(c)) for c in row]) for row in found.rows)])
    return f"{text}\n\n{found.note}" if found.note else text


def escape(text: str) -> str:
    """Text of a run, names and reasons, as it stands: it makes no column, tag or link."""
    for sign in ("\\", "|", "<", "[", "*", "`"):
        text = text.replace(sign, f"\\{sign}")
    return " ".join(text.split())


def _line(cells: Sequence[object]) -> str:
    return f"| {' | '.join(map(str, cells))} |"
