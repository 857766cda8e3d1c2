"""`ask_for_help`: after a refusal the tools and a worked example are shown again."""

from pydantic import Field

from evener.agents.harness.hooks.effect import Effect, HookState, HookType, Remind, Settings


class AskForHelpSettings(Settings):
    """How often in an episode, and whether with an example."""

    times: int = Field(default=1, ge=1, le=20)
    example: bool = True


def _help(settings: AskForHelpSettings, state: HookState) -> Effect | None:
    failed = state.refused or (state.fault is not None and state.fault != "no_call")
    if not failed or state.fired >= settings.times:
        return None
    parts = [f"Tools:\n{state.menu}"]
    if settings.example and state.example:
        parts.append(f"Example:\n{state.example}")
    return Remind("\n".join(parts))


ASK_FOR_HELP = HookType("ask_for_help", AskForHelpSettings, ("after_model", "after_tool"), _help)
