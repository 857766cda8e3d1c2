"""All hooks by name, and the check that a harness names only these."""

from difflib import get_close_matches

from pydantic import ValidationError

from evener.agents.harness.complaint import complaint
from evener.agents.harness.hooks.answer import VERIFY_ANSWER
from evener.agents.harness.hooks.effect import AnyHook, BoundHook, Stage
from evener.agents.harness.hooks.guard import LOOP_GUARD, VALIDATE_ARGUMENTS
from evener.agents.harness.hooks.help import ASK_FOR_HELP
from evener.agents.harness.hooks.reading import REPAIR_CALL, REQUIRE_ACTION
from evener.agents.harness.hooks.retry import RETRY
from evener.protocols.error import HarnessError
from evener.protocols.harness import Hook

STAGES: tuple[Stage, ...] = (
    "before_model",
    "after_model",
    "before_tool",
    "after_tool",
    "before_finish",
)

TABLE: dict[str, AnyHook] = {
    hook.name: hook
    for hook in (
        RETRY,
        REPAIR_CALL,
        VALIDATE_ARGUMENTS,
        LOOP_GUARD,
        REQUIRE_ACTION,
        VERIFY_ANSWER,
        ASK_FOR_HELP,
    )
}


def allowed(stage: Stage) -> tuple[str, ...]:
    """The hooks that may stand at a stage."""
    return tuple(name for name, hook in TABLE.items() if stage in hook.stages)


def bind(hook: Hook, stage: Stage) -> BoundHook:
    """The hook ready to be asked. Raises HarnessError with its path: no such hook, not at this
    stage, or settings that do not fit."""
    where = f"middleware.hooks.{stage}[{hook.name}]"
    kind = TABLE.get(hook.name)
    if kind is None:
        near = get_close_matches(hook.name, TABLE, 1)
        hint = f"did you mean {near[0]}? " if near else ""
        raise HarnessError(
            "there is no such hook", where=where, remedy=f"{hint}hooks: {', '.join(TABLE)}"
        )
    if stage not in kind.stages:
        names = ", ".join(allowed(stage))
        raise HarnessError(
            f"the hook {hook.name} cannot stand here",
            where=where,
            remedy=f"put it at {' or '.join(kind.stages)}"
            + (f"; here: {names}" if names else f"; nothing runs {stage}"),
        )
    try:
        return kind.bind(hook.settings)
    except ValidationError as error:
        what, path, remedy = complaint(error, hook.settings, kind.settings)
        raise HarnessError(
            what, where=f"{where}.settings.{path}" if path else f"{where}.settings", remedy=remedy
        ) from None
