"""Words of a text, likeness of two texts, and the n-grams that a copied text gives away.

Everything is case folded; numbers count in n-grams and never in likeness.
"""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher

LEAK_GRAM = 8

_TOKEN = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")


# Words of grammar turn up in any sentence and tell nothing apart.
_GRAMMAR_WORDS = """
a about after also an and any are as at be been before but by can could did do does for from get
gets give had has have he her his how i if in into is it its me my no not of on or our please
she should so some than that the their them then there these they this those to was we were what
when where which who why will with would you your
"""
GRAMMAR = frozenset(_GRAMMAR_WORDS.split())


def tokens(text: str) -> tuple[str, ...]:
    """Every word and number, case folded, in order."""
    return tuple(_TOKEN.findall(text.casefold()))


def words(text: str) -> tuple[str, ...]:
    """The words without the tokens that hold a digit."""
    return tuple(t for t in tokens(text) if not any(c.isdigit() for c in t))


def grams(text: str, size: int = LEAK_GRAM) -> frozenset[tuple[str, ...]]:
    """All runs of `size` tokens; none where the text is shorter."""
    found = tokens(text)
    return frozenset(found[at : at + size] for at in range(len(found) - size + 1))


def masks(gram: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The run with each of its tokens left open in turn."""
    for at in range(len(gram)):
        yield (*gram[:at], "", *gram[at + 1 :])


def rarity(texts: Sequence[str]) -> dict[str, float]:
    """Inverse document frequency of every word in `texts`: log((1 + n) / (1 + df)) + 1."""
    sets = [set(words(text)) for text in texts]
    everything = {word for found in sets for word in found}
    return {
        word: math.log((1 + len(sets)) / (1 + sum(word in found for found in sets))) + 1
        for word in everything
    }


def likeness(left: str, right: str, weights: dict[str, float]) -> float:
    """Cosine of the two word sets under `weights` (1 for a word that has none), 0…1."""
    a, b = set(words(left)), set(words(right))

    def mass(found: Iterable[str]) -> float:
        return sum(weights.get(word, 1.0) ** 2 for word in sorted(found))

    if not a or not b:
        return 0.0
    return mass(a & b) / math.sqrt(mass(a) * mass(b))


LONGEST = 200  # characters of a name; what a model wrote beyond that is no spelling of one


def nearest(value: str, known: Sequence[str], *, floor: float = 0.6) -> str | None:
    """The one of `known` that `value` is most likely a spelling of, or None.

    In order: equal but for case, space, hyphen or underscore; a plural or singular; an
    abbreviation that fits one name only; edit likeness (difflib ratio) of at least `floor`.
    """
    if len(value) > LONGEST:
        return None
    plain = {name: _plain(name) for name in known if len(name) <= LONGEST}
    wanted = _plain(value)
    if not wanted:
        return None
    for same in (
        [n for n, p in plain.items() if p == wanted],
        [n for n, p in plain.items() if wanted in plurals(p) or p in plurals(wanted)],
        [n for n, p in plain.items() if _abbreviates(wanted, p)],
    ):
        if len(same) == 1:
            return same[0]
    scored = sorted(
        ((SequenceMatcher(None, wanted, p).ratio(), n) for n, p in plain.items()), reverse=True
    )
    return scored[0][1] if scored and scored[0][0] >= floor else None


def plurals(word: str) -> tuple[str, ...]:
    """Regular English plurals of a word."""
    if word.endswith(("s", "x", "ch", "sh")):
        return (word + "es",)
    return (word + "s", word[:-1] + "ies") if word.endswith("y") else (word + "s",)


def singular(word: str) -> str:
    """A word without the `s` of a regular plural."""
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _plain(text: str) -> str:
    return re.sub(r"[\s_\-]+", "", text.casefold())


def _abbreviates(short: str, name: str) -> bool:
    """`short` starts like `name` and its letters come in `name` in order."""
    if len(short) >= len(name) or not short or short[0] != name[0]:
        return False
    rest = iter(name)
    return all(letter in rest for letter in short)
