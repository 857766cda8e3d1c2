"""Repairs of tools: what the schema says, what it lets through, and tools that are not there."""

from collections.abc import Iterator, Sequence

from evener.agents.critics.catalogue.hook import hooked
from evener.agents.critics.catalogue.repair import Ground, Repair, add, slug
from evener.agents.critics.catalogue.tidy import tidy, true_schema
from evener.protocols.harness import Tool
from evener.protocols.patch import FieldEdit


def refused(parts: Sequence[str], ground: Ground) -> Iterator[Repair]:
    """A tool that is missing; clearer schema text; tidy arguments; a hook that asks again."""
    reason, what = parts[0], parts[1] if len(parts) > 1 else ""
    group = f"refused:{reason}:{what}"
    if reason == "unknown_tool":
        tool = ground.background.new_tool(what, ground.harness)
        if tool is not None:
            edits = (add("tools", tool.document()),)
            yield Repair(slug("tool", what), group, edits, 0.8, f"offer the action {what}")
    elif reason != "not_offered":
        yield from _clearer(what, ground, group=group)
    yield from hooked("ask_for_help", ground, group=group, prior=0.4)


def no_tool(parts: Sequence[str], ground: Ground) -> Iterator[Repair]:
    """The missing tool, as the environment describes its action."""
    tool = ground.background.new_tool(parts[1], ground.harness)
    if tool is not None and ground.tool_for(parts[1]) is None:
        edits = (add("tools", tool.document()),)
        yield Repair(
            slug("tool", parts[1]), f"teach:{parts[0]}", edits, 0.7, f"offer the action {parts[1]}"
        )


def observed(parts: Sequence[str], ground: Ground) -> Iterator[Repair]:
    """Everything that tidies the tool's arguments; clearer schema text."""
    group = ":".join(("observed", *parts[:2]))
    tool = _named(parts[1].partition(".")[0], ground) if len(parts) > 1 else None
    if tool is not None:
        edits = tidy(tool, ground)
        if edits:
            name = slug("tidy", tool.name)
            yield Repair(name, group, edits, 0.8, f"strip, lower and aliases for {tool.name}")
        yield from _clearer(parts[1], ground, group=group)


def schema(parts: Sequence[str], ground: Ground) -> Iterator[Repair]:
    """The action's own schema; a hook that holds each call against it."""
    name = parts[0].partition(".")[0]
    tool = _named(name, ground)
    if tool is None:
        return
    reason = f"the schema of {tool.action}"
    yield Repair(slug("schema", name), f"schema:{name}", true_schema(tool, ground), 0.9, reason)
    yield from hooked("validate_arguments", ground, group=f"schema:{name}", prior=0.3)


def _clearer(what: str, ground: Ground, *, group: str) -> Iterator[Repair]:
    """Descriptions and argument schemas as the environment publishes them."""
    name = what.partition(".")[0]
    tool = _named(name, ground)
    spec = ground.background.action(tool.action or "") if tool else None
    if tool is None or spec is None:
        return
    edits: list[FieldEdit] = []
    if spec.description and tool.description != spec.description:
        edits += ground.change(f"tools[{name}].description", spec.description)
    edits += true_schema(tool, ground)
    if edits:
        yield Repair(
            slug("describe", name), group, tuple(edits), 0.4, f"{name} described as {spec.name} is"
        )


def _named(name: str, ground: Ground) -> Tool | None:
    return next((tool for tool in ground.harness.tools if tool.name == name), None)
