"""`recipe`: a reviewer without a model. It rewrites what a student wrote; it solves no task.

What it can do, with K alone: (1) carry out a call of a tool that only h* has, step by step, with
the student's own arguments; (2) mend spellings of arguments that K's recipes mend; (3) write a
call by the target's protocol where a hint says that it cannot be read as it stands; (4) put the
step that K's procedure for such a task wants in the place of a later one, where the types of the
recipe's parameters settle its arguments; (5) put the last result in the place of another answer.
It never chooses a tool, an item or an operation: a response that makes no call passes. With an
empty K everything passes.
"""

from collections.abc import Sequence

from evener.agents.harness.parse import first_call, read_text
from evener.agents.harness.tool import Resolved, Toolbox
from evener.agents.knowledge.hints import Fired, fire
from evener.agents.knowledge.seen import Seen
from evener.agents.knowledge.translate import plain_variable
from evener.agents.reviewers.course import Course
from evener.agents.reviewers.extract import extracted
from evener.agents.reviewers.opinion import Opinion
from evener.agents.reviewers.procedure import answer_with_last_result, procedure_of, steps_done
from evener.agents.reviewers.space import ActionSpace
from evener.protocols.digest import digest
from evener.protocols.error import HarnessError
from evener.protocols.harness import ArgumentRule, Tool
from evener.protocols.knowledge import Knowledge
from evener.protocols.message import Call
from evener.protocols.wire import Review, ReviewRequest

_UNFIT = frozenset({"unreadable", "bad_arguments", "spelling"})


class RecipeReviewer:
    """Rewrites by K, in the actions of `space`."""

    def __init__(self, knowledge: Knowledge, space: ActionSpace) -> None:
        self.knowledge = knowledge
        self._space = space
        self._course = Course(knowledge, space)
        tools = space.target.tools
        self._mending = Toolbox([_mending(tool, knowledge) for tool in tools])
        self._names = (*space.tools, *self._course.recipes.by_tool)

    @property
    def name(self) -> str:
        """`recipe`."""
        return "recipe"

    @property
    def digest(self) -> str:
        """Over K and the target."""
        return digest(
            {
                "reviewer": "recipe",
                "knowledge": self.knowledge.digest(),
                "target": self._space.digest,
            }
        )

    async def review(self, request: ReviewRequest, *, attempt: int = 0) -> Review:
        """What K makes of the candidate; PASS where it makes nothing of it."""
        del attempt
        seen = self._seen(request)
        fired = fire(seen)
        call = self._written(request.candidate)
        if call is None:
            return _said(fired, None)
        foreign = call.name not in self._mending.tools
        if foreign and call.name in self._course.recipes.by_tool:
            return _said(fired, self._translated(call, seen), "a tool of h*")
        resolved = self._mending.resolve(call, self._space.tools, turn=0)
        if not isinstance(resolved, Resolved):
            return _said(fired, None)
        return self._judged(resolved, request, fired)

    def _judged(self, resolved: Resolved, request: ReviewRequest, fired: Fired) -> Review:
        """A call that the target has, once mended."""
        text = self._space.write(resolved.call)
        mended = request.model_copy(update={"candidate": text})
        seen = self._seen(mended)
        again = fire(seen)
        fired = Fired(
            said=tuple(dict.fromkeys((*fired.said, *again.said))),
            faults=tuple(dict.fromkeys((*fired.faults, *again.faults))),
        )
        procedure = procedure_of(seen)
        done = steps_done(procedure, seen)
        if _too_soon(resolved.call.name, procedure[done:]):
            return _said(fired, self._wanted(procedure, done, seen), "a step before it")
        if any(said.rule == "answer_differs" for said in again.said):
            answer = answer_with_last_result(resolved.call.name, seen)
            last = None if answer is None else self._space.write(answer)
            return _said(fired, last, "the last result")
        unfit = any(said.rule in _UNFIT for said in fired.said)
        if unfit or self._by_recipe(resolved):
            return _said(fired, text, "mended")
        return _said(fired, None)

    def _seen(self, request: ReviewRequest) -> Seen:
        return Seen(request, self.knowledge, self._space.runtime)

    def _written(self, candidate: str) -> Call | None:
        """The candidate's first call, however it is wrapped."""
        call = first_call(read_text(candidate, self._space.target, self._names, strict=False))
        return None if call is None else call.model_copy(update={"name": call.name.strip()})

    def _translated(self, call: Call, seen: Seen) -> str | None:
        resolved = self._course.recipes.resolve(call)
        if resolved is None:
            return None
        step = self._course.following(resolved, seen)
        return None if step is None else self._space.write(step)

    def _wanted(self, procedure: Sequence[str], done: int, seen: Seen) -> str | None:
        """The procedure's next step, by the recipe that goes the same way."""
        for recipe in self.knowledge.recipes:
            actions = tuple(step.action for step in recipe.steps)
            if done >= len(actions) or tuple(procedure[: len(actions)]) != actions:
                continue
            given = extracted(recipe, seen.request.prompt)
            call = Call(name=recipe.tool, arguments=given)
            result = seen.last_result if done else None
            try:
                step = self._course.recipes.step(call, done, result=result)
            except HarnessError:  # the types do not settle an argument
                continue
            return self._space.write(step)
        return None

    def _by_recipe(self, resolved: Resolved) -> bool:
        """Whether the mending changed a value that K's recipes mend."""
        return any(mended.rule in ("value_alias", "strip", "lower") for mended in resolved.mended)


def _mending(tool: Tool, knowledge: Knowledge) -> Tool:
    """A target tool that mends its arguments as K's recipes mend what they pass on to it."""
    rules: dict[str, ArgumentRule] = {}
    own_first = sorted(knowledge.recipes, key=lambda recipe: recipe.tool != tool.name)
    for recipe in own_first:
        for step in recipe.steps:
            if step.action != tool.name:
                continue
            for argument, text in step.arguments.items():
                rule = recipe.mends.get(plain_variable(text) or "")
                if rule is not None:
                    rules.setdefault(argument, rule)
    return tool.model_copy(update={"arguments": {**tool.arguments, **rules}})


def _too_soon(name: str, left: Sequence[str]) -> bool:
    """Whether a tool's turn comes, but not now."""
    return name in left[1:] and name != left[0]


def _said(fired: Fired, text: str | None, reason: str = "") -> Opinion:
    return Opinion(
        decision="PASS" if text is None else "REPLACE",
        replacement=text,
        reason=reason if text is not None else "",
        hints=fired.names,
        hint_faults=fired.faults,
    )
