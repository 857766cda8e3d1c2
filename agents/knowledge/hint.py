"""Hooks → hints, by a table with an entry for every hook there is; and what tools, schemas, skills
and the protocol of h* did for the student without being asked, as hints too.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from pydantic import JsonValue

from evener.agents.harness.hooks.answer import VERIFY_ANSWER
from evener.agents.harness.hooks.guard import LOOP_GUARD, VALIDATE_ARGUMENTS, LoopGuardSettings
from evener.agents.harness.hooks.help import ASK_FOR_HELP
from evener.agents.harness.hooks.reading import REPAIR_CALL, REQUIRE_ACTION
from evener.agents.harness.hooks.retry import RETRY
from evener.agents.knowledge.guidance import left
from evener.agents.knowledge.part import hooks_of
from evener.agents.knowledge.rules.rule import AnyRule
from evener.agents.knowledge.rules.table import RULES
from evener.agents.knowledge.translate import plain_variable
from evener.agents.knowledge.wording import phrase
from evener.protocols.digest import JsonObject, canonical
from evener.protocols.harness import Harness, Hook, Tool
from evener.protocols.knowledge import Guidance, Hint, Omission, Recipe


@dataclass(frozen=True)
class Setting:
    """What hints are made from: the target, its tools that end an episode, recipes, guidance."""

    target: Harness
    final: tuple[str, ...]
    recipes: Mapping[str, Recipe]
    guidance: tuple[Guidance, ...]


Becomes: TypeAlias = tuple[AnyRule, JsonObject] | str
OfHook: TypeAlias = Callable[[Hook, Setting], Becomes]


def _names(names: tuple[str, ...]) -> JsonValue:
    return [*names]


def _loop_guard(hook: Hook, setting: Setting) -> Becomes:
    del setting
    made = LoopGuardSettings.model_validate_json(canonical(hook.settings))
    return RULES["repeat"], {"repeats": made.repeats}


HOOKS: dict[str, OfHook] = {
    RETRY.name: lambda hook, setting: (
        "it executes an action again; a reviewer judges a response before it is executed"
    ),
    REPAIR_CALL.name: lambda hook, setting: (RULES["unreadable"], {}),
    REQUIRE_ACTION.name: lambda hook, setting: (
        RULES["no_action"],
        {"final": _names(setting.final)},
    ),
    VALIDATE_ARGUMENTS.name: lambda hook, setting: (RULES["bad_arguments"], {}),
    LOOP_GUARD.name: _loop_guard,
    VERIFY_ANSWER.name: lambda hook, setting: (
        (RULES["answer_differs"], {"final": _names(setting.final)})
        if setting.final
        else "no tool of the target ends an episode"
    ),
    ASK_FOR_HELP.name: lambda hook, setting: (RULES["unknown_tool"], {}),
}


def of_hooks(optimized: Harness, setting: Setting) -> Iterator[Hint | Omission]:
    """What each hook becomes. Raises KeyError for a hook that the table does not know."""
    for where, hook in hooks_of(optimized.middleware.hooks):
        found = HOOKS[hook.name](hook, setting)
        if isinstance(found, str):
            yield Omission(part=where, reason=found)
        else:
            rule, settings = found
            yield _hint(hook.name, rule, settings, where)


def of_rest(optimized: Harness, setting: Setting) -> Iterator[Hint]:
    """The hints of the protocol, the prompt's list of tools, tools and skills."""
    if not optimized.middleware.protocol.strict and setting.target.middleware.protocol.strict:
        yield _hint("near miss", RULES["unreadable"], {}, "middleware.protocol.strict")
    if "tools" in optimized.prompt.system:
        yield _hint("tools of the prompt", RULES["unknown_tool"], {}, "prompt.system")
    for tool in optimized.tools:
        recipe = setting.recipes.get(tool.name)
        if recipe is not None:
            yield from _of_tool(tool, recipe, setting)
    for skill in optimized.skills:
        source = f"skills[{skill.name}]"
        guidance = next((one for one in setting.guidance if one.source == source), None)
        if guidance is None:
            continue
        part = f"{source}.{'when' if skill.tools is None else 'tools'}"
        tools = left(skill, setting.recipes)
        calls = any(turn.call for example in guidance.examples for turn in example)
        if tools or calls:
            settings: JsonObject = {"skill": skill.name, "tools": _names(tools)}
            yield _hint(f"begin {skill.name}", RULES["wrong_procedure"], settings, part)


def _of_tool(tool: Tool, recipe: Recipe, setting: Setting) -> Iterator[Hint]:
    where = f"tools[{tool.name}]"
    offered = {one.name for one in setting.target.tools}
    body = "steps" if tool.action is None else "action"
    if tool.name not in offered:
        means: JsonObject = {"means": {tool.name: phrase(recipe)}}
        yield _hint(f"no {tool.name}", RULES["unknown_tool"], means, f"{where}.{body}")
    aliases = [alias for alias in tool.aliases if alias not in offered]
    if aliases:
        means = {"means": {alias: phrase(recipe) for alias in aliases}}
        yield _hint(f"other names of {tool.name}", RULES["unknown_tool"], means, f"{where}.aliases")
    if tool.parameters and len(recipe.steps) == 1:
        settings: JsonObject = {"tools": [recipe.steps[0].action]}
        name = f"arguments of {tool.name}"
        yield _hint(name, RULES["bad_arguments"], settings, f"{where}.parameters")
    for argument, rule in tool.arguments.items():
        passed = any(
            plain_variable(text) == argument
            for step in recipe.steps
            for text in step.arguments.values()
        )
        if passed and (rule.aliases or rule.strip or rule.lower):
            settings = {"tool": tool.name, "argument": argument}
            name = f"spelling of {argument} in {tool.name}"
            yield _hint(name, RULES["spelling"], settings, f"{where}.arguments.{argument}")
    copied = dict.fromkeys(
        step.action
        for step in recipe.steps
        if tool.steps is not None and any(_made_up(text) for text in step.arguments.values())
    )
    if copied:
        settings = {"tools": [*copied]}
        yield _hint(f"operands of {tool.name}", RULES["operands"], settings, f"{where}.steps")


def _made_up(text: str) -> bool:
    """Whether a template puts a value together, so that the harness copied what is in it."""
    return "{{" in text and plain_variable(text) is None


def _hint(name: str, rule: AnyRule, settings: JsonObject, source: str) -> Hint:
    return Hint(name=name, rule=rule.name, settings=settings, text=rule.text, source=source)
