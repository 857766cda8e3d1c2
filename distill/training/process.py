"""Start the training process, listen to it, and never leave it behind.

A worker that fails or is killed is an InfraError: nothing is known of the student by it.
"""

import asyncio
import contextlib
import os
import sys
from collections.abc import Callable
from pathlib import Path

from pydantic import ValidationError

from evener.distill.training.spec import LINE, Finished, Line, TrainSpec
from evener.protocols.error import InfraError

_LONGEST_LINE = 1 << 24


async def run_worker(spec: TrainSpec, folder: Path, *, heard: Callable[[Line], None]) -> Finished:
    """Train in a process of its own; `heard` gets every line. Cancelling kills the process."""
    path = folder / "spec.json"
    path.write_text(spec.model_dump_json(), "utf-8")
    talk = folder / "stderr.log"
    with talk.open("wb") as sink:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "evener.distill.training.worker",
            str(path),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=sink,
            env=environment(spec.threads),
            limit=_LONGEST_LINE,
        )
    finished: Finished | None = None
    try:
        assert process.stdout is not None
        async for raw in process.stdout:
            line = _line(raw)
            heard(line)
            if isinstance(line, Finished):
                finished = line
        code = await process.wait()
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    if code != 0 or finished is None:
        raise InfraError(_failure(code, talk), kind="training")
    return finished


def environment(threads: int) -> dict[str, str]:
    """The worker's environment: no network, no trackers, its own number of threads."""
    return {
        **os.environ,
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
        "HF_DATASETS_OFFLINE": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        "TRANSFORMERS_VERBOSITY": "error",
        "TOKENIZERS_PARALLELISM": "false",
        "WANDB_MODE": "disabled",
        "OMP_NUM_THREADS": str(threads),
        "PYTHONSAFEPATH": "1",
    }


def _line(raw: bytes) -> Line:
    try:
        return LINE.validate_json(raw)
    except ValidationError as error:
        raise InfraError(
            f"the training process said something else than a line of JSON: {raw[:80]!r}",
            kind="training",
        ) from error


def _failure(code: int, talk: Path) -> str:
    if code == -9:
        return (
            "the training process was killed: if memory ran out, lower finetune.pass_tokens or "
            "finetune.batch_rows"
        )
    lines = [line.strip() for line in talk.read_text("utf-8", "replace").splitlines()]
    last = next((line for line in reversed(lines) if line), "it said nothing")
    return f"the training process ended with {code}: {last[:300]}"
