"""Skills → guidance: when it applies, the skill's own words, its procedure, its examples.

What cannot be put in the target's tools is left out, and why is said. The prompt is guidance that
always applies, as far as it says something else than the target's own.
"""

from collections.abc import Container, Iterator, Mapping, Sequence

from evener.agents.harness import template
from evener.agents.harness.render import Menu
from evener.agents.harness.tool import ReadyTool
from evener.agents.knowledge.example import Examples, Turns, Unwritten
from evener.agents.knowledge.part import PROMPT
from evener.agents.knowledge.wording import Wording
from evener.protocols.error import HarnessError
from evener.protocols.harness import Harness, Skill, When
from evener.protocols.knowledge import Guidance, Omission, Recipe

SHOWN = "…"
ONLY = "Call only "


class Guide:
    """Makes guidance between two harnesses; `omissions` grows as it goes."""

    def __init__(
        self,
        target: Harness,
        *,
        recipes: Mapping[str, Recipe],
        wording: Wording,
        examples: Examples,
    ) -> None:
        self._target = target
        self._recipes = recipes
        self._wording = wording
        self._examples = examples
        self._menu = Menu([ReadyTool(tool) for tool in target.tools])
        self.omissions: list[Omission] = []

    def of_skill(self, skill: Skill) -> Guidance | None:
        """The guidance that a skill becomes; None where nothing of it can be said."""
        where = f"skills[{skill.name}]"
        when = self._when(skill, where)
        if when is None:
            self._omit(where, f"no tool whose call sets it off has a recipe: {skill.when.tools[0]}")
            return None
        texts = [
            self._template(skill.system or "", f"{where}.system"),
            self._retold(skill.text, f"{where}.text"),
        ]
        examples = tuple(self._rewritten(skill.examples, where))
        texts.append(procedure(examples) or self._offer(skill))
        text = "\n".join(text for text in texts if text)
        if not text and not examples:
            self._omit(f"{where}.when", "there is nothing left that it would set off")
            return None
        return Guidance(skill=skill.name, source=where, when=when, text=text, examples=examples)

    def of_prompt(self, optimized: Harness) -> Guidance | None:
        """What the prompt says besides the target's own; None where that is nothing."""
        mine, theirs = optimized.prompt, self._target.prompt
        texts: list[str] = []
        if mine.system and mine.system == theirs.system:
            self._omit("prompt.system", "the target's system text is the same")
        else:
            texts.append(self._template(mine.system, "prompt.system"))
        if mine.task == theirs.task:
            self._omit("prompt.task", "the target states a task in the same way")
        elif not _words_of(mine.task):
            self._omit(
                "prompt.task", "it only shows the task, which the target does in its own way"
            )
        else:
            texts.append(self._template(mine.task, "prompt.task", question=SHOWN))
        if mine.examples and mine.examples == theirs.examples:
            self._omit("prompt.examples", "the target shows the same examples")
            examples: tuple[Turns, ...] = ()
        else:
            examples = tuple(self._rewritten(mine.examples, PROMPT))
        text = "\n".join(text for text in texts if text)
        if not text and not examples:
            return None
        return Guidance(skill=PROMPT, source=PROMPT, text=text, examples=examples)

    def _rewritten(self, examples: Sequence[Turns], where: str) -> Iterator[Turns]:
        for index, turns in enumerate(examples):
            try:
                yield self._examples.rewritten(turns, self._wording)
            except Unwritten as reason:
                self._omit(f"{where}.examples[{index}]", str(reason))

    def _template(self, text: str, where: str, *, question: str = "") -> str:
        """A template of h* filled in with the target's tools, in the target's words."""
        variables = {"tools": self._menu, "memory": "", "skill": "", "question": question}
        try:
            return self._retold(template.render(text, variables, where=where).strip(), where)
        except HarnessError as error:
            self._omit(where, f"it cannot be filled in with the target's tools: {error.what}")
            return ""

    def _retold(self, text: str, where: str) -> str:
        if not text.strip():
            return self._nothing(text, where)
        text = self._wording.retold(text.strip())
        lacking = self._wording.foreign(text)
        if lacking:
            self._omit(where, f"it names {lacking[0]}, which the target lacks")
            return ""
        return text

    def _nothing(self, text: str, where: str) -> str:
        if text:
            self._omit(where, "it says nothing")
        return ""

    def _when(self, skill: Skill, where: str) -> When | None:
        """The trigger; a tool called before is its recipe's last step. None: it can never fire."""
        tools: dict[str, None] = {}
        for name in skill.when.tools:
            recipe = self._recipes.get(name)
            if recipe is not None:
                tools[recipe.steps[-1].action] = None
            elif skill.when.words:
                self._omit(f"{where}.when.tools", f"{name} has no recipe")
        if skill.when.tools and not tools and not skill.when.words:
            return None
        return When(words=skill.when.words, tools=tuple(tools))

    def _offer(self, skill: Skill) -> str:
        """The tools that the skill leaves on offer, in a sentence."""
        tools = left(skill, self._recipes)
        return f"{ONLY}{', '.join(tools)}." if tools else ""

    def _omit(self, part: str, reason: str) -> None:
        self.omissions.append(Omission(part=part, reason=reason))


def left(skill: Skill, recipes: Mapping[str, Recipe]) -> tuple[str, ...]:
    """The target's tools that those on offer under a skill come to; none where it narrows none."""
    known = (recipes.get(name) for name in skill.tools or ())
    return tuple(dict.fromkeys(step.action for one in known if one for step in one.steps))


def procedure(examples: Sequence[Turns]) -> str:
    """The order of calls that the examples show, in a sentence; empty where there are none."""
    orders = dict.fromkeys(
        ", then ".join(turn.call.name for turn in example if turn.call is not None)
        for example in examples
    )
    told = [order for order in orders if order]
    return f"Call {'; or '.join(told)}." if told else ""


def own_words(guidance: Guidance, tools: Container[str]) -> str:
    """The text without the sentences that were made for it: these name the target's tools, whatever
    else their words may be the name of."""
    made = procedure(guidance.examples)
    return "\n".join(
        line
        for line in guidance.text.splitlines()
        if line != made
        and not (
            line.startswith(ONLY)
            and all(name in tools for name in line.removeprefix(ONLY).rstrip(".").split(", "))
        )
    )


def _words_of(text: str) -> bool:
    """Whether a template has words of its own."""
    if "{%" in text:
        return True
    shown = template.render(text, {"question": "", "memory": ""}, where="prompt.task")
    return any(char.isalnum() for char in shown)
