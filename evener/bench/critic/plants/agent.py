"""Ten agent errors: the harness says and shows all that is needed, and the model errs all the same.

Each errs on about half of its tasks, chosen by the text of the question; on the others it works.
"""

import hashlib

from evener.bench.critic.plants.clerk import Clerk, Imitator, Noter, Step
from evener.bench.critic.plants.plant import Plant
from evener.bench.critic.plants.view import Question, View


def careless(view: View) -> bool:
    """Whether this is a question that the student slips on."""
    return hashlib.sha256(view.task.encode()).digest()[0] % 2 == 0


class Misreading(Imitator):
    """Copies a number with two digits swapped."""

    def expression(self, view: View, question: Question, prices: list[str]) -> str:
        """A slip in the first number."""
        made = super().expression(view, question, prices)
        if not careless(view):
            return made
        first, sign, rest = made[:2], made[2:3], made[2:]
        swapped = first[::-1] if first[0] != first[1] else f"{int(first[0]) % 9 + 1}{first[1]}"
        return f"{swapped}{rest}" if sign else made


class WrongSign(Clerk):
    """Subtracts where the rule it was given says to multiply."""

    def expression(self, view: View, question: Question, prices: list[str]) -> str:
        """The wrong operation."""
        made = super().expression(view, question, prices)
        wrong = careless(view) and question.kind in ("calc", "price")
        return made.replace("*", "-").replace("/", "*") if wrong else made


class Doubling(Imitator):
    """Adds the first price to itself."""

    def expression(self, view: View, question: Question, prices: list[str]) -> str:
        """The second one is forgotten."""
        if careless(view) and question.kind == "bill":
            return f"{prices[0]}+{prices[0]}"
        return super().expression(view, question, prices)


class Reversing(Imitator):
    """Converts the other way round."""

    def units(self, view: View, question: Question) -> tuple[str, str]:
        """From and to are swapped."""
        source, target = super().units(view, question)
        return (target, source) if careless(view) else (source, target)


class Mistyping(Imitator):
    """Hands in another number than the one it was given."""

    def hand_in(self, view: View, result: str) -> str:
        """A digit lost at the end."""
        if careless(view) and len(result) > 1:
            return result[:-1].rstrip(".")
        return result


class Hasty(Imitator):
    """Hands in the price of one piece, against the examples it is shown."""

    def total(self, view: View, question: Question) -> Step:
        """No multiplication."""
        if careless(view) and question.kind == "price":
            return "lookup", question.items
        return super().total(view, question)


class Proud(Imitator):
    """Answers out of its head, with the tools and the examples before it."""

    def next(self, view: View, question: Question) -> Step:
        """No call but the last."""
        if careless(view):
            return "final", (self.guess(question),)
        return super().next(view, question)


class Forgetful(Noter):
    """Leaves the second item out, with the note on bills before it."""

    def expression(self, view: View, question: Question, prices: list[str]) -> str:
        """One price of two."""
        if careless(view) and question.kind == "bill":
            return f"{prices[0]}+0"
        return super().expression(view, question, prices)


class Stuck(Imitator):
    """Asks for the same price again and again, with the price before it."""

    def next(self, view: View, question: Question) -> Step:
        """The first call, for ever."""
        if careless(view) and question.items:
            return "lookup", question.items[:1]
        return super().next(view, question)


class Refusing(Imitator):
    """Declines in words, and declines again when it is reminded of its tools."""

    def reply(self, view: View) -> str:
        """No."""
        if careless(view):
            return "I'm sorry, but I can't help with that."
        return super().reply(view)


PLANTS: tuple[Plant, ...] = (
    Plant(
        name="misread number",
        dimension=None,
        fault="two digits swapped on the way into the calculator",
        student=Misreading(),
        careful=Imitator(),
        each=6,
    ),
    Plant(
        name="wrong operation",
        dimension=None,
        fault="subtracts where the prompt says to multiply",
        base="desk",
        student=WrongSign(),
        careful=Clerk(),
        each=6,
    ),
    Plant(
        name="same price twice",
        dimension=None,
        fault="adds the first price to itself",
        student=Doubling(),
        careful=Imitator(),
        kinds=("bill",),
        each=12,
    ),
    Plant(
        name="units swapped",
        dimension=None,
        fault="converts the other way round",
        student=Reversing(),
        careful=Imitator(),
        kinds=("convert",),
        each=12,
    ),
    Plant(
        name="mistyped answer",
        dimension=None,
        fault="hands in the result without its last digit",
        student=Mistyping(),
        careful=Imitator(),
        each=6,
    ),
    Plant(
        name="price of one",
        dimension=None,
        fault="hands in the price of one piece, against the examples",
        student=Hasty(),
        careful=Imitator(),
        kinds=("price",),
        each=12,
    ),
    Plant(
        name="no tools used",
        dimension=None,
        fault="answers out of its head, with tools and examples before it",
        student=Proud(),
        careful=Imitator(),
        each=6,
    ),
    Plant(
        name="second item forgotten",
        dimension=None,
        fault="leaves the second price out, with the note on bills before it",
        base="memo",
        student=Forgetful(),
        careful=Noter(),
        kinds=("bill",),
        each=12,
    ),
    Plant(
        name="same call for ever",
        dimension=None,
        fault="asks for a price again and again that it has been told",
        student=Stuck(),
        careful=Imitator(),
        kinds=("price", "bill"),
        each=6,
    ),
    Plant(
        name="declines",
        dimension=None,
        fault="declines in words, and again when it is reminded",
        student=Refusing(),
        careful=Imitator(),
        each=6,
    ),
)
