"""Eight faults of the middleware: limits of a reply, of results and of the window, a stop string, a
hook too many and one too few, and two orders of the protocol that the students cannot keep."""

import re

from evener.bench.plants.clerk import Clerk, Step
from evener.bench.plants.third_base import Third
from evener.bench.plants.view import Question, View

_PRICES = re.compile(r"(\d+)\n(\d+)")
_LAST = re.compile(r"is not the last result \((-?[\d.]+)\)")


class Chatty(Clerk):
    """Says what it does before every call, with an empty line between, where that is asked for."""

    def write(self, view: View, tool: str, values: tuple[str, ...]) -> str:
        """Words, an empty line, the call; the call alone where it was just told to be brief."""
        made = super().write(view, tool, values)
        brief = bool(view.own) and "Be brief" in view.own[-1].answer
        asked = view.says("leave a line empty")
        return f"I take the {tool}.\n\n{made}" if asked and not brief else made


class Rechecking(Clerk):
    """Looks a price up once more before it hands a total in, and heeds who finds fault with it."""

    def next(self, view: View, question: Question) -> Step:
        """Once more, or the end as it was told to."""
        step = super().next(view, question)
        if step[0] != "final" or not question.items:
            return step
        corrected = _LAST.findall(view.own[-1].answer) if view.own else []
        if corrected:
            return "final", (corrected[-1],)
        looked = sum(made.tool == "lookup" for made in view.own)
        return step if looked > len(question.items) else ("lookup", (question.items[0],))


class Abreast(Clerk):
    """Looks both items of a bill up in one reply where it may, else one after the other."""

    def reply(self, view: View) -> str:
        """Two calls at first."""
        question = view.question
        if question is None or question.kind != "bill" or not view.says("several calls in one"):
            return super().reply(view)
        if not view.own:
            calls = [self.write(view, "lookup", (item,)) for item in question.items]
            return "\n".join(calls)
        return super().reply(view)

    def next(self, view: View, question: Question) -> Step:
        """The sum of the two prices that came together."""
        found = next((f for made in view.own if (f := _PRICES.fullmatch(made.answer))), None)
        if found is None:
            return super().next(view, question)
        values = (self.expression(view, question, [found[1], found[2]]),)
        result = view.result("calculator", *values)
        return ("calculator", values) if result is None else ("final", (result,))


class Thinking(Clerk):
    """Ends its thoughts with the call, as it is told to; behind them where it has just been told to
    do that."""

    def write(self, view: View, tool: str, values: tuple[str, ...]) -> str:
        """Inside, or behind."""
        made = super().write(view, tool, values)
        if view.own and "behind the reasoning" in view.own[-1].answer:
            return f"<think>\nThe next step is {tool}.\n</think>\n{made}"
        return f"<think>\nThe next step is {tool}.\n{made}\n</think>"


class Forgetful(Clerk):
    """Goes by what it still sees: a calculated number is the total, whatever came before."""

    def next(self, view: View, question: Question) -> Step:
        """The last number of a calculation is handed in."""
        last = view.own[-1] if view.own else None
        if last is not None and last.tool == "calculator" and last.result is not None:
            return "final", (last.result,)
        return super().next(view, question)


class Fencing(Clerk):
    """Writes calls in a code fence where it is told to."""

    def write(self, view: View, tool: str, values: tuple[str, ...]) -> str:
        """Fenced on demand."""
        made = super().write(view, tool, values)
        return f"```json\n{made}\n```" if view.says("code fence") else made


PLANTS: tuple[Third, ...] = (
    Third(
        name="replies of eighteen tokens",
        dimension="Mid",
        fault="a reply has eighteen tokens, too few for a conversion and for words before a call",
        base="spoken",
        path="middleware.loop.max_reply_tokens",
        new=18,
        student=Chatty(),
    ),
    Third(
        name="four characters of a result",
        dimension="Mid",
        fault="results are cut to four characters",
        base="desk",
        path="middleware.context.tool_output_tokens",
        new=1,
        student=Clerk(),
    ),
    Third(
        name="stop at a blank line",
        dimension="Mid",
        fault="an empty line stops the reply, and the call comes behind it as the prompt has it",
        base="spoken",
        path="middleware.loop.stop",
        new=["\n\n"],
        student=Chatty(),
    ),
    Third(
        name="only the last result counts",
        dimension="Mid",
        fault="a hook blocks a right total because something was looked up behind it",
        base="desk",
        path="middleware.hooks.before_finish",
        new=[{"name": "verify_answer"}],
        student=Rechecking(),
    ),
    Third(
        name="one call a reply",
        dimension="Mid",
        fault="several calls in one reply are refused, which prompt and turns reckon with",
        base="pairs",
        path="middleware.protocol.several",
        new=False,
        paths=("middleware.loop.max_turns",),
        student=Abreast(),
    ),
    Third(
        name="thoughts refused",
        dimension="Mid",
        fault="a call that ends the thoughts is refused, and the prompt asks for it there",
        base="thinking",
        path="middleware.protocol.in_reasoning",
        new="refuse",
        paths=("middleware.loop.max_turns",),
        student=Thinking(),
    ),
    Third(
        name="room for one turn",
        dimension="Mid",
        fault="the window has room for one turn, and a bill needs what two of them gave",
        base="desk",
        path="middleware.context.keep_tokens",
        new=211,
        student=Forgetful(),
    ),
    Third(
        name="fences left as they are",
        dimension="Mid",
        fault="the hook that reads calls in fences is gone, and the prompt asks for fences",
        base="fenced",
        path="middleware.hooks.after_model",
        new=[{"name": "require_action"}],
        paths=("middleware.protocol.strict",),
        student=Fencing(),
    ),
)
