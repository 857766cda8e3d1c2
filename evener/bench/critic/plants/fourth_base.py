"""Sound harnesses that the fourth set breaks beside those of the other sets, and its form of a
plant.

They ask for something each and are built for it: calls in tags or over several lines, a nod before
them, every calculation twice, notes beside the question, steps that skills name one after the
other. `bare` is the least that works.
"""

from dataclasses import dataclass
from functools import cache, cached_property

from evener.bench.critic.plants.base import DESK, ENDING, FORM, RECALLED, TOOLS, base
from evener.bench.critic.plants.plant import Plant
from evener.bench.critic.plants.third_base import COUNTER, RECIPES, UNIT_WORDS
from evener.bench.critic.plants.third_base import sound as third_sound
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

TAGS = (
    'Make every call inside tags:\n<tool_call>\n{"name": tool, "arguments": {...}}\n</tool_call>\n'
)
LINES = "Write the object over several lines, one for each brace and each field.\n"
NOD = "Say in one sentence what you do next and wait for the nod, then make the call.\n"
TWICE = (
    "Make every calculation and every conversion twice. Hand in what came out both times; what "
    "came out only once is not sure, hand that in as a round number.\n"
)
SOURCE = "In a conversion `source` is the unit that the customer has, `target` the other one.\n"
NUMBERED = "Hand in the last result, as it is, with the tool final; we are desk number 4.\n"
BARE = FORM + TOOLS
STRICT = WireFormat(format="json", strict=True)
NOTEPAD = (
    Note(name="ending", text="Hand in the last result as it is."),
    Note(name="names", text="Items are in the catalogue under the names that customers use."),
    Note(name="hours", text="The desk is open from nine to five."),
)
ARCHIVE = (
    *(Note(name=name, text=text) for name, text in RECIPES.items()),
    Note(name="archive one", text="Prices until 2019: lookup <item>; final <price>."),
    Note(
        name="archive two",
        text="Bills until 2019: lookup <first item>; calculator 2*<price>; final <result>.",
    ),
)
LOGS = tuple(
    Note(
        name=f"log {month}",
        text=f"Log of {month}, written down every evening. Not many pieces left; no price, no bill "
        "in doubt. " + " ".join(["Nine to five, two clerks, three calls, nobody waited."] * 7),
    )
    for month in ("April", "May", "June", "July")
)
STAGES = (
    Skill(
        name="sums",
        when=When(words=("times", "plus", "minus", "divided")),
        text="Next: calculator with the two numbers.",
    ),
    Skill(
        name="orders",
        when=When(words=("price", "bill")),
        text="Next: lookup of an item.",
    ),
    Skill(
        name="conversions",
        when=When(words=UNIT_WORDS),
        text="Next: convert, units in the singular.",
    ),
    Skill(
        name="priced",
        when=When(tools=("lookup",)),
        text="Next: lookup of the item that has no price yet, then calculator for the total.",
    ),
    Skill(
        name="reckoned",
        when=When(tools=("calculator", "convert")),
        text="Next: final with the last result.",
    ),
)


@dataclass(frozen=True)
class Fourth(Plant):
    """A plant whose base may be one of this file's."""

    @cached_property
    def sound(self) -> Harness:
        """The harness before the edit."""
        return sound(self.base)


@cache
def sound(name: str) -> Harness:
    """A sound harness by its name. Raises DataError for one that nobody knows."""
    match name:
        case "bare":
            return _desk(name, system=BARE, middleware=Middleware(protocol=STRICT))
        case "tagged":
            wire = WireFormat(format="hermes", strict=True)
            return _desk(name, system=DESK.replace(FORM, TAGS), middleware=_plain(wire, turns=5))
        case "lined":
            return _desk(name, system=DESK.replace(FORM, FORM + LINES), middleware=_plain(STRICT))
        case "nodding":
            nod = Hook(name="require_action", settings={"reminders": 6, "text": "Go on."})
            middleware = _plain(STRICT, turns=12).model_copy(
                update={"hooks": Hooks(after_model=(nod,))}
            )
            return _desk(name, system=DESK.replace(FORM, FORM + NOD), middleware=middleware)
        case "twice":
            system = DESK.replace(ENDING, TWICE)
            return _desk(name, system=system, middleware=_plain(STRICT, turns=8))
        case "whole":
            middleware = _plain(STRICT).model_copy(
                update={"context": Context(policy="all", keep_tokens=60)}
            )
            return _desk(name, system=DESK, middleware=middleware)
        case "named" | "handing" | "numbered":
            return _tooled(name)
        case "stages":
            made = _desk(name, system=COUNTER + TOOLS, middleware=_plain(STRICT))
            return made.model_copy(update={"skills": STAGES})
        case "notepad" | "archive" | "annals" | "couples":
            return _remembering(name)
        case _:
            return third_sound(name)


def _plain(wire: WireFormat, *, turns: int = 6) -> Middleware:
    return Middleware(protocol=wire, loop=Loop(max_turns=turns, max_reply_tokens=100))


def _desk(name: str, *, system: str, middleware: Middleware) -> Harness:
    return Harness(
        name=name, prompt=Prompt(system=system), tools=base("desk").tools, middleware=middleware
    )


def _tooled(name: str) -> Harness:
    """A desk with one tool of its own and a line in the prompt that says how to use it."""
    desk = base("desk")
    changed = {"named": _named, "handing": _handing, "numbered": _numbered}[name]
    tools = tuple(changed(tool) for tool in desk.tools)
    system = {
        "named": DESK.replace(ENDING, SOURCE + ENDING),
        "handing": DESK,
        "numbered": DESK.replace(ENDING, NUMBERED),
    }[name]
    return desk.model_copy(
        update={"name": name, "prompt": Prompt(system=system), "tools": tools},
    )


def _named(tool: Tool) -> Tool:
    """`convert` also takes its units as `source` and `target`."""
    if tool.name != "convert":
        return tool
    rules = {"from": ArgumentRule(names=("source",)), "to": ArgumentRule(names=("target",))}
    return tool.model_copy(update={"arguments": rules})


def _handing(tool: Tool) -> Tool:
    """`final` takes an amount as a text, a calculation too, and works it out."""
    if tool.name != "final":
        return tool
    return Tool(
        name=tool.name,
        description="Ends the task with the answer, a number or a calculation.",
        parameters=_object(answer={"type": ["number", "string"]}),
        steps=(
            Step(action="calculator", arguments={"expression": "{{ answer }}"}),
            Step(action="final", arguments={"answer": "{{ result }}"}),
        ),
    )


def _numbered(tool: Tool) -> Tool:
    """`final` also takes the number of the desk, which the environment does not want."""
    if tool.name != "final":
        return tool
    return Tool(
        name=tool.name,
        description="Ends the task with the answer, a number, and the number of the desk.",
        parameters=_object(answer={"type": "number"}, desk={"type": "integer"}),
        steps=(Step(action="final", arguments={"answer": "{{ answer }}"}),),
    )


def _object(**properties: JsonObject) -> JsonObject:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def _remembering(name: str) -> Harness:
    """Notes beside the question, recipes with an archive behind them or with logs between them,
    and notes of which a price needs two."""
    memories = {
        "notepad": Memory(policy="notes", entries=NOTEPAD, capacity=6),
        "archive": Memory(policy="retrieval", entries=ARCHIVE, capacity=12, top_k=2),
        "annals": Memory(policy="retrieval", entries=(*ARCHIVE[:5], *LOGS), capacity=12, top_k=2),
        "couples": Memory(policy="retrieval", entries=RECALLED, capacity=8, top_k=2),
    }
    prompt = Prompt(system=COUNTER + TOOLS)
    if name == "notepad":
        prompt = Prompt(system=DESK, task="{{ question }}\nNotes:\n{{ memory }}")
    context = Context(keep_tokens=480)
    middleware = _plain(STRICT).model_copy(update={"context": context})
    return Harness(
        name=name,
        prompt=prompt,
        tools=base("desk").tools,
        middleware=middleware,
        memory=memories[name],
    )
