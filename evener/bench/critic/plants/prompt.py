"""Eight faults of the prompt: what is unsaid, contradicts, misleads, or hides the question."""

from evener.bench.critic.plants.base import DESK, ENDING, FORM, PRICES, TOOLS
from evener.bench.critic.plants.clerk import Clerk, Imitator, Step
from evener.bench.critic.plants.plant import Plant
from evener.bench.critic.plants.view import Example, Question, View


class Plain(Clerk):
    """Writes a call in the form that it was told or shown, and as a sentence where it was not."""

    def write(self, view: View, tool: str, values: tuple[str, ...]) -> str:
        """JSON only if somebody asked for it."""
        if view.says('"name"') or view.examples:
            return super().write(view, tool, values)
        return f"Let me use the {tool} on {' and '.join(values)}."


class Spoken(Clerk):
    """Tells the customer the result in a sentence where it was told to."""

    def write(self, view: View, tool: str, values: tuple[str, ...]) -> str:
        """Words at the end."""
        if tool == "final" and view.says("in a sentence"):
            return f"The answer is {values[0]}."
        return super().write(view, tool, values)


class Rounding(Imitator):
    """Hands results in with as many decimals as the examples do, or as it was told to."""

    def hand_in(self, view: View, result: str) -> str:
        """Whole numbers where that is the custom."""
        question = view.question
        examples = view.like(question.kind) if question else ()
        return str(round(float(result))) if any(map(_rounds, examples)) else result


def _rounds(example: Example) -> bool:
    last, end = example.steps[-2], example.steps[-1]
    return "." in (last.result or "") and "." not in end.values[0]


class Whole(Clerk):
    """Rounds where it was told to."""

    def hand_in(self, view: View, result: str) -> str:
        """A whole number on demand."""
        return str(round(float(result))) if view.says("whole number") else result


class Literal(Clerk):
    """Answers a question for a price with the item's price where that is the rule it was given."""

    def total(self, view: View, question: Question) -> Step:
        """No more than the price."""
        if question.kind == "price" and view.says("with the item's price"):
            return "lookup", question.items
        return super().total(view, question)


class Prompted(Clerk):
    """Answers out of its head where the task says so."""

    def next(self, view: View, question: Question) -> Step:
        """At once."""
        if view.says("without the tools"):
            return "final", (self.guess(question),)
        return super().next(view, question)


class Searching(Clerk):
    """Without a list of tools it tries likely names, of tools and then of arguments, and learns
    from every refusal; one thing at a time."""

    names = {"lookup": "get_price", "calculator": "compute", "convert": "convert_units"}
    likely = {
        "lookup": ("name",),
        "calculator": ("input",),
        "convert": ("amount", "source", "target"),
        "final": ("result",),
    }

    def write(self, view: View, tool: str, values: tuple[str, ...]) -> str:
        """As listed, else as far as refusals have told."""
        told = "\n".join(made.answer for made in view.own)
        if not view.menu and "Tools:" not in told:
            tool = self.names.get(tool, tool)
        return super().write(view, tool, values)

    def arguments(self, view: View, tool: str) -> tuple[str, ...]:
        """The likely names until a refusal has listed the right ones."""
        told = "\n".join(made.answer for made in view.own)
        if tool in view.menu or f"{tool} was not called" in told:
            return super().arguments(view, tool)
        return self.likely.get(tool, ("query",))


PLANTS: tuple[Plant, ...] = (
    Plant(
        name="unsaid form",
        dimension="P",
        fault="nothing says how a call is written",
        base="desk",
        path="prompt.system",
        new=DESK.replace(FORM, ""),
        paths=("prompt.examples",),
        student=Plain(),
    ),
    Plant(
        name="hidden items",
        dimension="P",
        fault="the task's template hides what a bill is for",
        base="desk",
        path="prompt.task",
        new="{% if 'bill' in question %}The customer wants a bill.{% else %}{{ question }}"
        "{% endif %}",
        student=Clerk(),
    ),
    Plant(
        name="answer in words",
        dimension="P",
        fault="the prompt asks for the answer in a sentence, which hands nothing in",
        base="desk",
        path="prompt.system",
        new=DESK.replace(ENDING, "Tell the customer the last result in a sentence.\n"),
        student=Spoken(),
    ),
    Plant(
        name="rounded example",
        dimension="P",
        fault="the example of a conversion hands in a rounded result",
        base="worked",
        path="prompt.examples[1][3].call.arguments.answer",
        new=222,
        student=Rounding(),
    ),
    Plant(
        name="which price",
        dimension="P",
        fault="`the item's price` is the price of one piece, and the total is meant",
        base="desk",
        path="prompt.system",
        new=DESK.replace(PRICES, "A question for a price is answered with the item's price.\n"),
        student=Literal(),
    ),
    Plant(
        name="at once",
        dimension="P",
        fault="the task's template asks for an answer without the tools",
        base="desk",
        path="prompt.task",
        new="{{ question }}\nAnswer at once, without the tools.",
        student=Prompted(),
    ),
    Plant(
        name="no list of tools",
        dimension="P",
        fault="the prompt lists no tools; finding them out takes more turns than there are",
        base="desk",
        path="prompt.system",
        new=DESK.replace(TOOLS, ""),
        student=Searching(),
    ),
    Plant(
        name="whole numbers",
        dimension="P",
        fault="the prompt asks for whole numbers, and two decimals count",
        base="desk",
        path="prompt.system",
        new=DESK.replace(ENDING, "Hand in every result as a whole number with the tool final.\n"),
        student=Whole(),
    ),
)
