"""The training process, `python -m evener.distill.training.worker SPEC`: a line of JSON an event.

It shares no memory with the student that serves, may be killed at any moment, and ends by itself
when whoever started it is gone (its standard input is closed).
"""

import os
import sys
import tempfile
import threading
import time
from importlib.metadata import version
from pathlib import Path

from evener.agents.models.local.folder import check_folder
from evener.agents.models.local.library import library
from evener.agents.models.local.weights import resolve_dtype
from evener.distill.training.spec import LINE, Finished, Line, TrainSpec

_LIBRARIES = ("torch", "transformers", "trl", "peft")


def main(path: Path) -> None:
    """Train as the spec in `path` says, save, probe, and say so."""
    began = time.monotonic()
    spec = TrainSpec.model_validate_json(path.read_bytes())
    check_folder(Path(spec.model))
    torch = library("torch")
    torch.set_num_threads(spec.threads)
    device = "cuda" if spec.device == "auto" and torch.cuda.is_available() else "cpu"
    out = Path(spec.out)
    # libraries write to standard output as they please: ours is kept aside for the lines
    lines = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def say(line: Line) -> None:
        lines.write(LINE.dump_json(line).decode() + "\n")
        lines.flush()

    from evener.distill.training.probe import probe
    from evener.distill.training.sft import fine_tune, save

    losses: list[float] | None = None
    shared = False
    precision = resolve_dtype(spec.settings.precision, device=device)
    if not spec.probe_only:
        with tempfile.TemporaryDirectory(prefix="scratch-", dir=path.parent) as scratch:
            trained = fine_tune(spec, say, scratch=Path(scratch), device=device)
        save(trained.model, out, base_name=spec.base_name)
        losses, precision, shared = trained.losses, trained.precision, trained.shared
        del trained
    report = probe(spec, out, losses, precision=precision, device=device)
    say(
        Finished(
            losses=tuple(losses or ()),
            precision=precision,
            device=device,
            shared=shared,
            seconds=time.monotonic() - began,
            cpu_seconds=time.process_time(),
            versions={name: version(name) for name in _LIBRARIES},
            probe=report,
        )
    )


def end_with_parent() -> None:
    """End this process when its standard input is closed: nobody waits for the adapter any more."""

    def watch() -> None:
        # not sys.stdin: its lock, held by a daemon thread, aborts the interpreter's end
        while os.read(0, 1 << 16):
            pass
        os._exit(3)

    threading.Thread(target=watch, daemon=True).start()


if __name__ == "__main__":
    end_with_parent()
    main(Path(sys.argv[1]))
