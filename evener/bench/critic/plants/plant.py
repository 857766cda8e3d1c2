"""A planted fault: a sound harness broken by one declared edit, a student, and who is to blame.

On the sound harness the same student solves all the tasks, so that nothing but the edit can be what
they fail by. An agent error leaves the harness sound: the same tasks are solved by `careful`.
"""

from dataclasses import dataclass
from functools import cached_property

from pydantic import JsonValue

from evener.agents.harness.loop import run_episode
from evener.bench.critic.plants.base import base
from evener.bench.critic.plants.clerk import Clerk
from evener.bench.critic.plants.view import Kind, View
from evener.environments.storefront import Storefront
from evener.protocols.attribution import Dimension
from evener.protocols.digest import digest
from evener.protocols.edit import FieldEdit
from evener.protocols.harness import Harness
from evener.protocols.model import ModelRef, Reply, Request, StopReason, Usage
from evener.protocols.patch import Patch
from evener.protocols.path import ABSENT, Absent, read
from evener.protocols.task import Purpose, Split, Task
from evener.protocols.trajectory import EpisodeKey, Trajectory, prompt_digest

CHARACTERS_A_TOKEN = 4
KINDS: tuple[Kind, ...] = ("calc", "price", "convert", "bill")


@dataclass(frozen=True)
class Plant:
    """`edit` breaks `base` at `path` (None: an agent error, and nothing is broken).

    `dimension` is the part to blame, None where the model is. A blame at or inside one of `paths`,
    or around it, names the right place; `path` always does. `tasks` are drawn from the split
    `mine`, `each` of every kind in `kinds`.
    """

    name: str
    dimension: Dimension | None
    fault: str
    student: Clerk
    base: str = "hand"
    path: str = ""
    new: JsonValue | Absent = ABSENT
    paths: tuple[str, ...] = ()
    careful: Clerk | None = None
    kinds: tuple[Kind, ...] = KINDS
    each: int = 3

    @cached_property
    def sound(self) -> Harness:
        """The harness before the edit."""
        return base(self.base)

    @cached_property
    def edit(self) -> FieldEdit | None:
        """The fault."""
        if not self.path:
            return None
        document = self.sound.document()
        return FieldEdit(
            field_path=self.path, old_value=read(document, self.path), new_value=self.new
        )

    @cached_property
    def harness(self) -> Harness:
        """The harness that the critic is shown."""
        if self.edit is None:
            return self.sound
        return Patch(base=self.sound.digest(), edits=(self.edit,)).apply(self.sound)

    @property
    def acceptable(self) -> tuple[str, ...]:
        """Every place that is rightly blamed."""
        return (self.path, *self.paths) if self.path else ()

    def tasks(self, *, seed: int) -> tuple[Task, ...]:
        """Mining tasks."""
        drawn = Storefront().tasks(Split.MINE, count=self.each * len(KINDS), seed=seed)
        return tuple(task for task in drawn if task.kind in self.kinds)

    async def episodes(self, *, seed: int) -> tuple[Trajectory, ...]:
        """The student's episodes on the harness that the critic is shown."""
        return await episodes(self.harness, self.student, self.tasks(seed=seed), seed=seed)

    async def control(self, *, seed: int) -> tuple[Trajectory, ...]:
        """The episodes that must all be solved: on the sound harness, without the agent's slip."""
        student = self.careful or self.student
        return await episodes(self.sound, student, self.tasks(seed=seed), seed=seed)


async def episodes(
    harness: Harness, student: Clerk, tasks: tuple[Task, ...], *, seed: int
) -> tuple[Trajectory, ...]:
    """One episode for each task, by the loop that every run uses."""
    shop, model = Storefront(), Played(student)
    made: list[Trajectory] = []
    for task in tasks:
        session = await shop.open(task, seed=seed)
        key = EpisodeKey(
            task=task.id,
            prompt_digest=prompt_digest(task),
            harness=harness.digest(),
            model=model.ref.revision,
            purpose=Purpose.MINE,
            seed=seed,
        )
        made.append(await run_episode(session, task, harness, model, key=key, sampling_seed=seed))
        await session.close()
    return tuple(made)


class Played:
    """A clerk behind the model port: its text ends at a stop string and at the reply's limit, as an
    engine's does; 4 characters are a token."""

    def __init__(self, clerk: Clerk) -> None:
        self._clerk = clerk
        name = f"played:{type(clerk).__name__}"
        self._ref = ModelRef(base=name, revision=digest(name))

    @property
    def ref(self) -> ModelRef:
        """Named by the kind of clerk."""
        return self._ref

    async def complete(self, request: Request) -> Reply:
        """The clerk's turn."""
        text, reason = self._clerk.reply(View(request)), StopReason.END
        found = [at for stop in request.sampling.stop if (at := text.find(stop)) >= 0]
        if found:
            text, reason = text[: min(found)], StopReason.STOP
        limit = request.sampling.max_tokens
        if len(text) > limit * CHARACTERS_A_TOKEN:
            text, reason = text[: limit * CHARACTERS_A_TOKEN], StopReason.LENGTH
        read_ = sum(len(m.content) for m in request.messages) // CHARACTERS_A_TOKEN
        usage = Usage(
            calls=1,
            prompt_tokens=read_,
            completion_tokens=-(-len(text) // CHARACTERS_A_TOKEN),
            cost_usd=0.0,
        )
        return Reply(text=text, stop_reason=reason, usage=usage, model=self._ref)

    async def close(self) -> None:
        """Nothing to give back."""
