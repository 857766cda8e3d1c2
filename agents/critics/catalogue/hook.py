"""Repairs that put an entry of the hook table into the harness."""

from collections.abc import Iterator

from evener.agents.critics.catalogue.repair import Ground, Repair, add, slug
from evener.agents.harness.hooks.table import TABLE
from evener.protocols.digest import JsonObject
from evener.protocols.harness import Hook
from evener.protocols.patch import FieldEdit


def hooked(
    name: str,
    ground: Ground,
    *,
    group: str,
    prior: float,
    settings: JsonObject | None = None,
    also: tuple[FieldEdit, ...] = (),
) -> Iterator[Repair]:
    """The hook at the first stage it may stand in, and the edits `also`; nothing if it is there."""
    stage = TABLE[name].stages[0]
    standing = ground.value(f"middleware.hooks.{stage}")
    if isinstance(standing, list) and any(
        isinstance(hook, dict) and hook.get("name") == name for hook in standing
    ):
        return
    hook = Hook(name=name, settings=settings or {})
    edits = (*also, add(f"middleware.hooks.{stage}", hook.document()))
    yield Repair(slug("hook", name), group, edits, prior, f"the hook {name}")
