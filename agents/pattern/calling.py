"""Patterns of calls that the harness or the environment turned away (T).

A pattern is the harness's fault where something in it, or a mend it could make, explains the
refusal: a schema unlike the action's, a name near a real one, a value that strip, lower case or an
alias would have made right. Anything else is left to the other detectors.
"""

import re
from collections.abc import Iterator

from evener.agents.pattern.background import properties, required
from evener.agents.pattern.cure import Cure, cure, mixed_up
from evener.agents.pattern.finding import Case, Finding, pair, signature
from evener.agents.pattern.lexical import nearest
from evener.agents.pattern.offering import (
    LONGEST,
    not_offered,
    severity_of,
    tool_of,
    turned_away,
    unknown_tool,
)
from evener.protocols.attribution import RootCause
from evener.protocols.digest import JsonObject
from evener.protocols.event import Acted, CallRefused
from evener.protocols.harness import Tool
from evener.protocols.patch import FieldEdit
from evener.protocols.path import ABSENT, read

_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_ -]*")
CAUSE = RootCause.TOOL_SCHEMA_ERROR


def calling(case: Case) -> Iterator[Finding]:
    """`refused:REASON:…`, `schema:TOOL.ARGUMENT` and `observed:ERROR:TOOL.ARGUMENT`."""
    for index, event in enumerate(case.events):
        if isinstance(event, CallRefused):
            yield from _refused(case, index, event)
        elif isinstance(event, Acted) and event.error_kind is not None:
            yield from _observed(case, index, event)


def _refused(case: Case, index: int, event: CallRefused) -> Iterator[Finding]:
    match event.reason:
        case "unknown_tool":
            yield unknown_tool(case, index, event)
        case "not_offered":
            yield not_offered(case, index, event)
        case "missing_argument" | "unexpected_argument":
            yield from _argument(case, index, event)
        case "wrong_type" | "wrong_value":
            yield _wrong(case, index, event)


def _argument(case: Case, index: int, event: CallRefused) -> Iterator[Finding]:
    """A required argument that came under another name: which one, by likeness or by exclusion."""
    tool = tool_of(case, event.call.name)
    if tool is None:
        return
    known = properties(tool.parameters)
    given = [name for name in event.call.arguments if name not in known]
    lacking = [name for name in required(tool.parameters) if name not in event.call.arguments]
    yield from _schema(case, tool, index, event.call.arguments)
    if not lacking:
        wanted = event.argument or (given[0] if given else "")
        yield case.finding(
            signature("refused", event.reason, f"{tool.name}.{wanted}"),
            CAUSE,
            turned_away(case, index, event, tool),
            event=index,
            quote=_quoted(event.call.arguments, wanted),
        )
        return
    wanted = event.argument if event.argument in lacking else lacking[0]
    name = nearest(wanted, tuple(given)) or (given[0] if len(given) == 1 else None)
    suggestion = None
    if name is not None and len(name) <= LONGEST and addressable(wanted):
        path = f"tools[{tool.name}].arguments.{wanted}.names"
        old = read(case.harness.document(), path)
        names = [n for n in old if isinstance(n, str)] if isinstance(old, list) else []
        suggestion = FieldEdit(field_path=path, old_value=old, new_value=[*names, name])
    yield case.finding(
        signature("refused", "missing_argument", f"{tool.name}.{wanted}"),
        CAUSE,
        severity_of(case, index, tool.name),
        event=index,
        quote=_quoted(event.call.arguments, name or ""),
        suggestion=suggestion,
    )


def _wrong(case: Case, index: int, event: CallRefused) -> Finding:
    tool = tool_of(case, event.call.name)
    name = tool.name if tool else event.call.name
    value = event.call.arguments.get(event.argument)
    suggestion = None
    if tool is not None and isinstance(value, str):
        found = cure(
            value,
            action=tool.action or "",
            argument=event.argument,
            background=case.background,
            error=event.detail,
        )
        suggestion = _mend(case, tool, event.argument, value, found) if found else None
    return case.finding(
        signature("refused", event.reason, f"{name}.{event.argument}"),
        CAUSE,
        turned_away(case, index, event, tool),
        event=index,
        quote=_quoted(event.call.arguments, event.argument),
        suggestion=suggestion,
    )


def _observed(case: Case, index: int, event: Acted) -> Iterator[Finding]:
    tool = tool_of(case, event.tool)
    if tool is None:
        return
    yield from _schema(case, tool, index, event.call.arguments)
    texts = {k: v for k, v in event.call.arguments.items() if isinstance(v, str)}
    # the argument the error speaks of comes first
    for argument in sorted(texts, key=lambda name: texts[name] not in event.observation):
        found = cure(
            texts[argument],
            action=event.call.name,
            argument=argument,
            background=case.background,
            error=event.observation,
        )
        if found is None or mixed_up(texts[argument], case.trajectory.task.prompt):
            continue
        yield case.finding(
            signature("observed", event.error_kind or "error", f"{tool.name}.{argument}"),
            CAUSE,
            severity_of(case, index, tool.name),
            event=index,
            quote=pair(argument, texts[argument]),
            suggestion=_mend(case, tool, argument, texts[argument], found),
        )
        return


def _schema(case: Case, tool: Tool, index: int, given: JsonObject) -> Iterator[Finding]:
    """Arguments of a tool's schema that its action does not have, or the other way round; of the
    call, where the tool has no schema."""
    spec = case.background.action(tool.action or "")
    if spec is None:
        return
    offered, real = properties(tool.parameters), properties(spec.parameters)
    if not offered:
        free = (name for name in real if name not in required(spec.parameters))
        anything: JsonObject = {}
        offered = dict.fromkeys((*given, *free), anything)
    wrong = sorted(set(offered) ^ set(real))
    if not wrong and tool.parameters:
        # a call that the tool's schema let through and the action did not take
        wrong = sorted(name for name in real if _other(offered[name], real[name]))
    if wrong:
        yield case.finding(
            signature("schema", f"{tool.name}.{wrong[0]}"),
            CAUSE,
            severity_of(case, index, tool.name),
            event=index,
            quote=pair("name", tool.name),
        )


def _other(offered: JsonObject, real: JsonObject) -> bool:
    """Whether an argument's schema admits other types or values than the action's."""
    return any(offered.get(key) != real.get(key) for key in ("type", "enum") if key in real)


def _mend(case: Case, tool: Tool, argument: str, value: str, found: Cure) -> FieldEdit | None:
    stem = f"tools[{tool.name}].arguments.{argument}"
    if len(value) > LONGEST or not addressable(argument):
        return None
    if tool.parameters and argument not in properties(tool.parameters):
        return None
    document = case.harness.document()
    if found.rule != "alias":
        path = f"{stem}.{found.rule}"
        old = read(document, path)
        # the harness has the rule already: what is left is not its fault
        return None if old is True else FieldEdit(field_path=path, old_value=old, new_value=True)
    old = read(document, f"{stem}.aliases")
    aliases = dict(old) if isinstance(old, dict) else {}
    if value in aliases:
        return None
    return FieldEdit(
        field_path=f"{stem}.aliases",
        old_value=ABSENT if old is ABSENT else dict(aliases),
        new_value={**aliases, value: found.value},
    )


def addressable(name: str) -> bool:
    """Whether an argument's name can stand in a field path."""
    return _KEY.fullmatch(name) is not None


def _quoted(arguments: JsonObject, name: str) -> str:
    return pair(name, arguments[name]) if name in arguments else ""
