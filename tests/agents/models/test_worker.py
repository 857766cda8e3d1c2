"""When the machinery fails: everybody is told, nobody waits for ever, and the engine goes on."""

import time
from concurrent.futures import Future
from pathlib import Path

import pytest
import torch

from evener.agents.models.local.adapter import Adapters
from evener.agents.models.local.batch import Batch
from evener.agents.models.local.job import Job, Loading
from evener.agents.models.local.prefix import PrefixCache
from evener.agents.models.local.render import Renderer
from evener.agents.models.local.row import Row
from evener.agents.models.local.weights import Weights, load_tokenizer
from evener.agents.models.local.worker import Desk, Worker
from evener.protocols.error import InfraError, ModelError
from evener.protocols.message import Message
from evener.protocols.model import ModelRef, Reply, Request, Sampling

BASE = ModelRef(base="tiny-llama", revision="0")


class Failing(Batch):
    """A batch whose third step fails as torch does."""

    error: Exception | None = None
    steps = 0

    def step(self) -> list[Row]:
        self.steps += 1
        if self.steps == 3 and self.error is not None:
            raise self.error
        return super().step()


def job(text: str, *, tokens: int = 6) -> Job:
    messages = (Message(role="user", content=text),)
    return Job(request=Request(messages=messages, sampling=Sampling(max_tokens=tokens)), ref=BASE)


def start(folder: Path, error: Exception | None = None) -> Worker:
    def open_desk() -> Desk:
        torch.set_num_threads(1)
        tokenizer = load_tokenizer(folder)
        weights = Weights(folder, tokenizer)
        renderer = Renderer(tokenizer)
        batch = Failing(weights, renderer, max_rows=4, kv_bytes=1 << 30, prefix=PrefixCache(1024))
        batch.error = error
        adapters = Adapters(weights, BASE, base_names=["tiny-llama"])
        return Desk(batch, adapters, renderer, window=weights.window)

    return Worker(open_desk, max_batch=4)


def outcome(future: "Future[Reply]") -> BaseException | None:
    return future.exception(timeout=60)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (
            RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried 8 GB"),
            "out_of_memory",
        ),
        (MemoryError(), "out_of_memory"),
        (torch.OutOfMemoryError("CUDA out of memory"), "out_of_memory"),
        (RuntimeError("mat1 and mat2 shapes cannot be multiplied"), "engine"),
    ],
)
def test_a_failed_pass_is_an_infra_error_for_its_rows_and_the_engine_goes_on(
    tiny: Path, error: Exception, kind: str
) -> None:
    worker = start(tiny, error)
    jobs = [job("a"), job("b")]
    for each in jobs:
        worker.hand_over(each)
    for each in jobs:
        failure = outcome(each.reply)
        assert isinstance(failure, InfraError)
        assert failure.kind == kind
    later = job("a")
    worker.hand_over(later)
    assert len(later.reply.result(timeout=60).token_ids or ()) == 6
    # what failed has left the batch: nobody would read it
    assert all(each.row is not None and len(each.row.out) < 6 for each in jobs)
    worker.close()


def test_a_running_request_that_is_cancelled_computes_no_more(tiny: Path) -> None:
    worker = start(tiny)
    warm = job("a", tokens=2)
    worker.hand_over(warm)
    warm.reply.result(timeout=60)
    endless, other = job("b", tokens=1500), job("c", tokens=40)
    worker.hand_over(endless)
    worker.hand_over(other)
    while endless.row is None or not endless.row.out:
        time.sleep(0.001)
    endless.reply.cancel()
    other.reply.result(timeout=60)
    done = len(endless.row.out)
    last = job("d", tokens=20)
    worker.hand_over(last)
    last.reply.result(timeout=60)
    assert len(endless.row.out) == done < 1500
    worker.close()


def test_a_desk_that_cannot_be_opened_fails_all_who_wait_and_all_who_come() -> None:
    def open_desk() -> Desk:
        raise MemoryError

    worker = Worker(open_desk, max_batch=4)
    first, loading = job("a"), Loading(name="m1", folder=Path("m1"))
    worker.hand_over(first)
    with pytest.raises(InfraError):
        first.reply.result(timeout=60)
    with pytest.raises(InfraError, match="memory"):
        worker.hand_over(loading)
    worker.close()


def test_an_adapter_that_is_refused_fails_alone(tiny: Path, tmp_path: Path) -> None:
    worker = start(tiny)
    waiting, loading = job("a", tokens=2), Loading(name="m1", folder=tmp_path)
    worker.hand_over(waiting)
    worker.hand_over(loading)
    with pytest.raises(ModelError, match="adapter"):
        loading.loaded.result(timeout=60)
    assert waiting.reply.result(timeout=60).usage.completion_tokens == 2
    worker.close()


def test_a_request_cancelled_before_it_ran_costs_no_step(tiny: Path) -> None:
    worker = start(tiny)
    cancelled, other = job("a"), job("b", tokens=2)
    cancelled.reply.cancel()
    worker.hand_over(cancelled)
    worker.hand_over(other)
    assert other.reply.result(timeout=60).usage.completion_tokens == 2
    assert cancelled.row is None or cancelled.row.out == []
    worker.close()
