"""Ten errors of the student on sound harnesses that say all that is needed: it slips on about every
other task, and without the slip it solves them all."""

from dataclasses import replace

from evener.bench.critic.plants.clerk import Clerk, Noter, Step
from evener.bench.critic.plants.fourth_base import Fourth
from evener.bench.critic.plants.fourth_student import Tagged
from evener.bench.critic.plants.third_student import Follower, Mimic, slips
from evener.bench.critic.plants.view import Question, View

NEAR = (
    "ounce pound, pound ounce, gram kilogram, kilogram gram, inch foot, foot yard, yard foot, "
    "mile yard, centimeter meter, meter centimeter, kilometer meter, pint gallon, gallon pint"
)
NEIGHBORS = {unit: near for unit, _, near in (pair.partition(" ") for pair in NEAR.split(", "))}


class Assuming(Follower):
    """Takes a price for known that it never asked for."""

    def outcome(self, view: View, tool: str, values: tuple[str, ...]) -> str | None:
        """A price that sounds right: one more for every letter."""
        if tool == "lookup" and slips(view, "assuming"):
            return str(20 + len(values[0]))
        return super().outcome(view, tool, values)


class Hasty(Follower):
    """Writes a call and the end at once, and again when it is told to make one call at a time."""

    def write(self, view: View, tool: str, values: tuple[str, ...]) -> str:
        """Two calls."""
        made = super().write(view, tool, values)
        if tool == "final" or view.question is None or not slips(view, "hasty"):
            return made
        return f"{made}\n{super().write(view, 'final', (self.guess(view.question),))}"


class Misnaming(Follower):
    """Gives an argument a name of its own, and again when it is told the right one."""

    def arguments(self, view: View, tool: str) -> tuple[str, ...]:
        """What it should be called."""
        if not slips(view, "misnaming"):
            return super().arguments(view, tool)
        own = {"lookup": ("product",), "convert": ("value", "unit", "target")}
        return own.get(tool) or super().arguments(view, tool)


class Neighboring(Noter):
    """Reads a unit for its neighbor."""

    def units(self, view: View, question: Question) -> tuple[str, str]:
        """Feet for yards."""
        source, target = super().units(view, question)
        return (NEIGHBORS[source], target) if slips(view, "misread") else (source, target)


class Crossing(Mimic):
    """Gives the first item of a bill the second one's noun, and the other way round."""

    def next(self, view: View, question: Question) -> Step:
        """A red spoon for a red kettle."""
        if question.kind == "bill" and slips(view, "swap"):
            (color, noun), (other, thing) = (item.split() for item in question.items)
            question = replace(question, items=(f"{color} {thing}", f"{other} {noun}"))
        return super().next(view, question)


class Doubting(Clerk):
    """Reckons with the result again and again, and never hands it in."""

    def next(self, view: View, question: Question) -> Step:
        """Once more, in another way."""
        tool, values = super().next(view, question)
        if tool != "final" or not slips(view, "doubting"):
            return tool, values
        ways = (f"{values[0]}{way}" for way in ("+0", "*1", "/1", "-0", "*1+0", "/1-0"))
        return "calculator", (next(way for way in ways if not view.result("calculator", way)),)


class Penning(Follower):
    """Writes expressions as on paper: a cross for times, an equals sign behind a sum."""

    def next(self, view: View, question: Question) -> Step:
        """Not as the calculator reads it."""
        tool, values = super().next(view, question)
        if tool != "calculator" or not slips(view, "penning"):
            return tool, values
        text = values[0]
        return tool, (text.replace("*", "x") if "*" in text else f"{text}=",)


class Squaring(Mimic):
    """Puts one of the two numbers into the calculator twice."""

    def next(self, view: View, question: Question) -> Step:
        """The price times the price; the second number of a sum for both."""
        if not slips(view, "squaring"):
            return super().next(view, question)
        if question.kind == "calc":
            question = replace(question, numbers=(question.numbers[1],) * 2)
        price = view.result("lookup", *question.items) if question.items else None
        if question.kind == "price" and price:
            question = replace(question, numbers=(price,))
        return super().next(view, question)


class Labelling(Mimic):
    """Hands a number in with its unit behind it, and again when it is told to hand in a number."""

    def write(self, view: View, tool: str, values: tuple[str, ...]) -> str:
        """A text."""
        made = super().write(view, tool, values)
        if tool != "final" or view.question is None or not slips(view, "labelling"):
            return made
        unit = view.question.units[1] or "euros"
        return f'{{"name": "final", "arguments": {{"answer": "{values[0]} {unit}"}}}}'


class Telling(Tagged):
    """Tells the customer the result in words, and hands nothing in."""

    def write(self, view: View, tool: str, values: tuple[str, ...]) -> str:
        """A sentence in the place of the last call."""
        if tool == "final" and slips(view, "telling"):
            return f"That makes {values[0]}, thank you for asking."
        return super().write(view, tool, values)


PLANTS: tuple[Fourth, ...] = (
    Fourth(
        name="a price out of the air",
        dimension=None,
        fault="the student leaves look-ups out and reckons with prices that it made up",
        base="sheet",
        student=Assuming(),
        careful=Follower(),
        kinds=("price", "bill"),
        each=10,
    ),
    Fourth(
        name="a call and the end at once",
        dimension=None,
        fault="the student writes the end behind every call, and insists",
        base="manual",
        student=Hasty(),
        careful=Follower(),
        each=6,
    ),
    Fourth(
        name="arguments by other names",
        dimension=None,
        fault="the student has names of its own for arguments, and insists",
        base="board",
        student=Misnaming(),
        careful=Follower(),
        kinds=("price", "convert", "bill"),
        each=8,
    ),
    Fourth(
        name="a neighboring unit",
        dimension=None,
        fault="the student converts from feet where the customer says yards",
        base="recall",
        student=Neighboring(),
        careful=Noter(),
        kinds=("convert",),
        each=20,
    ),
    Fourth(
        name="items crossed",
        dimension=None,
        fault="the student looks up the color of one item with the noun of the other",
        base="hand",
        student=Crossing(),
        careful=Mimic(),
        kinds=("bill",),
        each=20,
    ),
    Fourth(
        name="never sure",
        dimension=None,
        fault="the student has the result, reckons on with it and never hands it in",
        base="desk",
        student=Doubting(),
        careful=Clerk(),
        each=6,
    ),
    Fourth(
        name="as on paper",
        dimension=None,
        fault="the student writes crosses and equals signs into the calculator, and insists",
        base="rooms",
        student=Penning(),
        careful=Follower(),
        kinds=("calc", "price", "bill"),
        each=8,
    ),
    Fourth(
        name="the price times the price",
        dimension=None,
        fault="the student puts one of two numbers into the calculator twice",
        base="worked",
        student=Squaring(),
        careful=Mimic(),
        kinds=("calc", "price"),
        each=10,
    ),
    Fourth(
        name="a unit behind the number",
        dimension=None,
        fault="the student hands in a text with a unit where a number is asked for, and insists",
        base="optimized",
        student=Labelling(),
        careful=Mimic(),
        kinds=("price", "convert", "bill"),
        each=8,
    ),
    Fourth(
        name="told and not handed in",
        dimension=None,
        fault="the student tells the result in words and makes no last call",
        base="tagged",
        student=Telling(),
        careful=Tagged(),
        each=6,
    ),
)
