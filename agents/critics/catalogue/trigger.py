"""Words that tell one kind of task from the others, by the documentation alone.

A word is taken from a kind's examples, or from the values its actions' schemas list, if no example
of another kind has it; words that many of the examples share come first.
"""

import re

from evener.agents.pattern.background import Background, choices, procedure, properties, question
from evener.agents.pattern.lexical import plurals, words

MOST = 24
_GRAMMAR = """
a about after also an and any are as at be been before but by can could did do does for from get
gets give had has have he her his how i if in into is it its me my no not of on or our please
she should so some than that the their them then there these they this those to was we were what
when where which who why will with would you your
"""
FUNCTION = frozenset(_GRAMMAR.split())


def trigger_words(kind: str, background: Background, *, least: int = 2) -> tuple[str, ...]:
    """The words that at least `least` examples of the kind share (all do where it has fewer), the
    `MOST` most telling first, then what its schemas list; empty where nothing tells it apart."""
    own = [question(e.turns) for e in background.of(kind)]
    asked = list(zip(background.examples, background.asked, strict=True))
    foreign = {word for e, found in asked if e.kind != kind for word in found}
    foreign |= _filled_in(kind, background)
    sets = [set(found) for e, found in asked if e.kind == kind]
    counts = {word: sum(word in found for found in sets) for found in sets for word in found}
    shared = sorted(
        (w for w, n in counts.items() if n >= min(least, len(own)) and not _is_name(w, own)),
        key=lambda word: (-counts[word], word),
    )
    telling = [w for w in shared if w not in foreign and w not in FUNCTION]
    listed = [w for w in listed_words(kind, background) if w not in foreign]
    found = list(dict.fromkeys([*telling[:MOST], *listed]))
    # words of grammar are a last resort: they turn up in any sentence
    for word in (w for w in shared if w in FUNCTION and w not in foreign):
        if any(word in have and have.isdisjoint(found) for have in sets):
            found.append(word)
    return tuple(found)


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
