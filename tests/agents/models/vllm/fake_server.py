"""A stand-in for vLLM's server, run as a process of its own under vLLM's module name.

It takes the same arguments, asks for the same key and has the same few endpoints, and it dies,
hangs, or refuses as the file in FAKE_VLLM says, life by life. What it was asked it writes down.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

FOLDER = Path(os.environ["FAKE_VLLM"])
KEY = os.environ["VLLM_API_KEY"]
LOCK = threading.Lock()


def next_life() -> int:
    lives = FOLDER / "lives"
    with lives.open("a") as sink:
        sink.write(f"{os.getpid()}\n")
    return len(lives.read_text().splitlines())


LIFE = next_life()
SCRIPT: dict[str, Any] = json.loads((FOLDER / "script.json").read_text())
DOES: dict[str, Any] = SCRIPT.get(str(LIFE), SCRIPT.get("then", {}))


class Books:
    """What was asked, and which adapters there are: name → folder."""

    chats = 0
    read = 0
    adapters: dict[str, str] = {}


def note(kind: str, **body: Any) -> None:
    with LOCK, (FOLDER / "asked.jsonl").open("a") as sink:
        sink.write(json.dumps({"life": LIFE, "kind": kind, **body}) + "\n")


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        hung = DOES.get("hang_all_after")
        if hung is not None and hung <= Books.chats:
            time.sleep(3600)
        match self.path:
            case "/health":
                self.answer(503 if DOES.get("never_ready") else 200, "")
            case "/version":
                self.answer(200, json.dumps({"version": "0.0-fake"}))
            case "/metrics":
                self.answer(200, f'vllm:prompt_tokens_total{{engine="0"}} {Books.read}\n')
            case "/v1/models":
                self.answer(200, json.dumps({"data": [{"id": n} for n in self.names()]}))
            case _:
                self.answer(404, '{"detail": "Not Found"}')

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.headers.get("Authorization") != f"Bearer {KEY}":
            return self.answer(401, '{"error": "Unauthorized"}')
        match self.path:
            case "/v1/load_lora_adapter":
                return self.load(body)
            case "/v1/unload_lora_adapter":
                note("unload", **body)
                there = Books.adapters.pop(body["lora_name"], None) is not None
                return self.answer(200 if there else 404, "Success" if there else "{}")
            case "/v1/chat/completions":
                return self.chat(body)
            case _:
                return self.answer(404, '{"detail": "Not Found"}')

    def names(self) -> list[str]:
        return [GIVEN.served_model_name, *Books.adapters]

    def load(self, body: dict[str, Any]) -> None:
        note("load", **body)
        if DOES.get("crash_on_load"):
            die()
        if body["lora_name"] in Books.adapters:
            return self.answer(400, '{"error": {"message": "has already been loaded"}}')
        if DOES.get("refuse_load"):
            said = {"error": {"message": DOES["refuse_load"], "code": 500}}
            return self.answer(500, json.dumps(said))
        Books.adapters[body["lora_name"]] = body["lora_path"]
        return self.answer(200, "Success: LoRA adapter added successfully.")

    def chat(self, body: dict[str, Any]) -> None:
        with LOCK:
            Books.chats += 1
            number = Books.chats
        note("chat", body=body)
        if DOES.get("crash_after") == number:
            print(DOES.get("last_words", "bye"), flush=True)
            die()
        for mode in ("hang_after", "hang_all_after"):
            if DOES.get(mode) is not None and number > DOES[mode]:
                time.sleep(3600)
        if DOES.get("delay"):
            time.sleep(DOES["delay"])
        if body["model"] not in self.names():
            said = {"error": {"message": f"The model `{body['model']}` does not exist."}}
            return self.answer(404, json.dumps(said))
        Books.read += 10
        folder = Books.adapters.get(body["model"])
        changed = folder is not None and not DOES.get("deaf")
        text = SCRIPT.get("answer", "the base says this")
        text = f"changed: {text}" if changed else text
        words = text.split()
        choice: dict[str, Any] = {
            "index": 0,
            "message": {"role": "assistant", "content": text},
            "finish_reason": "stop",
            "token_ids": list(range(len(words))),
        }
        if body.get("logprobs"):
            choice["logprobs"] = {"content": [{"token": w, "logprob": -0.5} for w in words]}
        answer = {
            "object": "chat.completion",
            "model": body["model"],
            "choices": [choice],
            "prompt_token_ids": DOES.get("tokens"),
            "usage": {"prompt_tokens": 10, "completion_tokens": len(words)},
        }
        return self.answer(200, json.dumps(answer))

    def answer(self, status: int, text: str) -> None:
        data = text.encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Listening(ThreadingHTTPServer):
    request_queue_size = 256
    daemon_threads = True


parser = argparse.ArgumentParser()
for option in ("--model", "--served-model-name", "--host", "--dtype", "--max-model-len"):
    parser.add_argument(option)
for option in ("--port", "--max-lora-rank", "--max-loras", "--kv-cache-memory-bytes"):
    parser.add_argument(option, type=int)
parser.add_argument("--enable-lora", action="store_true")
parser.add_argument("--no-enable-chunked-prefill", action="store_true")
parser.add_argument("--seed", type=int)
if __name__ == "__main__":
    note("start", arguments=sys.argv[1:], runtime=os.environ["VLLM_ALLOW_RUNTIME_LORA_UPDATING"])
    GIVEN = parser.parse_args()
    if DOES.get("says"):
        print(DOES["says"], flush=True)
    if "exit" in DOES:
        sys.exit(DOES["exit"])
    if DOES.get("child"):
        # a worker of the server, which does not end when it is asked to
        stubborn = "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(3600)"
        worker = subprocess.Popen([sys.executable, "-c", stubborn])
        (FOLDER / "worker").write_text(str(worker.pid))
    if DOES.get("die_at_start"):
        die()
    Listening((GIVEN.host, GIVEN.port), Handler).serve_forever()
