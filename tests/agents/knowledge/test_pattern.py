"""What a note is about decides what sets its pattern off."""

import pytest

from evener.agents.knowledge.pattern import About, pattern_of, patterns_of
from evener.agents.knowledge.wording import Wording
from evener.protocols.harness import Harness, Memory, Note
from evener.protocols.knowledge import FailurePattern

ABOUT = About(
    tools=("lookup", "calculator", "final"), final=("final",), triggers=("bill", "how many")
)
WORDS = Wording({"quote": "lookup, then calculator", "search": None})


@pytest.mark.parametrize(
    ("text", "trigger"),
    [
        ("The answer is the last result.", "the response ends the task (final)"),
        ("Never guess in lookup.", "the response calls lookup"),
        ("A bill has no tax.", "the task speaks of bill"),
        ("How many means a count.", "the task speaks of how many"),
        ("Prices hold no tax.", "the task or the response is about prices, hold, tax"),
    ],
)
def test_the_types_of_notes(text: str, trigger: str) -> None:
    found = pattern_of(Note(name="n", text=text), ABOUT, WORDS)
    assert isinstance(found, FailurePattern)
    assert (found.trigger, found.intervention) == (trigger, text)
    assert found.source == "memory.entries[n]"
    assert found.evidence
    assert found.not_when


def test_a_note_is_told_in_the_target_s_tools() -> None:
    found = pattern_of(Note(name="n", text="Use quote for prices."), ABOUT, WORDS)
    assert isinstance(found, FailurePattern)
    assert found.intervention == "Use lookup, then calculator for prices."


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Use search first.", "it names search, which the target lacks"),
        ('What? → quote {"item":"lamp"}, gives 75', "it writes out a call of quote"),
        ("it is so", "it says nothing that a response could be held against"),
        ("", "it says nothing"),
    ],
)
def test_a_note_that_does_not_transfer_says_why(text: str, reason: str) -> None:
    found = pattern_of(Note(name="n", text=text), ABOUT, WORDS)
    assert isinstance(found, str)
    assert reason in found


def test_a_note_that_was_never_shown_is_left_out() -> None:
    notes = (Note(name="old", text="Mind lookup."), Note(name="new", text="Mind calculator."))
    full = Harness(name="h", memory=Memory(policy="notes", entries=notes, capacity=1))
    made, left_out = patterns_of(full, about=ABOUT, wording=WORDS)
    assert [pattern.name for pattern in made] == ["new"]
    assert [omission.part for omission in left_out] == ["memory.entries[old]"]
    off = Harness(name="h", memory=Memory(policy="none", entries=notes))
    assert patterns_of(off, about=ABOUT, wording=WORDS)[0] == ()
