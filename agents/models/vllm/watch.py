"""A life is watched to its end: the process ends, or it shows no sign of life for too long."""

import asyncio
from pathlib import Path

from evener.agents.models.vllm.crash import Crash, read_crash
from evener.agents.models.vllm.life import Life
from evener.agents.models.vllm.process import ServerProcess

_LOOK_S = 5.0


async def until_over(life: Life, process: ServerProcess, *, log: Path, silence_s: float) -> Crash:
    """Why it is over. A server that is silent for `silence_s` is killed."""
    ended = asyncio.ensure_future(process.wait())
    silent = asyncio.ensure_future(_until_silent(life, silence_s))
    try:
        await asyncio.wait({ended, silent}, return_when=asyncio.FIRST_COMPLETED)
        if ended.done():
            return read_crash(ended.result(), log, since=life.log_from)
        last = read_crash(None, log, since=life.log_from).last
        process.kill()
        await ended
    finally:
        for task in (ended, silent):
            task.cancel()
    detail = f"for {silence_s:g} s it answered nothing and computed nothing"
    return Crash(kind="hung", detail=detail, last=last)


async def _until_silent(life: Life, silence_s: float) -> None:
    """Come back when there was no token and no reply while requests wait, or no answer at all."""
    loop = asyncio.get_running_loop()
    seen, last = "", loop.time()
    while loop.time() - last <= silence_s:
        await asyncio.sleep(min(_LOOK_S, silence_s / 4))
        pulse = await life.admin.pulse()
        if pulse is None:
            continue
        now = f"{pulse} {life.answered}"
        if now != seen or not life.busy:
            seen, last = now, loop.time()
