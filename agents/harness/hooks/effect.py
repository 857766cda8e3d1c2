"""What hooks see and what they may ask for."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeAlias, TypeVar

from evener.protocols.digest import JsonObject, Wire, canonical
from evener.protocols.event import ParseFault
from evener.protocols.message import Call
from evener.protocols.port import ActionSpec

Stage: TypeAlias = Literal[
    "before_model", "after_model", "before_tool", "after_tool", "before_finish"
]


@dataclass(frozen=True, kw_only=True)
class HookState:
    """The moment at which a hook is asked. Fields that do not belong to the stage are empty.

    `call` is the call at hand with the harness's names, `action` the environment's action it
    stands for and `action_call` that action's call; `attempt` counts executions of it (from 1) and
    `repeats` how often the same attempt was made before in the episode. `fired` counts this hook's
    own firings before, `last_result` is what the last action that worked gave, `menu` and `example`
    are the tools on offer and a worked call as the student was shown them. The loop fills in all of
    these but what belongs to the moment.
    """

    stage: Stage
    turn: int = 0
    fired: int = 0
    call: Call | None = None
    action: ActionSpec | None = None
    action_call: Call | None = None
    fault: ParseFault | None = None
    repairable: bool = False
    refused: bool = False
    error_kind: str | None = None
    attempt: int = 1
    repeats: int = 0
    last_result: str | None = None
    menu: str = ""
    example: str = ""


@dataclass(frozen=True)
class Repeat:
    """Execute the same action again, after `delay` seconds."""

    delay: float
    text: str = ""
    word: Literal["repeated"] = "repeated"


@dataclass(frozen=True)
class Reread:
    """Take the lenient reading of the reply."""

    text: str = ""
    word: Literal["repaired"] = "repaired"


@dataclass(frozen=True)
class Block:
    """Do not execute the call, tell the student `text` instead."""

    text: str
    word: Literal["blocked"] = "blocked"


@dataclass(frozen=True)
class Remind:
    """Tell the student `text` besides, and go on where the episode would have ended."""

    text: str
    word: Literal["reminded"] = "reminded"


@dataclass(frozen=True)
class Halt:
    """End the episode."""

    text: str
    word: Literal["ended"] = "ended"


Effect: TypeAlias = Repeat | Reread | Block | Remind | Halt


class Settings(Wire):
    """Base of a hook's settings."""


S = TypeVar("S", bound=Settings)
BoundHook: TypeAlias = Callable[[HookState], Effect | None]


@dataclass(frozen=True)
class HookType(Generic[S]):
    """An entry of the table: a name, its settings, the stages it may stand in, and what it does."""

    name: str
    settings: type[S]
    stages: tuple[Stage, ...]
    decide: Callable[[S, HookState], Effect | None]

    def bind(self, settings: JsonObject) -> BoundHook:
        """The hook with its settings. Raises pydantic's ValidationError where they do not fit."""
        made = self.settings.model_validate_json(canonical(settings))
        decide = self.decide
        return lambda state: decide(made, state)


AnyHook: TypeAlias = HookType[Any]
