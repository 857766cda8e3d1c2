"""Repairs of memory: room, retrieval, and notes made from the documentation."""

from collections.abc import Iterator, Sequence

from evener.agents.critics.catalogue.example import clean, tools_of
from evener.agents.critics.catalogue.repair import Ground, Repair, add, slug
from evener.agents.pattern.background import question
from evener.protocols.digest import canonical
from evener.protocols.harness import ExampleTurn, Note, Tool
from evener.protocols.patch import FieldEdit

MOST_ENTRIES = 512


def evicted(parts: Sequence[str], ground: Ground) -> Iterator[Repair]:
    """Room for every entry; or only the nearest of them in the prompt."""
    del parts
    memory = ground.harness.memory
    room = ground.change("memory.capacity", min(MOST_ENTRIES, max(1, len(memory.entries))))
    nearest = ground.change("memory.policy", "retrieval")
    if room:
        yield Repair("memory-room", "memory", room, 0.8, "keep every entry of memory")
    if room and nearest:
        both = (*room, *nearest)
        yield Repair("memory-retrieval", "memory", both, 0.7, "recall the entries nearest the task")


def notes_crowd(parts: Sequence[str], ground: Ground) -> Iterator[Repair]:
    """Only the entries nearest to the task."""
    del parts
    nearest = ground.change("memory.policy", "retrieval")
    yield Repair("memory-retrieval", "memory", nearest, 0.8, "recall the entries nearest the task")
    fewer = (*nearest, *ground.change("memory.top_k", 1))
    yield Repair("memory-retrieval-1", "memory", fewer, 0.6, "recall the nearest entry alone")


def note(parts: Sequence[str], ground: Ground) -> Iterator[Repair]:
    """A documented solution of a kind written down as a note: always there, or when it is near."""
    kind = parts[0]
    taken = {entry.name for entry in ground.harness.memory.entries}
    name = slug("how", kind)
    examples = clean(kind, ground)
    if name in taken or not examples:
        return
    tools, missing = tools_of(examples[:1], ground)
    entry = Note(name=name, text=_solution(examples[0].turns, tools)).document()
    used = ground.harness.memory.policy != "none"
    policies = ("notes", "retrieval") if not used else (ground.harness.memory.policy,)
    for policy in policies:
        edits: tuple[FieldEdit, ...] = (*missing, add("memory.entries", entry))
        edits = (*edits, *ground.change("memory.policy", policy))
        yield Repair(
            slug("note", kind, policy), f"teach:{kind}", edits, 0.2, f"a note on {kind} in memory"
        )


def _solution(turns: tuple[ExampleTurn, ...], tools: dict[str, Tool]) -> str:
    """A worked example in one line: the question, then calls and results."""
    steps: list[str] = []
    for turn in turns:
        if turn.call is not None:
            name = tools[turn.call.name].name if turn.call.name in tools else turn.call.name
            steps.append(f"{name} {canonical(turn.call.arguments)}")
        elif turn.role == "tool":
            steps.append(f"gives {turn.content}")
    return f"{question(turns)} → {', '.join(steps)}"
