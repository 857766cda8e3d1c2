"""Algebra on two answers by math-verify. Runs in a worker process and nowhere else.

math-verify's traps are closed here: it is given one item of one answer, never a text to find boxes
in; decimals become the fractions that they say, so that nothing is rounded; its own alarms are off;
and what would be too large to write down is refused before anything evaluates it.
"""

import logging
from functools import lru_cache
from importlib import import_module
from typing import Any

from evener.environments.scoring.size import Unwieldy, check_size

DIGITS = 60


class Undecided(Exception):
    """Neither equal nor different can be said; `kind` says why."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        super().__init__(kind)


@lru_cache(maxsize=1)
def libraries() -> tuple[Any, Any, Any]:
    """(math_verify, its parser, sympy). ImportError where they are missing."""
    logging.disable(logging.CRITICAL)
    return (
        import_module("math_verify"),
        import_module("math_verify.parser"),
        import_module("sympy"),
    )


@lru_cache(maxsize=64)
def parsed(text: str) -> Any:
    """The sympy form of one answer with exact numbers, or None where it has none.

    Raises Undecided where it is too large to be worked with.
    """
    math_verify, parser, sympy = libraries()
    config = parser.LatexExtractionConfig(boxed_match_priority=0, try_extract_without_anchor=False)
    found = math_verify.parse(
        f"\\boxed{{{text}}}",
        [config],
        fallback_mode="no_fallback",
        parsing_timeout=None,
        raise_on_error=True,
    )
    if not found:
        return None
    tree = found[0]
    try:
        check_size(tree)
    except Unwieldy as error:
        raise Undecided(str(error)) from None
    if {str(symbol) for symbol in getattr(tree, "free_symbols", ())} == {"i"}:
        # of numbers alone it is the imaginary unit, which the library takes for a variable
        tree = tree.subs(dict.fromkeys(tree.free_symbols, sympy.I))
    floats = tree.atoms(sympy.Float) if hasattr(tree, "atoms") else ()
    exact = {f: sympy.Rational(str(f)) for f in floats}
    if exact and isinstance(tree, sympy.Eq):
        # rebuilt as it is: an equation that holds would become a mere True
        return sympy.Eq(*(side.xreplace(exact) for side in tree.args), evaluate=False)
    return tree.xreplace(exact) if exact else tree


def equal(gold: str, answer: str) -> bool:
    """Whether two items are equal. Raises Undecided where that cannot be said."""
    math_verify, _, _ = libraries()
    expected, given = parsed(gold), parsed(answer)
    if expected is None:
        raise Undecided("gold_not_read")
    if given is None or _contradicts(expected, given):
        return False
    try:
        alike = math_verify.verify(
            expected,
            given,
            numeric_precision=30,
            allow_set_relation_comp=True,
            timeout_seconds=None,
            raise_on_error=True,
        )
    except (MemoryError, RecursionError, OverflowError):
        raise
    except Exception:  # noqa: BLE001 - a library's word that the two cannot be compared
        alike = False
    if alike:
        return not _apart(expected, given)
    if _unfinished(given) or _unfinished(expected):
        raise Undecided("not_worked_out")
    return False


def _contradicts(expected: Any, given: Any) -> bool:
    """Whether one is an equation of which the library would take a side that does not stand for it:
    the gold's left side is more than a name, or the answer's two sides are different numbers."""
    sympy = libraries()[2]
    if isinstance(expected, sympy.Eq) and not isinstance(given, sympy.Eq):
        return isinstance(expected.lhs, sympy.Add)
    return isinstance(given, sympy.Eq) and _apart(given.lhs, given.rhs)


def _apart(expected: Any, given: Any) -> bool:
    """Whether two numbers that were called equal differ in their first digits after all: the
    library compares some of them as floats."""
    sympy = libraries()[2]
    numbers = all(isinstance(side, sympy.Expr) and side.is_number for side in (expected, given))
    if not numbers or any(side.has(sympy.UnevaluatedExpr) for side in (expected, given)):
        return False
    distance = sympy.Abs(sympy.N(expected - given, DIGITS))
    size = sympy.Max(1, sympy.Abs(sympy.N(expected, 15)))
    return bool(distance.is_comparable and distance > size * sympy.Float(10) ** (20 - DIGITS))


def _unfinished(tree: Any) -> bool:
    """Whether a sum, a product, an integral or a limit was left standing."""
    sympy = libraries()[2]
    if not hasattr(tree, "has"):
        return False
    kinds = (sympy.Integral, sympy.Sum, sympy.Product, sympy.Limit, sympy.Derivative)
    if not tree.has(*kinds):
        return False
    worked_out = tree.doit()
    return bool(worked_out.has(*kinds))
