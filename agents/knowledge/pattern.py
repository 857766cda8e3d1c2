"""Memory notes → failure patterns. What a note is about decides what sets the pattern off.

The table is tried in order: a note about the answer, about a tool, about a task that a skill's
words tell, about anything else. The note's own words are the intervention.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from evener.agents.harness.memory import kept
from evener.agents.knowledge.wording import Wording
from evener.agents.pattern.lexical import GRAMMAR, words
from evener.protocols.harness import Harness, Note
from evener.protocols.knowledge import FailurePattern, Omission

MOST_WORDS = 6


@dataclass(frozen=True)
class About:
    """What notes are about, in a target: its tools, those that end an episode, triggers."""

    tools: tuple[str, ...]
    final: tuple[str, ...]
    triggers: tuple[str, ...]


@dataclass(frozen=True)
class NoteRule:
    """A type of note. `subject` finds what it is about, or nothing; the rest are texts over it."""

    name: str
    subject: Callable[[str, About], str]
    trigger: str
    evidence: str
    not_when: str


def _answer(text: str, about: About) -> str:
    said = set(words(text))
    return ", ".join(about.final) if said & {"answer", "answers", *about.final} else ""


def _tool(text: str, about: About) -> str:
    said = set(words(text)) | set(text.split())
    return ", ".join(tool for tool in about.tools if tool in said)


def _task(text: str, about: About) -> str:
    folded = f" {' '.join(words(text))} "
    return ", ".join(w for w in about.triggers if f" {' '.join(words(w)) or w} " in folded)


def _anything(text: str, about: About) -> str:
    del about
    telling = dict.fromkeys(word for word in words(text) if word not in GRAMMAR)
    return ", ".join([*telling][:MOST_WORDS])


RULES: tuple[NoteRule, ...] = (
    NoteRule(
        "answer",
        _answer,
        "the response ends the task ({subject})",
        "the answer it gives is not the one that the note asks for",
        "nothing has been worked out yet",
    ),
    NoteRule(
        "tool",
        _tool,
        "the response calls {subject}",
        "the call is made in another way than the note says",
        "the call already does what the note says",
    ),
    NoteRule(
        "task",
        _task,
        "the task speaks of {subject}",
        "the response does not do what the note says for such a task",
        "the response already does what the note says",
    ),
    NoteRule(
        "anything",
        _anything,
        "the task or the response is about {subject}",
        "the response goes against the note",
        "the note says nothing about this task",
    ),
)


def patterns_of(
    optimized: Harness, *, about: About, wording: Wording
) -> tuple[tuple[FailurePattern, ...], tuple[Omission, ...]]:
    """The patterns of all notes, and why some have none."""
    made: list[FailurePattern] = []
    left_out: list[Omission] = []
    shown = {note.name for note in _shown(optimized)}
    for note in optimized.memory.entries:
        found = pattern_of(note, about, wording) if note.name in shown else _UNSEEN
        if isinstance(found, FailurePattern):
            made.append(found)
        else:
            left_out.append(Omission(part=f"memory.entries[{note.name}]", reason=found))
    return tuple(made), tuple(left_out)


_UNSEEN = "no student was ever shown it: memory is off, or the note is beyond its capacity"


def pattern_of(note: Note, about: About, wording: Wording) -> FailurePattern | str:
    """The pattern of one note, or why there is none."""
    text = wording.retold(note.text.strip())
    lacking = wording.foreign(text)
    if lacking:
        return f"it names {lacking[0]}, which the target lacks"
    if "{" in note.text and wording.foreign(note.text):
        return f"it writes out a call of {wording.foreign(note.text)[0]}, which the target lacks"
    for rule in RULES:
        subject = rule.subject(text, about)
        if subject:
            return FailurePattern(
                name=note.name,
                source=f"memory.entries[{note.name}]",
                trigger=rule.trigger.replace("{subject}", subject),
                evidence=rule.evidence,
                intervention=text,
                not_when=rule.not_when,
            )
    return "it says nothing that a response could be held against"


def _shown(optimized: Harness) -> Sequence[Note]:
    return () if optimized.memory.policy == "none" else kept(optimized.memory)
