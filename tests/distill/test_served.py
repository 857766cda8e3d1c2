"""A row is, token for token, what the engine was served and what was put in its reply's place."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from evener.agents.harness.load import load
from evener.agents.harness.loop import run_episode
from evener.agents.harness.render import call_text
from evener.agents.models.local.engine import LocalEngine
from evener.agents.models.scripted import ScriptedModel
from evener.agents.reviewed import Reviewed
from evener.distill.rows.build import Row, build_rows
from evener.distill.settings import SftSettings
from evener.environments.storefront import Storefront, harness_path
from evener.protocols.harness import Harness
from evener.protocols.model import ModelRef, Reply, Request
from evener.protocols.port import Model
from evener.protocols.task import Purpose, Split, Task
from evener.protocols.trajectory import EpisodeKey, Trajectory, prompt_digest
from evener.protocols.wire import Review, ReviewRequest

END = 2
LONG = SftSettings(max_tokens=8192)
PASS = Review(decision="PASS")


class Watched:
    """A model, and every exchange with it."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self.exchanges: list[tuple[Request, Reply]] = []

    @property
    def ref(self) -> ModelRef:
        return self._model.ref

    async def complete(self, request: Request) -> Reply:
        reply = await self._model.complete(request)
        self.exchanges.append((request, reply))
        return reply

    async def close(self) -> None:
        await self._model.close()


@pytest.fixture(scope="module")
def target() -> Harness:
    return load(harness_path("target"))


@pytest.fixture(scope="module")
def tasks() -> list[Task]:
    """A task of each kind."""
    drawn = Storefront().tasks(Split.MINE, count=40, seed=3)
    return list({task.kind: task for task in drawn}.values())


def gold(task: Task, harness: Harness) -> list[str]:
    return [call_text(harness, c.name, c.arguments) for c in Storefront().gold(task)]


async def reviewed(
    task: Task, harness: Harness, model: Model, replacements: Sequence[str | None]
) -> Trajectory:
    """An episode in which the reviewer replaces the response of each turn, None letting it pass."""

    async def ask(request: ReviewRequest) -> Review:
        text = replacements[request.turn] if request.turn < len(replacements) else None
        return PASS if text is None else Review(decision="REPLACE", replacement=text)

    key = EpisodeKey(
        task=task.id,
        prompt_digest=prompt_digest(task),
        harness=harness.digest(),
        model=model.ref.revision,
        purpose=Purpose.COLLECT,
        seed=5,
        review="r",
    )
    shop = Storefront()
    session = await shop.open(task, seed=5)
    student = Reviewed(model, ask, review="r", prompt=task.prompt, episode=key.id())
    episode = await run_episode(session, task, harness, student, key=key, sampling_seed=5)
    await session.close()
    return episode


def row_of(episode: Trajectory, harness: Harness, engine: LocalEngine) -> Row:
    made = build_rows([episode], harness, engine.renderer, settings=LONG, model="tiny")
    assert (made.refused, made.untrained) == ({}, {})
    (row,) = made.rows
    return row


def assert_served(row: Row, engine: LocalEngine, asked: Sequence[Request], said: list[str]) -> None:
    """The row is each prompt as the engine was served it, and behind it the reply and its end."""
    assert len(row.spans) == len(asked) == len(said)
    for request, reply, (start, end) in zip(asked, said, row.spans, strict=True):
        assert list(row.ids[:start]) == engine.render(request.messages)
        assert list(row.ids[start:end]) == [*engine.renderer.encode(reply), END]
    assert row.spans[-1][1] == len(row.ids)


async def test_a_row_of_replacements_is_what_the_engine_was_served(
    student: Path, target: Harness, tasks: list[Task]
) -> None:
    engine = LocalEngine(student, threads=1)
    try:
        assert len(tasks) == 4
        for task in tasks:
            steps, watched = gold(task, target), Watched(engine)
            episode = await reviewed(task, target, watched, steps)
            assert episode.solved
            replies = [m for m in episode.messages if m.sampled]
            assert [m.origin for m in replies] == ["reviewer"] * len(steps)
            row = row_of(episode, target, engine)
            assert_served(row, engine, [request for request, _ in watched.exchanges], steps)
            # the engine's own count of what it read, at every turn
            assert [reply.usage.read for _, reply in watched.exchanges] == [a for a, _ in row.spans]
            # what was replaced is nowhere in it
            text = engine.renderer.tokenizer.decode(list(row.ids))
            candidates = [reply.text.strip() for _, reply in watched.exchanges]
            assert all(one not in text for one in candidates if one)
    finally:
        await engine.close()


async def test_a_row_of_replacements_and_the_student_s_own_replies_is_what_was_served(
    student: Path, target: Harness, tasks: list[Task]
) -> None:
    engine = LocalEngine(student, threads=1)
    task = next(task for task in tasks if len(gold(task, target)) > 2)
    first, *rest = gold(task, target)
    wrong = call_text(target, "final", {"answer": 0})
    own = ScriptedModel("").ref
    lines = [
        Reply(text=line, token_ids=(*engine.renderer.encode(line), END), model=own)
        for line in (wrong, *rest)
    ]
    watched = Watched(ScriptedModel(lines))
    episode = await reviewed(task, target, watched, [first])
    replies = [m for m in episode.messages if m.sampled]
    assert [m.origin for m in replies] == ["reviewer"] + ["student"] * len(rest)
    assert replies[0].token_ids is None
    row = row_of(episode, target, engine)
    asked = [request for request, _ in watched.exchanges]
    assert_served(row, engine, asked, [first, *rest])
    assert wrong not in engine.renderer.tokenizer.decode(list(row.ids))
    # with the format alone the same tokens are served, and fewer of them learned
    formal = build_rows(
        [episode],
        target,
        engine.renderer,
        settings=LONG.model_copy(update={"mask": "format"}),
        model="tiny",
    ).rows[0]
    assert formal.ids == row.ids
    assert 0 < formal.trained < row.trained
