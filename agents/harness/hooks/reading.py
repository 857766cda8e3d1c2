"""`repair_call` and `require_action`: what to do with a reply that makes no call."""

from pydantic import Field

from evener.agents.harness.hooks.effect import Effect, HookState, HookType, Remind, Reread, Settings


class RepairCallSettings(Settings):
    """Nothing to set."""


def _repair(_: RepairCallSettings, state: HookState) -> Effect | None:
    return Reread() if state.fault is not None and state.repairable else None


REPAIR_CALL = HookType("repair_call", RepairCallSettings, ("after_model",), _repair)


class RequireActionSettings(Settings):
    """How often an episode is reminded, and in which words."""

    reminders: int = Field(default=1, ge=1, le=10)
    text: str = Field(default="Answer with a call of one of your tools.", min_length=1)


def _require(settings: RequireActionSettings, state: HookState) -> Effect | None:
    if state.fault != "no_call" or state.fired >= settings.reminders:
        return None
    return Remind(settings.text)


REQUIRE_ACTION = HookType(
    "require_action", RequireActionSettings, ("after_model", "before_finish"), _require
)
