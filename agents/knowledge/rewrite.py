"""K's texts in a model's words; its structure, examples and templates' variables stay.

What a model writes is not trusted: a text that is empty, cut, too long, names a tool that the
target lacks, is a call, loses a variable or repeats a task is dropped in favour of the original,
and counted.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence

from evener.agents.harness import template
from evener.agents.harness.shape import looks_like_call
from evener.agents.knowledge.rules.table import RULES
from evener.agents.knowledge.wording import Wording, wording_of
from evener.agents.leak import LeakGuard
from evener.protocols.digest import Wire
from evener.protocols.error import HarnessError
from evener.protocols.harness import Harness
from evener.protocols.knowledge import FailurePattern, Guidance, Hint, Knowledge, Recipe
from evener.protocols.message import Message
from evener.protocols.model import Request, Sampling, StopReason
from evener.protocols.port import Model

GROWTH, SPARE = 3, 120  # a rewritten text has at most 3 times the characters and 120 more
MAX_TOKENS = 160
ASKED = (
    "Rewrite the text in one or two short and clear sentences with the same meaning. Keep names of "
    "tools, numbers and everything in {{ }} exactly. Answer with the text alone."
)

Say = Callable[[str, tuple[str, ...]], Awaitable[str]]


class Rewritten(Wire):
    """K with the texts that passed; how many did, and why the others were dropped."""

    knowledge: Knowledge
    rewritten: int
    dropped: dict[str, int] = {}


async def rewrite(
    knowledge: Knowledge,
    model: Model,
    *,
    optimized: Harness,
    target: Harness,
    guard: LeakGuard | None = None,
) -> Rewritten:
    """Each text of K put to the model once, greedily. Raises InfraError where the model does."""
    tools = tuple(tool.name for tool in target.tools)
    rewriter = _Rewriter(model, wording_of(knowledge, optimized, target), tools, guard)
    made = knowledge.model_copy(
        update={
            "recipes": tuple([await _recipe(one, rewriter.said) for one in knowledge.recipes]),
            "hints": tuple([await _hint(one, rewriter.said) for one in knowledge.hints]),
            "guidance": tuple([await _guidance(one, rewriter.said) for one in knowledge.guidance]),
            "patterns": tuple([await _pattern(one, rewriter.said) for one in knowledge.patterns]),
        }
    )
    return Rewritten(
        knowledge=made, rewritten=rewriter.count, dropped=dict(sorted(rewriter.dropped.items()))
    )


class _Rewriter:
    def __init__(
        self, model: Model, wording: Wording, tools: Sequence[str], guard: LeakGuard | None
    ) -> None:
        self._model = model
        self._wording = wording
        self._guard = guard
        self._tools = tools
        self.count = 0
        self.dropped: Counter[str] = Counter()

    async def said(self, text: str, variables: tuple[str, ...]) -> str:
        """The text as the model puts it, or as it was."""
        if not text.strip():
            return text
        reply = await self._model.complete(
            Request(
                messages=(
                    Message(role="system", content=ASKED),
                    Message(role="user", content=text),
                ),
                sampling=Sampling(max_tokens=MAX_TOKENS),
            )
        )
        made = reply.text.strip()
        cut = reply.stop_reason is StopReason.LENGTH
        reason = "cut" if cut else self._reason(text, made, variables)
        if reason:
            self.dropped[reason] += 1
            return text
        self.count += 1
        return made

    def _reason(self, before: str, made: str, variables: tuple[str, ...]) -> str:
        if not made:
            return "empty"
        if len(made) > GROWTH * len(before) + SPARE:
            return "too long"
        if self._wording.foreign(made):
            return "names a tool that the target lacks"
        if looks_like_call(made, self._tools):
            return "a call in words"
        if self._guard is not None and self._guard.repeated(made):
            return "repeats a task"
        if variables:
            try:
                template.check(made, variables, where="text")
            except HarnessError:
                return "not a template of the hint"
            if template.variables_of(made) != template.variables_of(before):
                return "other variables"
        return ""


async def _recipe(recipe: Recipe, say: Say) -> Recipe:
    return recipe.model_copy(update={"text": await say(recipe.text, ())})


async def _hint(hint: Hint, say: Say) -> Hint:
    variables = RULES[hint.rule].variables if hint.rule in RULES else ()
    return hint.model_copy(update={"text": await say(hint.text, variables)})


async def _guidance(guidance: Guidance, say: Say) -> Guidance:
    return guidance.model_copy(update={"text": await say(guidance.text, ())})


async def _pattern(pattern: FailurePattern, say: Say) -> FailurePattern:
    texts = {
        name: await say(getattr(pattern, name), ())
        for name in ("trigger", "evidence", "intervention", "not_when")
    }
    return pattern.model_copy(update=texts)
