"""An answer's notation without what has no meaning, and the numbers that need no algebra.

Nothing is evaluated and nothing is rounded: equal normal forms are equal answers, and numbers are
exact fractions of what is written.
"""

import re
from decimal import Decimal
from fractions import Fraction

from evener.environments.scoring.box import closing

LONGEST = 4096
DEEPEST = 40

_SPACE = re.compile(r"(?<!\\)\\[,;:> ]|\\q?quad(?![a-zA-Z])|~")
_DELIMITER = re.compile(r"\$|(?<!\\)\\[()\[\]]")
_THIN_THOUSANDS = re.compile(r"(?<=\d)(?:\\,|\{,\})(?=\d{3}(?!\d))")
_NEGATIVE_SPACE = re.compile(r"\s*\\!\s*")
_SIZE = re.compile(
    r"\\(?:left|right)\s*\.(?!\d)|\\(?:left|right|[bB]igg?[lrm]?|displaystyle|limits)(?![a-zA-Z])\s*"
)
_TEXT = re.compile(
    r"\\(?:text(?:bf|it|rm|sf|tt|normal)?|mbox|math(?:rm|bf|it|sf|tt)|boldsymbol|bm|underline|emph"
    r"|operatorname)\s*\{"
)
_QUANTITY = re.compile(r"\\text\{\s*([-+]?\d[\d,.]*)\s+([a-zA-Z][a-zA-Z ]*)\}")
_CHOOSE = re.compile(r"\{\s*(\w+)\s*\\choose\s*(\w+)\s*\}")
_SHORT_BINOMIAL = re.compile(r"\\binom\s*(\d)\s*(\d)")
_PERIOD = re.compile(r"\\(?:overline|bar|dot)\s*(?:\{(\d+)\}|(\d))")
_NAMED = re.compile(r"(?<![\\a-zA-Z])(sqrt|pi|sin|cos|tan|cot|log|ln|cdot|infty)(?![a-zA-Z])")
_SHORT_FRACTION = re.compile(r"\\frac\s*(?:(\d)\s*(\d)|(\d)\s*(\{)|(\{\d+\})\s*(\d))")
_THOUSANDS = re.compile(r"[-+]?\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_INTEGER = re.compile(r"[-+]?\d+")
_DECIMAL = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+)")
_SCIENTIFIC = re.compile(r"[-+]?\d+(?:\.\d+)?[eE][-+]?\d{1,3}")
_REPEATING = re.compile(r"([-+]?)(\d*)\.(\d*)\\overline\{(\d+)\}")
_RATIO = re.compile(r"([-+]?)(?:\\frac\{([-+]?\d+)\}\{([-+]?\d+)\}|(\d+)/(\d+))")
_MIXED = re.compile(r"([-+]?)(\d+)(?:\s*\\frac\{(\d+)\}\{(\d+)\}|\s+(\d+)/(\d+))")
_NUMERAL = re.compile(r"(\d+)_(?:\{(\d+)\}|(\d+))")
_APART = re.compile(r"(?<=\d)\s+(?=\d)")
_PROSE = re.compile(
    r"(?!.*\b(?:and|or|arc\w+|(?:sin|cos|tan)h|sec|csc|exp)\b)[A-Za-z]{2,}(?:[ '-][A-Za-z]{2,})*"
)
_WORDS = re.compile(r"[(\[\s]*([^\W_][\w\s'-]*)[)\]\s.]*")

_SIGNS = str.maketrans(
    {
        "−": "-",
        "–": "-",
        "×": "\\times ",
        "·": "\\cdot ",
        "π": "\\pi ",
        "√": "\\sqrt ",
        "∞": "\\infty ",
        "≤": "\\le ",
        "≥": "\\ge ",
        "∪": "\\cup ",
        "∈": "\\in ",
        "±": "\\pm ",
        "∓": "\\mp ",
        "°": "^\\circ ",
        **dict.fromkeys("\u200b\u200c\u200d\u200e\u200f\u2060\ufeff", ""),
        "\u00a0": " ",
        "\u2009": " ",
        "\u202f": " ",
    }
)


_SPELLINGS = {"lbrace": "\\{", "rbrace": "\\}", "varnothing": "\\emptyset"}


def written(number: int | float) -> str:
    """A number as a person writes it: every digit of its shortest decimal form, and no exponent."""
    return format(Decimal(repr(number)), "f")


def too_big(answer: str) -> str | None:
    """`too_long` or `too_deep` for an answer that no checker is to be given, else None."""
    if len(answer) > LONGEST:
        return "too_long"
    depth = deepest = 0
    for sign in answer:
        depth += (sign in "({[") - (sign in ")}]")
        deepest = max(deepest, depth)
    return "too_deep" if deepest > DEEPEST else None


def normal(answer: str) -> str:
    """The notation that is compared and given on: one form of spaces, signs, fractions and sizes.
    `\\text{…}` stays, since it tells a word from a product of letters."""
    text = answer.translate(_SIGNS).strip()
    text = re.sub(r"\\+$", "", text)  # a space or an end of line of which the rest was cut off
    text = _DELIMITER.sub("", text.replace("\\$", ""))
    for name, usual in _SPELLINGS.items():
        text = re.sub(rf"\\{name}(?![a-zA-Z])\s*", usual.replace("\\", "\\\\"), text)
    text = re.sub(r"\\\{\s*\\\}", r"\\emptyset", text)
    text = _QUANTITY.sub(r"\1\\text{ \2}", text) if _QUANTITY.fullmatch(text) else text
    text = _SIZE.sub("", text)
    text = _THIN_THOUSANDS.sub("", _NEGATIVE_SPACE.sub("", text))
    text = _SPACE.sub(" ", text)
    text = re.sub(r"\\[dtc]frac(?![a-zA-Z])", r"\\frac", text)
    text = re.sub(r"\\(leq|geq|neq)(?![a-zA-Z])", lambda found: f"\\{found[1][:2]}", text)
    text = re.sub(r"\\[dt]binom(?![a-zA-Z])", r"\\binom", text)
    text = _SHORT_BINOMIAL.sub(r"\\binom{\1}{\2}", _CHOOSE.sub(r"\\binom{\1}{\2}", text))
    text = _PERIOD.sub(lambda found: f"\\overline{{{found[1] or found[2]}}}", text)
    text = text.replace("**", "^")
    text = _NAMED.sub(r"\\\1", text)
    text = re.sub(r"\\sqrt\s*\(([^()]*)\)", r"\\sqrt{\1}", text)
    text = re.sub(r"\\sqrt\s*(\d)(?!\d)", r"\\sqrt{\1}", text)
    text = re.sub(r"\^\s*([-+]?\d{2,})", r"^{\1}", text) if "{" not in text else text
    text = _SHORT_FRACTION.sub(_braced, text)
    text = re.sub(r"\s+", " ", text).strip().rstrip(".,;").strip()
    if _SCIENTIFIC.fullmatch(text):
        return format(Decimal(text), "f")
    return text.replace(",", "") if _THOUSANDS.fullmatch(text) else text


def compact(answer: str) -> str:
    """The normal form without spaces and text wrappers, for comparison as a string alone."""
    return re.sub(r"\s+", "", _APART.sub(" ~ ", plain(normal(answer))))


def plain(text: str) -> str:
    """The same without `\\text{…}` and its kin."""
    return _without(text, _TEXT)


def is_text(answer: str) -> bool:
    """Whether an answer is a word or a choice: `\\text{…}` and nothing besides, or bare words that
    can be no product of variables."""
    found = _TEXT.match(answer)
    if found is None:
        return _PROSE.fullmatch(answer) is not None and any(map(_is_word, answer.split()))
    return closing(answer, found.end() - 1) == len(answer) - 1


def _is_word(text: str) -> bool:
    # a product has each letter once and is written in their order
    product = list(text) == sorted(set(text))
    return (len(text) >= 4 and not product) or (len(text) > 1 and text.isupper())


def words(answer: str) -> str:
    """A word or choice without its case, brackets and spaces."""
    bare = " ".join(plain(answer).split())
    found = _WORDS.fullmatch(bare)
    return " ".join((found[1] if found else bare).casefold().split())


def rational(answer: str) -> Fraction | None:
    """The exact value of a whole number, a fraction, a mixed number or a decimal, else None."""
    text = _APART.sub("~", answer).replace(" ", "")
    if _INTEGER.fullmatch(text):
        return Fraction(int(text))
    if _DECIMAL.fullmatch(text):
        return Fraction(text.rstrip(".") if text.endswith(".") else text)
    if (cycle := _REPEATING.fullmatch(text)) is not None:
        return _repeating(cycle)
    if (ratio := _RATIO.fullmatch(text)) is not None:
        above, below = int(ratio[2] or ratio[4]), int(ratio[3] or ratio[5])
        sign = -1 if ratio[1] == "-" else 1
        return Fraction(sign * above, below) if below else None
    mixed = _MIXED.fullmatch(answer.strip())
    if mixed is not None and int(mixed[4] or mixed[6]):
        value = int(mixed[2]) + Fraction(int(mixed[3] or mixed[5]), int(mixed[4] or mixed[6]))
        return -value if mixed[1] == "-" else value
    return None


def numeral(answer: str) -> tuple[str, str] | None:
    """(digits, base) of a whole number written with its base, as in `52_8`, else None."""
    found = _NUMERAL.fullmatch(answer.replace(" ", ""))
    return None if found is None else (found[1].lstrip("0") or "0", found[2] or found[3])


def _repeating(found: re.Match[str]) -> Fraction:
    """0.1\\overline{6} is 1/6: the digits with one period, less those without it, over nines."""
    before, once = f"{found[2]}{found[3]}" or "0", found[4]
    nines = (10 ** len(once) - 1) * 10 ** len(found[3])
    value = Fraction(int(before + once) - int(before), nines)
    return -value if found[1] == "-" else value


def _braced(found: re.Match[str]) -> str:
    if found[1]:
        return f"\\frac{{{found[1]}}}{{{found[2]}}}"
    return f"\\frac{{{found[3]}}}{{" if found[3] else f"\\frac{found[5]}{{{found[6]}}}"


def _without(text: str, wrapper: re.Pattern[str]) -> str:
    while (found := wrapper.search(text)) is not None:
        end = closing(text, found.end() - 1)
        if end is None:
            return text
        text = f"{text[: found.start()]}{text[found.end() : end]}{text[end + 1 :]}"
    return text
