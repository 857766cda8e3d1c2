"""What gives the private side away in a training row: K, reviewers, and what they replaced.

The type of a trajectory has no place for any of it; this is the second lock. A list of markers is
made once, from K, both harnesses and the record of reviews, and every row is held against it.
"""

import re
from collections.abc import Iterable, Iterator

from pydantic import JsonValue

from evener.agents.harness.shape import split_reasoning
from evener.agents.pattern.lexical import LEAK_GRAM, tokens
from evener.protocols.digest import JsonObject, Wire
from evener.protocols.harness import Harness
from evener.protocols.knowledge import Knowledge

Run = tuple[str, ...]
Stretch = tuple[int, int]
"""Half-open range of characters."""

VOICE: tuple[str, ...] = (
    r"(?i:\bthe (?:original )?(?:proposal|candidate|proposed \w+|reviewer)\b)",
    r"(?i:\bthe original (?:response|call|action)\b)",
    r"(?i:\bthe student(?:'s|’s)?\b)",
    r"(?i:\breplac(?:e|es|ed|ing)\s+(?:(?:this|that|it|the)\b[\w ]{0,40}?)(?:with|by)\b)",
    r"(?i:\b(?:this|the|a) review(?: hint| guidance)?\b)",
    r"(?i:\breview(?:ing)? (?:hint|guidance)s?\b)",
    r"\b(?:PASS|REPLACE)\b",
)
"""How a reviewer speaks of a response that is not its own."""

SHORTEST = 5  # words of a text that is looked for whole; fewer are anybody's
WHOLE = 12  # letters and digits it must have besides

_VARIABLE = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)
_SENTENCE = re.compile(r"\S.*?(?:[.!?]+(?=\s|\Z)|(?=\n)|\Z)", re.DOTALL)


class Markers(Wire):
    """`tools` are names that only h* has, `runs` words in a row out of private texts, `voice`
    patterns of a reviewer's way to speak, `replaced` the candidates that reviewers replaced, each
    with its episode and turn."""

    tools: tuple[str, ...] = ()
    runs: tuple[Run, ...] = ()
    voice: tuple[str, ...] = VOICE
    replaced: tuple[tuple[str, int, str], ...] = ()


def markers_of(
    knowledge: Knowledge,
    optimized: Harness,
    target: Harness,
    *,
    reviews: Iterable[JsonObject] = (),
) -> Markers:
    """The markers of K and of the log's entries `review`. What the target says too is no
    secret."""
    offered = {tool.name for tool in target.tools}
    entries = list(reviews)
    reasons = [reason for e in entries if isinstance(reason := e.get("reason"), str) and reason]
    secret = {run for text in (*_texts_of(knowledge), *reasons) for run in _runs_of(text)}
    sizes = frozenset(map(len, secret))
    known = {run for text in _strings(target.document()) for run in _windows(tokens(text), sizes)}
    return Markers(
        tools=tuple(tool.name for tool in optimized.tools if tool.name not in offered),
        runs=tuple(sorted(secret - known)),
        replaced=tuple(_replaced(entries)),
    )


class Sieve:
    """Holds texts against markers."""

    def __init__(self, markers: Markers) -> None:
        self._runs = frozenset(markers.runs)
        self._sizes = frozenset(map(len, markers.runs))
        names = "|".join(re.escape(name) for name in markers.tools)
        self._tools = re.compile(rf"(?<!\w)(?:{names})(?!\w)", re.IGNORECASE) if names else None
        self._voice = re.compile("|".join(markers.voice)) if markers.voice else None
        self._replaced = frozenset(markers.replaced)

    def names_tool(self, text: str, *, prompt: str) -> bool:
        """Whether the text names a tool that only h* has, other than as a word of the task."""
        if self._tools is None:
            return False
        asked = {name.lower() for name in self._tools.findall(prompt)}
        return any(name.lower() not in asked for name in self._tools.findall(text))

    def repeats(self, text: str, *, prompt: str) -> bool:
        """Whether the text has words in a row of a private text, other than the task's own."""
        if not self._runs:
            return False
        found = self._runs.intersection(_windows(tokens(text), self._sizes))
        return bool(found) and not found <= set(_windows(tokens(prompt), self._sizes))

    def was_replaced(self, episode: str, turn: int, text: str) -> bool:
        """Whether this is the candidate that was replaced at that turn."""
        return (episode, turn, text) in self._replaced

    def voiced(self, text: str) -> tuple[Stretch, ...]:
        """The sentences of the text in which a reviewer speaks."""
        if self._voice is None or not self._voice.search(text):
            return ()
        return tuple(
            found.span() for found in _SENTENCE.finditer(text) if self._voice.search(found.group())
        )


def reasoning_of(text: str) -> tuple[str, int]:
    """The reasoning that a response begins with, and where in the text its visible part begins."""
    visible, _ = split_reasoning(text)
    start = len(text) - len(visible)
    return text[:start], start


def _texts_of(knowledge: Knowledge) -> Iterator[str]:
    """Every text of K; a template's without its variables."""
    for recipe in knowledge.recipes:
        yield recipe.text
        yield from _strings([turn.document() for turn in recipe.example])
    for hint in knowledge.hints:
        yield from _VARIABLE.split(hint.text)
        yield from _strings(hint.settings)
    for guidance in knowledge.guidance:
        yield guidance.text
        for example in guidance.examples:
            yield from _strings([turn.document() for turn in example])
    for pattern in knowledge.patterns:
        yield from (pattern.trigger, pattern.evidence, pattern.intervention, pattern.not_when)
    for omission in knowledge.omissions:
        yield omission.reason


def _runs_of(text: str) -> tuple[Run, ...]:
    """Its runs of `LEAK_GRAM` words; a shorter text whole, where it is not too short to tell."""
    found = tokens(text)
    if len(found) >= LEAK_GRAM:
        return tuple(_windows(found, frozenset({LEAK_GRAM})))
    tells = len(found) >= SHORTEST and sum(map(len, found)) >= WHOLE
    return (found,) if tells else ()


def _windows(found: Run, sizes: frozenset[int]) -> Iterator[Run]:
    for size in sizes:
        for at in range(len(found) - size + 1):
            yield found[at : at + size]


def _replaced(entries: Iterable[JsonObject]) -> Iterator[tuple[str, int, str]]:
    """The candidates that were replaced, by the last review of each turn: an episode that the
    machinery broke off is run again."""
    last = {(str(e.get("episode")), e.get("turn")): e for e in entries}
    for (episode, turn), entry in last.items():
        candidate = entry.get("candidate")
        if isinstance(turn, int) and isinstance(candidate, str):
            yield episode, turn, candidate


def _strings(value: JsonValue) -> Iterator[str]:
    match value:
        case str():
            yield value
        case list():
            for item in value:
                yield from _strings(item)
        case dict():
            for item in value.values():
                yield from _strings(item)
        case _:
            pass
