"""Students of the fourth set that are more than one plant's: one that writes calls in tags, and
one that finds out in its head about how much an expression is."""

from evener.bench.critic.plants.third_middleware import Corrected
from evener.bench.critic.plants.view import View
from evener.environments.storefront.calculator import evaluate

OPEN, CLOSE = "<tool_result>", "</tool_result>"


class Tagged(Corrected):
    """Writes calls in tags, as it is told to; bare where it was just corrected. Reads results out
    of theirs."""

    def reply(self, view: View) -> str:
        """The next turn."""
        return super().reply(unwrapped(view))

    def write(self, view: View, tool: str, values: tuple[str, ...]) -> str:
        """Inside tags, or bare."""
        made = super().write(view, tool, values)
        bare = self.told(view, "and nothing else") or not view.says("<tool_call>")
        return made if bare else f"<tool_call>\n{made}\n</tool_call>"


def unwrapped(view: View) -> View:
    """The request with results out of their tags."""
    messages = tuple(
        message.model_copy(update={"content": message.content.replace(OPEN, "").replace(CLOSE, "")})
        for message in view.request.messages
    )
    return View(view.request.model_copy(update={"messages": messages}))


def by_head(expression: str) -> str:
    """About how much an expression is: two digits of it, and never all."""
    exact = int(evaluate(expression))
    size = 10 ** max(0, len(str(abs(exact))) - 2)
    near = exact // size * size
    return str(near if near != evaluate(expression) else near + size)
