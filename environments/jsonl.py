"""A person's own tasks from a file of JSON lines, with their own scorer and their own actions.

The answers stay here: a `Task` carries id, split, kind and prompt alone.
"""

import hashlib
import inspect
import math
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from evener.environments.check import refusal
from evener.environments.function import FunctionAction
from evener.environments.record import Record, normalized, read
from evener.environments.scorer import Scorer, find
from evener.protocols.digest import digest
from evener.protocols.error import ConfigError, DataError
from evener.protocols.message import Call
from evener.protocols.port import ActionSpec, Observation, Session
from evener.protocols.task import Split, Task
from evener.protocols.trajectory import Score

FINAL = ActionSpec(
    name="final",
    description="Ends the task with the answer.",
    parameters={
        "type": "object",
        "properties": {"answer": {"type": ["string", "number"]}},
        "required": ["answer"],
        "additionalProperties": False,
    },
    final=True,
)

# Where the file names no splits, prompts fall into them by hash, in these parts of ten: equal
# prompts fall into the same split.
SHARES: tuple[Split, ...] = (
    *[Split.MINE] * 4,
    *[Split.HELD_IN] * 2,
    *[Split.HELD_OUT] * 2,
    *[Split.TEST] * 2,
)


class JsonlEnvironment:
    """Finite: a draw is a sample without repeats, and another seed may draw the same tasks again.

    `actions` are Python functions with annotated parameters, offered beside `final(answer)`.
    """

    def __init__(
        self,
        path: str | Path,
        scorer: Scorer | str = "exact",
        *,
        actions: Sequence[Callable[..., Any] | FunctionAction] = (),
        fields: Mapping[str, str] | None = None,
        encoding: str = "utf-8",
        name: str = "jsonl",
    ) -> None:
        self._name = name
        self._path = Path(path).expanduser()
        self._scorer = find(scorer)
        functions = [a if isinstance(a, FunctionAction) else FunctionAction(a) for a in actions]
        self._actions = {function.spec.name: function for function in functions}
        if FINAL.name in self._actions or len(self._actions) < len(actions):
            raise ConfigError(
                f"two actions have one name among {[*self._actions, FINAL.name]}",
                where=f"environment {name!r}",
                remedy="Give each its own with FunctionAction(function, name=...)",
            )
        records = read(self._path, fields=fields, encoding=encoding)
        self._records = {record.id: record for record in records}
        self._digest = digest(
            {
                "records": [[r.id, r.prompt, r.answer, r.split, r.kind] for r in records],
                "scorer": _source(self._scorer),
                "actions": [action.spec.document() for action in self._actions.values()],
            }
        )

    @property
    def name(self) -> str:
        """As given."""
        return self._name

    @property
    def digest(self) -> str:
        """Over the records (not the file's bytes), the scorer's source and the action space."""
        return self._digest

    def tasks(self, split: Split, *, count: int, seed: int) -> Sequence[Task]:
        """A sample of the split. Raises DataError where it has fewer than `count`."""
        pool = [task for record in self._records.values() if (task := _task(record)).split is split]
        if not 1 <= count <= len(pool):
            raise DataError(
                f"the split {split.value} has {len(pool)} tasks, {count} were asked for",
                where=str(self._path),
                remedy="Ask for between 1 and that many, or add tasks to the split",
            )
        return tuple(random.Random(f"{split.value}/{seed}").sample(pool, count))

    async def open(self, task: Task, *, seed: int) -> Session:
        """An episode; nothing of it is random. Raises DataError for a task not in the file."""
        record = self._records.get(task.id)
        if record is None or _task(record) != task:
            raise DataError(
                f"the task {task.id[:60]!r} is not in the file as it is now",
                where=str(self._path),
                remedy="Draw it again with tasks()",
            )
        return JsonlSession(record, self._scorer, self._actions)


class JsonlSession:
    """One episode; its state is the answer that was handed in."""

    def __init__(
        self, record: Record, scorer: Scorer, actions: Mapping[str, FunctionAction]
    ) -> None:
        self._record = record
        self._scorer = scorer
        self._functions = actions
        self._space = (*(action.spec for action in actions.values()), FINAL)
        self._answer: JsonValue = None
        self._over = False

    def observation(self) -> Observation:
        """The prompt."""
        return Observation(text=self._record.prompt)

    def actions(self) -> tuple[ActionSpec, ...]:
        """The person's functions, then `final`."""
        return self._space

    async def act(self, call: Call) -> Observation:
        """One action; after `final` every further one is refused as `finished`."""
        if self._over:
            return Observation(text="the task is finished", error_kind="finished", done=True)
        refused = refusal(call, self._space)
        if refused is not None:
            return refused
        if call.name == FINAL.name:
            self._answer, self._over = call.arguments["answer"], True
            return Observation(text="done", done=True)
        return await self._functions[call.name].act(call)

    async def score(self) -> Score:
        """The scorer's value. No answer is 0; a scorer that fails gives no value at all."""
        if self._answer is None:
            return Score(value=0.0, verdict="incorrect", error_kind="no_answer")
        try:
            value = float(self._scorer(self._answer, self._record.answer))
        except Exception as error:  # noqa: BLE001 - foreign code: recorded in the score
            return Score(value=None, verdict="error", error_kind=f"scorer: {type(error).__name__}")
        if not math.isfinite(value) or not 0 <= value <= 1:
            return Score(value=None, verdict="error", error_kind="scorer: not in 0…1")
        return Score(value=value, verdict="correct" if value == 1 else "incorrect")

    async def close(self) -> None:
        """The session takes no more actions; it can still be scored."""
        self._over = True


def _task(record: Record) -> Task:
    split = record.split
    if split is None:
        hashed = hashlib.sha256(normalized(record.prompt).encode("utf-8", "surrogatepass"))
        split = SHARES[hashed.digest()[0] % len(SHARES)]
    return Task(id=record.id, split=split, kind=record.kind, prompt=record.prompt)


def _source(scorer: Scorer) -> str:
    """What tells one scorer from another: its source, or its name where there is none to read."""
    try:
        return inspect.getsource(scorer)
    except (OSError, TypeError):
        return f"{getattr(scorer, '__module__', '')}.{getattr(scorer, '__qualname__', scorer)}"
