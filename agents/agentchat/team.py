"""A run as an AgentChat team: `Console(team.run_stream(task=…))` shows its events as they come.

The run folder is all the state there is. Cancelling ends the run in order, its store closed, and
raises CancelledError, as AgentChat's own teams do; running again on the same folder goes on.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Literal, Protocol, TypeAlias

from autogen_agentchat.base import TaskResult, Team
from autogen_agentchat.messages import (
    BaseAgentEvent,
    BaseChatMessage,
    TextMessage,
)
from autogen_core import CancellationToken

from evener.agents.agentchat.wording import wording
from evener.agents.record.log import Entry
from evener.agents.record.run import RunFolder
from evener.protocols.digest import JsonObject
from evener.protocols.error import RunError
from evener.protocols.summary import Summary

ANNOUNCED = "message"
KINDS = (
    ANNOUNCED,
    "head",
    "mined",
    "prediction",
    "searched",
    "trained",
    "watched",
    "spent",
    "round_end",
    "replicate",
    "collected",
    "arm_model",
    "recovery",
    "cell",
    "ended",
)
"""What of the log is told; of messages, those to everybody. `episode` is a further one, by far the
most frequent."""

Told: TypeAlias = BaseAgentEvent | BaseChatMessage


class Opened(Protocol):
    """A team over an open run folder: `evener.Team`, or a distillation."""

    folder: RunFolder

    async def run(self) -> Summary:
        """Run the plan to its end."""
        ...


Opening: TypeAlias = Callable[[], AbstractAsyncContextManager[Opened]]
"""Opens the run anew, each time it is run: `lambda: Team.open(config, out, parts=parts)`."""


class RunEvent(BaseAgentEvent):
    """One entry of a run's log: its number, its kind, the body as it was logged, and a line."""

    seq: int
    kind: str
    body: dict[str, Any]
    content: str
    type: Literal["RunEvent"] = "RunEvent"

    def to_text(self) -> str:
        """The line."""
        return self.content


class RunTeam(Team):
    """`opening` opens the run. `report` words the end of it; `kinds` are told, as they are logged
    or at most `poll_s` seconds later.

    The task is shown and nothing more: what a run does stands in its configuration.
    """

    component_type = "team"

    def __init__(
        self,
        opening: Opening,
        *,
        name: str = "evener",
        report: Callable[[Summary], str] | None = None,
        kinds: Sequence[str] = KINDS,
        poll_s: float = 0.1,
    ) -> None:
        self._opening = opening
        self._name = name
        self._report = report or _report
        self._kinds = tuple(kinds)
        self._poll_s = poll_s
        self._running = False

    @property
    def name(self) -> str:
        """What its events come from."""
        return self._name

    @property
    def description(self) -> str:
        """What it does."""
        return "Lets a language model and its harness improve each other, and measures by how much."

    async def run(
        self,
        *,
        task: str | BaseChatMessage | Sequence[BaseChatMessage] | None = None,
        cancellation_token: CancellationToken | None = None,
        output_task_messages: bool = True,
    ) -> TaskResult:
        """The whole run; its messages are those of `run_stream`."""
        async for message in self.run_stream(
            task=task,
            cancellation_token=cancellation_token,
            output_task_messages=output_task_messages,
        ):
            if isinstance(message, TaskResult):
                return message
        raise AssertionError("the stream ends with a TaskResult")

    async def run_stream(
        self,
        *,
        task: str | BaseChatMessage | Sequence[BaseChatMessage] | None = None,
        cancellation_token: CancellationToken | None = None,
        output_task_messages: bool = True,
    ) -> AsyncGenerator[Told | TaskResult, None]:
        """The run's events, its report as a text, and a TaskResult. Raises what the run raises, and
        CancelledError once a cancelled run has ended."""
        if self._running:
            raise RunError("the team is already running", where=self._name)
        self._running = True
        told: list[Told] = []
        entries: asyncio.Queue[Entry | None] = asyncio.Queue()
        work = asyncio.create_task(self._work(entries))
        # also where it is cancelled before its first step
        work.add_done_callback(lambda _: entries.put_nowait(None))
        if cancellation_token is not None:
            cancellation_token.link_future(work)
        try:
            for message in _messages(task) if output_task_messages else ():
                told.append(message)
                yield message
            while (entry := await entries.get()) is not None:
                event = self._event(entry)
                if event is not None:
                    told.append(event)
                    yield event
            summary = await work
            report = TextMessage(content=self._report(summary), source=self._name)
            told.append(report)
            yield report
            yield TaskResult(messages=told, stop_reason=summary.stop_reason or summary.state)
        finally:
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)
            self._running = False

    async def reset(self) -> None:
        """Refused: what was logged stays."""
        raise RunError("a run is never reset", where=self._name, remedy="give it another folder")

    async def pause(self) -> None:
        """Refused: cancelling loses nothing that was finished."""
        raise RunError(
            "a run cannot be paused",
            where=self._name,
            remedy="cancel it; running again on the same folder goes on with it",
        )

    async def resume(self) -> None:
        """Refused, as `pause` is."""
        await self.pause()

    async def save_state(self) -> Mapping[str, Any]:
        """Nothing: the run folder is the state."""
        return {}

    async def load_state(self, state: Mapping[str, Any]) -> None:
        """Nothing."""

    async def _work(self, entries: asyncio.Queue[Entry | None]) -> Summary:
        """Run it, and hand on what is logged in this session."""
        async with self._opening() as team:
            record = team.folder.record
            run = asyncio.create_task(team.run())
            after = 0
            try:
                over = False
                while not over:
                    over = bool((await asyncio.wait({run}, timeout=self._poll_s))[0])
                    told = record.entries(*self._kinds, after=after) if self._kinds else ()
                    for entry in told:
                        after = entry.seq
                        if entry.session == record.session:
                            entries.put_nowait(entry)
                return await run
            finally:
                run.cancel()
                await asyncio.gather(run, return_exceptions=True)

    def _event(self, entry: Entry) -> RunEvent | None:
        body = entry.body
        if entry.kind == ANNOUNCED:
            announced = body.get("body")
            if body.get("type") != "Announcement" or not isinstance(announced, dict):
                return None
            return self._told(entry, str(announced.get("topic")), announced)
        return self._told(entry, entry.kind, body)

    def _told(self, entry: Entry, kind: str, body: JsonObject) -> RunEvent:
        return RunEvent(
            source=self._name,
            seq=entry.seq,
            kind=kind,
            body=dict(body),
            content=wording(kind, body),
        )


def _messages(
    task: str | BaseChatMessage | Sequence[BaseChatMessage] | None,
) -> Sequence[BaseChatMessage]:
    if task is None:
        return ()
    if isinstance(task, str):
        return (TextMessage(content=task, source="user"),)
    return (task,) if isinstance(task, BaseChatMessage) else task


def _report(summary: Summary) -> str:
    return summary.verdict_sentence or summary.stop_reason or summary.state
