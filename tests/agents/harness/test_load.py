"""Harness files: what loads, what is refused and in which words, and that writing is stable."""

import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evener.agents.harness.load import dump_yaml, load, parse_yaml
from evener.protocols.error import HarnessError
from evener.protocols.harness import ExampleCall, ExampleTurn, Harness, Note, Prompt, Skill

BOMB = """\
a: &a [z,z,z,z,z,z,z,z]
b: &b [*a,*a,*a,*a,*a,*a,*a,*a]
c: &c [*b,*b,*b,*b,*b,*b,*b,*b]
d: &d [*c,*c,*c,*c,*c,*c,*c,*c]
e: &e [*d,*d,*d,*d,*d,*d,*d,*d]
f: &f [*e,*e,*e,*e,*e,*e,*e,*e]
g: &g [*f,*f,*f,*f,*f,*f,*f,*f]
answer: no
"""


def refusal(text: str) -> str:
    with pytest.raises(HarnessError) as caught:
        parse_yaml(text, where="h.yaml")
    line = str(caught.value)
    assert "\n" not in line
    assert line.startswith("h.yaml")
    return line


def test_yaml_that_explodes_is_refused_at_once_and_memory_stays_flat() -> None:
    tracemalloc.start()
    assert "h.yaml, line 1: YAML anchors are not allowed" in refusal(BOMB)
    assert tracemalloc.get_traced_memory()[1] < 5_000_000
    tracemalloc.stop()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: a\nmemory: *x", "line 2"),
        ("name: !!python/name:os.system a", "YAML tags are not allowed"),
        ("name: !thing a", "YAML tags are not allowed"),
        ("name: a\nname: b", "line 2: the key 'name' twice"),
        ("name: a\n---\nname: b", "line 2: a second document"),
        ("", "the file is empty"),
        ("# nothing\n", "the file is empty"),
        ("- a", "expected a mapping with name, prompt, tools …, found a list"),
        ("name: [", "not YAML"),
        ("name: a\x00b", "not YAML"),
        ("name: " + "[" * 50 + "]" * 50, "nested deeper than 40"),
        ("1: a", "name: a required field is missing"),
        ("? [a]\n: b", "a key that is not text"),
        ("true: a", "a key that is not text"),
        ("name: a\n" + "x" * (1 << 20), "characters; at most"),
        ("{}", "name: a required field is missing"),
    ],
)
def test_what_is_not_a_harness_file_is_refused_in_one_line(text: str, message: str) -> None:
    if text.startswith("1:"):
        message = "a key that is not text"
    assert message in refusal(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("promt: {}", "promt: unknown field. did you mean prompt? known fields: memory,"),
        ("prompt: {sytem: x}", "prompt.sytem: unknown field. did you mean system?"),
        ("tools: [{name: t, action: a, descripton: x}]", "tools[t].descripton: unknown field"),
        ("skills: [{name: s, when: {word: []}}]", "skills[s].when.word: unknown field"),
        (
            "tools: [{name: t, action: a, arguments: {x: {nams: [y]}}}]",
            "tools[t].arguments.x.nams: unknown field. did you mean names?",
        ),
        ("middleware: {protocol: {strict: no}}", "expected true or false, found the text 'no'"),
        ("middleware: {loop: {max_turns: 012}}", "expected an integer, found the text '012'"),
        ("middleware: {loop: {max_turns: 1e3}}", "expected an integer, found the text '1e3'"),
        ("middleware: {loop: {max_turns: 0}}", "middleware.loop.max_turns: input should be"),
        ("prompt: {system: 42}", "prompt.system: expected text (in quotes), found the number 42"),
        ("prompt: {system: null}", "expected text (in quotes), found nothing"),
        ("tools: {}", "tools: expected a list, found a mapping"),
        ("tools: [{name: t}]", "tools[t]: a tool has either action or steps"),
        ("middleware: {protocol: {format: xml}}", "'json', 'hermes' or 'native', found the text"),
        ("skills: [{name: a}, {name: a}]", "two skills are named 'a'"),
        ("promt: {}\nmemry: {}", "(and 1 more)"),
    ],
)
def test_a_wrong_field_is_refused_with_its_path(text: str, message: str) -> None:
    assert message in refusal(f"name: h\n{text}")


def test_text_that_yaml_bites_stays_text() -> None:
    harness = parse_yaml(
        "name: no\nprompt: {system: 012}\nmemory: {entries: [{name: 1e3, text: 2024-01-01}]}",
        where="h.yaml",
    )
    assert harness.name == "no"
    assert harness.prompt.system == "012"
    assert harness.memory.entries == (Note(name="1e3", text="2024-01-01"),)


def test_free_data_keeps_its_types(harness: Callable[..., Harness]) -> None:
    text = """
name: h
tools:
- name: t
  action: a
  parameters: {a: no, b: 012, c: 1e3, d: 12, e: 1.5, f: true, g: null, h: "12", i: 1_0, j: .inf}
"""
    assert parse_yaml(text, where="h").tools[0].parameters == {
        "a": "no",
        "b": "012",
        "c": "1e3",
        "d": 12,
        "e": 1.5,
        "f": True,
        "g": None,
        "h": "12",
        "i": "1_0",
        "j": ".inf",
    }


def test_bom_and_windows_line_ends_are_taken(tmp_path: Path) -> None:
    file = tmp_path / "h.yaml"
    file.write_bytes("\ufeffname: h\r\nprompt:\r\n  system: |\r\n    a\r\n    b\r\n".encode())
    assert load(file).prompt.system == "a\nb\n"


def test_bytes_that_are_not_utf8_are_refused_with_their_offset(tmp_path: Path) -> None:
    file = tmp_path / "h.yaml"
    file.write_bytes(b"name: caf\xe9\n")
    with pytest.raises(HarnessError, match="not UTF-8: byte 0xe9 at offset 9"):
        load(file)


@pytest.mark.parametrize("name", ["missing.yaml", "."])
def test_a_path_that_is_no_file_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(HarnessError, match="cannot be read"):
        load(tmp_path / name)


def test_long_texts_are_written_as_blocks_and_nothing_reads_as_another_type() -> None:
    harness = Harness(
        name="no",
        prompt=Prompt(system="one\ntwo\n"),
        memory=Harness(name="x").memory.model_copy(
            update={"entries": (Note(name="012", text="1e3"), Note(name="é", text="ok"))}
        ),
    )
    text = dump_yaml(harness)
    assert 'name: "no"' in text
    assert "  system: |\n    one\n    two\n" in text
    assert 'name: "012"\n' in text
    assert 'text: "1e3"' in text
    assert "name: é" in text
    assert parse_yaml(text, where="h") == harness


def test_equal_harnesses_give_equal_bytes() -> None:
    def made(arguments: dict[str, int]) -> Harness:
        call = ExampleCall(name="t", arguments=dict(arguments))
        turns = (ExampleTurn(role="assistant", call=call),)
        return Harness(name="h", skills=(Skill(name="s", examples=(turns,)),))

    one, other = made({"a": 1, "b": 2}), made({"b": 2, "a": 1})
    assert one.digest() == other.digest()
    assert dump_yaml(one) == dump_yaml(other)
    assert dump_yaml(parse_yaml(dump_yaml(one), where="h")) == dump_yaml(one)


@given(
    st.text(alphabet=st.characters(codec="utf-8"), max_size=40)
    | st.text(alphabet=" \n\t:#-'\"{}[]&*!|>%@`012.eno~\\\r\x85\u2028", max_size=20),
    st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**17), 10**17),
)
def test_any_text_and_number_comes_back_as_it_was(text: str, number: float) -> None:
    harness = Harness(
        name="h",
        prompt=Prompt(system=text),
        tools=(),
        memory=Harness(name="x").memory.model_copy(
            update={"entries": (Note(name="n", text=text),)}
        ),
        skills=(
            Skill(
                name="s",
                examples=(
                    (
                        ExampleTurn(
                            role="assistant",
                            call=ExampleCall(name="t", arguments={"x": number, "y": [text]}),
                        ),
                    ),
                ),
            ),
        ),
    )
    assert parse_yaml(dump_yaml(harness), where="h") == harness
