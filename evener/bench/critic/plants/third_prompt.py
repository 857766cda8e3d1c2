"""Eight faults of the prompt: units of counting, directions, number forms, lists with a hole, an
order that the protocol refuses, examples and a procedure with one slip."""

from evener.bench.critic.plants.base import DESK, ENDING, FORM, TOOLS
from evener.bench.critic.plants.clerk import Clerk, Step
from evener.bench.critic.plants.third_base import PRICES, SHEET, Third, worked
from evener.bench.critic.plants.third_student import TALK, Follower, Mimic
from evener.bench.critic.plants.view import Question, View

PAIRS = "(Pieces are counted in pairs.)"
ASKED_FIRST = "In convert, `from` is the unit that the customer asks for.\n"
POINT = "Write whole numbers with a point for thousands, 12.500 say.\n"
AT_ONCE = (
    "Write all the calls that a customer needs at once, one JSON object a line, with <result> "
    "where the result of the call before goes.\n"
)
HOLED = (
    "Tools:\n{% for tool in tools %}{% if not loop.first %}{{ tool.name }}"
    "({{ tool.arguments | join(', ') }}): {{ tool.description }}\n{% endif %}{% endfor %}"
)


class Pairing(Clerk):
    """Counts pieces as it is told that they are counted."""

    def expression(self, view: View, question: Question, prices: list[str]) -> str:
        """Two to the pair."""
        made = super().expression(view, question, prices)
        return f"2*{made}" if question.kind == "price" and view.says("in pairs") else made


class Directed(Clerk):
    """Fills `from` and `to` as the instructions explain them."""

    def units(self, view: View, question: Question) -> tuple[str, str]:
        """The unit that is asked for first, where that is the rule."""
        source, target = super().units(view, question)
        reverse = view.says("unit that the customer asks for")
        return (target, source) if reverse else (source, target)


class Pointed(Clerk):
    """Writes numbers as the instructions want them written."""

    def write(self, view: View, tool: str, values: tuple[str, ...]) -> str:
        """35.972 for many thousands."""
        made = super().write(view, tool, values)
        whole = values[0].lstrip("-").isdigit() and len(values[0]) > 3
        if tool == "final" and whole and view.says("a point for thousands"):
            pointed = f"{int(values[0]):,}".replace(",", ".")
            return made.replace(values[0], f'"{pointed}"' if pointed.count(".") > 1 else pointed)
        return made


class Listed(Clerk):
    """Uses the tools that are listed, and its head where the one it needs is not."""

    def next(self, view: View, question: Question) -> Step:
        """The next call, if there is such a tool."""
        tool, values = super().next(view, question)
        return (tool, values) if tool in view.menu else ("final", (self.guess(question),))


class AtOnce(Clerk):
    """Writes all calls at once where it is told to, one where it has just been told to, and goes
    on as the instructions say."""

    def reply(self, view: View) -> str:
        """One call, or all that are left."""
        if view.question is None or not view.says("needs at once"):
            return super().reply(view)
        if view.own and "one call at a time" in view.own[-1].answer:
            return super().reply(view)
        return "\n".join(self.write(view, *step) for step in self.plan(view, view.question))

    def plan(self, view: View, question: Question) -> list[Step]:
        """The calls whose results are not on view, `<result>` in the place of what they give."""
        left = [step for step in self.before_total(question) if not view.result(step[0], *step[1])]
        prices = [view.result("lookup", item) or "<result>" for item in question.items]
        tool, values = self.total(view, question)
        if tool == "calculator":
            values = (self.expression(view, question, prices),)
        result = view.result(tool, *values)
        return [*left, ("final", (result,))] if result else [*left, (tool, values), END]

    def write(self, view: View, tool: str, values: tuple[str, ...]) -> str:
        """A call, which may wait for a result."""
        if values == END[1]:
            return '{"name": "final", "arguments": {"answer": "<result>"}}'
        return super().write(view, tool, values)


END: Step = ("final", ("<result>",))

PLANTS: tuple[Third, ...] = (
    Third(
        name="counted in pairs",
        dimension="P",
        fault="the task's template says that pieces are counted in pairs, and they are single",
        base="desk",
        path="prompt.task",
        new=f"{{{{ question }}}}\n{PAIRS}",
        student=Pairing(),
        kinds=("price", "convert"),
    ),
    Third(
        name="the asked unit first",
        dimension="P",
        fault="the prompt explains the two units of `convert` the wrong way round",
        base="desk",
        path="prompt.system",
        new=DESK.replace(ENDING, ASKED_FIRST + ENDING),
        student=Directed(),
    ),
    Third(
        name="a point for thousands",
        dimension="P",
        fault="numbers are to be written with a point for thousands, which reads as decimals",
        base="desk",
        path="prompt.system",
        new=DESK.replace(ENDING, ENDING + POINT),
        student=Pointed(),
    ),
    Third(
        name="list without its first",
        dimension="P",
        fault="the loop that lists the tools leaves the first one out, the calculator",
        base="desk",
        path="prompt.system",
        new=DESK.replace(TOOLS, HOLED),
        student=Listed(),
    ),
    Third(
        name="all calls at once",
        dimension="P",
        fault="the prompt asks for all calls at once, and one a turn is read",
        base="roomy",
        path="prompt.system",
        new=DESK.replace(FORM, FORM + AT_ONCE),
        student=AtOnce(),
        kinds=("bill", "price"),
    ),
    Third(
        name="one piece less",
        dimension="P",
        fault="the example of a price calculates with one piece less",
        base="worked",
        path="prompt.examples[2]",
        new=worked(
            "Anna wants 79 pieces of green candle. What is the total price?",
            ("lookup", {"item": "green candle"}, "52"),
            ("calculator", {"expression": "(79-1)*52"}, "4056"),
            ("final", {"answer": 4056}, ""),
        ),
        student=Mimic(),
    ),
    Third(
        name="an example that talks",
        dimension="P",
        fault="the example of a bill opens with a sentence, which ends an episode",
        base="worked",
        path="prompt.examples[0]",
        new=worked(
            "David orders a small basket and a small mirror. How much is the bill?",
            TALK,
            ("lookup", {"item": "small basket"}, "41"),
            ("lookup", {"item": "small mirror"}, "32"),
            ("calculator", {"expression": "41+32"}, "73"),
            ("final", {"answer": 73}, ""),
        ),
        student=Mimic(),
    ),
    Third(
        name="pieces plus price",
        dimension="P",
        fault="the procedure for a total price in the prompt adds where it must multiply",
        base="sheet",
        path="prompt.system",
        new=SHEET.replace(PRICES, PRICES.replace("<pieces>*<price>", "<pieces>+<price>")),
        student=Follower(),
    ),
)
