"""Patterns of words that mislead (P, T, S, Mid, M): the student left the documentation's course,
and a sentence on view that is about such tasks speaks of just that.

Which words speak of what is a table of plain English: of signs, of orders, of forms of numbers, of
haste, of talk. A sentence that also says what the documentation does accounts for nothing.
"""

import re
from collections.abc import Iterator
from itertools import pairwise

from evener.agents.pattern.course import Departure, departed, signs, steps_made, wanted_roles
from evener.agents.pattern.finding import Case, Finding, pair, signature
from evener.agents.pattern.lexical import words
from evener.agents.pattern.role import Step
from evener.agents.pattern.saying import Text, fits, named, same_stem, sentences, shown_texts
from evener.agents.pattern.teaching import last_event
from evener.protocols.attribution import Severity
from evener.protocols.event import Acted, ParseFailed

SIGNS = {
    "+": "plus add adds added adding sum sums together",
    "-": "minus subtract subtracts subtracted difference",
    "*": "times multiply multiplies multiplied product",
    "/": "divide divides divided dividing quotient",
}
HASTE = """
estimate estimates estimated guess guesses rough roughly approximate approximately about directly
immediately quick quickly heart memory remember remembered head already unnecessary needless skip
skips skipped
"""
NOT = "no not never without don't doesn't avoid needn't instead unnecessary"
TURNED = """
reverse reversed reversely swap swapped swaps backward backwards opposite inverse inverted switched
exchange exchanged
"""
TWICE = "twice double doubled same itself"
ROUND = """
round rounded rounding whole integer integers decimal decimals place places digit digits nearest
fraction fractions drop drops dropped truncate truncated significant precision ceiling floor
"""
GROUPED = """
thousand thousands point points comma commas separator separators digit digits grouped decimal
decimals dot dots
"""
SCALED = """
cent cents thousand thousands hundred hundreds percent percentage million millions decimal decimals
point comma penny pennies
"""
NEEDED = {"need", "needed", "necessary", "required", "wanted", "unnecessary", "called", "used"}
SIDE = "negative minus sign signed debit owe owes owed below absolute opposite"
TALK = """
word words sentence sentences plain prose say says tell tells explain explains describe describes
talk chat greet letter paragraph speak write friendly polite language
"""
CALLS = "call calls json tool tools function functions tag tags"
_PLACE = r"<([^<>]+)>|\{\{?\s*([^{}]+?)\s*\}?\}"
_FORMULA = re.compile(rf"(?:{_PLACE})\s*([-+*/])\s*(?:{_PLACE})")
_SIGNS = re.compile(r"[\w>)}\]](?:\s+([-/])\s+|\s*([+*×÷])\s*|(?<=[>}])([-/])(?=[<{]))[<{(\[\w]")
_ORDINALS = ("first", "second", "third")


def accounting(case: Case) -> Iterator[Finding]:
    """`told_otherwise:PATH`: a text on view speaks of what the student did instead."""
    kind = case.background.kind(case.trajectory.task)
    if kind is None or not wanted_roles(case):
        return
    left = departed(case)
    event, quote = _where(case, left)
    for text in shown_texts(case):
        for sentence in sentences(text.text):
            near = text.path.startswith("skills[") or fits(case, sentence, kind)
            if near and _accounts(case, left, text, sentence):
                yield case.finding(
                    signature("told_otherwise", text.path),
                    text.cause,
                    Severity.CRITICAL,
                    event=event,
                    quote=quote,
                    suggestion=None if text.instead is None else case.edit(text.path, text.instead),
                )
                return


def _where(case: Case, left: Departure) -> tuple[int, str]:
    if left.step is not None:
        return left.step.event, pair("name", left.step.action)
    return last_event(case)


def _accounts(case: Case, left: Departure, text: Text, sentence: str) -> bool:
    said = set(words(sentence))
    match left.aspect:
        case "sign":
            made, wanted = signs(left.made), signs(left.wanted)
            spoken = _signs(sentence)
            return bool(made & spoken) and not wanted & spoken
        case "order" | "value":
            return _turned(left, sentence, said) or _explained(case, left, sentence)
        case "end":
            return bool(_forms(case, left) & said)
        case "early":
            return _hurries(case, left, sentence, said) or _otherwise(case, sentence)
        case "other":
            return _otherwise(case, sentence) or _hurries(case, left, sentence, said)
        case "open":
            return _talks(case) and _asks_for_words(sentence, said)
        case _:
            return False


def _signs(sentence: str) -> set[str]:
    """The signs that a sentence writes between two things, or has words for."""
    said = set(words(sentence))
    found = {sign for sign, known in SIGNS.items() if said & set(known.split())}
    written = (one[1] or one[2] or one[3] for one in _SIGNS.finditer(sentence))
    return found | {{"×": "*", "÷": "/"}.get(sign, sign) for sign in written}


def _turned(left: Departure, sentence: str, said: set[str]) -> bool:
    """The operands turned round, or one of them taken twice, as a formula or words have it."""
    told = " ".join(words(sentence))
    second, first = (told.find(word) for word in ("second", "first"))
    if left.aspect == "order" and (said & set(TURNED.split()) or 0 <= second < first):
        return True
    filled = left.made.filled if left.made is not None else ()
    atoms = re.findall(r"[qrw]\d+", " ".join(role for _, role in filled))
    twice = len(atoms) > len(set(atoms))
    if twice and said & set(TWICE.split()):
        return True
    for found in _FORMULA.finditer(sentence):
        one, other = (found[1] or found[2]), (found[4] or found[5])
        if twice and one.split() == other.split():
            return True
        if left.aspect == "order" and _ordinal(one) > _ordinal(other) >= 0:
            return True
    return left.aspect == "order" and "other way" in told


def _ordinal(name: str) -> int:
    return next((i for i, word in enumerate(_ORDINALS) if word in name.casefold().split()), -1)


def _explained(case: Case, left: Departure, sentence: str) -> bool:
    """The sentence says what an argument is that was filled otherwise than documented."""
    return any(
        re.search(
            rf"(?:[`'\"]{re.escape(name)}[`'\"]|\b{re.escape(name)}\b(?=\s*(?:=|:)))"
            r"\s*(?:is|are|means|takes|holds|stands|gets|has|must|should|names|=|:)",
            sentence,
        )
        for name in left.differing
    )


def _forms(case: Case, left: Departure) -> set[str]:
    """The words for what was done to the last result on its way into the answer."""
    steps = [step for step in steps_made(case)[: left.at] if step.result]
    given = _value(left.step)
    last = steps[-1].result.strip() if steps else ""
    if given is None or not last:
        return set()
    if re.sub(r"[.,\s]", "", str(given)) in _digits(last):
        return set(f"{GROUPED} {SCALED}".split())
    try:
        one, other = float(given), float(last)
    except ValueError:
        return set()
    if one == -other:
        return set(SIDE.split())
    if abs(one - other) < 1 or (abs(one - other) <= abs(other) / 50 and one != other):
        return set(ROUND.split())
    ratio = one / other if other else 0.0
    if ratio > 0 and any(abs(ratio - 10.0**p) < 0.01 * 10.0**p for p in range(-6, 7) if p):
        return set(SCALED.split())
    return set()


def _value(step: Step | None) -> str | None:
    return next((str(value) for value in step.arguments.values()), None) if step else None


def _digits(text: str) -> set[str]:
    """A number's digits without separators, as they are and without zeros at the end."""
    plain = re.sub(r"[.,\s]", "", text)
    return {plain, plain.rstrip("0"), plain.lstrip("0")} - {""}


def _hurries(case: Case, left: Departure, sentence: str, said: set[str]) -> bool:
    """The sentence asks for an answer without a step: haste, or a `no` near the step's name."""
    tokens = re.findall(r"[^\W_]+(?:['’][^\W_]+)?", sentence.casefold())
    refused = [i for i, word in enumerate(tokens) if word.replace("’", "'") in set(NOT.split())]
    hasty = [i for i, word in enumerate(tokens) if word in set(HASTE.split()) - {"about"}]
    hasty += [i for i, two in enumerate(pairwise(tokens)) if two in _AT_ONCE]
    if any(not any(0 < i - at <= 2 for at in refused) for i in hasty):
        return True
    wanted = left.wanted.action if left.wanted is not None else ""
    names = [tool.name for tool in case.harness.tools if tool.action == wanted] + [wanted]
    near = [*tokens, *(a + b for a, b in pairwise(tokens))]
    for at, word in enumerate(near):
        place = at % len(tokens) if tokens else 0
        step = any(same_stem(word, name) for name in names) or word in ("tool", "tools")
        before = any(0 < place - i <= 3 for i in refused)
        behind = any(0 < i - place <= 3 and NEEDED & {*tokens[i : i + 3]} for i in refused)
        if step and (before or behind):
            return True
    return False


_AT_ONCE = {("at", "once"), ("straight", "away"), ("right", "away"), ("will", "do"), ("by", "head")}


def _otherwise(case: Case, sentence: str) -> bool:
    """The sentence names the actions that were made, which are not the documentation's."""
    told = named(case, sentence)
    made = tuple(dict.fromkeys(step.action for step in steps_made(case)))
    wanted = tuple(dict.fromkeys(role.action for role in wanted_roles(case)))
    final = {action.name for action in case.background.actions if action.final}
    bare = tuple(action for action in told if action not in final)
    made, wanted = (tuple(a for a in path if a not in final) for path in (made, wanted))
    return bool(bare) and bare == made and bare != wanted


def _talks(case: Case) -> bool:
    """The student ended with a reply that makes no call."""
    acted = [i for i, e in enumerate(case.events) if isinstance(e, Acted)]
    plain = [
        i for i, e in enumerate(case.events) if isinstance(e, ParseFailed) and e.fault == "no_call"
    ]
    return bool(plain) and (not acted or plain[-1] > acted[-1])


def _asks_for_words(sentence: str, said: set[str]) -> bool:
    asked = said & set(TALK.split())
    return bool(asked) and not said & set(CALLS.split())
