"""What can be told without algebra: equal notation, whole numbers, fractions, decimals, numerals
with a base, and words.

A decimal is the fraction it says: 0.5 is a half, and 0.333333 is not a third.
"""

from evener.environments.scoring.normal import compact, is_text, numeral, rational, words

Ruling = tuple[bool, str]


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
