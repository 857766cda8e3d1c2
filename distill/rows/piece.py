"""A row as text, exactly as it was rendered, in pieces that do or do not carry the loss."""

import json
from collections.abc import Sequence

from evener.agents.models.local.render import Renderer
from evener.distill.rows.build import Row
from evener.distill.rows.place import Decode
from evener.protocols.digest import Wire


class Piece(Wire):
    """A stretch of a row's text. `trained` says whether its tokens carry the loss."""

    text: str
    trained: bool


def speller(renderer: Renderer) -> Decode:
    """Token ids → their text, special tokens spelled out and spaces kept."""

    def spell(ids: Sequence[int]) -> str:
        text: str = renderer.tokenizer.decode(
            list(ids), skip_special_tokens=False, clean_up_tokenization_spaces=False
        )
        return text

    return spell


def pieces(row: Row, spell: Decode) -> tuple[Piece, ...]:
    """The row's text in order; put together it is `spell(row.ids)`. There is one trained piece for
    each span. An edge within a character stands before it."""
    whole = spell(row.ids)
    made: list[Piece] = []
    at = 0
    for span in row.spans:
        start, end = (_reached(spell(row.ids[:edge]), whole) for edge in span)
        start, end = max(at, start), max(at, start, end)
        if start > at:
            made.append(Piece(text=whole[at:start], trained=False))
        made.append(Piece(text=whole[start:end], trained=True))
        at = end
    if at < len(whole):
        made.append(Piece(text=whole[at:], trained=False))
    return tuple(made)


def exported(row: Row, spell: Decode) -> str:
    """The row as a line of JSON for other programs: its fields and its text, in ASCII alone, since
    other signs would end a line for some readers."""
    return json.dumps({**row.document(), "text": spell(row.ids)}, sort_keys=True) + "\n"


def _reached(text: str, whole: str) -> int:
    """How far into the whole a beginning of its tokens comes; signs that stand for half a character
    do not count."""
    while not whole.startswith(text):
        text = text[:-1]
    return len(text)
