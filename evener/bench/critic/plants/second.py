"""A second set, half as large, written when the rule critic had been mended by the first.

It says how far what was learnt on the first set holds for faults that nothing was mended by: no
detector was changed after it had been run. Its author knew the detectors; the first set's did not.
"""

from pydantic import JsonValue

from evener.bench.critic.plants.base import DESK, ENDING, PRICES, RECALLED
from evener.bench.critic.plants.clerk import Clerk, Imitator, Noter
from evener.bench.critic.plants.plant import Plant
from evener.bench.critic.plants.pupil import (
    ByNote,
    Cents,
    Copier,
    Distractible,
    Factoring,
    Negative,
    OneSided,
    Opposite,
    Shortening,
    Shouting,
    Speaking,
    Swapping,
    Taxing,
    Unclosed,
    Unpriced,
)
from evener.bench.critic.plants.tool import Quoting


def _bill(asked: str, one: tuple[str, int], other: tuple[str, int]) -> JsonValue:
    call, tool = "call", "tool"
    less = one[1] - other[1]
    return [
        {"role": "user", "content": asked},
        {"role": "assistant", call: {"name": "lookup", "arguments": {"item": one[0]}}},
        {"role": tool, "content": str(one[1])},
        {"role": "assistant", call: {"name": "lookup", "arguments": {"item": other[0]}}},
        {"role": tool, "content": str(other[1])},
        {
            "role": "assistant",
            call: {"name": "calculator", "arguments": {"expression": f"{one[1]}-{other[1]}"}},
        },
        {"role": tool, "content": str(less)},
        {"role": "assistant", call: {"name": "final", "arguments": {"answer": less}}},
    ]


SUBTRACTED: JsonValue = [
    _bill(
        "David orders a small basket and a small mirror. How much is the bill?",
        ("small basket", 41),
        ("small mirror", 32),
    ),
    _bill(
        "Ben wants a large blanket and a red pillow. How much is the bill?",
        ("large blanket", 79),
        ("red pillow", 12),
    ),
]
NO_END: JsonValue = {
    "type": "object",
    "properties": {"value": {"type": "number"}, "from": {"type": "string"}},
    "required": ["value", "from"],
    "additionalProperties": False,
}
CROWD: list[JsonValue] = [
    {"name": f"talk {n}", "text": f"How much is the bill, what is the total price, {who} asks."}
    for n, who in enumerate(("Adam", "Bella", "Carl"))
]

SECOND: tuple[Plant, ...] = (
    Plant(
        name="in cents",
        dimension="P",
        fault="the prompt asks for prices in cents",
        base="desk",
        path="prompt.system",
        new=DESK.replace(ENDING, "Hand in prices in cents, with the tool final.\n"),
        student=Cents(),
    ),
    Plant(
        name="with tax",
        dimension="P",
        fault="the prompt asks for a tax that there is none of",
        base="desk",
        path="prompt.system",
        new=DESK.replace(PRICES, f"{PRICES}Add 19 % tax to every total.\n"),
        student=Taxing(),
    ),
    Plant(
        name="capitals",
        dimension="P",
        fault="the task's template writes the question in capitals, items are in small letters",
        base="desk",
        path="prompt.task",
        new="{{ question | upper }}",
        student=Shouting(),
    ),
    Plant(
        name="example of a sum",
        dimension="P",
        fault="the example of a price adds where it should multiply",
        base="worked",
        path="prompt.examples[2][3].call.arguments.expression",
        new="79+52",
        student=Copier(),
    ),
    Plant(
        name="no target unit",
        dimension="T",
        fault="the schema of the conversion has no unit to convert into",
        base="desk",
        path="tools[convert].parameters",
        new=NO_END,
        student=OneSided(),
    ),
    Plant(
        name="wrong action",
        dimension="T",
        fault="the tool `lookup` stands for the calculator's action",
        base="desk",
        path="tools[lookup].action",
        new="calculator",
        student=Clerk(),
    ),
    Plant(
        name="small quantities",
        dimension="T",
        fault="the schema takes quantities of at most ten",
        base="optimized",
        path="tools[quote].parameters.properties.quantity.maximum",
        new=10,
        student=Quoting(),
    ),
    Plant(
        name="weights in the schema",
        dimension="T",
        fault="the schema lists units of weight alone",
        base="desk",
        path="tools[convert].parameters.properties.from.enum",
        new=["ounce", "pound", "gram", "kilogram"],
        student=Clerk(),
        each=6,
    ),
    Plant(
        name="bills everywhere",
        dimension="S",
        fault="the skill for bills is triggered by prices too, and its examples come last",
        path="skills[bill].when.words",
        new=["bill", "total"],
        student=Distractible(),
    ),
    Plant(
        name="no calculation",
        dimension="S",
        fault="the price skill says that no calculation is needed",
        path="skills[price].text",
        new="The price is looked up; no calculation is needed.",
        student=Unpriced(),
    ),
    Plant(
        name="conversion without its tool",
        dimension="S",
        fault="the conversion skill does not offer the tool that its examples use",
        path="skills[convert].tools",
        new=["calculator", "final"],
        student=Factoring(),
    ),
    Plant(
        name="subtracted bill",
        dimension="S",
        fault="the examples of a bill subtract",
        path="skills[bill].examples",
        new=SUBTRACTED,
        student=Copier(),
    ),
    Plant(
        name="reminder for words",
        dimension="Mid",
        fault="the reminder asks for the answer in words",
        path="middleware.hooks.after_model[require_action].settings.text",
        new="Say the answer in plain words.",
        student=Speaking(),
    ),
    Plant(
        name="tags wanted",
        dimension="Mid",
        fault="the protocol wants tags round a call, and the prompt and the student know of none",
        base="desk",
        path="middleware.protocol.format",
        new="hermes",
        student=Clerk(),
    ),
    Plant(
        name="three turns",
        dimension="Mid",
        fault="three turns are too few for a bill",
        path="middleware.loop.max_turns",
        new=3,
        student=Imitator(),
    ),
    Plant(
        name="stop at the end",
        dimension="Mid",
        fault="the stop string is the brace that ends every call",
        path="middleware.loop.stop",
        new=["}"],
        student=Imitator(),
    ),
    Plant(
        name="crowded recall",
        dimension="M",
        fault="notes of talk are nearer to the questions than the procedures",
        base="recall",
        path="memory.entries",
        new=[*(note.document() for note in RECALLED[:5]), *CROWD],
        paths=("memory.top_k", "memory.policy"),
        student=Noter(),
    ),
    Plant(
        name="note removed",
        dimension="M",
        fault="the note on bills is gone",
        base="memo",
        path="memory.entries[bill]",
        paths=("memory.entries",),
        student=Noter(),
    ),
    Plant(
        name="note of a factor",
        dimension="M",
        fault="the note on conversions says to calculate with a remembered factor",
        base="memo",
        path="memory.entries[convert].text",
        new="A conversion: calculator with the factor you know, then final.",
        student=ByNote(),
    ),
    Plant(
        name="note of no decimals",
        dimension="M",
        fault="a note says to drop the decimals, and two count",
        base="memo",
        path="memory.entries[ending].text",
        new="Hand in the last result without its decimals.",
        student=ByNote(),
    ),
    Plant(
        name="half a name",
        dimension=None,
        fault="looks an item up without its color",
        student=Shortening(),
        careful=Imitator(),
        each=6,
    ),
    Plant(
        name="opposite sign",
        dimension=None,
        fault="subtracts where the examples add",
        base="worked",
        student=Opposite(),
        careful=Imitator(),
        each=6,
    ),
    Plant(
        name="negative answer",
        dimension=None,
        fault="hands the result in with a minus before it",
        base="desk",
        student=Negative(),
        careful=Clerk(),
        each=6,
    ),
    Plant(
        name="no last brace",
        dimension=None,
        fault="leaves the last brace of every call out, whatever it is told",
        student=Unclosed(),
        careful=Imitator(),
        each=6,
    ),
    Plant(
        name="digits of a price",
        dimension=None,
        fault="swaps the digits of a price",
        base="memo",
        student=Swapping(),
        careful=Noter(),
        kinds=("price", "bill"),
        each=6,
    ),
)
