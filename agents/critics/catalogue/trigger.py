"""Words that tell one kind of task from the others, by the documentation alone.

A word is taken from a kind's examples, or from the values its actions' schemas list, if no example
of another kind has it. A word that few examples have is more likely chance than mark.
"""

import re
from collections import Counter
from collections.abc import Sequence

from evener.agents.pattern.background import (
    Background,
    calls_of,
    choices,
    procedure,
    properties,
    question,
)
from evener.agents.pattern.lexical import GRAMMAR, plurals, words


def trigger_words(
    kind: str, background: Background, *, all_of_them: bool = False
) -> tuple[str, ...]:
    """The words that tell a kind; empty where nothing tells it apart.

    What its schemas list, what three in four of its examples share, and what all examples of one
    form share and no other has; then as few further words as the examples still without one need,
    words of grammar last. `all_of_them` takes every word that no other kind's example has.
    """
    asked = list(zip(background.examples, background.asked, strict=True))
    own = [(background.form(calls_of(e.turns)), set(w)) for e, w in asked if e.kind == kind]
    texts = [question(e.turns) for e in background.of(kind)]
    foreign = {word for e, found in asked if e.kind != kind for word in found}
    foreign |= _filled_in(kind, background)
    counts = Counter(word for _, found in own for word in found)
    usable = sorted(
        (w for w in counts if w not in foreign and not _is_name(w, texts)),
        key=lambda word: (word in GRAMMAR, -counts[word], word),
    )
    found = [w for w in listed_words(kind, background) if w not in foreign]
    for word in usable:
        firm = counts[word] * 4 >= len(own) * 3 or _marks_a_form(word, own)
        needed = any(word in have and have.isdisjoint(found) for _, have in own)
        common = counts[word] >= min(2, len(own))
        if (word not in GRAMMAR and (all_of_them or (firm and common))) or (needed and common):
            found.append(word)
    return tuple(dict.fromkeys(found))


def _marks_a_form(word: str, own: Sequence[tuple[str, set[str]]]) -> bool:
    """Whether two examples or more have one form, all of them the word, and no other has it."""
    forms = {form for form, found in own if word in found}
    same = [found for form, found in own if form in forms]
    return len(forms) == 1 and len(same) > 1 and all(word in found for found in same)


def _filled_in(kind: str, background: Background) -> set[str]:
    """Words that the kind's examples pass on as free text: they fill a place in the question."""
    found: set[str] = set()
    for example in background.of(kind):
        for turn in example.turns:
            spec = background.action(turn.call.name) if turn.call else None
            schemas = properties(spec.parameters) if spec else {}
            for name, value in turn.call.arguments.items() if turn.call else ():
                if isinstance(value, str) and not choices(schemas.get(name, {})):
                    found.update(words(value))
    return found


def listed_words(kind: str, background: Background) -> tuple[str, ...]:
    """The values that schemas list for the actions only this kind uses, and their plurals."""
    mine = {a for e in background.of(kind) for a in procedure(e.turns)}
    others = {a for e in background.examples if e.kind != kind for a in procedure(e.turns)}
    found: list[str] = []
    for name in sorted(mine - others):
        spec = background.action(name)
        for argument, schema in properties(spec.parameters).items() if spec else ():
            for value in choices(schema):
                found += [value.casefold(), *plurals(value.casefold())]
            found += background.spellings(name, argument)
    return tuple(dict.fromkeys(found))


def _is_name(word: str, texts: list[str]) -> bool:
    """Whether a word is always capitalised: a name, or a word that only opens sentences."""
    pattern = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)", re.IGNORECASE)
    seen = [match for text in texts for match in pattern.findall(text)]
    return bool(seen) and all(match[0].isupper() for match in seen)
