"""Patterns of names and spellings that a text on view asks for and nothing takes (P, T, S, M): a
refused call is the text's doing where the text spells what was refused.
"""

import re
from collections.abc import Iterator

from evener.agents.pattern.background import properties
from evener.agents.pattern.cure import cure
from evener.agents.pattern.finding import Case, Finding, pair, signature
from evener.agents.pattern.lexical import plurals, words
from evener.agents.pattern.offering import tool_of
from evener.agents.pattern.saying import Text, fits, sentences, shown_texts
from evener.protocols.attribution import Severity
from evener.protocols.event import Acted, CallRefused
from evener.protocols.message import Call

PLURAL = frozenset({"plural", "plurals"})
CAPITAL = frozenset({"capital", "capitals", "capitalized", "uppercase", "upper"})
SHORT = frozenset({"abbreviated", "abbreviation", "abbreviations", "short", "symbol", "symbols"})
BLANK = frozenset({"space", "spaces", "blank", "blanks"})


def naming(case: Case) -> Iterator[Finding]:
    """`told_name:PATH`."""
    kind = case.background.kind(case.trajectory.task)
    texts = tuple(shown_texts(case))
    for index, event in enumerate(case.events):
        match event:
            case CallRefused():
                call, detail = event.call, event.detail
            case Acted(error_kind=str()):
                call, detail = event.call, event.observation
            case _:
                continue
        for text in texts:
            if kind is None or not _asks(case, text, event, call, kind, detail):
                continue
            yield case.finding(
                signature("told_name", text.path),
                text.cause,
                Severity.CRITICAL,
                event=index,
                quote=pair("name", call.name),
                suggestion=None if text.instead is None else case.edit(text.path, text.instead),
            )
            return


def _asks(
    case: Case, text: Text, event: CallRefused | Acted, call: Call, kind: str, detail: str
) -> bool:
    """Whether a text spells what was turned away: a tool's name, an argument's, or a value."""
    if isinstance(event, CallRefused) and event.reason == "unknown_tool":
        return _spells_tool(text.text, call.name)
    tool = tool_of(case, call.name if isinstance(event, CallRefused) else event.tool)
    known = set(properties(tool.parameters)) if tool is not None else set[str]()
    if isinstance(event, CallRefused) and event.reason in (
        "missing_argument",
        "unexpected_argument",
    ):
        return any(_quotes(text.text, name) for name in call.arguments if name not in known)
    action = tool.action or "" if tool is not None else call.name
    for name, value in call.arguments.items():
        if isinstance(value, str) and _spells(case, text, (action, name, value), kind, detail):
            return True
    return False


def _spells(case: Case, text: Text, given: tuple[str, str, str], kind: str, detail: str) -> bool:
    """Whether a text has a foreign word of a value, or speaks of how it was spelled."""
    action, name, value = given
    asked = {*words(case.trajectory.task.prompt), *(w for q in case.background.asked for w in q)}
    listed = {word for known in case.background.values(action, name) for word in words(known)}
    foreign = [w for w in re.findall(r"[^\W\d_]{2,}", value) if w.casefold() not in asked | listed]
    found = cure(value, action=action, argument=name, background=case.background, error=detail)
    if found is None and any(re.search(rf"\b{re.escape(w)}\b", text.text) for w in foreign):
        return True
    if found is None:
        return False
    if found.rule == "alias":
        plural = value.casefold() in plurals(found.value) or value.casefold().endswith("s")
        marks = PLURAL if plural else SHORT
    else:
        marks = CAPITAL if found.rule == "lower" else BLANK
    spoken = (s for s in sentences(text.text) if fits(case, s, kind))
    return any(marks & set(words(sentence)) for sentence in spoken)


def _spells_tool(text: str, name: str) -> bool:
    """A tool's name as a name: it is no plain word, it is quoted, or it is called a tool."""
    word = re.escape(name)
    if "_" in name and re.search(rf"\b{word}\b", text):
        return True
    return _quotes(text, name) or bool(
        re.search(rf"\b(?:tools?|calls?|with|uses?|using)\s+{word}\b|\b{word}\s+tool\b", text)
    )


def _quotes(text: str, name: str) -> bool:
    return bool(re.search(rf"[`'\"<(,]\s*{re.escape(name)}\s*[`'\">):=,]", text))
