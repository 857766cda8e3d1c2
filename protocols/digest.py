"""Canonical JSON and SHA-256: equal content has equal digests, on every machine."""

import hashlib
import json
from typing import TypeAlias

from pydantic import BaseModel, ConfigDict, JsonValue

JsonObject: TypeAlias = dict[str, JsonValue]


class Wire(BaseModel):
    """A value that travels and is stored: immutable, strict, no unknown fields, no NaN.

    Collections are tuples. A `JsonObject` inside is shared by reference: never change one.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    def document(self) -> JsonObject:
        """The value as plain JSON data."""
        data: JsonObject = self.model_dump(mode="json")
        return data

    def digest(self) -> str:
        """SHA-256 of the canonical JSON, 64 hex digits."""
        return digest(self.document())


def canonical(value: JsonValue) -> str:
    """JSON with sorted keys and no spaces; non-ASCII text stays as it is."""
    return json.dumps(
        value, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")
    )


def digest(value: JsonValue) -> str:
    """SHA-256 of `canonical(value)`, 64 hex digits."""
    return hashlib.sha256(canonical(value).encode("utf-8", "surrogatepass")).hexdigest()
