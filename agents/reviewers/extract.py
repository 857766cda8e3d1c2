"""Arguments of a recipe taken from a task's text, by the types that the recipe declares.

A number is taken where the text holds one and the recipe wants one, a word of a list where the text
holds one of them and one parameter wants it. Whatever could be meant in two ways is not taken.
"""

import re

from pydantic import JsonValue

from evener.agents.harness.schema import types_of
from evener.agents.harness.template import numbers
from evener.protocols.digest import JsonObject, canonical
from evener.protocols.knowledge import Recipe


def extracted(recipe: Recipe, text: str) -> JsonObject:
    """The parameters of the recipe that the text settles."""
    properties = recipe.parameters.get("properties")
    schemas = {
        name: schema
        for name, schema in (properties.items() if isinstance(properties, dict) else ())
        if isinstance(schema, dict)
    }
    found: JsonObject = {}
    for name, schema in schemas.items():
        rivals = sum(_wants(other) == _wants(schema) for other in schemas.values())
        values = _values(recipe, name, schema, text) if rivals == 1 else []
        if len(values) == 1:
            found[name] = values[0]
    return found


def _wants(schema: JsonObject) -> str:
    """What a parameter may be, as text: two that may be the same are rivals."""
    if "enum" in schema:
        return canonical(schema["enum"])
    kinds = types_of(schema)
    return "number" if {"number", "integer"} & set(kinds) else canonical(list(kinds))


def _values(recipe: Recipe, name: str, schema: JsonObject, text: str) -> list[JsonValue]:
    words = schema.get("enum")
    if isinstance(words, list):
        rule = recipe.mends.get(name)
        spellings = {word: word for word in words if isinstance(word, str)}
        spellings |= rule.aliases if rule is not None else {}
        held = {
            proper
            for spelling, proper in spellings.items()
            if re.search(rf"(?<!\w){re.escape(spelling)}(?!\w)", text, re.IGNORECASE)
        }
        return [*sorted(held)]
    if _wants(schema) == "number":
        return [float(found) if "." in found else int(found) for found in numbers(text)]
    return []
