"""Ten errors of the student on sound harnesses that say all that is needed: it slips on about every
other task, by its nature or by its wording, and without the slip it solves them all."""

from dataclasses import replace

from evener.bench.critic.plants.clerk import Noter, Step
from evener.bench.critic.plants.third_base import Third
from evener.bench.critic.plants.third_student import Follower, Mimic, slips
from evener.bench.critic.plants.view import Example, Question, View


class Backwards(Mimic):
    """Takes the units in the order in which the question names them."""

    def next(self, view: View, question: Question) -> Step:
        """`how many meters are 46 yards` is taken for meters into yards."""
        if "how many" in view.task:
            source, target = question.units
            question = replace(question, units=(target, source))
        return super().next(view, question)


class Early(Follower):
    """Hands the first looked-up price in as if that were all."""

    def next(self, view: View, question: Question) -> Step:
        """The end behind the first step."""
        price = view.result("lookup", question.items[0]) if question.items else None
        if price is not None and slips(view, "early"):
            return "final", (price,)
        return super().next(view, question)


class SmallFirst(Mimic):
    """Puts the smaller of two numbers first, which is all the same to sums and products only."""

    def matched(self, example: Example, question: Question) -> dict[str, str]:
        """The numbers in order of their size."""
        if question.kind == "calc":
            numbers = tuple(sorted(question.numbers, key=int))
            question = replace(question, numbers=numbers)
        return super().matched(example, question)


class ByHead(Follower):
    """Adds and subtracts in its head, digit by digit, and forgets to carry."""

    def next(self, view: View, question: Question) -> Step:
        """No calculator for what looks easy."""
        if question.sign not in ("+", "-"):
            return super().next(view, question)
        left, right = (number.rjust(4, "0") for number in question.numbers)
        way = 1 if question.sign == "+" else -1
        digits = [(int(a) + way * int(b)) % 10 for a, b in zip(left, right, strict=True)]
        return "final", (str(int("".join(map(str, digits)))),)


class Inventing(Follower):
    """Calls a tool that nobody listed, and again when it is told that there is none."""

    def write(self, view: View, tool: str, values: tuple[str, ...]) -> str:
        """`multiply` sounds right."""
        if tool == "calculator" and slips(view, "inventing"):
            return f'{{"name": "multiply", "arguments": {{"numbers": "{values[0]}"}}}}'
        return super().write(view, tool, values)


class Circling(Mimic):
    """Does the first step over and over, with its result before it."""

    def next(self, view: View, question: Question) -> Step:
        """The first call once more."""
        step = super().next(view, question)
        done = [made for made in view.own if made.result is not None]
        return (done[0].tool, done[0].values) if done and slips(view, "circling") else step


class Parroting(Mimic):
    """Works a task out and hands the example's answer in."""

    def next(self, view: View, question: Question) -> Step:
        """The number that was shown."""
        tool, values = super().next(view, question)
        example = self.nearest(view, question)
        if tool == "final" and example and slips(view, "parroting"):
            return tool, example.steps[-1].values
        return tool, values


class Chatting(Mimic):
    """Asks the customer what nobody needs to know, and asks again."""

    def reply(self, view: View) -> str:
        """Small talk."""
        if slips(view, "chatting"):
            return "Gladly! Is it for yourself, or is it a present?"
        return super().reply(view)


class Skimming(Mimic):
    """Reads long numbers without the digit in their middle."""

    def next(self, view: View, question: Question) -> Step:
        """14 for 184, in orders of pieces and in conversions."""
        if "How many" not in view.task:
            numbers = tuple(n if len(n) < 3 else n[0] + n[-1] for n in question.numbers)
            question = replace(question, numbers=numbers)
        return super().next(view, question)


class Carrying(Noter):
    """Looks the second item of a bill up in the color of the first."""

    def next(self, view: View, question: Question) -> Step:
        """A green towel, and then everything is green; a size is no color."""
        color = question.items[0].split()[0] if question.kind == "bill" else ""
        if color in COLORS:
            first, second = question.items
            question = replace(question, items=(first, f"{color} {second.split()[1]}"))
        return super().next(view, question)


COLORS = ("green", "blue", "white", "black")

PLANTS: tuple[Third, ...] = (
    Third(
        name="units in the order of the question",
        dimension=None,
        fault="the student converts from the unit that is named first",
        base="hand",
        student=Backwards(),
        careful=Mimic(),
        kinds=("convert",),
        each=12,
    ),
    Third(
        name="the first price is all",
        dimension=None,
        fault="the student hands a looked-up price in and leaves the rest of the recipe undone",
        base="sheet",
        student=Early(),
        careful=Follower(),
        kinds=("price", "bill"),
        each=10,
    ),
    Third(
        name="the smaller number first",
        dimension=None,
        fault="the student puts the smaller number first in differences and divisions too",
        base="worked",
        student=SmallFirst(),
        careful=Mimic(),
        kinds=("calc",),
        each=12,
    ),
    Third(
        name="no carrying",
        dimension=None,
        fault="the student adds and subtracts in its head and forgets to carry",
        base="manual",
        student=ByHead(),
        careful=Follower(),
        kinds=("calc",),
        each=12,
    ),
    Third(
        name="a tool that sounds right",
        dimension=None,
        fault="the student calls a tool that is not listed, and insists",
        base="board",
        student=Inventing(),
        careful=Follower(),
        kinds=("calc", "price", "bill"),
        each=8,
    ),
    Third(
        name="round in circles",
        dimension=None,
        fault="the student repeats its first step with the result before it",
        base="worked",
        student=Circling(),
        careful=Mimic(),
        each=6,
    ),
    Third(
        name="the answer of the example",
        dimension=None,
        fault="the student has the right result and hands the example's in",
        base="hand",
        student=Parroting(),
        careful=Mimic(),
        each=6,
    ),
    Third(
        name="small talk",
        dimension=None,
        fault="the student asks the customer a needless question, and again when reminded",
        base="hand",
        student=Chatting(),
        careful=Mimic(),
        each=6,
    ),
    Third(
        name="the middle digit",
        dimension=None,
        fault="the student reads numbers of three digits without the one in the middle",
        base="optimized",
        student=Skimming(),
        careful=Mimic(),
        kinds=("calc", "price", "convert"),
        each=6,
    ),
    Third(
        name="everything is green",
        dimension=None,
        fault="the student looks the second item up in the color of the first",
        base="recall",
        student=Carrying(),
        careful=Noter(),
        kinds=("bill",),
        each=12,
    ),
)
