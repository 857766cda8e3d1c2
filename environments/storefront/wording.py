"""How the desk's questions are put. The sentences of `OOD` are used by the split `ood` alone."""

from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["calc", "price", "convert"]
Form: TypeAlias = Literal["*", "+", "-", "/", "price", "weight", "length", "volume"]

KINDS: tuple[Kind, ...] = ("calc", "price", "convert")
OPERATORS: tuple[Form, ...] = ("*", "+", "-", "/")

USUAL: dict[Form, tuple[str, ...]] = {
    "*": (
        "{name} fills {a} boxes with {b} {nouns} each. How many {nouns} are that in all?",
        "{name} has {a} shelves with {b} {nouns} each. How many {nouns} are that in all?",
        "{name} packs {a} bags with {b} {nouns} each. How many {nouns} are that in all?",
    ),
    "+": (
        "{name} has {a} {nouns} and gets {b} more. How many {nouns} are that in all?",
        "{name} counts {a} {nouns}, then {b} more. How many {nouns} are that in all?",
    ),
    "-": (
        "{name} has {a} {nouns} and sells {b}. How many {nouns} are left?",
        "{name} has {a} {nouns} and throws {b} away. How many {nouns} are left?",
    ),
    "/": (
        "{name} shares {a} {nouns} among {b} boxes. How many {nouns} are in each box?",
        "{name} shares {a} {nouns} among {b} shops. How many {nouns} are in each shop?",
    ),
    "price": (
        "{name} buys {a} pieces of {item}. What is the total price?",
        "{name} orders {a} pieces of {item}. What is the total price?",
        "{name} wants {a} pieces of {item}. What is the total price?",
    ),
    "weight": (
        "{name} has {a} {source} of {items}. How many {target} is that?",
        "{name} sends {a} {source} of {items}. How many {target} is that?",
        "{name} orders {a} {source} of {items}. How many {target} is that?",
    ),
    "length": (
        "{name} moves the {items} by {a} {source}. How many {target} is that?",
        "{name} carries the {items} for {a} {source}. How many {target} is that?",
    ),
    "volume": (
        "{name} has {a} {source} of paint for {items}. How many {target} is that?",
        "{name} orders {a} {source} of paint for {items}. How many {target} is that?",
    ),
}

OOD: dict[Form, tuple[str, ...]] = {
    "*": (
        "A pallet carries {b} {nouns}. {name} orders {a} pallets. How many {nouns} arrive?",
        "Each of {name}'s {a} helpers wraps {b} {nouns}. How many {nouns} do they wrap in all?",
    ),
    "+": (
        "On Monday {name} sold {a} {nouns} and on Tuesday {b}. How many {nouns} were sold in all?",
    ),
    "-": ("Of {a} {nouns} that {name} ordered, {b} came broken. How many {nouns} are fine?",),
    "/": ("{a} {nouns} go into {b} equal piles for {name}. How many {nouns} does a pile have?",),
    "price": (
        "How much does {name} pay for {a} times {item}?",
        "{name} asks at the desk what the price of {a} units of {item} would be.",
    ),
    "weight": (
        "The load of {items} comes to {a} {source}, but {name} needs it in {target}.",
        "{name} weighed the {items}: {a} {source}. Please give that in {target}.",
    ),
    "length": ("The way of the {items} is {a} {source}, but {name} needs it in {target}.",),
    "volume": ("The tank for {items} holds {a} {source}. {name} asks how many {target} fit.",),
}
