"""The examples of trainers: one makes an adapter that passes its probe, one asks a service."""

import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from evener.agents.models.remote.faults import FaultServer
from evener.agents.models.remote.openai import OpenAIModel
from evener.agents.models.scripted import ScriptedModel
from evener.distill.adapter import read_adapter
from evener.distill.outside.external import ExternalTuner
from evener.distill.outside.hosted import read_hosted_manifest
from evener.distill.settings import ExternalSettings, SftSettings
from evener.distill.tuner import TrlFineTuner
from evener.protocols.error import ModelError
from evener.protocols.harness import Harness
from evener.protocols.model import ModelRef
from evener.protocols.trajectory import Trajectory

pytestmark = pytest.mark.slow  # a real adapter is trained

EXAMPLES = Path(__file__).parents[3] / "examples"
BASE = ModelRef(base="tiny-student", revision="b" * 64)
SETTINGS = SftSettings(precision="float32")


async def test_the_adapter_of_the_example_passes_its_probe(
    student: Path,
    desk: Harness,
    solved: list[Trajectory],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    script = str(EXAMPLES / "train_elsewhere.py")
    command = (sys.executable, script, "{rows}", "{out}", "{base}", "{seed}", "96")
    tuner = ExternalTuner(
        ExternalSettings(command=command),
        SETTINGS,
        student=ScriptedModel(""),
        base=str(student),
        local=TrlFineTuner(student, SETTINGS, threads=1),
    )
    made = await tuner.train(
        solved, name="m1", serving=desk, base=BASE, folder=tmp_path / "m1", seed=11
    )
    assert made.model is not None, made.reason
    manifest = read_adapter(tmp_path / "m1")
    assert manifest is not None
    assert manifest.external is not None
    assert manifest.external.metrics["steps"] == 96
    assert "step 96 of 96: loss " in (tmp_path / "m1" / "train.log").read_text("utf-8")


class Service:
    """A service that fine-tunes: jobs run for two questions, the first one fails."""

    def __init__(self) -> None:
        self.files: list[bytes] = []
        self.jobs: list[dict[str, Any]] = []
        self.asked = 0

    def post(self, path: str, body: bytes) -> dict[str, Any]:
        if path == "/v1/files":
            self.files.append(body)
            return {"id": f"file-{len(self.files)}"}
        self.jobs.append(json.loads(body))
        self.asked = 0
        return {"id": f"job-{len(self.jobs)}"}

    def get(self) -> dict[str, Any]:
        self.asked += 1
        if self.asked < 3:
            return {"status": "running"}
        if len(self.jobs) == 1:
            return {"status": "failed", "error": "no room"}
        return {"status": "succeeded", "fine_tuned_model": "ft:small"}


@pytest.fixture
def service() -> Iterator[tuple[Service, str]]:
    made = Service()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._say(made.get())

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            self._say(made.post(self.path, body))

        def _say(self, answer: dict[str, Any]) -> None:
            allowed = self.headers["Authorization"] == "Bearer hunter22hunter22"
            self.send_response(200 if allowed else 401)
            self.end_headers()
            self.wfile.write(json.dumps(answer).encode())

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield made, f"http://127.0.0.1:{server.server_address[1]}/v1"
    server.shutdown()
    thread.join()
    server.server_close()


async def test_the_example_of_a_service_waits_for_its_job_and_names_the_model(
    service: tuple[Service, str],
    desk: Harness,
    solved: list[Trajectory],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TRAIN_API_KEY", "hunter22hunter22")
    monkeypatch.setenv("TRAIN_WAIT_S", "0.01")
    made, api = service
    script = str(EXAMPLES / "train_hosted.py")
    command = (sys.executable, script, "{rows}", "{out}", "{base}", api)
    async with FaultServer(lambda body: f"I am {body['model']}.") as server:
        student = OpenAIModel("small", server.url)
        tuner = ExternalTuner(
            ExternalSettings(command=command), SETTINGS, student=student, base="small"
        )
        options: dict[str, Any] = {"name": "m1", "serving": desk, "base": student.ref, "seed": 1}
        with pytest.raises(ModelError, match="job-1 failed: no room"):
            await tuner.train(solved, folder=tmp_path / "m1", **options)
        trained = await tuner.train(solved, folder=tmp_path / "m1", **options)
        await student.close()
    assert trained.model is not None, trained.reason
    manifest = read_hosted_manifest(tmp_path / "m1")
    assert manifest is not None
    assert (manifest.hosted, manifest.external.metrics) == ("ft:small", {"job": "job-2"})
    assert made.jobs[1] == {"model": "small", "training_file": "file-2"}
    assert made.files[1].count(b'{"messages": ') == len(solved)
    assert b"hunter22" not in (tmp_path / "m1" / "train.log").read_bytes()
