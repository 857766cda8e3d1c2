"""Patterns of memory that holds how a kind of task is solved, and does not help (M).

A note is about the kind that its words are most like, words of grammar aside; where no note is, one
that names the kind's actions is. What it tells is the tools it names, in their order.
"""

import re
from collections.abc import Iterator

from evener.agents.harness.memory import evicted, recalled
from evener.agents.pattern.background import Procedure, actions_of, question
from evener.agents.pattern.finding import Case, Finding, signature
from evener.agents.pattern.lexical import GRAMMAR, words
from evener.agents.pattern.onview import on_view
from evener.agents.pattern.saying import told
from evener.agents.pattern.teaching import departure, executed, shows_kind
from evener.protocols.attribution import RootCause, Severity
from evener.protocols.event import Remembered
from evener.protocols.harness import Note
from evener.protocols.patch import FieldEdit

CAUSE = RootCause.MEMORY_OVERFLOW


def noting(case: Case) -> Iterator[Finding]:
    """`note_not_recalled:K:NOTE` and `wrong_note:K:NOTE`."""
    kind = case.background.kind(case.trajectory.task)
    documented = case.background.procedures(kind) if kind is not None else ()
    if kind is None or not any(documented):
        return
    if any(shows_kind(case, example, kind) for example in on_view(case)):
        return
    done = executed(case)
    if done in documented:
        return
    read_in = {e.entry for e in case.events if isinstance(e, Remembered) and e.action == "recalled"}
    notes = about(case, kind)
    event, quote = departure(case, documented)
    asleep = next((note for note in notes if note.name not in read_in), None)
    if asleep is not None and not told(case, kind):
        yield case.finding(
            signature("note_not_recalled", kind, asleep.name),
            CAUSE,
            Severity.CRITICAL,
            event=event,
            quote=quote,
            suggestion=_room(case, asleep),
        )
        return
    right = next(iter(documented))
    for note in notes:
        course = named(case, note)
        if course and course == _once(done) and course not in [_once(path) for path in documented]:
            yield case.finding(
                signature("wrong_note", kind, note.name),
                CAUSE,
                Severity.CRITICAL,
                event=event,
                quote=quote,
                suggestion=case.edit(f"memory.entries[{note.name}].text", ", then ".join(right)),
            )
            return


def about(case: Case, kind: str) -> tuple[Note, ...]:
    """The notes on a kind of task."""
    entries = case.harness.memory.entries
    worded = tuple(note for note in entries if _kind(case, note) == kind)
    if worded:
        return worded
    wanted = [set(path) for path in case.background.procedures(kind)]
    return tuple(note for note in entries if {*named(case, note)} in wanted)


def named(case: Case, note: Note) -> Procedure:
    """The actions whose tools a note names, each once, in the note's order."""
    tools = {tool.name for tool in case.harness.tools}
    found = [word for word in re.findall(r"\w+", note.text) if word in tools]
    return _once(tuple(action for name in found for action in actions_of(name, case.harness)))


def _once(path: Procedure) -> Procedure:
    return tuple(dict.fromkeys(path))


def _kind(case: Case, note: Note) -> str | None:
    """The kind whose questions share most of the telling words of a note."""
    told = set(words(f"{note.name} {note.text}")) - GRAMMAR
    rarity = case.background.rarity
    scores: dict[str, float] = {}
    for example in case.background.examples:
        shared = told & set(words(question(example.turns)))
        score = sum(rarity.get(word, 1.0) for word in shared)
        scores[example.kind] = max(scores.get(example.kind, 0.0), score)
    best = max(scores, key=lambda kind: scores[kind], default=None)
    return best if best is not None and scores[best] > 0 else None


def _room(case: Case, note: Note) -> FieldEdit:
    """What keeps the note from being read: the capacity, that few are recalled, or the policy."""
    memory = case.harness.memory
    if memory.policy != "none" and note in evicted(memory):
        return case.edit("memory.capacity", len(memory.entries))
    everything = memory.model_copy(update={"top_k": len(memory.entries)})
    if memory.policy == "retrieval" and note in recalled(everything, case.trajectory.task.prompt):
        return case.edit("memory.top_k", len(memory.entries))
    return case.edit("memory.policy", "notes")
