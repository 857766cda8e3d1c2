"""A fake vLLM behind an interpreter of its own, and students on it."""

import asyncio
import json
import os
import shutil
import sys
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from evener.agents.models.remote.settings import RemoteSettings, Timeouts
from evener.agents.models.vllm.model import VllmModel
from evener.agents.models.vllm.settings import VllmSettings
from evener.agents.models.vllm.start import managed
from evener.protocols.digest import JsonObject
from evener.protocols.message import Message
from evener.protocols.model import Request, Sampling


class FakeVllm:
    """`python` is an interpreter whose vLLM is the fake. `script` says what it does in which life:
    {"1": {"crash_after": 3}, "then": {}}."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        place = folder / "site" / "vllm" / "entrypoints" / "openai"
        place.mkdir(parents=True)
        for package in (place, place.parent, place.parent.parent):
            (package / "__init__.py").touch()
        shutil.copy(Path(__file__).with_name("fake_server.py"), place / "api_server.py")
        self.python = str(folder / "python")
        Path(self.python).write_text(
            f"#!/bin/sh\nPYTHONPATH={folder / 'site'} FAKE_VLLM={folder} "
            f'exec {sys.executable} -S "$@"\n'
        )
        Path(self.python).chmod(0o755)
        self.script({})

    def script(self, script: dict[str, Any]) -> None:
        (self.folder / "script.json").write_text(json.dumps(script))

    def asked(self, *kinds: str) -> list[dict[str, Any]]:
        path = self.folder / "asked.jsonl"
        lines = path.read_text().splitlines() if path.exists() else []
        found = [json.loads(line) for line in lines]
        return [one for one in found if not kinds or one["kind"] in kinds]

    @property
    def pids(self) -> list[int]:
        """Of every process that was ever there."""
        found = [self.folder / "lives", self.folder / "worker"]
        return [int(n) for path in found if path.exists() for n in path.read_text().split()]

    def alive(self) -> list[int]:
        return [pid for pid in self.pids if _alive(pid)]

    async def started(self) -> None:
        """Wait until there is a process."""
        while not self.pids:  # noqa: ASYNC110 - it is another process that tells
            await asyncio.sleep(0.02)

    async def gone(self) -> bool:
        """As `all_gone`, while the loop goes on."""
        return await asyncio.to_thread(self.all_gone)

    def command_line(self) -> str:
        """Of the first process."""
        return Path(f"/proc/{self.pids[0]}/cmdline").read_bytes().decode()

    def all_gone(self) -> bool:
        """Whether nothing of it is left, after a while at most."""
        deadline = time.monotonic() + 60
        while self.alive() and time.monotonic() < deadline:
            time.sleep(0.05)
        return not self.alive()


def _alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


class Journal:
    """A run's log in memory."""

    def __init__(self) -> None:
        self.entries: list[tuple[str, JsonObject]] = []

    def append(self, kind: str, body: JsonObject) -> int:
        self.entries.append((kind, body))
        return len(self.entries)

    def bodies(self, *kinds: str) -> Iterator[JsonObject]:
        return (body for kind, body in self.entries if kind in kinds)

    @property
    def events(self) -> list[str]:
        return [str(body["event"]) for body in self.bodies("server")]


Students: TypeAlias = Callable[..., AbstractAsyncContextManager[VllmModel]]


@pytest.fixture
def fake(tmp_path: Path) -> Iterator[FakeVllm]:
    made = FakeVllm(tmp_path)
    yield made
    left = made.alive()
    for pid in left:
        os.kill(pid, 9)
    assert not left


@pytest.fixture
def journal() -> Journal:
    return Journal()


@pytest.fixture
def student(fake: FakeVllm, journal: Journal, tiny: Path, tmp_path: Path) -> Students:
    """`async with student(restarts=2) as model`: the tiny weights, served by the fake."""

    @asynccontextmanager
    async def made(**given: Any) -> AsyncGenerator[VllmModel]:
        rank = given.pop("rank", 4)
        chosen: dict[str, Any] = {"python": fake.python, "start_s": 60.0, "silence_s": 60.0}
        timeouts = Timeouts(connect_s=20, read_s=60, total_s=60)
        model = managed(
            tiny,
            rank=rank,
            settings=VllmSettings(**(chosen | given)),
            provider=RemoteSettings(attempts=2, timeouts=timeouts),
        )
        model.log_to(journal)
        model.keep(tmp_path / "server", journal)
        model.speak(lambda _: None)
        try:
            yield model
        finally:
            await model.close()

    return made


def asking(text: str = "say it", **sampling: Any) -> Request:
    return Request(messages=(Message(role="user", content=text),), sampling=Sampling(**sampling))


@pytest.fixture
def ask() -> Callable[..., Request]:
    """A request of one message."""
    return asking
