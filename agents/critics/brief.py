"""What a model that criticises is told: the causes, one harness, and one failed episode of it.

The episode is a mining episode, events numbered, long texts cut. Nothing else goes in: no other
task, no answer, no score but that it failed.
"""

from pydantic import JsonValue

from evener.agents.harness.load import dump_yaml
from evener.protocols.attribution import RootCause, Severity
from evener.protocols.digest import JsonObject, canonical
from evener.protocols.event import Event, Replied
from evener.protocols.harness import Harness
from evener.protocols.message import Message
from evener.protocols.trajectory import Trajectory

LONGEST = 1_500
"""Characters of one text of an event; the middle of a longer one is left out."""
MOST = 80
"""Events that are shown; of a longer episode the first and the last."""

_CAUSES: dict[RootCause, str] = {
    RootCause.PROMPT_AMBIGUITY: "the prompt, its template or its worked examples leave out what is "
    "wanted, or say it wrongly",
    RootCause.TOOL_SCHEMA_ERROR: "a tool is missing, wrongly named or described, or its schema, "
    "aliases or argument rules turn away or change a sensible call",
    RootCause.SKILL_MISSING: "a procedure that the task needs is not taught, its skill is not "
    "woken, or the skill teaches it wrongly",
    RootCause.MIDDLEWARE_MISMATCH: "the loop, the protocol, a hook or the context window stops, "
    "drops or changes what the model did sensibly",
    RootCause.MEMORY_OVERFLOW: "a note is wrong or missing, was not recalled, was pushed out, or "
    "crowds the context",
    RootCause.AGENT_ERROR: "the harness says all that is needed and the model slipped by itself; "
    "choose it rather than a part that is not at fault",
}

_TASK = """\
You are the critic of an agent, which is a language model with a harness: prompt, tools, skills, \
middleware, memory. You read the harness and one episode that failed. Name the one cause that \
explains the failure best.

Causes:
{causes}

Answer with one JSON object and nothing else:
{{"root_cause": a cause from the list, "severity": {severities}, "event": the number of the event \
that shows it, "quote": a few words copied exactly from that event, "field_path": the field of the \
harness to change, "new_value": what it is to be}}

field_path is a path in the harness file: prompt.system, tools[NAME].description, \
skills[NAME].examples[+], memory.entries[+], where [NAME] is an item of that name and [+] a new \
one. The field must be there, or be one that may be added. new_value is JSON, complete, and of the \
field's type; null removes what stands there. The change has to help with other tasks of the same \
kind: words of this task have no place in it. For agent_error leave field_path and new_value out."""


ANSWER: JsonObject = {
    "type": "object",
    "properties": {
        "root_cause": {"enum": [cause.value for cause in RootCause]},
        "severity": {"enum": [severity.value for severity in Severity]},
        "event": {"type": "integer", "minimum": 0},
        "quote": {"type": "string"},
        "field_path": {"type": "string"},
        "new_value": {},
    },
    "required": ["root_cause", "severity", "event", "quote"],
    "additionalProperties": False,
}
"""The answer's schema, for servers that keep to one."""


def told() -> Message:
    """The system message: the same for every episode."""
    causes = "\n".join(f"- {cause}: {text}" for cause, text in _CAUSES.items())
    severities = " or ".join(f'"{severity}"' for severity in Severity)
    content = _TASK.format(causes=causes, severities=severities)
    return Message(role="system", content=content)


def shown(failure: Trajectory, harness: Harness) -> Message:
    """The harness file and the episode: the task as the student read it, then the events."""
    parts = [
        f"The harness:\n```yaml\n{dump_yaml(harness).strip()}\n```",
        f"The task:\n{failure.task.prompt}",
        f"The episode ended as {failure.outcome}. Its events:\n{_events(failure)}",
    ]
    return Message(role="user", content="\n\n".join(parts))


def event_text(failure: Trajectory, at: int) -> str:
    """All that a quote from event `at` may come from: its JSON, its texts as they are, and what
    the model replied."""
    event = failure.events[at]
    texts = [canonical(event.document()), *_texts(event.document())]
    if isinstance(event, Replied):
        texts.append(failure.messages[event.message].content)
    return "\n".join(texts)


def _events(failure: Trajectory) -> str:
    numbered = list(enumerate(failure.events))
    left_out = len(numbered) - MOST
    lines = [_line(failure, at, event) for at, event in numbered]
    if left_out > 0:
        half = MOST // 2
        lines = [*lines[:half], f"… {left_out} events …", *lines[-half:]]
    return "\n".join(lines)


def _line(failure: Trajectory, at: int, event: Event) -> str:
    document = event.document()
    if isinstance(event, Replied):
        kept: JsonObject = {key: document[key] for key in ("kind", "turn", "stop_reason")}
        document = kept | {"text": failure.messages[event.message].content}
    return f"[{at}] {canonical(_cut(document))}"


def _cut(value: JsonValue) -> JsonValue:
    match value:
        case str() if len(value) > LONGEST:
            half = LONGEST // 2
            return f"{value[:half]} … {value[-half:]}"
        case list():
            return [_cut(item) for item in value]
        case dict():
            return {key: _cut(item) for key, item in value.items()}
        case _:
            return value


def _texts(value: JsonValue) -> list[str]:
    match value:
        case str():
            return [value]
        case list():
            return [text for item in value for text in _texts(item)]
        case dict():
            return [text for item in value.values() for text in _texts(item)]
        case _:
            return []
