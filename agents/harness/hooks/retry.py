"""`retry`: an action that failed for a passing reason is executed again."""

from pydantic import Field

from evener.agents.harness.hooks.effect import Effect, HookState, HookType, Repeat, Settings


class RetrySettings(Settings):
    """`attempts` counts all executions; the wait before the n-th repetition is n × `backoff_s`."""

    attempts: int = Field(default=3, ge=2, le=10)
    kinds: tuple[str, ...] = ("timeout", "transient", "unavailable", "exception")
    backoff_s: float = Field(default=0.0, ge=0, le=60)


def _decide(settings: RetrySettings, state: HookState) -> Effect | None:
    if state.error_kind not in settings.kinds or state.attempt >= settings.attempts:
        return None
    return Repeat(settings.backoff_s * state.attempt)


RETRY = HookType("retry", RetrySettings, ("after_tool",), _decide)
