"""A trainer for `external.command`: a service that fine-tunes as OpenAI's, and serves the model.

TRAIN_API_KEY=… python train_hosted.py ROWS OUT BASE https://api.example.com/v1

The job's number is kept in OUT: tried again after an interruption, it waits for the same job and
pays for no other. The key is read from the environment and stands nowhere else.
"""

import json
import os
import sys
import time
import uuid
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

WAIT_S = float(os.environ.get("TRAIN_WAIT_S", "30"))


def ask(url: str, body: bytes | None = None, kind: str = "application/json") -> dict[str, Any]:
    """One request to the service."""
    headers = {"Authorization": f"Bearer {os.environ['TRAIN_API_KEY']}", "Content-Type": kind}
    with urlopen(Request(url, data=body, headers=headers), timeout=120) as reply:
        answer: dict[str, Any] = json.load(reply)
    return answer


def upload(api: str, rows: Path) -> str:
    """The rows as the service takes them: the conversations alone. Returns the file's id."""
    lines = [json.loads(line)["messages"] for line in rows.read_text("utf-8").splitlines()]
    text = "".join(json.dumps({"messages": messages}) + "\n" for messages in lines)
    mark = uuid.uuid4().hex
    parts = (
        f'--{mark}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nfine-tune\r\n'
        f'--{mark}\r\nContent-Disposition: form-data; name="file"; filename="rows.jsonl"\r\n\r\n'
        f"{text}\r\n--{mark}--\r\n"
    )
    kind = f"multipart/form-data; boundary={mark}"
    return str(ask(f"{api}/files", parts.encode(), kind)["id"])


def begin(api: str, rows: Path, base: str) -> str:
    """Start a job; returns its id."""
    order = {"model": base, "training_file": upload(api, rows)}
    return str(ask(f"{api}/fine_tuning/jobs", json.dumps(order).encode())["id"])


def main(rows: str, out: str, base: str, api: str) -> None:
    """Begin a job or find the one that was begun, wait for it, and name its model."""
    kept = Path(out) / "job"
    if not kept.exists():
        kept.write_text(begin(api, Path(rows), base), "utf-8")
    job = kept.read_text("utf-8")
    while (told := ask(f"{api}/fine_tuning/jobs/{job}"))["status"] not in ("succeeded", "failed"):
        print(f"{job} is {told['status']}", flush=True)
        time.sleep(WAIT_S)
    if told["status"] == "failed":
        kept.unlink()
        sys.exit(f"{job} failed: {told.get('error')}")
    answer = {"model": told["fine_tuned_model"], "metrics": {"job": job}}
    (Path(out) / "result.json").write_text(json.dumps(answer), "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
