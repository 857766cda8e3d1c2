"""A shop desk, a student that knows the answers, and a tiny random Llama to train on its runs."""

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from evener.agents.harness.load import parse_yaml
from evener.agents.harness.loop import run_episode
from evener.agents.harness.render import call_text
from evener.agents.models.local.library import library
from evener.agents.models.local.render import Renderer
from evener.agents.models.scripted import ScriptedModel
from evener.distill.settings import SftSettings
from evener.distill.tuner import TrlFineTuner
from evener.environments.storefront.environment import Storefront
from evener.protocols.digest import JsonObject
from evener.protocols.error import InfraError
from evener.protocols.harness import Harness
from evener.protocols.model import ModelRef, Reply
from evener.protocols.task import Purpose, Split
from evener.protocols.trajectory import EpisodeKey, Trajectory, prompt_digest
from evener.protocols.wire import ModelTrained

os.environ.setdefault("HF_HUB_OFFLINE", "1")

# the turn of SmolLM2's template, without its default system message
CHATML = (
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content']"
    " + '<|im_end|>' + '\n'}}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
HARNESS = """
name: desk
prompt:
  system: Answer with one call.
  examples:
  - - {role: user, content: "What is 2 times 3?"}
    - {role: assistant, call: {name: calculator, arguments: {expression: "2*3"}}}
    - {role: tool, content: "6"}
    - {role: assistant, call: {name: final, arguments: {answer: 6}}}
tools:
- {name: calculator, description: works out, action: calculator, parameters: {type: object,
   properties: {expression: {type: string}}, required: [expression]}}
- {name: lookup, description: price, action: lookup, parameters: {type: object,
   properties: {item: {type: string}}, required: [item]}}
- {name: convert, description: units, action: convert, parameters: {type: object,
   properties: {value: {type: number}, from: {type: string}, to: {type: string}},
   required: [value, from, to]}}
- {name: final, description: answer, action: final, parameters: {type: object,
   properties: {answer: {type: number}}, required: [answer]}}
"""
BASE = ModelRef(base="tiny-student", revision="b" * 64)
QUICK = SftSettings(epochs=24, learning_rate=1e-2, precision="float32")


def bpe_tokenizer(texts: Sequence[str], *, template: str = CHATML, size: int = 420) -> Any:
    """A byte-level BPE with ChatML's special tokens as ids 0, 1 and 2."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return library("transformers").PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        model_max_length=2048,
        chat_template=template,
        clean_up_tokenization_spaces=False,
    )


async def collect_episodes(
    harness: Harness,
    count: int,
    *,
    token_ids: Callable[[str], Sequence[int]] | None = None,
    stumble: bool = False,
) -> list[Trajectory]:
    """`count` collect episodes of a student that knows how; it may `stumble` over a tool that is
    not there first. `token_ids` are what it sampled for a text."""
    shop = Storefront()
    episodes: list[Trajectory] = []
    for task in shop.tasks(Split.MINE, count=count, seed=5):
        calls = [(call.name, call.arguments) for call in shop.gold(task)]
        if stumble:
            calls.insert(0, ("juggle", {}))
        lines: list[str | Reply] = [call_text(harness, *call) for call in calls]
        if token_ids is not None:
            ref = ScriptedModel("").ref
            lines = [
                Reply(text=line, token_ids=tuple(token_ids(line)), model=ref)
                for line in lines
                if isinstance(line, str)
            ]
        student = ScriptedModel(lines)
        key = EpisodeKey(
            task=task.id,
            prompt_digest=prompt_digest(task),
            harness=harness.digest(),
            model=student.ref.revision,
            purpose=Purpose.COLLECT,
            seed=5,
        )
        session = await shop.open(task, seed=5)
        episodes.append(
            await run_episode(session, task, harness, student, key=key, sampling_seed=5)
        )
        await session.close()
    return episodes


@pytest.fixture(scope="session")
def desk() -> Harness:
    return parse_yaml(HARNESS, where="desk.yaml")


@pytest.fixture
def collect() -> Callable[..., Any]:
    """Collect episodes of a student that knows how."""
    return collect_episodes


@pytest.fixture(scope="session")
def solved(desk: Harness) -> list[Trajectory]:
    """Twelve solved episodes without token ids."""
    return asyncio.run(collect_episodes(desk, 12))


@pytest.fixture(scope="session")
def student(tmp_path_factory: pytest.TempPathFactory, solved: list[Trajectory]) -> Path:
    """The folder of a random Llama of 0.1 million parameters with a BPE tokenizer."""
    torch, transformers = library("torch"), library("transformers")
    torch.set_num_threads(1)
    torch.manual_seed(0)
    texts = [message.content for episode in solved for message in episode.messages]
    tokenizer = bpe_tokenizer(texts)
    config = transformers.LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=2048,
        # a head of small random weights could not be made to say anything
        initializer_range=0.3,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=0,
    )
    folder = tmp_path_factory.mktemp("model") / BASE.base
    model = transformers.LlamaForCausalLM(config)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def renderer(student: Path) -> Renderer:

    return Renderer(library("transformers").AutoTokenizer.from_pretrained(student))


class Killed:
    """A training that was killed: what it raised, and what it left beside the adapter's place."""

    def __init__(self, error: Exception, left: list[str], steps: int) -> None:
        self.error = error
        self.left = left
        self.steps = steps


class Session:
    """One training, killed at its first steps, then run to its end."""

    def __init__(self, runs: Path) -> None:
        self.runs = runs
        self.heard: list[JsonObject] = []
        self.killed: Killed | None = None
        self.made: ModelTrained | None = None


def worker_pids(folder: Path) -> list[int]:
    """Training processes whose spec lies under `folder`."""
    found: list[int] = []
    for place in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if place.name.isdigit() and str(folder).encode() in (place / "cmdline").read_bytes():
                found.append(int(place.name))
    return found


def names_in(folder: Path) -> list[str]:
    return sorted(place.name for place in folder.iterdir())


async def train_twice(tuner_of: Callable[..., Any], runs: Path, **options: Any) -> Session:
    session = Session(runs)

    def kill_at_first_step(line: JsonObject) -> None:
        session.heard.append(line)
        if line["kind"] == "step":
            for pid in worker_pids(runs):
                os.kill(pid, signal.SIGKILL)

    (runs / ".m1.part-left-by-a-killed-run").mkdir(parents=True)
    try:
        await tuner_of(kill_at_first_step).train(folder=runs / "m1", **options)
    except InfraError as error:
        left = names_in(runs)
        steps = sum(line["kind"] == "step" for line in session.heard)
        session.killed = Killed(error, left, steps)
    session.heard.clear()
    session.made = await tuner_of(session.heard.append).train(folder=runs / "m1", **options)
    return session


@pytest.fixture(scope="session")
def trained(
    student: Path,
    desk: Harness,
    solved: list[Trajectory],
    tmp_path_factory: pytest.TempPathFactory,
) -> Session:
    """`m1`, trained on twelve episodes after a training process that was killed."""

    def tuner_of(progress: Callable[[JsonObject], None]) -> TrlFineTuner:
        return TrlFineTuner(student, QUICK, threads=1, progress=progress)

    runs = tmp_path_factory.mktemp("runs") / "models"
    options: dict[str, Any] = {"name": "m1", "serving": desk, "base": BASE, "seed": 11}
    return asyncio.run(train_twice(tuner_of, runs, trajectories=solved, **options))
