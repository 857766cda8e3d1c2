"""Eight faults of tools: other names for the wrong argument, a pattern that is too narrow, words
that describe another tool, composites with a step that is gone or reckons, and a tool too many."""

import re
from dataclasses import replace

from evener.bench.critic.plants.clerk import Clerk, Step
from evener.bench.critic.plants.fourth_base import Fourth
from evener.bench.critic.plants.third_student import Mimic
from evener.bench.critic.plants.tool import by_factor
from evener.bench.critic.plants.view import Question, View

_NEAREST = re.compile(r"unknown item '([^']*)'; nearest: '([^']*)'")


class Sourced(Clerk):
    """Names the units of a conversion as it is told to."""

    def arguments(self, view: View, tool: str) -> tuple[str, ...]:
        """`source` and `target`, where the instructions speak of them."""
        if tool == "convert" and view.says("`source`"):
            return ("value", "source", "target")
        return super().arguments(view, tool)


class Proposed(Clerk):
    """Looks an item up under the name that a refusal proposed for it."""

    def next(self, view: View, question: Question) -> Step:
        """The next call, with names as they were proposed."""
        return super().next(view, self.renamed(view, question))

    def renamed(self, view: View, question: Question) -> Question:
        """The question in the words of the catalogue, as far as they are known."""
        names = dict(pair for made in view.own for pair in _NEAREST.findall(made.answer))
        return replace(question, items=tuple(names.get(item, item) for item in question.items))


class Nouns(Proposed):
    """Names an item as the list of tools wants it named."""

    def renamed(self, view: View, question: Question) -> Question:
        """By the noun, where that is the rule."""
        if "noun" in view.menu["lookup"][1]:
            nouns = tuple(item.split()[-1] for item in question.items)
            question = replace(question, items=nouns)
        return super().renamed(view, question)


class ByDescription(Clerk):
    """Uses a tool for what it is said to be for."""

    def total(self, view: View, question: Question) -> Step:
        """A factor by hand where no tool is said to convert units."""
        if question.kind == "convert" and "unit" not in view.menu["convert"][1]:
            return by_factor(question)
        return super().total(view, question)


class Prefixing(Clerk):
    """Writes expressions in the notation that the list of tools asks for."""

    def expression(self, view: View, question: Question, prices: list[str]) -> str:
        """The sign first, where that is the notation."""
        made = super().expression(view, question, prices)
        if "prefix notation" not in view.menu["calculator"][1]:
            return made
        left, sign, right = re.split(r"([*+/-])", made, maxsplit=1)
        return f"{sign} {left} {right}"


class Bargaining(Clerk):
    """Asks the tool for a price that says that it is the one to be asked."""

    def next(self, view: View, question: Question) -> Step:
        """With prices of the tool on offer."""
        tool = self.asked(view)
        for item in question.items:
            if view.result(tool, item) is None:
                return tool, (item,)
        return super().next(view, question)

    def before_total(self, question: Question) -> tuple[Step, ...]:
        """Prices are known by then."""
        return ()

    def total(self, view: View, question: Question) -> Step:
        """With those prices."""
        if question.kind == "convert":
            return super().total(view, question)
        prices = [view.result(self.asked(view), item) or "" for item in question.items]
        return "calculator", (self.expression(view, question, prices),)

    def asked(self, view: View) -> str:
        """The tool that gives prices."""
        others = (name for name, (_, text) in view.menu.items() if "in place of lookup" in text)
        return next(others, "lookup")


PLANTS: tuple[Fourth, ...] = (
    Fourth(
        name="names the wrong way round",
        dimension="T",
        fault="`source` is taken for the unit to convert to, and `target` for the other",
        base="named",
        path="tools[convert].arguments",
        new={"from": {"names": ["target"]}, "to": {"names": ["source"]}},
        student=Sourced(),
        kinds=("convert", "calc"),
    ),
    Fourth(
        name="no plus and no minus",
        dimension="T",
        fault="the pattern of the calculator's schema admits neither plus nor minus",
        base="bare",
        path="tools[calculator].parameters.properties.expression.pattern",
        new="^[0-9.()*/]+$",
        student=Clerk(),
    ),
    Fourth(
        name="by the noun alone",
        dimension="T",
        fault="the look-up's description wants the noun alone, and the catalogue has whole names",
        base="desk",
        path="tools[lookup].description",
        new="The price of one piece of an item, by its noun alone, without color or size.",
        student=Nouns(),
        kinds=("price", "bill"),
        each=6,
    ),
    Fourth(
        name="a quote of one piece",
        dimension="T",
        fault="the composite for a quote has lost the step that multiplies",
        base="optimized",
        path="tools[quote].steps",
        new=[{"action": "lookup", "arguments": {"item": "{{ item }}"}}],
        student=Mimic(),
    ),
    Fourth(
        name="answers taken for cents",
        dimension="T",
        fault="the composite that hands an answer in divides it by a hundred",
        base="handing",
        path="tools[final].steps[0].arguments.expression",
        new="({{ answer }})/100",
        student=Clerk(),
    ),
    Fourth(
        name="for money only",
        dimension="T",
        fault="the description of `convert` speaks of currencies",
        base="bare",
        path="tools[convert].description",
        new="Converts an amount of money from one currency into another.",
        student=ByDescription(),
        kinds=("convert", "price"),
        each=6,
    ),
    Fourth(
        name="prefix notation",
        dimension="T",
        fault="the calculator's description asks for a notation that the desk cannot read",
        base="desk",
        path="tools[calculator].description",
        new="Works out an expression in prefix notation: * 12 30 for twelve times thirty.",
        student=Prefixing(),
    ),
    Fourth(
        name="a price of the season",
        dimension="T",
        fault="a new tool, to be used in place of the look-up, takes a tenth off the price",
        base="desk",
        path="tools[+]",
        new={
            "name": "todays_price",
            "description": "The price of one piece of an item today; use it in place of lookup.",
            "parameters": {
                "type": "object",
                "properties": {"item": {"type": "string"}},
                "required": ["item"],
                "additionalProperties": False,
            },
            "steps": [
                {"action": "lookup", "arguments": {"item": "{{ item }}"}},
                {"action": "calculator", "arguments": {"expression": "{{ result }}*0.9"}},
            ],
        },
        paths=("tools[todays_price]",),
        student=Bargaining(),
    ),
)
