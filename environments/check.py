"""Whether a call fits an action's schema: asked by every environment before it acts."""

import math
from collections.abc import Sequence
from typing import Any

from evener.protocols.digest import JsonObject
from evener.protocols.message import Call
from evener.protocols.port import ActionSpec, Observation


def refusal(call: Call, actions: Sequence[ActionSpec]) -> Observation | None:
    """The observation that refuses a call outside the action space, or None where it fits.

    `error_kind` is `unknown_action` or `bad_arguments`; the text is one line that names the fault.
    """
    found = [spec for spec in actions if spec.name == call.name]
    if not found:
        known = ", ".join(spec.name for spec in actions)
        return Observation(
            text=f"unknown action {call.name[:40]!r}; actions: {known}", error_kind="unknown_action"
        )
    fault = _fault(call.arguments, found[0].parameters)
    return None if fault is None else Observation(text=fault, error_kind="bad_arguments")


def _fault(arguments: JsonObject, schema: JsonObject) -> str | None:
    import jsonschema

    for name, value in arguments.items():
        if isinstance(value, float) and not math.isfinite(value):
            return f"{name}: not a finite number"
    # the stubs of jsonschema leave half of its types open
    validator: Any = jsonschema.Draft202012Validator(schema)
    errors: list[jsonschema.ValidationError] = list(validator.iter_errors(arguments))
    if not errors:
        return None
    first = min(errors, key=lambda error: [str(part) for part in error.path])
    where = ".".join(str(part) for part in first.path)
    message = first.message[:120]
    return f"{where}: {message}" if where else message
