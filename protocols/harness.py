"""The harness φ = (prompt, tools, skills, middleware, memory): an immutable, hashed value.

`Harness.document()` is its plain form: a field that is None is left out (absent and null are not
the same, and no field of a harness is ever null). Field paths address that form: see `path.py`.
"""

from collections.abc import Iterator
from typing import Literal, TypeAlias

from pydantic import Field, model_serializer, model_validator
from pydantic_core.core_schema import SerializerFunctionWrapHandler

from evener.protocols.digest import JsonObject, Wire

Mending: TypeAlias = Literal["strip", "lower", "value_alias"]


class Part(Wire):
    """Base of the harness's parts: optional fields that are None vanish from the document."""

    @model_serializer(mode="wrap")
    def _without_none(self, handler: SerializerFunctionWrapHandler) -> JsonObject:
        data: JsonObject = handler(self)
        optional = [name for name in type(self).model_fields if getattr(self, name) is None]
        return {key: value for key, value in data.items() if key not in optional}


class ExampleCall(Part):
    """A call inside a worked example, written as data and rendered by the harness's protocol."""

    name: str
    arguments: JsonObject = {}


class ExampleTurn(Part):
    """One chat turn of a worked example: a task, an assistant's call or text, or a result."""

    role: Literal["user", "assistant", "tool"]
    content: str | None = None
    call: ExampleCall | None = None

    @model_validator(mode="after")
    def _content_or_call(self) -> "ExampleTurn":
        if (self.content is None) == (self.call is None):
            raise ValueError("an example turn has either content or call")
        if self.call is not None and self.role != "assistant":
            raise ValueError("only an assistant turn of an example makes a call")
        return self


class Prompt(Part):
    """Instruction templates (sandboxed jinja2). Variables: system `tools`, `memory`, `skill`;
    task `question`, `memory`."""

    system: str = ""
    task: str = "{{ question }}"
    examples: tuple[tuple[ExampleTurn, ...], ...] = ()


class ArgumentRule(Part):
    """How an argument is mended before the schema check: other `names` of it, value `aliases`
    (spelling → canonical), `strip` and `lower` for strings."""

    names: tuple[str, ...] = ()
    aliases: dict[str, str] = {}
    strip: bool = False
    lower: bool = False

    def mendings(self, value: str) -> Iterator[tuple[Mending, str]]:
        """What changes a value, one after the other, and what it is then."""
        if self.strip and value.strip() != value:
            value = value.strip()
            yield "strip", value
        if self.lower and value.lower() != value:
            value = value.lower()
            yield "lower", value
        if self.aliases.get(value, value) != value:
            yield "value_alias", self.aliases[value]

    def mended(self, value: str) -> str:
        """The value as the rule leaves it."""
        for _, after in self.mendings(value):
            value = after
        return value


class Step(Part):
    """One step of a composite tool; argument values are templates over the tool's arguments and
    `result`, the text of the step before."""

    action: str
    arguments: dict[str, str] = {}


class Tool(Part):
    """A tool as the student sees it: one `action` of the environment, or declared `steps`."""

    name: str
    description: str = ""
    parameters: JsonObject = {}
    timeout_s: float = 30.0
    aliases: tuple[str, ...] = ()
    arguments: dict[str, ArgumentRule] = {}
    action: str | None = None
    steps: tuple[Step, ...] | None = None

    @model_validator(mode="after")
    def _action_or_steps(self) -> "Tool":
        if (self.action is None) == (self.steps is None):
            raise ValueError("a tool has either action or steps")
        return self


class When(Part):
    """A skill's trigger: any of `words` in the task's text (whole words, case folded; a word may be
    a phrase), or any of `tools` called before. Both empty: always."""

    words: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()


class Skill(Part):
    """A reusable procedure. Where active: `system` replaces the prompt's system text, `text` is
    put behind it, `tools` narrows the tools on offer, `examples` replace the prompt's examples."""

    name: str
    when: When = When()
    system: str | None = None
    text: str = ""
    tools: tuple[str, ...] | None = None
    examples: tuple[tuple[ExampleTurn, ...], ...] = ()


class WireFormat(Part):
    """How calls are written. `json`: one object {"name", "arguments"} a turn; `hermes`: inside
    <tool_call> tags; `native`: the provider's own. `strict`: no repair of near misses. `several`:
    whether a turn may make several calls; left out, `hermes` and `native` may. `in_reasoning`:
    what becomes of a call that is the whole reply but stands inside its reasoning; left out, it is
    refused."""

    format: Literal["json", "hermes", "native"] = "json"
    strict: bool = True
    several: bool | None = None
    in_reasoning: Literal["refuse", "execute"] | None = None


class Loop(Part):
    """The main loop: turns and reply length allowed, stop strings, votes (1: none)."""

    max_turns: int = Field(default=15, ge=1)
    max_reply_tokens: int = Field(default=512, ge=1)
    stop: tuple[str, ...] = ()
    votes: int = Field(default=1, ge=1)


class Hook(Part):
    """An entry of the typed hook table by its name, with that hook's own settings."""

    name: str
    settings: JsonObject = {}


class Hooks(Part):
    """Where hooks run. The names allowed at each stage are in `evener.agents.harness.hooks`."""

    before_model: tuple[Hook, ...] = ()
    after_model: tuple[Hook, ...] = ()
    before_tool: tuple[Hook, ...] = ()
    after_tool: tuple[Hook, ...] = ()
    before_finish: tuple[Hook, ...] = ()


class Context(Part):
    """What of the episode the model is shown: the opening always, then the newest turns that fit
    in `keep_tokens`; tool output is cut to `tool_output_tokens`. Token counts are estimates of
    4 characters a token, the same for every model."""

    policy: Literal["all", "window"] = "window"
    keep_tokens: int = Field(default=4096, ge=1)
    tool_output_tokens: int = Field(default=2048, ge=1)


class Middleware(Part):
    """Orchestrator, hooks and context management."""

    protocol: WireFormat = WireFormat()
    loop: Loop = Loop()
    hooks: Hooks = Hooks()
    context: Context = Context()


class Note(Part):
    """One entry of memory."""

    name: str
    text: str


class Memory(Part):
    """Long-term memory: `notes` puts all entries in the prompt, `retrieval` the `top_k` nearest to
    the task (lexical). At most `capacity` entries, the oldest pushed out first."""

    policy: Literal["none", "notes", "retrieval"] = "none"
    entries: tuple[Note, ...] = ()
    capacity: int = Field(default=32, ge=1)
    top_k: int = Field(default=3, ge=1)


class Harness(Part):
    """φ. `digest()` is its identity; the name is part of it."""

    name: str
    prompt: Prompt = Prompt()
    tools: tuple[Tool, ...] = ()
    skills: tuple[Skill, ...] = ()
    middleware: Middleware = Middleware()
    memory: Memory = Memory()

    @model_validator(mode="after")
    def _unique_names(self) -> "Harness":
        for what, names in (
            ("tool", [t.name for t in self.tools]),
            ("skill", [s.name for s in self.skills]),
            ("memory entry", [n.name for n in self.memory.entries]),
        ):
            twice = sorted({n for n in names if names.count(n) > 1})
            if twice:
                raise ValueError(f"two {what}s are named {twice[0]!r}")
        return self
