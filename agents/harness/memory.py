"""Memory as the student sees it: all notes, or the few nearest to the task by BM25.

The entries belong to the harness and never change within an episode: memory is written by patches.
"""

import math
import re
from collections import Counter
from collections.abc import Sequence

from evener.protocols.harness import Memory, Note

K1, B = 1.2, 0.75  # Robertson & Zaragoza (2009), the usual values

_WORD = re.compile(r"\w+")


def kept(memory: Memory) -> tuple[Note, ...]:
    """The entries within capacity: the oldest (first) are pushed out."""
    return memory.entries[-memory.capacity :]


def evicted(memory: Memory) -> tuple[Note, ...]:
    """The entries beyond capacity."""
    return memory.entries[: max(0, len(memory.entries) - memory.capacity)]


def recalled(memory: Memory, question: str) -> tuple[Note, ...]:
    """The entries that go into the prompt of a task."""
    if memory.policy == "none":
        return ()
    if memory.policy == "notes":
        return kept(memory)
    return nearest(kept(memory), question, count=memory.top_k)


def nearest(notes: Sequence[Note], question: str, *, count: int) -> tuple[Note, ...]:
    """At most `count` notes that share a word with the question, best BM25 score first."""
    texts = [Counter(_words(f"{note.name} {note.text}")) for note in notes]
    if not texts:
        return ()
    average = sum(text.total() for text in texts) / len(texts) or 1.0
    wanted = set(_words(question))
    weight = {
        word: math.log(1 + (len(texts) - having + 0.5) / (having + 0.5))
        for word in wanted
        if (having := sum(word in text for text in texts))
    }
    scores = [
        sum(
            weight[word]
            * text[word]
            * (K1 + 1)
            / (text[word] + K1 * (1 - B + B * text.total() / average))
            for word in weight
            if word in text
        )
        for text in texts
    ]
    best = sorted(range(len(notes)), key=lambda index: (-scores[index], index))
    return tuple(notes[index] for index in best[:count] if scores[index] > 0)


def text_of(notes: Sequence[Note]) -> str:
    """The notes as the prompt shows them, one a line."""
    return "\n".join(f"- {note.text}" for note in notes)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold().replace("_", " "))
