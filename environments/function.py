"""A person's Python functions as actions: the schema comes from the signature."""

import inspect
from collections.abc import Callable
from typing import Any, cast

from pydantic import TypeAdapter
from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError

from evener.protocols.digest import JsonObject
from evener.protocols.error import ConfigError
from evener.protocols.message import Call
from evener.protocols.port import ActionSpec, Observation


class FunctionAction:
    """One function, sync or async. Its parameters need type annotations; its docstring's first
    line becomes the description. What it returns is shown as text; what it raises is an
    observation of kind `action_failed`, and the episode goes on."""

    def __init__(self, run: Callable[..., Any], *, name: str = "", description: str = "") -> None:
        self._run = run
        named = name or run.__name__
        about = description or (inspect.getdoc(run) or "").partition("\n")[0]
        self.spec = ActionSpec(name=named, description=about, parameters=_schema(run, named))

    async def act(self, call: Call) -> Observation:
        """The function's result for a call that fits the schema."""
        try:
            result: object = self._run(**call.arguments)
            if inspect.isawaitable(result):
                result = await result
        except Exception as error:  # noqa: BLE001 - foreign code: recorded as an observation
            text = f"{type(error).__name__}: {error}"[:200]
            return Observation(text=text, error_kind="action_failed")
        return Observation(text=str(result))


def _schema(run: Callable[..., Any], name: str) -> JsonObject:
    try:
        # pydantic takes a function for a type; its stubs do not say so
        schema: JsonObject = TypeAdapter[Any](cast("Any", run)).json_schema()
    except (PydanticSchemaGenerationError, PydanticUserError, NameError) as error:
        raise ConfigError(
            f"no schema can be made of its signature {inspect.signature(run)}: {error}".split("\n")[
                0
            ],
            where=f"action {name!r}",
            remedy="Annotate its parameters with plain types",
        ) from None
    if schema.get("type") != "object":
        raise ConfigError(
            f"its signature {inspect.signature(run)} takes positional arguments only",
            where=f"action {name!r}",
            remedy="Let its parameters be passed by name",
        )
    return schema
