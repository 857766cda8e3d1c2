"""What a scripted student reads of a request: the question, the instructions, the worked examples,
and what came of its own calls. Nothing else of the task or of the harness reaches it.
"""

import json
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from evener.protocols.digest import JsonObject
from evener.protocols.message import Message
from evener.protocols.model import Request

_CALC = re.compile(r"(\d+) (times|plus|minus) (\d+)|(\d+) \w+ (divided) by (\d+)")
_PRICE = re.compile(r"(\d+) pieces of (\w+ \w+)")
_CONVERT = re.compile(r"[Cc]onvert (\d+) (\w+) of .* into (\w+)|how many (\w+) are (\d+) (\w+) of")
_BILL = re.compile(r" an? (\w+ \w+) and a (\w+ \w+)\..*bill")
_TOOL = re.compile(r"\b(\w+)\(([^()]*)\)(?:: ([^\n]*))?")
_NUMBER = re.compile(r"-?\d+(?:\.\d*)?")
SIGNS = {"times": "*", "plus": "+", "minus": "-", "divided": "/"}

Kind = Literal["calc", "price", "convert", "bill"]


@dataclass(frozen=True)
class Question:
    """A customer's question as a reader understands it; units as they are spelled in it."""

    kind: Kind
    numbers: tuple[str, ...] = ()
    sign: str = ""
    items: tuple[str, ...] = ()
    units: tuple[str, str] = ("", "")


@dataclass(frozen=True)
class Made:
    """A call and what came of it: a number, or words (a refusal, an error, a reminder)."""

    tool: str
    values: tuple[str, ...]
    answer: str

    @property
    def result(self) -> str | None:
        """The number that the first line of the answer is."""
        first = self.answer.split("\n", 1)[0].strip()
        return first.rstrip(".") if _NUMBER.fullmatch(first) else None


@dataclass(frozen=True)
class Example:
    """A worked example: its question and its calls."""

    asked: str
    steps: tuple[Made, ...]


def understood(text: str) -> Question | None:
    """The question in a text; None where it holds none that the desk is asked."""
    if found := _CALC.search(text):
        a, word, b = found.groups()[:3] if found[1] else found.groups()[3:]
        return Question("calc", numbers=(a, b), sign=SIGNS[word])
    if found := _PRICE.search(text):
        return Question("price", numbers=(found[1],), items=(found[2],))
    if found := _CONVERT.search(text):
        if found[1]:
            return Question("convert", numbers=(found[1],), units=(found[2], found[3]))
        return Question("convert", numbers=(found[5],), units=(found[6], found[4]))
    if found := _BILL.search(text):
        return Question("bill", items=(found[1], found[2]))
    return None


@dataclass(frozen=True)
class View:
    """A request as it is read. A text protocol is taken for granted: a student that is offered
    native calls and cannot make them sees nothing but texts."""

    request: Request

    @cached_property
    def system(self) -> str:
        """All instructions: system text with skill texts and notes behind it."""
        return "\n".join(m.content for m in self.request.messages if m.role == "system")

    @cached_property
    def task(self) -> str:
        """The message that states the task, whatever it was wrapped in."""
        return next(
            m.content for m in self.request.messages if m.role == "user" and m.origin == "prompt"
        )

    @cached_property
    def question(self) -> Question | None:
        """The task understood."""
        return understood(self.task)

    @cached_property
    def examples(self) -> tuple[Example, ...]:
        """The worked examples on view."""
        shown = [m for m in self.request.messages if m.origin in ("example", "skill")]
        starts = [i for i, m in enumerate(shown) if m.role == "user" and understood(m.content)]
        ends = [*starts[1:], len(shown)]
        return tuple(
            Example(shown[start].content, _made(shown[start + 1 : end]))
            for start, end in zip(starts, ends, strict=False)
        )

    @cached_property
    def own(self) -> tuple[Made, ...]:
        """The student's own turns that it still sees."""
        return _made([m for m in self.request.messages if m.origin not in _OPENING])

    @cached_property
    def menu(self) -> dict[str, tuple[tuple[str, ...], str]]:
        """Tools listed in the instructions: argument names in order, and the description."""
        return {
            name: (tuple(_bare(a) for a in arguments.split(", ") if a), described or "")
            for name, arguments, described in _TOOL.findall(self.system)
        }

    def like(self, kind: str) -> tuple[Example, ...]:
        """Examples of questions of a kind."""
        return tuple(e for e in self.examples if (q := understood(e.asked)) and q.kind == kind)

    def result(self, tool: str, *values: str) -> str | None:
        """The number that such a call gave, if it is still on view."""
        made = (m for m in self.own if m.tool == tool and m.values == values)
        return next((m.result for m in made if m.result is not None), None)

    def failed(self, tool: str) -> int:
        """How many calls of a tool gave no number."""
        return sum(m.tool == tool and m.result is None for m in self.own)

    def says(self, *phrases: str) -> bool:
        """Whether one of the phrases stands in the instructions or the task's message."""
        text = f"{self.system}\n{self.task}"
        return any(phrase in text for phrase in phrases)


_OPENING = ("prompt", "example", "skill", "memory")


def _bare(argument: str) -> str:
    return argument.split(":")[0].rstrip("?").strip()


def _made(messages: list[Message]) -> tuple[Made, ...]:
    made: list[Made] = []
    for index, message in enumerate(messages):
        if message.role != "assistant":
            continue
        after = messages[index + 1] if index + 1 < len(messages) else None
        answer = after.content if after is not None and after.role != "assistant" else ""
        tool, values = _read(message.content)
        made.append(Made(tool, values, answer))
    return tuple(made)


def _read(text: str) -> tuple[str, tuple[str, ...]]:
    """Tool and argument values of a reply; ("", ()) where it makes no call."""
    start, end = text.find("{"), text.rfind("}")
    try:
        data: JsonObject = json.loads(text[start : end + 1]) if start >= 0 else {}
    except ValueError:
        return "", ()
    arguments = data.get("arguments")
    values = arguments.values() if isinstance(arguments, dict) else ()
    return str(data.get("name", "")), tuple(str(value) for value in values)
