"""What the student reads: the opening of an episode, calls and results in the harness's protocol.

Only text of the harness is a template. Task texts, notes, examples and results are put in as they
are, braces and all. Equal harnesses render equally, whatever the order of their JSON objects.
"""

import json
from collections.abc import Iterator, Mapping, Sequence

from evener.agents.harness import template
from evener.agents.harness.memory import text_of
from evener.agents.harness.schema import types_of
from evener.agents.harness.tool import ReadyTool, Toolbox
from evener.protocols.digest import JsonObject, canonical
from evener.protocols.harness import ExampleTurn, Harness, Note, Skill
from evener.protocols.message import Call, Message, Origin
from evener.protocols.model import ToolSpec

SYSTEM_VARIABLES = ("tools", "memory", "skill")
TASK_VARIABLES = ("question", "memory")


class Menu:
    """The tools on offer for a template: `{{ tools }}` is one line a tool, a loop gives the fields
    name, description, arguments and parameters."""

    def __init__(self, tools: Sequence[ReadyTool]) -> None:
        self._tools = tools

    def __str__(self) -> str:
        return "\n".join(_line(tool) for tool in self._tools)

    def __iter__(self) -> Iterator[dict[str, object]]:
        lines: list[dict[str, object]] = [
            {
                "name": tool.name,
                "description": tool.tool.description,
                "arguments": list(tool.arguments.names),
                "parameters": json.loads(canonical(tool.tool.parameters)),
            }
            for tool in self._tools
        ]
        return iter(lines)

    def __len__(self) -> int:
        return len(self._tools)


def offered(toolbox: Toolbox, skills: Sequence[Skill]) -> tuple[ReadyTool, ...]:
    """The tools on offer: those of the active skills that narrow them, else all."""
    narrowing = [skill.tools for skill in skills if skill.tools is not None]
    wanted = {name for names in narrowing for name in names}
    return tuple(t for t in toolbox.tools.values() if not narrowing or t.name in wanted)


def opening(
    harness: Harness,
    question: str,
    *,
    skills: Sequence[Skill] = (),
    memory: Sequence[Note] = (),
    toolbox: Toolbox | None = None,
) -> tuple[Message, ...]:
    """System message (none where its text is empty), example turns and the task.

    Raises HarnessError where a template cannot be filled in.
    """
    toolbox = toolbox or Toolbox(harness.tools)
    notes = text_of(memory)
    return (
        *prefix(harness, skills=skills, notes=notes, toolbox=toolbox),
        Message(role="user", content=task_text(harness, question, notes=notes)),
    )


def prefix(
    harness: Harness, *, skills: Sequence[Skill], notes: str, toolbox: Toolbox
) -> tuple[Message, ...]:
    """The part of the opening that does not depend on the task."""
    system = _system(harness, skills, notes, offered(toolbox, skills))
    first = (Message(role="system", content=system),) if system else ()
    of_skills = [example for skill in skills for example in skill.examples]
    origin: Origin = "skill" if of_skills else "example"
    examples = of_skills or harness.prompt.examples
    turns = [
        message
        for number, example in enumerate(examples)
        for message in _example(harness, example, number, origin, toolbox)
    ]
    return (*first, *turns)


def task_text(harness: Harness, question: str, *, notes: str) -> str:
    """The user's message that states a task."""
    return template.render(
        harness.prompt.task, {"question": question, "memory": notes}, where="prompt.task"
    )


def call_text(harness: Harness, name: str, arguments: JsonObject) -> str:
    """A call as the student is to write it; empty for the native protocol."""
    match harness.middleware.protocol.format:
        case "native":
            return ""
        case "json":
            return _json(name, arguments)
        case "hermes":
            return f"<tool_call>\n{_json(name, arguments)}\n</tool_call>"


def result_text(harness: Harness, text: str) -> str:
    """The result of one call as the student is shown it."""
    hermes = harness.middleware.protocol.format == "hermes"
    return f"<tool_result>{text}</tool_result>" if hermes else text


def results(
    harness: Harness, told: Sequence[tuple[Call | None, str]], *, hook_only: bool = False
) -> tuple[Message, ...]:
    """The messages that answer one reply: (call, its result) or (None, other words).

    Text protocols give one message of all; the native one gives a message a call, then the rest.
    """
    if harness.middleware.protocol.format == "native":
        answers = [
            Message(role="tool", content=text, origin="observation", call_id=call.id)
            for call, text in told
            if call is not None
        ]
        words = [text for call, text in told if call is None]
    else:
        answers = []
        words = [result_text(harness, text) if call else text for call, text in told]
    if words:
        origin: Origin = "hook" if hook_only else "observation"
        answers.append(Message(role="user", content="\n".join(words), origin=origin))
    return tuple(answers)


def tool_specs(tools: Sequence[ReadyTool]) -> tuple[ToolSpec, ...]:
    """The tools as a provider with native calls is told of them."""
    return tuple(
        ToolSpec(
            name=tool.name,
            description=tool.tool.description,
            parameters=tool.tool.parameters or {"type": "object", "properties": {}},
        )
        for tool in tools
    )


def _system(
    harness: Harness, skills: Sequence[Skill], notes: str, tools: Sequence[ReadyTool]
) -> str:
    """The system text; memory and skill texts that no template asks for are put behind it."""
    where, text = "prompt.system", harness.prompt.system
    for skill in skills:
        if skill.system is not None:
            where, text = f"skills[{skill.name}].system", skill.system
            break
    skill_text = "\n\n".join(skill.text for skill in skills if skill.text)
    asked = template.variables_of(text) if "{" in text else frozenset[str]()
    variables: Mapping[str, object] = {"tools": Menu(tools), "memory": notes, "skill": skill_text}
    parts = [template.render(text, variables, where=where)]
    if skill_text and "skill" not in asked:
        parts.append(skill_text)
    if notes and "memory" not in asked | _task_variables(harness):
        parts.append(notes)
    return "\n\n".join(part for part in parts if part)


def _task_variables(harness: Harness) -> frozenset[str]:
    return template.variables_of(harness.prompt.task)


def _example(
    harness: Harness,
    example: Sequence[ExampleTurn],
    number: int,
    origin: Origin,
    toolbox: Toolbox,
) -> list[Message]:
    """A worked example as chat turns; its first user turn is stated like a real task."""
    native = harness.middleware.protocol.format == "native"
    messages: list[Message] = []
    call_id, first = "", True
    for index, turn in enumerate(example):
        content = turn.content or ""
        if turn.call is not None:
            tool = toolbox.tools.get(turn.call.name)
            arguments = tool.arguments.ordered(turn.call.arguments) if tool else turn.call.arguments
            call_id = f"example_{number}_{index}"
            calls = (Call(id=call_id, name=turn.call.name, arguments=arguments),) if native else ()
            text = call_text(harness, turn.call.name, arguments)
            message = Message(role="assistant", content=text, origin=origin, calls=calls)
        elif turn.role == "tool":
            message = Message(
                role="tool" if native else "user",
                content=result_text(harness, content),
                origin=origin,
                call_id=call_id if native else "",
            )
        elif turn.role == "user" and first:
            text = task_text(harness, content, notes="")
            message, first = Message(role="user", content=text, origin=origin), False
        else:
            message = Message(role=turn.role, content=content, origin=origin)
        messages.append(message)
    return messages


def _json(name: str, arguments: JsonObject) -> str:
    return json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False)


def _line(tool: ReadyTool) -> str:
    arguments = ", ".join(
        name + ("" if name in tool.arguments.required else "?") + _type(tool, name)
        for name in tool.arguments.names
    )
    described = f": {tool.tool.description}" if tool.tool.description else ""
    return f"{tool.name}({arguments}){described}"


def _type(tool: ReadyTool, name: str) -> str:
    schema = tool.arguments.properties[name]
    types = types_of(schema) if isinstance(schema, dict) else ()
    return f": {' or '.join(types)}" if types else ""
