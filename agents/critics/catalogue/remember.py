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


def note_not_recalled(parts: Sequence[str], ground: Ground) -> Iterator[Repair]:
    """Every note in the prompt, and room for all of them."""
    del parts
    memory = ground.harness.memory
    room = ground.change("memory.capacity", min(MOST_ENTRIES, max(1, len(memory.entries))))
    room = room if len(memory.entries) > memory.capacity else ()
    every = (*room, *ground.change("memory.policy", "notes"))
    if every:
        yield Repair("memory-all", "memory", every, 0.8, "show every note")
    if memory.policy == "retrieval" and memory.top_k < len(memory.entries):
        more = (*room, *ground.change("memory.top_k", min(len(memory.entries), 2 * memory.top_k)))
        yield Repair("memory-more", "memory", more, 0.7, "recall twice as many notes")


def wrong_note(parts: Sequence[str], ground: Ground) -> Iterator[Repair]:
    """The note as the documentation solves the kind."""
    kind, name = parts[0], parts[1]
    examples = clean(kind, ground)
    if examples and any(entry.name == name for entry in ground.harness.memory.entries):
        tools, missing = tools_of(examples[:1], ground)
        text = _solution(examples[0].turns, tools)
        edits = (*missing, *ground.change(f"memory.entries[{name}].text", text))
        reason = f"the note {name} as the documentation has it"
        yield Repair(slug("note", name), f"teach:{kind}", edits, 0.8, reason)


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
