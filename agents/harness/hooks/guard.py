"""`loop_guard` and `validate_arguments`: calls that are stopped before they are executed."""

from pydantic import Field

from evener.agents.harness.hooks.effect import Block, Effect, Halt, HookState, HookType, Settings
from evener.agents.harness.schema import Arguments


class LoopGuardSettings(Settings):
    """At the `repeats`-th equal attempt the student is told, at the next the episode ends."""

    repeats: int = Field(default=3, ge=2, le=100)


def _guard(settings: LoopGuardSettings, state: HookState) -> Effect | None:
    made = state.repeats + 1
    if made < settings.repeats:
        return None
    if made > settings.repeats:
        return Halt(f"the same attempt was made {made} times")
    return Block(f"You have tried exactly this {made} times. Do something else.")


LOOP_GUARD = HookType("loop_guard", LoopGuardSettings, ("before_tool",), _guard)


class ValidateArgumentsSettings(Settings):
    """Nothing to set."""


def _validate(_: ValidateArgumentsSettings, state: HookState) -> Effect | None:
    """Hold the call against the environment's own schema, which a tool's may not be the same as."""
    if state.action is None or state.action_call is None:
        return None
    fault = Arguments(state.action.parameters).fault(state.action_call.arguments)
    if fault is None:
        return None
    near = f" Did you mean {fault.nearest}?" if fault.nearest else ""
    return Block(f"{state.action_call.name} was not called: {fault.detail}.{near}")


VALIDATE_ARGUMENTS = HookType(
    "validate_arguments", ValidateArgumentsSettings, ("before_tool",), _validate
)
