"""The shape of an answer: one value, a set, an ordered tuple, an interval, a word.

The gold's shape says how an answer is compared: a set in any order and whole, a tuple in order, an
interval with its brackets. Only strings are looked at.
"""

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from evener.environments.scoring.box import closing
from evener.environments.scoring.normal import is_text, normal, plain

Kind: TypeAlias = Literal["value", "set", "tuple", "interval", "text"]

_MEMBER = re.compile(r"[a-zA-Z]\s*\\in(?![a-zA-Z])\s*(?=[\[({\\])")
_WORD = re.compile(r"\\text\{\s*,?\s*(?:and|or)\s*\}|(?<![a-zA-Z\\])(?:and|or)(?![a-zA-Z])")
_CHOICE = re.compile(r"\\(?:pm|mp)(?![a-zA-Z])\s*")
_TEXTS = re.compile(r"\\[a-zA-Z]+\{[a-zA-Z ,.'-]*\}|\\[a-zA-Z]+")
_ROUND = re.compile(r"(?<![a-zA-Z])(?!arc|sinh|cosh|tanh)[a-zA-Z]{3,} +[a-zA-Z]{2,}(?![a-zA-Z])")
_TOKEN = re.compile(r"\\begin\b|\\end\b|\\[{}]|\\\\|\\[a-zA-Z]+|[(){}\[\],;]")
_OPENING = {"(", "{", "[", "\\{", "\\begin", "\\lbrace", "\\lfloor", "\\lceil", "\\langle"}
_CLOSING = {")", "}", "]", "\\}", "\\end", "\\rbrace", "\\rfloor", "\\rceil", "\\rangle"}


@dataclass(frozen=True)
class Form:
    """An answer taken apart: `items` are normal forms, `brackets` those of a tuple or interval,
    empty for a bare list, and `whole` is all of it."""

    kind: Kind
    items: tuple[str, ...]
    whole: str
    brackets: str = ""


def form(answer: str) -> Form:
    """The shape of any answer; what is not a list of some kind is a value."""
    whole = normal(answer)
    if is_text(whole):
        return Form("text", (whole,), whole)
    text = _MEMBER.sub("", whole, count=1) if _MEMBER.match(whole) else whole
    opened = "{" if text.startswith("\\{") else text[:1]
    if opened in ("{", "(", "[") and _wraps(text):
        mark = 2 if opened == "{" and text.startswith("\\{") else 1
        closed = text[-1]
        inside = text[mark : len(text) - (2 if closed == "}" and text[-2:] == "\\}" else 1)].strip()
        items = _parts(inside)
        if mark == 2:
            return Form("set", _expanded(items), whole)
        if opened == "{" or (len(items) == 1 and opened + closed == "()"):
            return form(inside)
        if len(items) > 1:
            kind: Kind = "tuple" if opened + closed == "()" else "interval"
            return Form(kind, tuple(items), whole, opened + closed)
        return Form("value", (text,), whole)
    listed = _expanded(_parts(_WORD.sub(",", text)))
    return Form("set", listed, whole) if len(listed) > 1 else Form("value", (text,), whole)


def fault(answer: str) -> str | None:
    """Why an answer has no shape that could be compared: its brackets do not match, or it is
    empty. None where nothing is wrong."""
    whole = normal(answer)
    if not plain(whole).strip():
        return "is empty"
    if re.search(r"\\frac\{[^{}]*\}\{0+\}|/0+(?![\d.])", whole):
        return "divides by zero"
    if not is_text(whole) and (words := _ROUND.findall(_TEXTS.sub("", whole))):
        return f"has words round it ({words[0]})"
    depth = 0
    for token in _TOKEN.findall(whole):
        depth += (token == "{") - (token == "}")
        if depth < 0:
            return "closes a brace that it did not open"
    if depth:
        return "leaves a brace open"
    if whole.count("\\begin") != whole.count("\\end"):
        return "leaves an environment open"
    if form(answer).kind != "text" and any(not item for item in form(answer).items):
        return "has an empty place between two commas"
    return None


def _wraps(text: str) -> bool:
    """Whether the bracket that a text begins with is closed by its last one."""
    if text[0] == "{":
        return closing(text, 0) == len(text) - 1
    depth = 0
    for token in _TOKEN.finditer(text):
        depth += (token.group() in _OPENING) - (token.group() in _CLOSING)
        if depth == 0:
            return token.end() == len(text)
    return False


def _parts(text: str) -> list[str]:
    """Split at the commas and semicolons that stand in no bracket."""
    found: list[str] = []
    depth = start = 0
    for token in _TOKEN.finditer(text):
        sign = token.group()
        depth += (sign in _OPENING) - (sign in _CLOSING)
        if depth == 0 and sign in (",", ";"):
            found.append(text[start : token.start()].strip())
            start = token.end()
    found.append(text[start:].strip())
    # `a, b, and c` has an empty place between the comma and the word
    return [part for part in found if part] if len(found) > 1 and any(found) else found


def _expanded(items: list[str]) -> tuple[str, ...]:
    """Each item with ± as the two that it stands for."""
    expanded: list[str] = []
    for item in items:
        if _CHOICE.search(item) is None:
            expanded.append(item)
            continue
        for plus in ("+", "-"):
            minus = "-" if plus == "+" else "+"
            signed = re.sub(r"\\pm(?![a-zA-Z])\s*", plus, item)
            signed = re.sub(r"\\mp(?![a-zA-Z])\s*", minus, signed)
            expanded.append(signed.strip().removeprefix("+"))
    return tuple(expanded)
