"""The models of the roles beside the student: opened, seated over a run folder, closed.

A role may be played by the student's own base. Whoever plays it, its calls are answered once for
equal requests, and each that was made stands in the run's log under the role's name.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from evener.agents.models.cache import CachedModel
from evener.agents.models.remote.attempt import CALL, Attempt, CallRecord
from evener.agents.models.remote.model import RemoteModel
from evener.agents.record.run import RunFolder
from evener.choose import named_model
from evener.config import RoleModel, StudentConfig, student_named
from evener.protocols.model import ModelRef, Reply, Request
from evener.protocols.port import Log, Model, Progress
from evener.reach import farewell, reach


@asynccontextmanager
async def playing(
    spec: RoleModel | None,
    role: str,
    *,
    table: str,
    base: Model,
    student: StudentConfig,
    progress: Progress,
) -> AsyncGenerator[Model]:
    """The model of a role: `base` where nobody is named, else one that is closed when the block
    ends. `table` is where it stands in the configuration. Raises ModelError."""
    if spec is None or spec.shared:
        yield base
        return
    async with _opened(spec, role, table=table, student=student, progress=progress) as model:
        yield model


@asynccontextmanager
async def named(
    name: str, role: str, *, api_base: str | None, progress: Progress
) -> AsyncGenerator[Model]:
    """The model that a command names, closed when the block ends. Raises ModelError."""
    spec = student_named(name, api_base=api_base)
    async with _opened(spec, role, table="", student=spec, progress=progress) as model:
        yield model


@asynccontextmanager
async def _opened(
    spec: StudentConfig | RoleModel,
    role: str,
    *,
    table: str,
    student: StudentConfig,
    progress: Progress,
) -> AsyncGenerator[Model]:
    model = named_model(spec, role=role, table=table, student=student)
    try:
        await reach(model, progress, table=table)
        yield model
    finally:
        farewell(model, progress)
        await model.close()


def seated(model: Model, role: str, folder: RunFolder) -> CachedModel:
    """The model in its role: what it answers is kept with the run, what it costs is logged."""
    if isinstance(model, RemoteModel) and model.role == role:
        model.log_to(folder.record)
        return CachedModel(model, folder.replies)
    return CachedModel(_Logged(model, role, folder.record), folder.replies)


class _Logged:
    """A model that writes what it was asked into the log, under a role."""

    def __init__(self, model: Model, role: str, log: Log) -> None:
        self._model = model
        self._role = role
        self._log = log

    @property
    def ref(self) -> ModelRef:
        """The weights that answer."""
        return self._model.ref

    async def complete(self, request: Request) -> Reply:
        """The model's reply; errors as for the model."""
        reply = await self._model.complete(request)
        if reply.usage.calls:
            made = Attempt(
                outcome="answered",
                seconds=reply.usage.seconds,
                prompt_tokens=reply.usage.prompt_tokens,
                completion_tokens=reply.usage.completion_tokens,
                cost_usd=reply.usage.cost_usd,
            )
            record = CallRecord(role=self._role, model=self.ref.revision, attempts=(made,))
            self._log.append(CALL, record.body())
        return reply

    async def close(self) -> None:
        """Close the model."""
        await self._model.close()
