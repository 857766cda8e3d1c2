"""The general students of the third set, who know the tools and no procedure of their own.

A `Mimic` works as the nearest worked example did, with its own numbers, items and units put where
the example's stood. A `Follower` works by the recipe for such a question. Without either they give
an estimate, as small models do.
"""

import hashlib
import re

from evener.bench.critic.plants.clerk import SINGULAR, Clerk, Step
from evener.bench.critic.plants.view import SIGNS, Example, Question, View, understood

_PIECE = re.compile(r"\d+(?:\.\d+)?|[*+\-/]")
_RECIPE = re.compile(r"(?:- )?([^:<>]+): (.*<.*)")
_PLACE = re.compile(r"<([^<>]+)>")
_WORD = re.compile(r"\w+")
Line = tuple[str, str]
SIGN_WORDS = {sign: word for word, sign in SIGNS.items()}


def slips(view: View, salt: str) -> bool:
    """Whether a student with a weakness (`salt`) slips on this task: about every other one."""
    return hashlib.sha256(f"{salt}:{view.task}".encode()).digest()[0] % 2 == 0


class Mimic(Clerk):
    """Does what the nearest example of the kind does, step by step."""

    def reply(self, view: View) -> str:
        """A turn of words where the example has one, else a call."""
        said = self.words(view)
        return super().reply(view) if said is None else said

    def words(self, view: View) -> str | None:
        """The words that the example has in the place of the next call."""
        example = self.nearest(view, view.question) if view.question else None
        turns = example.steps if example else ()
        at = len(view.own)
        return TALK if at < len(turns) and not turns[at].tool else None

    def next(self, view: View, question: Question) -> Step:
        """The example's next call, with this task's values."""
        example = self.nearest(view, question)
        if example is None:
            return "final", (self.guess(question),)
        known = self.matched(example, question)
        for step in example.steps:
            if not step.tool:
                continue
            values = tuple(self.filled(value, known, example, question) for value in step.values)
            result = view.result(step.tool, *values)
            if result is None:
                return step.tool, self.last(values) if step.tool == "final" else values
            if step.result is not None:
                known[step.result] = result
        return "final", (self.guess(question),)

    def last(self, values: tuple[str, ...]) -> tuple[str, ...]:
        """What is handed in."""
        return values

    def nearest(self, view: View, question: Question) -> Example | None:
        """The example of the kind that shares most words with the task."""
        asked = set(_WORD.findall(view.task.casefold()))
        return max(
            view.like(question.kind),
            key=lambda e: len(asked & set(_WORD.findall(e.asked.casefold()))),
            default=None,
        )

    def matched(self, example: Example, question: Question) -> dict[str, str]:
        """What stands in the example for what stands in the question."""
        shown = understood(example.asked)
        if shown is None:
            return {}
        known = dict(zip(shown.numbers, question.numbers, strict=False))
        known |= dict(zip(shown.items, question.items, strict=False))
        for old, new in zip(shown.units, question.units, strict=True):
            known |= {old: new, SINGULAR.get(old, old): SINGULAR.get(new, new)}
        return known

    def filled(
        self, value: str, known: dict[str, str], example: Example, question: Question
    ) -> str:
        """A value of the example with what is known put in; the rest stays as it was shown."""
        if value in known:
            return known[value]
        shown = understood(example.asked)
        signs = {shown.sign: question.sign} if shown and shown.kind == "calc" else {}
        return _PIECE.sub(lambda f: known.get(f[0], signs.get(f[0], f[0])), value)


TALK = "Let me see what you need."


class Follower(Clerk):
    """Does what the last recipe on view for such a question says, step by step."""

    def next(self, view: View, question: Question) -> Step:
        """The recipe's next call."""
        steps = self.recipe(view, question)
        known = self.known(question)
        for index, (tool, template) in enumerate(steps):
            if any(place not in known for place in _PLACE.findall(template)):
                break
            text = _filled(template, known)
            values = (text,) if tool == "calculator" else tuple(text.split(", "))
            if tool == "final":
                return tool, (self.hand_in(view, values[0]),)
            result = self.outcome(view, tool, values)
            if result is None:
                return tool, values
            known["result"] = result
            if tool == "lookup":
                known |= _named(result, nth=sum(t == "lookup" for t, _ in steps[: index + 1]))
        return "final", (self.guess(question),)

    def outcome(self, view: View, tool: str, values: tuple[str, ...]) -> str | None:
        """What such a call gave, if that is known."""
        return view.result(tool, *values)

    def recipe(self, view: View, question: Question) -> tuple[Line, ...]:
        """Tools and what they are to be given; empty without a recipe."""
        lines = (_RECIPE.fullmatch(line.strip()) for line in view.system.splitlines())
        fitting = [line[2] for line in lines if line and self.about(line[1], question)]
        if not fitting:
            return ()
        steps = [step.strip(" .") for step in fitting[-1].split(";")]
        return tuple((tool, rest) for tool, _, rest in (s.partition(" ") for s in steps))

    def about(self, head: str, question: Question) -> bool:
        """Whether a recipe is for such a question."""
        topic = {"calc": SIGN_WORDS.get(question.sign, ""), "price": "price", "bill": "bill"}
        return topic.get(question.kind, "convert") in head.casefold()

    def known(self, question: Question) -> dict[str, str]:
        """The placeholders that the question fills."""
        numbers, items = question.numbers, question.items
        known = dict(zip(("first", "second"), numbers, strict=False))
        known |= {"sign": question.sign}
        if numbers:
            known |= {"pieces": numbers[0], "value": numbers[0]}
        if items:
            known |= {"item": items[0], "first item": items[0], "second item": items[-1]}
        if question.kind == "convert":
            source, target = question.units
            known |= {"unit": SINGULAR[source], "other unit": SINGULAR[target]}
        return known


def _filled(template: str, known: dict[str, str]) -> str:
    """The template with its placeholders filled in."""
    return _PLACE.sub(lambda found: known[found[1]], template)


def _named(price: str, *, nth: int) -> dict[str, str]:
    """Names of a looked-up price."""
    return {"price": price, ("first price", "second price")[min(nth, 2) - 1]: price}
