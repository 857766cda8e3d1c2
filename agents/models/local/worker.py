"""The one thread that computes: it loads the model, then batches whatever is waiting.

Invariant: every future handed over is completed, by a reply, by its own error, or, when a pass
fails or the engine closes, by InfraError together with all the others.
"""

import contextlib
import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import InvalidStateError
from dataclasses import dataclass

from evener.agents.models.local.adapter import Adapters
from evener.agents.models.local.batch import Batch
from evener.agents.models.local.draw import check_sampling
from evener.agents.models.local.fault import as_infra, closed
from evener.agents.models.local.job import Job, Loading
from evener.agents.models.local.render import Renderer
from evener.agents.models.local.row import Row
from evener.protocols.error import ContextExceeded, EvenerError, InfraError
from evener.protocols.model import ModelRef, Reply, Usage

_QUIET_SECONDS = 0.005
"""An idle engine starts once nothing has arrived for so long."""
_PATIENCE = 8
"""Steps after which a waiting request joins even if it joins alone."""


@dataclass(frozen=True)
class Desk:
    """What the worker computes with, built in its own thread."""

    batch: Batch
    adapters: Adapters
    renderer: Renderer
    window: int


class Worker:
    """A thread with an inbox. `open_desk` is called in it, once; `max_batch` bounds a batch."""

    def __init__(self, open_desk: Callable[[], Desk], *, max_batch: int) -> None:
        self._open_desk = open_desk
        self._max_batch = max_batch
        self._inbox: queue.SimpleQueue[Job | Loading | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._end: EvenerError | None = None
        self._waiting: list[Job] = []
        self._running: list[Job] = []
        self._current: ModelRef | None = None
        self._thread = threading.Thread(target=self._run, name="evener-engine", daemon=True)

    def hand_over(self, item: Job | Loading) -> None:
        """Queue a request or an adapter. Raises what ended the worker, if it has ended."""
        with self._lock:
            if self._end is not None:
                raise self._end
            if self._thread.ident is None:
                self._thread.start()
            self._inbox.put(item)

    def close(self) -> None:
        """Stop after the token in progress; blocks until the thread has ended."""
        with self._lock:
            self._end = self._end or closed()
            if self._thread.ident is None:
                return
            self._inbox.put(None)
        self._thread.join()

    def _run(self) -> None:
        error: EvenerError = closed()
        try:
            desk = self._open_desk()
        except Exception as failure:  # noqa: BLE001 - the thread's boundary: every waiter gets it
            error = as_infra(failure)
        else:
            with _inference():
                self._serve(desk)
        with self._lock:
            self._end = error
            for job in (*self._running, *self._waiting):
                _fail(job, error)
            while not self._inbox.empty():
                item = self._inbox.get()
                if item is not None:
                    _fail(item, error)

    def _serve(self, desk: Desk) -> None:
        while self._collect(desk):
            self._forget_cancelled(desk)
            try:
                self._join(desk)
                if desk.batch.rows:
                    self._deliver(desk.batch.step())
            except Exception as failure:  # noqa: BLE001 - a failed pass fails its rows, not the run
                error = as_infra(failure)
                for job in self._running:
                    _fail(job, error)
                self._running.clear()
                desk.batch.clear()
            for job in self._waiting:
                job.steps_waited += 1

    def _collect(self, desk: Desk) -> bool:
        """Take what has arrived; an idle worker waits for it. False when it is time to end."""
        idle = not self._running and not self._waiting
        item: Job | Loading | None
        while True:
            try:
                if idle and not self._waiting:
                    item = self._inbox.get()
                elif idle and len(self._waiting) < self._max_batch:
                    item = self._inbox.get(timeout=_QUIET_SECONDS)
                else:
                    item = self._inbox.get_nowait()
            except queue.Empty:
                return True
            match item:
                case None:
                    return False
                case Loading():
                    self._load(desk, item)
                case Job():
                    self._prepare(desk, item)

    def _load(self, desk: Desk, loading: Loading) -> None:
        try:
            ref = desk.adapters.load(loading.name, loading.folder)
        except Exception as failure:  # noqa: BLE001 - whoever asked for the adapter gets it
            _fail(loading, as_infra(failure))
        else:
            with contextlib.suppress(InvalidStateError):
                loading.loaded.set_result(ref)

    def _prepare(self, desk: Desk, job: Job) -> None:
        request = job.request
        try:
            check_sampling(request.sampling)
            ids = desk.renderer.ids(request.messages, tools=request.tools)
            if len(ids) >= desk.window:
                raise ContextExceeded(prompt_tokens=len(ids), window=desk.window)
            limit = min(request.sampling.max_tokens, desk.window - len(ids))
            job.row = Row(ids=ids, sampling=request.sampling, limit=limit)
        except Exception as failure:  # noqa: BLE001 - one bad request fails alone
            _fail(job, as_infra(failure))
        else:
            self._waiting.append(job)

    def _forget_cancelled(self, desk: Desk) -> None:
        self._waiting = [job for job in self._waiting if not job.reply.cancelled()]
        for job in [job for job in self._running if job.reply.cancelled()]:
            self._running.remove(job)
            if job.row is not None:
                desk.batch.drop(job.row)

    def _join(self, desk: Desk) -> None:
        joining = self._candidates(desk.batch)
        rows: list[Row] = []
        for job in joining:
            if job.row is None or not desk.batch.fits([*rows, job.row]):
                break
            rows.append(job.row)
        if not rows:
            return
        joining = joining[: len(rows)]
        self._waiting = [job for job in self._waiting if job not in joining]
        self._running += joining
        ref = joining[0].ref
        if ref != self._current:
            # a switch that fails halfway is made again, whatever comes next
            self._current = None
            desk.adapters.activate(ref)
            self._current = ref
        self._deliver(desk.batch.join(rows, owner=ref.revision))

    def _candidates(self, batch: Batch) -> Sequence[Job]:
        """Requests that may join now: one adapter at a time, and in company.

        Reading one short prompt costs nearly as much as reading eight, so a request waits a few
        steps for others unless half of the batch is free. A request for other weights at the
        head of the queue lets the batch run empty.
        """
        if not self._waiting:
            return ()
        head = self._waiting[0]
        if not batch.rows:
            return [job for job in self._waiting if job.ref == head.ref]
        leading: list[Job] = []
        for job in self._waiting:
            if job.ref != self._current:
                break
            leading.append(job)
        company = len(leading) >= max(1, self._max_batch // 4)
        room = len(batch.rows) <= self._max_batch // 2
        return leading if company or room or head.steps_waited >= _PATIENCE else ()

    def _deliver(self, rows: Sequence[Row]) -> None:
        for job in [job for job in self._running if job.row in rows]:
            self._running.remove(job)
            with contextlib.suppress(InvalidStateError):
                job.reply.set_result(_reply(job))


def _reply(job: Job) -> Reply:
    row = job.row
    if row is None or row.stop_reason is None:
        raise InfraError("a reply was due for a request that is not finished", kind="engine")
    return Reply(
        text=row.text,
        stop_reason=row.stop_reason,
        usage=Usage(
            calls=1,
            prompt_tokens=len(row.ids),
            completion_tokens=len(row.out),
            seconds=row.seconds,
        ),
        token_ids=tuple(row.out),
        mean_logprob=row.logprob / len(row.out),
        model=job.ref,
    )


def _fail(item: Job | Loading, error: EvenerError) -> None:
    with contextlib.suppress(InvalidStateError):
        match item:
            case Job():
                item.reply.set_exception(error)
            case Loading():
                item.loaded.set_exception(error)


def _inference() -> contextlib.AbstractContextManager[object]:
    import torch

    return torch.inference_mode()
