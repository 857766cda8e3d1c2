"""What can be told without algebra: equal notation, whole numbers, fractions, decimals, numerals
with a base, and words.

A decimal is the fraction it says: 0.5 is a half, and 0.333333 is not a third.
"""

import re

from evener.environments.scoring.normal import compact, is_text, numeral, rational, words

Ruling = tuple[bool, str]

_DOTS = re.compile(r"\.{3}|…|\\(?:l|c)?dots(?![a-zA-Z])")
_MAGNITUDE = re.compile(
    r"(?i)(?<![a-zA-Z])(?:dozen|hundred|thousand|million|billion|trillion)s?(?![a-zA-Z])"
)


def told_apart(gold: str, answer: str) -> str | None:
    """The rule by which two answers differ whatever their numbers are: digits that go on where the
    gold's end (`dots`), or a number's magnitude in words that the gold has not (`magnitude`)."""
    for rule, sign in (("dots", _DOTS), ("magnitude", _MAGNITUDE)):
        if sign.search(answer) and not sign.search(gold):
            return rule
    return None


def same(gold: str, answer: str) -> Ruling | None:
    """(equal, the rule that says so) for one item of the gold and one of the answer, both in
    normal form; None where it takes algebra."""
    if compact(gold) == compact(answer):
        return True, "string"
    based = numeral(gold)
    if based is not None:
        other = numeral(answer)
        if other is not None:
            return based == other, "numeral"
        # the base is the problem's: digits alone are taken in it
        return based[0] == (answer.replace(" ", "").lstrip("0") or "0"), "numeral"
    if is_text(gold):
        return words(gold) == words(answer), "text"
    expected, given = rational(gold), rational(answer)
    if expected is not None and given is not None:
        whole = expected.denominator == given.denominator == 1
        return expected == given, "integer" if whole else "rational"
    return None
