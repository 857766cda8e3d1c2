"""What happened inside an episode, one small record each: the raw material of critic and detectors.

Every event names its `turn` (0-based model call). The union `Event` is discriminated by `kind`.
"""

from typing import Annotated, Literal, TypeAlias

from pydantic import Field, model_serializer
from pydantic_core.core_schema import SerializerFunctionWrapHandler

from evener.protocols.digest import JsonObject, Wire
from evener.protocols.message import Call
from evener.protocols.model import StopReason, Usage


class Replied(Wire):
    """The model answered. `context` are the indices into `Trajectory.messages` it was shown, in
    order; `message` is the index of its reply."""

    kind: Literal["replied"] = "replied"
    turn: int
    context: tuple[int, ...]
    message: int
    stop_reason: StopReason
    usage: Usage
    mean_logprob: float | None = None


Repair: TypeAlias = Literal[
    "text",
    "fence",
    "tags",
    "python_tag",
    "key",
    "arguments",
    "trailing_comma",
    "python_literal",
    "as_text",
    "in_reasoning",
    "first_of_several",
]


class Parsed(Wire):
    """The reply was read as calls or as a plain answer. `repaired`: only after a lenient repair.

    `repairs` says how: `text`, a `fence`, missing or other `tags` or a `python_tag` stood around
    it; other `key`s were used; `arguments` were missing, empty or encoded once more; a
    `trailing_comma` or a `python_literal` was read; a native call was written `as_text`; it stood
    `in_reasoning`; or only the `first_of_several` was taken. `ignored` is text of the reply that
    looks like a call and was not read as one, or the names of calls left out. Both are left out of
    the document where they are empty.
    """

    kind: Literal["parsed"] = "parsed"
    turn: int
    calls: tuple[Call, ...]
    repaired: bool = False
    repairs: tuple[Repair, ...] = ()
    ignored: str = ""

    @model_serializer(mode="wrap")
    def _without_empty(self, handler: SerializerFunctionWrapHandler) -> dict[str, object]:
        data: dict[str, object] = handler(self)
        rare = ("repairs", "ignored")
        return {key: value for key, value in data.items() if key not in rare or value}


ParseFault: TypeAlias = Literal[
    "no_call",
    "call_like_text",
    "invalid_json",
    "wrong_shape",
    "cut_by_length",
    "call_in_reasoning",
    "several_calls",
]


class ParseFailed(Wire):
    """No call could be taken from the reply."""

    kind: Literal["parse_failed"] = "parse_failed"
    turn: int
    fault: ParseFault
    detail: str


RefusalReason: TypeAlias = Literal[
    "unknown_tool",
    "not_offered",
    "missing_argument",
    "unexpected_argument",
    "wrong_type",
    "wrong_value",
]


class CallRefused(Wire):
    """A well-formed call that was not executed. `argument` is the argument at fault, if one is."""

    kind: Literal["call_refused"] = "call_refused"
    turn: int
    call: Call
    reason: RefusalReason
    argument: str = ""
    detail: str
    nearest: str = ""


class Coerced(Wire):
    """The harness changed a call before executing it: an alias, a strip, a type by the schema."""

    kind: Literal["coerced"] = "coerced"
    turn: int
    call: Call
    argument: str
    before: str
    after: str
    rule: Literal["tool_alias", "argument_name", "value_alias", "strip", "lower", "type"]


class Acted(Wire):
    """One action of the environment was executed. `tool` is the harness's name of it.

    `error_kind` is the environment's (`unknown_item`, `timeout`, …) or None. `message` is the
    index of the message that told the student, None for the inner steps of a composite.
    """

    kind: Literal["acted"] = "acted"
    turn: int
    tool: str
    call: Call
    observation: str
    error_kind: str | None = None
    elapsed: float = 0.0
    truncated: bool = False
    done: bool = False
    message: int | None = None


class Activated(Wire):
    """A part of the harness took effect. `part` is its field path, `skills[price]` for example."""

    kind: Literal["activated"] = "activated"
    turn: int
    part: str
    detail: str = ""


class Adhered(Wire):
    """Whether the student followed an activated part: called a tool that the skill names, say."""

    kind: Literal["adhered"] = "adhered"
    turn: int
    part: str
    followed: bool


class HookFired(Wire):
    """A hook changed or stopped something. `effect` is one of the hook's own words."""

    kind: Literal["hook_fired"] = "hook_fired"
    turn: int
    hook: str
    stage: str
    effect: str
    detail: str = ""


class ContextCut(Wire):
    """The context window left out messages (indices); `tokens` is the estimate before the cut."""

    kind: Literal["context_cut"] = "context_cut"
    turn: int
    dropped: tuple[int, ...]
    tokens: int
    keep_tokens: int


class OutputCut(Wire):
    """A tool's output was shortened, from `before` to `after` characters."""

    kind: Literal["output_cut"] = "output_cut"
    turn: int
    tool: str
    before: int
    after: int


class Remembered(Wire):
    """A memory entry was read into the prompt (`recalled`) or found no room there (`evicted`)."""

    kind: Literal["remembered"] = "remembered"
    turn: int
    action: Literal["stored", "recalled", "evicted"]
    entry: str
    detail: str = ""


EndReason: TypeAlias = Literal[
    "final",
    "stop_string",
    "max_turns",
    "loop_guard",
    "context_exceeded",
    "no_action",
    "infra",
    "cancelled",
]


class Ended(Wire):
    """The episode is over."""

    kind: Literal["ended"] = "ended"
    turn: int
    reason: EndReason
    detail: str = ""
    data: JsonObject = {}


class Voted(Wire):
    """The harness held several episodes and kept this one: `elected` of `ballots`, with `votes` of
    them. `answers` are those of all ballots, None for one that gave none."""

    kind: Literal["voted"] = "voted"
    turn: int
    ballots: int
    elected: int
    votes: int
    answers: tuple[str | None, ...]


Event: TypeAlias = Annotated[
    Replied
    | Parsed
    | ParseFailed
    | CallRefused
    | Coerced
    | Acted
    | Activated
    | Adhered
    | HookFired
    | ContextCut
    | OutputCut
    | Remembered
    | Ended
    | Voted,
    Field(discriminator="kind"),
]
