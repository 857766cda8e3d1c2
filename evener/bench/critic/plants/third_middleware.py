"""Eight faults of the middleware: limits of a reply, of results and of the window, a stop string, a
hook too many and one too few, and orders of the protocol that the prompt does not know of."""

import re

from evener.bench.critic.plants.clerk import Clerk, Step, then_final
from evener.bench.critic.plants.third_base import Third
from evener.bench.critic.plants.view import Question, View

_PRICES = re.compile(r"(\d+)\n(\d+)?")
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
    """Looks both items of a bill up in one reply where it may, and what is missing afterwards."""

    def reply(self, view: View) -> str:
        """Two calls at first."""
        question = view.question
        if question and question.kind == "bill" and not view.own and view.says("several calls in"):
            return "\n".join(self.write(view, "lookup", (item,)) for item in question.items)
        return super().reply(view)

    def next(self, view: View, question: Question) -> Step:
        """The other price, the sum, the end."""
        found = _PRICES.match(view.own[0].answer) if view.own else None
        if question.kind != "bill" or found is None:
            return super().next(view, question)
        second = found[2] or view.result("lookup", question.items[1])
        if second is None:
            return "lookup", (question.items[1],)
        return then_final(view, "calculator", f"{found[1]}+{second}")


class Corrected(Clerk):
    """Goes on as the instructions say, and otherwise in the turn behind a correction."""

    def reply(self, view: View) -> str:
        """The next turn; a call that could not be read is no failure of its tool."""
        if view.question is None:
            return super().reply(view)
        return self.write(view, *self.next(view, view.question))

    def told(self, view: View, words: str) -> bool:
        """Whether it was just corrected in these words."""
        return bool(view.own) and words in view.own[-1].answer


class Thinking(Corrected):
    """Ends its thoughts with the call, as it is told to; behind them where it was just corrected"""

    def write(self, view: View, tool: str, values: tuple[str, ...]) -> str:
        """Inside, or behind."""
        made = super().write(view, tool, values)
        if self.told(view, "behind the reasoning"):
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


class Fencing(Corrected):
    """Writes calls in a code fence, as it is told to; bare where it was just corrected."""

    def write(self, view: View, tool: str, values: tuple[str, ...]) -> str:
        """Fenced, or bare."""
        made = super().write(view, tool, values)
        bare = self.told(view, "and nothing else") or not view.says("code fence")
        return made if bare else f"```json\n{made}\n```"


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
        paths=("middleware.protocol.strict", "middleware.loop.max_turns"),
        student=Fencing(),
    ),
)
