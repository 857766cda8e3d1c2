"""How the desk's questions are put. The sentences of `OOD` are used by the split `ood` alone."""

from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["calc", "price", "convert", "bill"]
Form: TypeAlias = Literal["*", "+", "-", "/", "price", "weight", "length", "volume", "bill"]

KINDS: tuple[Kind, ...] = ("calc", "price", "convert", "bill")
OPERATORS: tuple[Form, ...] = ("*", "+", "-", "/")

USUAL: dict[Form, tuple[str, ...]] = {
    "*": (
        "{name} packs {a} times {b} {nouns}. How many {nouns} has {name} got?",
        "{name} orders {a} times {b} {nouns}. How many {nouns} has {name} got?",
        "{name} wants {a} times {b} {nouns}. How many {nouns} has {name} got?",
    ),
    "+": (
        "{name} packs {a} plus {b} {nouns}. How many {nouns} has {name} got?",
        "{name} orders {a} plus {b} {nouns}. How many {nouns} has {name} got?",
        "{name} wants {a} plus {b} {nouns}. How many {nouns} has {name} got?",
    ),
    "-": (
        "{name} packs {a} minus {b} {nouns}. How many {nouns} has {name} got?",
        "{name} orders {a} minus {b} {nouns}. How many {nouns} has {name} got?",
        "{name} wants {a} minus {b} {nouns}. How many {nouns} has {name} got?",
    ),
    "/": (
        "{name} packs {a} {nouns} divided by {b}. How many {nouns} has {name} got?",
        "{name} orders {a} {nouns} divided by {b}. How many {nouns} has {name} got?",
        "{name} wants {a} {nouns} divided by {b}. How many {nouns} has {name} got?",
    ),
    "price": (
        "{name} buys {a} pieces of {item}. What is the total price?",
        "{name} orders {a} pieces of {item}. What is the total price?",
        "{name} wants {a} pieces of {item}. What is the total price?",
    ),
    "weight": (
        "Convert {a} {source} of {items} into {target} for {name}.",
        "{name} asks: how many {target} are {a} {source} of {items}?",
    ),
    "length": (
        "Convert {a} {source} of {items} into {target} for {name}.",
        "{name} asks: how many {target} are {a} {source} of {items}?",
    ),
    "volume": (
        "Convert {a} {source} of {items} into {target} for {name}.",
        "{name} asks: how many {target} are {a} {source} of {items}?",
    ),
    "bill": (
        "{name} buys a {item} and a {other}. How much is the bill?",
        "{name} orders a {item} and a {other}. How much is the bill?",
        "{name} wants a {item} and a {other}. How much is the bill?",
    ),
}

OOD: dict[Form, tuple[str, ...]] = {
    "*": (
        "The shelves of {name} hold {a} times {b} {nouns}. What is the number of {nouns}?",
        "A truck brings {name} {a} times {b} {nouns}, all of them whole. How many are they?",
    ),
    "+": ("From two crates {name} takes {a} plus {b} {nouns}. What is the number of {nouns}?",),
    "-": ("After a sale {name} is left with {a} minus {b} {nouns}. How many are they?",),
    "/": ("A stack of {a} {nouns} is divided by {b} for {name}. How many are in a part?",),
    "price": (
        "What is the total price if {name} takes {a} of the {item}?",
        "A customer, {name}, pays for {a} pieces of {item}. What is the price?",
    ),
    "weight": (
        "For {name}: convert {a} {source} of {items} into {target}, please.",
        "How many {target} do {a} {source} of {items} make? {name} asks.",
    ),
    "length": (
        "For {name}: convert {a} {source} of {items} into {target}, please.",
        "How many {target} do {a} {source} of {items} make? {name} asks.",
    ),
    "volume": (
        "For {name}: convert {a} {source} of {items} into {target}, please.",
        "How many {target} do {a} {source} of {items} make? {name} asks.",
    ),
    "bill": (
        "How much is the bill if {name} takes a {item} and a {other}?",
        "A customer, {name}, asks for the bill of a {item} and a {other}. How much is it?",
    ),
}
