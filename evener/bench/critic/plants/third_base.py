"""Sound harnesses that the third set breaks beside those of `base`, and its form of a plant.

A recipe is a line of instructions: what a question is about, a colon, and steps with placeholders.
`sheet` has the recipes in the prompt, `manual` and `rooms` in skills, `board` and `ledger` in
memory; the others are a desk with one thing of its own.
"""

from dataclasses import dataclass
from functools import cache, cached_property

from pydantic import JsonValue

from evener.bench.critic.plants.base import DESK, ENDING, FORM, TOOLS, base
from evener.bench.critic.plants.plant import Plant
from evener.protocols.digest import JsonObject
from evener.protocols.harness import (
    ArgumentRule,
    Context,
    Harness,
    Hook,
    Hooks,
    Loop,
    Memory,
    Middleware,
    Note,
    Prompt,
    Skill,
    Step,
    Tool,
    When,
    WireFormat,
)

UNIT_WORDS = (
    *("ounces", "pounds", "grams", "kilograms", "inches", "feet", "yards", "miles"),
    *("centimeters", "meters", "kilometers", "pints", "gallons", "liters"),
)

SUMS = "Times, plus, minus: calculator <first><sign><second>; final <result>."
SHARES = "Divided: calculator <first>/<second>; final <result>."
PRICES = "Total price: lookup <item>; calculator <pieces>*<price>; final <result>."
CONVERSIONS = "Convert, how many: convert <value>, <unit>, <other unit>; final <result>."
BILLS = (
    "Bill: lookup <first item>; lookup <second item>; calculator <first price>+<second price>; "
    "final <result>."
)
RECIPES = {
    "sums": SUMS,
    "shares": SHARES,
    "prices": PRICES,
    "conversions": CONVERSIONS,
    "bills": BILLS,
}
WORDS = {
    "sums": ("times", "plus", "minus"),
    "shares": ("divided",),
    "prices": ("price", "total price"),
    "conversions": UNIT_WORDS,
    "bills": ("bill",),
}
COUNTER = f"You serve at the counter of a shop.\n{FORM}"
SHEET = f"{COUNTER}How we work:\n" + "".join(f"{text}\n" for text in RECIPES.values()) + TOOLS
SPOKEN = "Say in a sentence what you do, leave a line empty, and write the call:\n"
THOUGHTS = "Think first, inside <think> tags, and end your thoughts with the call.\n"
FENCES = "Put every call into a code fence of json.\n"
SEVERAL = "You may make several calls in one reply, one object a line.\n"
SIX = Loop(max_turns=6, max_reply_tokens=80)


def worked(asked: str, *turns: str | tuple[str, JsonObject, str]) -> list[JsonValue]:
    """A worked example as a harness document has it: calls as (tool, arguments, result), the last
    of them without a result, and words of the assistant, which the customer answers."""
    made: list[JsonValue] = [{"role": "user", "content": asked}]
    for turn in turns:
        if isinstance(turn, str):
            made.append({"role": "assistant", "content": turn})
            made.append({"role": "user", "content": "Please do."})
            continue
        tool, arguments, result = turn
        made.append({"role": "assistant", "call": {"name": tool, "arguments": arguments}})
        if result:
            made.append({"role": "tool", "content": result})
    return made


@dataclass(frozen=True)
class Third(Plant):
    """A plant whose base may be one of this file's."""

    @cached_property
    def sound(self) -> Harness:
        """The harness before the edit."""
        return sound(self.base)


@cache
def sound(name: str) -> Harness:
    """A sound harness by its name. Raises DataError for one that nobody knows."""
    desk = base("desk")
    match name:
        case "sheet":
            return desk.model_copy(update={"name": name, "prompt": Prompt(system=SHEET)})
        case "manual" | "rooms":
            prompt = Prompt(system=COUNTER + TOOLS)
            skills = tuple(_skill(part, whole=name == "rooms") for part in RECIPES)
            return desk.model_copy(update={"name": name, "prompt": prompt, "skills": skills})
        case "board" | "ledger":
            return _remembering(name)
        case "pairs":
            prompt = Prompt(system=DESK.replace(TOOLS, SEVERAL + TOOLS))
            wire = WireFormat(strict=False, several=True)
            return _desk(name, prompt=prompt, wire=wire, loop=Loop(max_turns=3))
        case "roomy":
            loop = Loop(max_turns=6, max_reply_tokens=200)
            return _desk(name, prompt=desk.prompt, wire=WireFormat(strict=True), loop=loop)
        case "spoken":
            prompt = Prompt(system=DESK.replace(FORM, FORM + SPOKEN))
            return _desk(name, prompt=prompt, wire=WireFormat(strict=False), loop=SIX)
        case "thinking":
            prompt = Prompt(system=DESK.replace(FORM, FORM + THOUGHTS))
            wire = WireFormat(strict=False, in_reasoning="execute")
            return _desk(name, prompt=prompt, wire=wire, loop=SIX)
        case "fenced":
            prompt = Prompt(system=DESK.replace(FORM, FORM + FENCES))
            hooks = Hooks(after_model=(Hook(name="repair_call"), Hook(name="require_action")))
            wire = WireFormat(strict=True)
            return _desk(name, prompt=prompt, wire=wire, loop=SIX, hooks=hooks)
        case "renamed":
            tools = tuple(_units(t) if t.name == "convert" else t for t in desk.tools)
            return desk.model_copy(update={"name": name, "tools": tools})
        case _:
            return base(name)


def _skill(name: str, *, whole: bool) -> Skill:
    """A recipe as a skill: behind the prompt's system text, or (`whole`) in the place of it."""
    when = When(words=WORDS[name])
    if whole:
        return Skill(name=name, when=when, system=f"{COUNTER}{RECIPES[name]}\n{TOOLS}")
    return Skill(name=name, when=when, text=RECIPES[name])


def _remembering(name: str) -> Harness:
    """The recipes in memory: all of them in `board`, the two nearest in `ledger`."""
    entries = tuple(Note(name=part, text=text) for part, text in RECIPES.items())
    memory = Memory(policy="notes", entries=(*entries, *EXTRA), capacity=7)
    if name == "ledger":
        memory = Memory(policy="retrieval", entries=entries, capacity=12, top_k=2)
    middleware = Middleware(
        protocol=WireFormat(format="json", strict=True),
        loop=Loop(max_turns=6, max_reply_tokens=60),
        hooks=Hooks(before_tool=(Hook(name="loop_guard"),)),
        context=Context(keep_tokens=700),
    )
    return Harness(
        name=name,
        prompt=Prompt(system=COUNTER + TOOLS),
        tools=base("desk").tools,
        middleware=middleware,
        memory=memory,
    )


EXTRA = (
    Note(name="ending", text=ENDING.strip()),
    Note(name="hours", text="The counter is open from nine to five, on Saturdays until noon."),
)


def _desk(
    name: str,
    *,
    wire: WireFormat,
    loop: Loop,
    prompt: Prompt,
    hooks: Hooks | None = None,
) -> Harness:
    middleware = Middleware(protocol=wire, loop=loop, hooks=hooks or Hooks())
    desk = base("desk")
    return desk.model_copy(update={"name": name, "prompt": prompt, "middleware": middleware})


def _units(tool: Tool) -> Tool:
    """`convert` under argument names that say which unit is which: one step, renamed."""
    properties: JsonObject = {"value": {"type": "number"}, "unit": _TEXT, "target": _TEXT}
    return Tool(
        name=tool.name,
        description="Converts a value of a unit into the target unit; units in the singular.",
        parameters={
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        },
        arguments={"unit": ArgumentRule(strip=True), "target": ArgumentRule(strip=True)},
        steps=(
            Step(
                action="convert",
                arguments={
                    "value": "{{ value }}",
                    "from": "{{ unit }}",
                    "to": "{{ target }}",
                },
            ),
        ),
    )


_TEXT: JsonObject = {"type": "string"}
