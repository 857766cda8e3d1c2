"""The guard against task text in a harness: runs of words of the tasks of all splits.

It holds runs of 8 words and numbers (and shorter prompts whole) of every task of its draws, and
looks for them in what a patch brings in. A run is exempt only where the documentation contains it,
word for word, and where it tells no task: another documented text or another task has it too. So a
sentence of a template passes with the documentation's numbers and never with a task's.

What it cannot see. Tasks that were not drawn: of an endless environment it knows the draws it was
given, no others. A generated task repeated with other numbers or names: numbers must match, on
purpose, for all splits share their sentences, and with numbers masked every worked example would be
a leak; what tells such a task is its numbers. A paraphrase, or a run cut shorter than 8. A bare
answer: hidden answers stay in the environment, so an answer without its question goes unnoticed;
that a patch which knows answers gains nothing on fresh tasks is for the gate to show.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from pydantic import JsonValue

from evener.agents.pattern import Background
from evener.agents.pattern.lexical import LEAK_GRAM, tokens
from evener.agents.trials.supply import Supply
from evener.protocols.error import DataError, PatchError
from evener.protocols.harness import Harness
from evener.protocols.patch import Patch
from evener.protocols.path import ABSENT
from evener.protocols.port import Environment
from evener.protocols.task import Split

WHOLE = 12  # letters and digits that a short prompt must have to be looked for as a whole

Run = tuple[str, ...]
Draws = Sequence[tuple[Split, int, int]]


class LeakGuard:
    """Knows the prompts of the tasks in `draws`: (split, count, seed). A split that has fewer tasks
    gives those it has. No episode is opened and no answer is read."""

    def __init__(self, environment: Environment, background: Background, draws: Draws) -> None:
        prompts: dict[Run, Split] = {}
        for split, count, seed in draws:
            for prompt in _prompts(environment, split, count=count, seed=seed):
                prompts.setdefault(tokens(prompt), split)
        told = {words: frozenset(_runs_of_prompt(words)) for words in prompts}
        counts = Counter(run for runs in told.values() for run in runs)
        self._sizes = frozenset(map(len, counts))
        documented = Counter(
            run for text in set(_documentation(background)) for run in set(self._runs(text))
        )
        self._private: dict[Run, Split] = {}
        for words, split in prompts.items():
            for run in told[words]:
                if documented[run] < 1 or max(documented[run], counts[run]) < 2:
                    self._private.setdefault(run, split)

    def fault(self, patch: Patch, harness: Harness, /) -> str:
        """The split and the words that the patch repeats, in one line; empty where there are none.

        Only text counts that `harness` does not have yet. Total: a patch that does not apply is
        judged by its edits.
        """
        before = {run for text in _texts(harness.document()) for run in self._runs(text)}
        for text in _brought(patch, harness):
            for run in self._runs(text):
                split = self._private.get(run)
                if split is not None and run not in before:
                    return f"it repeats the words of a task of {split}: {' '.join(run)!r}"
        return ""

    def repeated(self, value: JsonValue, /) -> str:
        """As `fault`, of every text in a value; empty where there are none."""
        for text in _texts(value):
            for run in self._runs(text):
                split = self._private.get(run)
                if split is not None:
                    return f"it repeats the words of a task of {split}: {' '.join(run)!r}"
        return ""

    def _runs(self, text: str) -> Iterator[Run]:
        """The text's runs of all sizes that are looked for, in the order of the text."""
        found = tokens(text)
        for at in range(len(found)):
            for size in self._sizes:
                if at + size <= len(found):
                    yield found[at : at + size]


def _prompts(environment: Environment, split: Split, *, count: int, seed: int) -> list[str]:
    try:
        drawn = Supply(environment, split, seed=seed).take(count)
    except DataError:  # the split has no task at all
        return []
    return [draw.task.prompt for draw in drawn]


def _runs_of_prompt(words: Run) -> list[Run]:
    """Its runs of `LEAK_GRAM`; a shorter prompt is one run, if it is not too short to tell."""
    if len(words) >= LEAK_GRAM:
        return [words[at : at + LEAK_GRAM] for at in range(len(words) - LEAK_GRAM + 1)]
    return [words] if sum(map(len, words)) >= WHOLE else []


def _documentation(background: Background) -> Iterator[str]:
    """All that is published, a text for each example and each action."""
    for action in background.actions:
        yield action.description
    for example in background.examples:
        yield "\n".join(turn.content for turn in example.turns if turn.content)


def _brought(patch: Patch, harness: Harness) -> list[str]:
    """The texts of the patched harness, or of the edits where there is none."""
    try:
        return list(_texts(patch.apply(harness).document()))
    except PatchError:
        values = [edit.new_value for edit in patch.edits]
        return [text for value in values if value is not ABSENT for text in _texts(value)]


def _texts(value: JsonValue) -> Iterator[str]:
    """Every text in a value, keys too, and every list of texts as one: words listed one by one say
    what a sentence says."""
    match value:
        case str():
            yield value
        case list():
            yield " ".join(item for item in value if isinstance(item, str))
            for item in value:
                yield from _texts(item)
        case dict():
            yield " ".join(value)
            for key, item in value.items():
                yield key
                yield from _texts(item)
        case _:
            pass
