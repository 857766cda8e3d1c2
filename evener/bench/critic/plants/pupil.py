"""The students of the second set of plants: a clerk with one way of taking what it is shown, or
with one slip."""

from evener.bench.critic.plants.agent import careless
from evener.bench.critic.plants.clerk import Clerk, Imitator, Noter, Step, rough, then_final
from evener.bench.critic.plants.middleware import Planning
from evener.bench.critic.plants.tool import by_factor
from evener.bench.critic.plants.view import Example, Question, View, understood


class Cents(Clerk):
    """Hands prices in in cents where it was told to."""

    def hand_in(self, view: View, result: str) -> str:
        """A hundred times as much."""
        told = view.says("in cents") and view.question is not None and view.question.items
        return str(int(result) * 100) if told else result


class Taxing(Clerk):
    """Adds the tax that it was told of."""

    def expression(self, view: View, question: Question, prices: list[str]) -> str:
        """More, if it says so."""
        made = super().expression(view, question, prices)
        return f"({made})*1.19" if view.says("19 % tax") and question.items else made


class Shouting(Clerk):
    """Looks items up as they are written in the question."""

    def reply(self, view: View) -> str:
        """Letters as they are shown."""
        found = understood(view.task.lower())
        if view.question is not None or found is None:
            return super().reply(view)
        if not found.items:
            return self.write(view, *self.next(view, found))
        if view.failed("lookup") < 2:
            return self.write(view, "lookup", (found.items[0].upper(),))
        return self.write(view, "final", (rough(found),))


class Copier(Imitator):
    """Takes the sign of a calculation from the last example of the kind."""

    def expression(self, view: View, question: Question, prices: list[str]) -> str:
        """As shown."""
        made = super().expression(view, question, prices)
        shown = [s.values[0] for e in view.like(question.kind)[-1:] for s in e.steps if s.values]
        sums = [text for text in shown if any(sign in text[1:] for sign in "*+-/")]
        if question.kind == "calc" or not sums:
            return made
        sign = next(sign for sign in "*+-/" if sign in sums[0][1:])
        return made.replace("*" if question.kind == "price" else "+", sign)


class OneSided(Clerk):
    """Gives a tool the arguments that its list names, and one more where the desk asks for it."""

    def arguments(self, view: View, tool: str) -> tuple[str, ...]:
        """By the last word on it."""
        if view.own and "'to' is a required property" in view.own[-1].answer:
            return ("value", "from", "to")
        return super().arguments(view, tool)


class Distractible(Imitator):
    """Works as the last example on view does, whatever it is of."""

    def imitate(self, view: View, question: Question, examples: tuple[Example, ...]) -> Step:
        """A price taken for a bill is the price of one."""
        last = understood(view.examples[-1].asked)
        if question.kind == "price" and last is not None and last.kind == "bill":
            return then_final(view, "lookup", *question.items)
        return super().imitate(view, question, examples)


class Unpriced(Imitator):
    """Takes a text at its word that no calculation is needed."""

    def total(self, view: View, question: Question) -> Step:
        """The price as it is."""
        if question.kind == "price" and view.says("no calculation is needed"):
            return "lookup", question.items
        return super().total(view, question)


class Factoring(Imitator):
    """Where `convert` is refused it calculates with a factor that people remember."""

    def total(self, view: View, question: Question) -> Step:
        """By hand behind a refusal."""
        if any("not on offer" in made.answer for made in view.own):
            return by_factor(question)
        return super().total(view, question)


class Speaking(Planning):
    """Plans first; says the answer in words if that is what the reminder asks for."""

    def reply(self, view: View) -> str:
        """As reminded."""
        if any("in plain words" in made.answer for made in view.own) and view.question:
            return f"It will be about {self.guess(view.question)}."
        return super().reply(view)


class ByNote(Noter):
    """Converts by hand where the note on conversions says so; drops decimals where one does."""

    def total(self, view: View, question: Question) -> Step:
        """By the note."""
        if question.kind == "convert" and view.says("the factor you know"):
            return by_factor(question)
        return super().total(view, question)

    def hand_in(self, view: View, result: str) -> str:
        """By the note."""
        return result.split(".")[0] if view.says("without its decimals") else result


class Shortening(Imitator):
    """Drops the color of an item that it was given the whole name of."""

    def next(self, view: View, question: Question) -> Step:
        """Half a name."""
        if careless(view) and question.items:
            return "lookup", (question.items[0].split()[-1],)
        return super().next(view, question)


class Opposite(Imitator):
    """Takes plus for minus."""

    def expression(self, view: View, question: Question, prices: list[str]) -> str:
        """The other sign."""
        made = super().expression(view, question, prices)
        return made.replace("+", "-") if careless(view) else made


class Negative(Clerk):
    """Hands the result in with a minus before it."""

    def hand_in(self, view: View, result: str) -> str:
        """The wrong side of zero."""
        return f"-{result}" if careless(view) else result


class Unclosed(Imitator):
    """Leaves the last brace out, and does so again when it is told."""

    def write(self, view: View, tool: str, values: tuple[str, ...]) -> str:
        """Not JSON."""
        made = super().write(view, tool, values)
        return made[:-1] if careless(view) else made


class Swapping(Noter):
    """Swaps the digits of a price on its way into the calculator."""

    def expression(self, view: View, question: Question, prices: list[str]) -> str:
        """52 for 25."""
        if careless(view) and prices:
            prices = [price[::-1] if price[0] != price[-1] else f"{price}1" for price in prices[:1]]
            prices += ["12"] * (question.kind == "bill")
        return super().expression(view, question, prices)
