"""Tasks and their ids: the public side of a world.

An id says part, seed and index, and with them everything hidden is generated again; a task whose
text is not the one generated for its id is refused.
"""

import re

from evener.environments.storefront.pool import Part
from evener.environments.storefront.wording import KINDS
from evener.environments.storefront.world import World, world
from evener.protocols.error import DataError
from evener.protocols.task import Split, Task

_ID = re.compile(r"storefront-(mine|held_in|held_out|test|ood)-(-?\d{1,20})-(\d{1,9})", re.ASCII)

_PARTS: dict[Split, Part] = {
    Split.MINE: "mine",
    Split.HELD_IN: "held_in",
    Split.HELD_OUT: "held_out",
    Split.TEST: "test",
    Split.OOD: "ood",
}


def draw(split: Split, *, count: int, seed: int) -> tuple[Task, ...]:
    """`count` tasks, kinds in turn, no prompt twice; a longer draw begins with the shorter one."""
    if count < 1:
        raise DataError(
            f"{count} tasks of the split {split} were asked for",
            where="storefront",
            remedy="Ask for at least one",
        )
    prompts: set[str] = set()
    ahead = list(range(len(KINDS)))
    drawn: list[Task] = []
    for position in range(count):
        kind = position % len(KINDS)
        task = _task(split, seed, ahead[kind])
        while task.prompt in prompts:
            ahead[kind] += len(KINDS)
            task = _task(split, seed, ahead[kind])
        ahead[kind] += len(KINDS)
        prompts.add(task.prompt)
        drawn.append(task)
    return tuple(drawn)


def recover(task: Task) -> World:
    """The world of a task. Raises DataError where id and text do not belong together."""
    found = _ID.fullmatch(task.id)
    if found is not None:
        split, seed, index = Split(found[1]), int(found[2]), int(found[3])
        if _task(split, seed, index) == task:
            return world(_PARTS[split], seed, index)
    raise DataError(
        "the task is not one that this generator makes for that id",
        where=f"storefront task {task.id[:60]!r}",
        remedy="Draw it again with tasks(); a task of another version cannot be scored",
    )


def _task(split: Split, seed: int, index: int) -> Task:
    made = world(_PARTS[split], seed, index)
    return Task(
        id=f"storefront-{split.value}-{seed}-{index}",
        split=split,
        kind=made.kind,
        prompt=made.prompt,
    )
