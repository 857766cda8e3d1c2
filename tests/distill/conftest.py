"""A shop desk, a student that knows the answers, and a tiny random Llama to train on its runs."""

import asyncio
import os
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
from evener.environments.storefront.environment import Storefront
from evener.protocols.harness import Harness
from evener.protocols.model import ModelRef, Reply
from evener.protocols.task import Purpose, Split
from evener.protocols.trajectory import EpisodeKey, Trajectory, prompt_digest

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
    """The folder of a random Llama of 0.2 million parameters with a BPE tokenizer."""
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
