"""A harness made ready to run: schemas, triggers and hooks compiled once, openings kept.

`prepare` answers equal harnesses with the same object; it holds nothing of any episode.
"""

from collections import OrderedDict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

from evener.agents.harness import check, render
from evener.agents.harness.hooks.effect import BoundHook, Stage
from evener.agents.harness.hooks.table import STAGES, bind
from evener.agents.harness.memory import evicted, recalled, text_of
from evener.agents.harness.skill import Triggers
from evener.agents.harness.tool import ReadyTool, Toolbox
from evener.protocols.harness import Harness, Note, Skill
from evener.protocols.message import Message
from evener.protocols.model import ToolSpec
from evener.protocols.port import ActionSpec

MOST_READY = 64
MOST_PREFIXES = 256


@dataclass(frozen=True)
class Opening:
    """What an episode begins with, given its task and the tools called so far."""

    skills: tuple[Skill, ...]
    tools: tuple[ReadyTool, ...]
    messages: tuple[Message, ...]

    @property
    def offered(self) -> tuple[str, ...]:
        """Names of the tools on offer."""
        return tuple(tool.name for tool in self.tools)

    @cached_property
    def menu(self) -> str:
        """The tools on offer, one a line."""
        return str(render.Menu(self.tools))

    @cached_property
    def example(self) -> str:
        """The first worked call on view; empty where there is none."""
        shown = (m.content for m in self.messages if m.role == "assistant" and m.content)
        return next(shown, "")


class Runtime:
    """One harness, ready."""

    def __init__(self, harness: Harness, digest: str) -> None:
        self.harness = harness
        self.digest = digest
        self.toolbox = Toolbox(harness.tools)
        self.triggers = Triggers(harness.skills)
        self.evicted = evicted(harness.memory)
        self.hooks: dict[Stage, tuple[tuple[str, BoundHook], ...]] = {
            stage: tuple((h.name, bind(h, stage)) for h in getattr(harness.middleware.hooks, stage))
            for stage in STAGES
        }
        self._prefixes: dict[tuple[tuple[str, ...], str], tuple[Message, ...]] = {}
        self._checked: tuple[ActionSpec, ...] | None = None

    def check(self, actions: tuple[ActionSpec, ...]) -> None:
        """Refuse the harness with a HarnessError if it cannot run with these actions."""
        if actions != self._checked:
            check.check(self.harness, actions)
            self._checked = actions

    def recalled(self, question: str) -> tuple[Note, ...]:
        """The notes that go into the prompt of a task."""
        return recalled(self.harness.memory, question)

    def opening(
        self, question: str, *, called: Collection[str] = (), notes: Sequence[Note]
    ) -> Opening:
        """The opening for a task after those calls. Equal to `render.opening`, and quicker."""
        skills = self.triggers.active(question, called=called)
        text = text_of(notes)
        key = (tuple(skill.name for skill in skills), text)
        prefix = self._prefixes.get(key)
        if prefix is None:
            if len(self._prefixes) >= MOST_PREFIXES:
                self._prefixes.clear()
            prefix = render.prefix(self.harness, skills=skills, notes=text, toolbox=self.toolbox)
            self._prefixes[key] = prefix
        task = Message(role="user", content=render.task_text(self.harness, question, notes=text))
        return Opening(skills, render.offered(self.toolbox, skills), (*prefix, task))

    def specs(self, tools: Sequence[ReadyTool]) -> tuple[ToolSpec, ...]:
        """The tools for the provider, where the protocol is native."""
        native = self.harness.middleware.protocol.format == "native"
        return render.tool_specs(tools) if native else ()


_READY: OrderedDict[str, Runtime] = OrderedDict()
_SEEN: dict[int, Runtime] = {}


def prepare(harness: Harness) -> Runtime:
    """The runtime of a harness, the same one for equal harnesses. Raises HarnessError."""
    seen = _SEEN.get(id(harness))
    if seen is not None:
        return seen
    digest = harness.digest()
    runtime = _READY.get(digest)
    if runtime is None:
        runtime = _READY[digest] = Runtime(harness, digest)
        if len(_READY) > MOST_READY:
            _READY.popitem(last=False)
    else:
        _READY.move_to_end(digest)
    if len(_SEEN) >= MOST_READY:
        _SEEN.clear()
    # the runtime holds its harness, so that this id is not given out again while it stands here
    _SEEN[id(runtime.harness)] = runtime
    return runtime
