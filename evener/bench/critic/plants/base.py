"""Sound harnesses to break: the two that ship and solve their tasks, and four made of their tools.

`desk` says in words how to work, `worked` shows one example of every kind in the prompt, `memo` and
`recall` keep the procedures in memory: all notes, or those nearest to the question.
"""

from functools import cache

from evener.agents.harness.load import load
from evener.environments.storefront import Storefront
from evener.protocols.error import DataError
from evener.protocols.harness import (
    Harness,
    Hook,
    Hooks,
    Loop,
    Memory,
    Middleware,
    Note,
    Prompt,
    WireFormat,
)

FORM = (
    'Answer every turn with one JSON object and nothing else: {"name": tool, "arguments": {...}}.\n'
)
TOOLS = "Tools:\n{{ tools }}\n"
PRICES = "The total price is the price of one piece times the number of pieces.\n"
ENDING = "Hand in the last result, as it is, with the tool final.\n"

DESK = (
    "You serve at the desk of a shop.\n"
    f"{FORM}Look every price up before you calculate; a bill is the sum of its prices.\n"
    f"{PRICES}{ENDING}{TOOLS}"
)

NOTES = (
    Note(
        name="calc", text="Times, plus, minus or divided: work it out with calculator, then final."
    ),
    Note(
        name="price",
        text="A total price: lookup the item, calculator for pieces times price, then final.",
    ),
    Note(name="convert", text="A conversion: convert, units in the singular, then final."),
    Note(
        name="bill",
        text="A bill: lookup each of the two items, calculator for the sum, then final.",
    ),
    Note(name="ending", text="Hand in the last result as it is."),
    Note(name="hours", text="The desk is open from nine to five."),
)

RECALLED = (
    Note(
        name="calc", text="Times, plus, minus or divided: work it out with calculator, then final."
    ),
    Note(name="first", text="What a total price of pieces needs first: lookup of the item."),
    Note(
        name="second",
        text="A total price: calculator, the looked-up price times the pieces, then final.",
    ),
    Note(
        name="convert",
        text="Convert, how many of one unit are so many of another, a conversion of pounds, "
        "kilograms, feet, meters or liters: convert, units in the singular, then final.",
    ),
    Note(
        name="bill",
        text="How much is the bill: lookup each of the two items, calculator for the sum, "
        "then final.",
    ),
    Note(name="hours", text="The desk is open from nine to five."),
)


@cache
def base(name: str) -> Harness:
    """A sound harness by its name. Raises DataError for another one."""
    shop = Storefront()
    seed = load(shop.harness_path("seed"))
    plain = Middleware(
        protocol=WireFormat(format="json", strict=True), loop=Loop(max_turns=6, max_reply_tokens=60)
    )
    match name:
        case "hand" | "optimized":
            return load(shop.harness_path(name))
        case "desk":
            return Harness(
                name="desk", prompt=Prompt(system=DESK), tools=seed.tools, middleware=plain
            )
        case "worked":
            kinds = {example.kind: example.turns for example in reversed(shop.examples())}
            prompt = seed.prompt.model_copy(update={"examples": tuple(kinds.values())})
            return Harness(name="worked", prompt=prompt, tools=seed.tools, middleware=plain)
        case "memo" | "recall":
            memory = Memory(policy="notes", entries=NOTES, capacity=8)
            if name == "recall":
                memory = Memory(policy="retrieval", entries=RECALLED, capacity=8, top_k=3)
            guarded = plain.model_copy(
                update={"hooks": Hooks(before_tool=(Hook(name="loop_guard"),))}
            )
            prompt = Prompt(system=f"You serve at the desk of a shop.\n{FORM}{TOOLS}")
            return Harness(
                name=name, prompt=prompt, tools=seed.tools, middleware=guarded, memory=memory
            )
        case _:
            raise DataError(f"there is no base harness {name!r}", where="the critic's bench")
