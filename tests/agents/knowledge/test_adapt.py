"""From an optimized harness to K: everything transfers or says why not, in the target's tools."""

from collections.abc import Callable

import pytest

from evener.agents.harness.hooks.table import TABLE
from evener.agents.knowledge.adapt import adapt
from evener.agents.knowledge.check import check_knowledge
from evener.agents.knowledge.hint import HOOKS
from evener.agents.knowledge.part import covered, parts, within
from evener.agents.knowledge.recipe import recipe_of
from evener.agents.knowledge.wording import Wording
from evener.agents.pattern import Background
from evener.protocols.digest import JsonObject, canonical
from evener.protocols.error import HarnessError
from evener.protocols.harness import (
    ArgumentRule,
    ExampleCall,
    ExampleTurn,
    Harness,
    Hook,
    Hooks,
    Middleware,
    Prompt,
    Skill,
    Step,
    Tool,
    When,
)
from evener.protocols.knowledge import Knowledge

Shipped = Callable[[str], Harness]
NAMES = {"calculator": "reckon", "lookup": "price_of", "convert": "change", "final": "answer"}


def calls(turns: tuple[ExampleTurn, ...]) -> list[tuple[str, JsonObject]]:
    return [(turn.call.name, turn.call.arguments) for turn in turns if turn.call]


def told(turns: tuple[ExampleTurn, ...]) -> list[str | None]:
    return [turn.content for turn in turns if turn.role == "tool"]


def reasons(knowledge: Knowledge, part: str) -> list[str]:
    return [one.reason for one in knowledge.omissions if within(part, one.part)]


def renamed(target: Harness) -> Harness:
    tools = tuple(tool.model_copy(update={"name": NAMES[tool.name]}) for tool in target.tools)
    return target.model_copy(update={"tools": tools, "prompt": Prompt()})


@pytest.mark.parametrize("name", ["seed", "hand", "target", "optimized"])
def test_every_part_of_a_shipped_harness_has_an_entry_or_a_reason(
    name: str, shipped: Shipped, target: Harness, background: Background
) -> None:
    harness = shipped(name)
    knowledge = adapt(harness, target, background)
    assert covered(harness, knowledge) == ()
    assert len(parts(harness)) > 20
    check_knowledge(knowledge, harness, target, background, None)


def leaves(value: object, path: str = "") -> list[str]:
    """Paths of a document's values, in the manner of field paths."""
    if isinstance(value, dict) and value:
        return [
            leaf
            for key, inner in value.items()
            for leaf in leaves(inner, f"{path}.{key}" if path else str(key))
        ]
    if isinstance(value, list) and value:
        return [
            leaf
            for at, inner in enumerate(value)
            for leaf in leaves(
                inner,
                f"{path}[{inner['name'] if isinstance(inner, dict) and 'name' in inner else at}]",
            )
        ]
    return [] if value in ("", [], {}, None) else [path]


@pytest.mark.parametrize("name", ["seed", "hand", "target", "optimized"])
def test_every_value_of_a_harness_lies_in_a_part(name: str, shipped: Shipped) -> None:
    harness = shipped(name)
    known = parts(harness)
    left = [
        leaf
        for leaf in leaves(harness.document())
        if not any(within(leaf, part) for part in known) and not leaf.endswith(".name")
    ]
    assert left == ["name"]


def test_taking_any_entry_or_reason_away_leaves_a_part_untold(
    optimized: Harness, knowledge: Knowledge
) -> None:
    document = knowledge.document()
    for field in ("recipes", "guidance", "patterns", "omissions"):
        entries = document[field]
        assert isinstance(entries, list)
        for at in range(len(entries)):
            fewer = {**document, field: [*entries[:at], *entries[at + 1 :]]}
            # the list of tools in the system text is held by a hint besides
            twice = (field, at) == ("omissions", 0)
            assert bool(covered(optimized, _knowledge(fewer))) is not twice, (field, at)


def test_an_example_fewer_is_seen(optimized: Harness, knowledge: Knowledge) -> None:
    (calc, *rest) = knowledge.guidance
    fewer = calc.model_copy(update={"examples": calc.examples[:2]})
    cut = knowledge.model_copy(update={"guidance": (fewer, *rest)})
    assert covered(optimized, cut) == ("skills[calc].examples[2]",)


def test_a_mend_that_is_not_the_harness_s_holds_nothing(
    optimized: Harness, knowledge: Knowledge
) -> None:
    quote = next(recipe for recipe in knowledge.recipes if recipe.tool == "quote")
    other = quote.model_copy(update={"mends": {"item": ArgumentRule(strip=True)}})
    recipes = tuple(other if recipe is quote else recipe for recipe in knowledge.recipes)
    hints = tuple(h for h in knowledge.hints if h.source != "tools[quote].arguments.item")
    changed = knowledge.model_copy(update={"recipes": recipes, "hints": hints})
    assert covered(optimized, changed) == ("tools[quote].arguments.item",)


def test_a_part_lies_in_a_whole_by_whole_steps() -> None:
    assert within("memory.entries[a]", "memory.entries")
    assert within("memory.entries[a]", "memory.entries[a]")
    assert not within("memory.entries[ab]", "memory.entries[a")
    assert not within("memory.policy", "memory.pol")


def _knowledge(document: JsonObject) -> Knowledge:
    return Knowledge.model_validate_json(canonical(document))


def test_a_composite_becomes_steps_and_its_example_shows_what_was_inside(
    knowledge: Knowledge,
) -> None:
    quote = next(recipe for recipe in knowledge.recipes if recipe.tool == "quote")
    assert [step.action for step in quote.steps] == ["lookup", "calculator"]
    assert calls(quote.example) == [
        ("lookup", {"item": "green candle"}),
        ("calculator", {"expression": "79*52"}),
    ]
    assert told(quote.example) == ["52", "4108"]


def test_a_skill_s_examples_call_the_target_s_tools(knowledge: Knowledge) -> None:
    price = next(one for one in knowledge.guidance if one.skill == "price")
    assert len(price.examples) == 3
    for example in price.examples:
        assert [name for name, _ in calls(example)] == ["lookup", "calculator", "final"]
    assert price.text == "Call lookup, then calculator, then final."
    assert price.when == When(words=("price", "cost", "pay", "pieces"))


def test_the_target_s_own_names_are_used(
    optimized: Harness, target: Harness, background: Background
) -> None:
    other = renamed(target)
    knowledge = adapt(optimized, other, background)
    check_knowledge(knowledge, optimized, other, background, None)
    assert [s.action for r in knowledge.recipes if r.tool == "quote" for s in r.steps] == [
        "price_of",
        "reckon",
    ]
    used = {name for one in knowledge.guidance for e in one.examples for name, _ in calls(e)}
    assert used == set(NAMES.values())
    assert covered(optimized, knowledge) == ()
    foreign = {hint.source for hint in knowledge.hints if hint.rule == "unknown_tool"}
    assert {"tools[calculator].action", "tools[lookup].action"} <= foreign


def test_argument_rules_are_mends(knowledge: Knowledge) -> None:
    convert = next(recipe for recipe in knowledge.recipes if recipe.tool == "convert_any")
    assert convert.mends["from"].aliases["ft"] == "foot"
    assert convert.steps == (
        Step(
            action="convert",
            arguments={"value": "{{ value }}", "from": "{{ from }}", "to": "{{ to }}"},
        ),
    )


def test_an_action_that_the_target_does_not_offer_is_left_out_with_all_that_hangs_on_it(
    optimized: Harness, target: Harness, background: Background
) -> None:
    less = target.model_copy(
        update={"tools": tuple(tool for tool in target.tools if tool.name != "lookup")}
    )
    knowledge = adapt(optimized, less, background)
    check_knowledge(knowledge, optimized, less, background, None)
    assert [recipe.tool for recipe in knowledge.recipes] == ["calculator", "convert_any", "final"]
    assert reasons(knowledge, "tools[quote].steps") == [
        "the target has no tool for the action lookup"
    ]
    assert reasons(knowledge, "skills[price].examples[0]") == ["it calls quote: it has no recipe"]
    price = next(one for one in knowledge.guidance if one.skill == "price")
    assert price.examples == ()
    assert price.text == "Call only final."


def test_the_hook_table_has_an_entry_for_every_hook_there_is() -> None:
    assert set(HOOKS) == set(TABLE)


BECOMES = {
    "repair_call": ("after_model", "unreadable"),
    "require_action": ("after_model", "no_action"),
    "ask_for_help": ("after_model", "unknown_tool"),
    "validate_arguments": ("before_tool", "bad_arguments"),
    "loop_guard": ("before_tool", "repeat"),
    "verify_answer": ("before_finish", "answer_differs"),
}


@pytest.mark.parametrize("hook", [*TABLE])
def test_a_hook_becomes_a_hint_or_says_why_not(
    hook: str, target: Harness, background: Background
) -> None:
    stage, rule = BECOMES.get(hook, (TABLE[hook].stages[0], None))
    hooks = Hooks.model_validate({stage: (Hook(name=hook),)})
    harness = target.model_copy(update={"middleware": Middleware(hooks=hooks)})
    knowledge = adapt(harness, target, background)
    part = f"middleware.hooks.{stage}[{hook}]"
    assert [hint.rule for hint in knowledge.hints if hint.source == part] == [rule] * bool(rule)
    assert bool(reasons(knowledge, part)) == (rule is None)
    check_knowledge(knowledge, harness, target, background, None)


def test_a_hook_s_settings_come_along(knowledge: Knowledge) -> None:
    by_source = {hint.source: hint.settings for hint in knowledge.hints}
    assert by_source["middleware.hooks.before_tool[loop_guard]"] == {"repeats": 3}
    assert by_source["middleware.hooks.before_finish[verify_answer]"] == {"final": ["final"]}


def test_a_skill_s_words_are_retold_in_the_target_s_tools(
    optimized: Harness, target: Harness, background: Background
) -> None:
    skill = Skill(name="s", when=When(tools=("quote",)), text="After quote, check the sum.")
    harness = optimized.model_copy(update={"skills": (skill,)})
    (guidance,) = adapt(harness, target, background).guidance
    assert guidance.text == "After lookup, then calculator, check the sum."
    assert guidance.when == When(tools=("calculator",))


def test_a_trigger_that_can_never_fire_does_not_become_always(
    optimized: Harness, target: Harness, background: Background
) -> None:
    less = target.model_copy(
        update={"tools": tuple(tool for tool in target.tools if tool.name != "lookup")}
    )
    skill = Skill(name="s", when=When(tools=("quote",)), text="Check the sum.")
    harness = optimized.model_copy(update={"skills": (skill,)})
    knowledge = adapt(harness, less, background)
    assert knowledge.guidance == ()
    assert reasons(knowledge, "skills[s].text")
    assert covered(harness, knowledge) == ()


def test_a_prompt_that_says_more_than_the_target_s_is_guidance_that_always_applies(
    optimized: Harness, target: Harness, background: Background
) -> None:
    prompt = Prompt(system="Think of units. Tools: {{ tools }}", task="Be brief: {{ question }}")
    harness = optimized.model_copy(update={"prompt": prompt})
    knowledge = adapt(harness, target, background)
    first = knowledge.guidance[0]
    assert (first.skill, first.when) == ("prompt", When())
    assert first.text.startswith("Think of units. Tools: calculator(expression: string)")
    assert first.text.endswith("Be brief: …")
    check_knowledge(knowledge, harness, target, background, None)


def test_a_description_is_retold_or_left_out(
    optimized: Harness, target: Harness, background: Background
) -> None:
    less = target.model_copy(
        update={"tools": tuple(tool for tool in target.tools if tool.name != "convert")}
    )
    texts = {"calculator": "Quicker than quote.", "lookup": "No convert_any.", "final": "Requote."}
    tools = tuple(
        tool.model_copy(update={"description": texts.get(tool.name, "")})
        for tool in optimized.tools
    )
    harness = optimized.model_copy(update={"tools": tools})
    knowledge = adapt(harness, less, background)
    told = {recipe.tool: recipe.text for recipe in knowledge.recipes}
    assert told["calculator"] == "Quicker than lookup, then calculator."
    assert told["lookup"] == ""
    assert told["final"] == "Requote."
    assert reasons(knowledge, "tools[lookup].description") == [
        "it names a tool that the target lacks"
    ]


def test_a_name_inside_another_word_is_no_tool() -> None:
    words = Wording({"quote": "lookup", "search": None})
    assert words.retold("quote, requote, quote-2, quotes") == "lookup, requote, quote-2, quotes"
    assert words.foreign("research searches") == ()
    assert words.foreign("search it") == ("search",)


def test_a_first_step_has_no_result(target: Harness) -> None:
    steps = (Step(action="lookup", arguments={"item": "{{ result }}"}),)
    found = recipe_of(Tool(name="t", parameters={"type": "object"}, steps=steps), target)
    assert isinstance(found, str)
    assert "cannot be passed on" in found


def test_other_names_of_a_tool_and_of_an_argument_transfer(
    optimized: Harness, target: Harness, background: Background
) -> None:
    tools = tuple(
        tool.model_copy(
            update={
                "aliases": ("price_of", "cost"),
                "arguments": {"item": ArgumentRule(names=("product",), lower=True)},
            }
        )
        if tool.name == "quote"
        else tool
        for tool in optimized.tools
    )
    harness = optimized.model_copy(update={"tools": tools})
    knowledge = adapt(harness, target, background)
    hint = next(hint for hint in knowledge.hints if hint.source == "tools[quote].aliases")
    assert hint.settings == {
        "means": {"price_of": "lookup, then calculator", "cost": "lookup, then calculator"}
    }
    check_knowledge(knowledge, harness, target, background, None)


def test_an_argument_that_no_template_can_name_is_a_reason(
    optimized: Harness, target: Harness, background: Background
) -> None:
    schema: JsonObject = {"type": "object", "properties": {"the item": {"type": "string"}}}
    tool = Tool(name="find", parameters=schema, action="lookup")
    harness = optimized.model_copy(update={"tools": (*optimized.tools, tool)})
    knowledge = adapt(harness, target, background)
    assert reasons(knowledge, "tools[find].action")
    assert covered(harness, knowledge) == ()


def test_a_call_in_words_inside_an_example_is_left_out(
    optimized: Harness, target: Harness, background: Background
) -> None:
    turns = (
        ExampleTurn(role="user", content="What do 3 lamps cost?"),
        ExampleTurn(role="assistant", content='{"name": "quote", "arguments": {}}'),
    )
    skill = Skill(name="s", examples=(turns,), text="Look it up.")
    harness = optimized.model_copy(update={"skills": (skill,)})
    knowledge = adapt(harness, target, background)
    assert reasons(knowledge, "skills[s].examples[0]") == ["it makes a call in words, not as data"]


def test_an_example_whose_call_does_not_fit_is_left_out(
    optimized: Harness, target: Harness, background: Background
) -> None:
    turns = (
        ExampleTurn(role="user", content="What do 3 lamps cost?"),
        ExampleTurn(role="assistant", call=ExampleCall(name="quote", arguments={"item": "lamp"})),
    )
    skill = Skill(name="s", examples=(turns,), text="Look it up.")
    harness = optimized.model_copy(update={"skills": (skill,)})
    assert reasons(adapt(harness, target, background), "skills[s].examples[0]") == [
        "it calls quote: its arguments do not fit"
    ]


def test_harnesses_of_different_environments_are_one_clear_line(
    optimized: Harness, target: Harness, background: Background
) -> None:
    foreign = target.model_copy(update={"tools": (Tool(name="sell", action="sell"), *target.tools)})
    with pytest.raises(HarnessError, match=r"the target harness storefront-target, tools\[sell\]"):
        adapt(optimized, foreign, background)
    with pytest.raises(HarnessError, match=r"the optimized harness storefront-target"):
        adapt(foreign, target, background)
