"""h* → K: tools become recipes, hooks hints, skills guidance, notes failure patterns; what does not
transfer is an omission with its reason.

A function of its three arguments alone. Every part of h* is in an entry or an omission.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from evener.agents.harness.check import check
from evener.agents.knowledge.evidence import gather
from evener.agents.knowledge.example import Examples, Turns, Unwritten
from evener.agents.knowledge.guidance import Guide
from evener.agents.knowledge.hint import Setting, of_hooks, of_rest
from evener.agents.knowledge.part import covered, parts
from evener.agents.knowledge.pattern import About, patterns_of
from evener.agents.knowledge.recipe import recipe_of
from evener.agents.knowledge.translate import Recipes
from evener.agents.knowledge.wording import Wording, wording
from evener.agents.pattern import Background
from evener.agents.pattern.background import question
from evener.protocols.error import HarnessError
from evener.protocols.harness import Harness
from evener.protocols.knowledge import Hint, Knowledge, Omission, Recipe
from evener.protocols.port import ActionSpec


def adapt(optimized: Harness, target: Harness, background: Background) -> Knowledge:
    """K of h* for h. Raises HarnessError where one of them is not fit for the environment."""
    fit(optimized, background.actions, "optimized")
    fit(target, background.actions, "target")
    recipes, omissions = _recipes(optimized, target)
    name = f"{optimized.name} for {target.name}"
    bare = Knowledge(
        name=name,
        source=optimized.digest(),
        target=target.digest(),
        recipes=tuple(recipes.values()),
    )
    words = wording(optimized, target, recipes)
    evidence = gather(optimized, target, background)
    examples = Examples(optimized, recipes=Recipes(bare, target), evidence=evidence)
    guide = Guide(target, recipes=recipes, wording=words, examples=examples)
    of_prompt = guide.of_prompt(optimized)
    of_skills = (guide.of_skill(skill) for skill in optimized.skills)
    guidance = tuple(one for one in (of_prompt, *of_skills) if one is not None)
    final = final_tools(target, background.actions)
    setting = Setting(target, final, recipes, guidance)
    of_each = (*of_hooks(optimized, setting), *of_rest(optimized, setting))
    hints = tuple(one for one in of_each if isinstance(one, Hint))
    about = About(
        tuple(tool.name for tool in target.tools),
        final,
        tuple(dict.fromkeys(word for skill in optimized.skills for word in skill.when.words)),
    )
    patterns, notes_left_out = patterns_of(optimized, about=about, wording=words)
    made = bare.model_copy(
        update={
            "recipes": tuple(_finished(optimized, recipes, examples, words)),
            "hints": _distinct(hints),
            "guidance": guidance,
            "patterns": patterns,
        }
    )
    of_hooks_left_out = (one for one in of_each if isinstance(one, Omission))
    omissions = [*omissions, *guide.omissions, *of_hooks_left_out, *notes_left_out]
    made = made.model_copy(update={"omissions": tuple(omissions)})
    rest = _of_the_rest(covered(optimized, made))
    return made.model_copy(update={"omissions": tuple(_ordered([*omissions, *rest], optimized))})


def fit(harness: Harness, actions: Sequence[ActionSpec], which: str) -> None:
    """Refuse a harness that is not fit for the environment; `which` of the two it is."""
    try:
        check(harness, actions)
    except HarnessError as error:
        raise HarnessError(
            error.what,
            where=f"the {which} harness {harness.name}, {error.where}",
            remedy=error.remedy,
        ) from None


def final_tools(target: Harness, actions: Sequence[ActionSpec]) -> tuple[str, ...]:
    """The target's tools that end an episode."""
    final = {action.name for action in actions if action.final}
    return tuple(tool.name for tool in target.tools if tool.action in final)


def _recipes(optimized: Harness, target: Harness) -> tuple[dict[str, Recipe], list[Omission]]:
    made: dict[str, Recipe] = {}
    left_out: list[Omission] = []
    for tool in optimized.tools:
        found = recipe_of(tool, target)
        if isinstance(found, str):
            left_out.append(Omission(part=f"tools[{tool.name}]", reason=found))
        else:
            made[tool.name] = found
    return made, left_out


def _finished(
    optimized: Harness, recipes: dict[str, Recipe], examples: Examples, words: Wording
) -> Iterator[Recipe]:
    """The recipes with an example each, where one is to be had, and texts in the target's words."""
    for name, recipe in recipes.items():
        text = words.retold(recipe.text)
        if words.foreign(text):
            text = ""
        example = _example(name, optimized, examples)
        yield recipe.model_copy(update={"text": text, "example": example})


def _example(tool: str, optimized: Harness, examples: Examples) -> Turns:
    """The first call of the tool in an example of h*, in the target's tools."""
    of_skills = (turns for skill in optimized.skills for turns in skill.examples)
    for turns in (*optimized.prompt.examples, *of_skills):
        for index, turn in enumerate(turns):
            if turn.call is None or turn.call.name != tool:
                continue
            after = turns[index + 1] if index + 1 < len(turns) else None
            told = after.content if after and after.role == "tool" else None
            try:
                return examples.call(turn.call, told, question(turns))
            except Unwritten:
                break
    return ()


def _distinct(hints: Iterable[Hint]) -> tuple[Hint, ...]:
    """The hints with names of their own: a hook may stand in several places."""
    counts: Counter[str] = Counter()
    made: list[Hint] = []
    for hint in hints:
        counts[hint.name] += 1
        number = counts[hint.name]
        made.append(
            hint if number == 1 else hint.model_copy(update={"name": f"{hint.name} {number}"})
        )
    return tuple(made)


REASONS: dict[str, str] = {
    "timeout_s": "actions run under the target's own time limits",
    "aliases": "the target knows these names itself",
    "description": "it names a tool that the target lacks",
    "tools": "what is left of them has no recipe",
    "middleware.protocol.format": "responses are written in the target's protocol",
    "middleware.protocol.strict": "responses are read as strictly as the target's protocol says",
    "middleware.protocol.several": "a response makes as many calls as the target's protocol takes",
    "middleware.protocol.in_reasoning": "responses are read as the target's protocol says",
    "middleware.loop.max_turns": "the target's limit of turns is in force",
    "middleware.loop.max_reply_tokens": "the target's limit of a reply is in force",
    "middleware.loop.stop": "the target's stop strings are in force",
    "middleware.loop.votes": "the target answers once",
    "middleware.context.policy": "the student is shown what the target's context policy keeps",
    "middleware.context.keep_tokens": "the student is shown what the target's context keeps",
    "middleware.context.tool_output_tokens": "outputs are cut as the target cuts them",
    "memory.policy": "notes become failure patterns, all of them on view",
    "memory.capacity": "notes become failure patterns, all of them on view",
    "memory.top_k": "notes become failure patterns, all of them on view",
}


def _of_the_rest(left: Sequence[str]) -> Iterator[Omission]:
    """The stated reasons of parts that no entry holds, by the table; a part that is not in it stays
    untold, for the check to find."""
    for part in left:
        tail = part.rpartition(".")[2]
        inside = part.startswith(("tools[", "skills["))
        reason = REASONS.get(part) or (REASONS.get(tail) if inside else None)
        if reason is not None:
            yield Omission(part=part, reason=reason)


def _ordered(omissions: Iterable[Omission], optimized: Harness) -> list[Omission]:
    """In the order of the harness, each once."""
    order = {part: index for index, part in enumerate(parts(optimized))}
    last = len(order)

    def place(omission: Omission) -> int:
        inside = [at for part, at in order.items() if part.startswith(omission.part)]
        return order.get(omission.part, min(inside, default=last))

    return sorted(dict.fromkeys(omissions), key=place)
