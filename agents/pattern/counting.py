"""Numbers that a text brought in (P, T, S, M): a number in a call that is neither the task's nor a
result, or that an answer and the last result differ by, and a text on view speaks of it."""

import re
from collections.abc import Iterator

from evener.agents.pattern.background import question
from evener.agents.pattern.course import departed, steps_made
from evener.agents.pattern.finding import Case, Finding, pair, signature
from evener.agents.pattern.saying import shown_texts
from evener.protocols.attribution import Severity
from evener.protocols.event import Acted

_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_WORDS = {
    "half": 0.5, "halves": 0.5, "quarter": 0.25, "quarters": 0.25, "third": 1 / 3, "thirds": 1 / 3,
    "fifth": 0.2, "eighth": 0.125, "tenth": 0.1, "two": 2.0,
    "twice": 2.0, "double": 2.0, "doubled": 2.0, "pair": 2.0, "pairs": 2.0, "couple": 2.0,
    "three": 3.0, "triple": 3.0, "four": 4.0, "five": 5.0, "six": 6.0, "seven": 7.0, "eight": 8.0,
    "nine": 9.0, "ten": 10.0, "twelve": 12.0, "dozen": 12.0, "dozens": 12.0, "score": 20.0,
    "twenty": 20.0, "fifty": 50.0, "hundred": 100.0, "cent": 100.0, "cents": 100.0,
    "thousand": 1000.0,
}  # fmt: skip
PLAIN = (0.0, 1.0)  # numbers that mean nothing by themselves


def counting(case: Case) -> Iterator[Finding]:
    """`told_number:PATH`."""
    known = {*_numbers(case.trajectory.task.prompt), *PLAIN, *_constants(case)}
    texts = tuple(shown_texts(case))
    by_hand = _between(case)
    for index, event in enumerate(case.events):
        if not isinstance(event, Acted):
            continue
        made = " ".join(v for v in event.call.arguments.values() if isinstance(v, str))
        foreign = [number for number in _numbers(made) if number not in known]
        foreign += [number for number in by_hand.get(index, ()) if number not in PLAIN]
        known |= _numbers(event.observation)
        for text in texts:
            if not any(_says(text.text, number) for number in foreign):
                continue
            yield case.finding(
                signature("told_number", text.path),
                text.cause,
                Severity.CRITICAL,
                event=index,
                quote=pair("name", event.call.name),
                suggestion=None if text.instead is None else case.edit(text.path, text.instead),
            )
            return


def _between(case: Case) -> dict[int, tuple[float, ...]]:
    """What an answer and the last result differ by, in sum and in proportion, by its event."""
    left = departed(case)
    if left.aspect != "end" or left.step is None:
        return {}
    before = [step.result for step in steps_made(case)[: left.at]]
    given = next((str(value) for value in left.step.arguments.values()), "")
    try:
        one, other = float(given), float(before[-1])
    except (ValueError, IndexError):
        return {}
    ratios = (one / other, other / one) if one > 0 and other > 0 else ()
    return {left.step.event: (abs(one - other), *ratios)}


def _constants(case: Case) -> set[float]:
    """Numbers in documented calls that are neither asked for nor results: those that all know."""
    found: set[float] = set()
    for example in case.background.examples:
        told = {*_numbers(question(example.turns))}
        for turn in example.turns:
            told |= _numbers(turn.content or "") if turn.role == "tool" else set()
            values = turn.call.arguments.values() if turn.call is not None else ()
            found |= {*_numbers(" ".join(v for v in values if isinstance(v, str)))} - told
    return found


def _says(text: str, number: float) -> bool:
    """Whether the text has the number, in digits or as a word, or as a share: 10 % for 0.9."""
    found = _numbers(text) | {_WORDS[w] for w in re.findall(r"[a-z]+", text.lower()) if w in _WORDS}
    shares = {n / 100 for n in found} if "%" in text or "percent" in text.lower() else set[float]()
    shares |= {n for n in found if 0 < n < 1}
    wanted = found | shares | {1 - share for share in shares} | {1 + share for share in shares}
    return any(abs(number - one) < 1e-3 * max(1.0, abs(one)) / 10 for one in wanted)


def _numbers(text: str) -> set[float]:
    return {float(found) for found in _NUMBER.findall(text)}
