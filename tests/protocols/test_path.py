"""Field paths: what they read, what they refuse, when two of them meet."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from evener.protocols.error import HarnessError
from evener.protocols.path import ABSENT, Item, Key, overlap, parse, position, read

DOCUMENT: JsonValue = {
    "prompt": {"system": "Think.", "examples": [["a"], ["b"]], "none": None},
    "skills": [{"name": "price", "text": "look up"}, {"name": "0", "text": "odd name"}],
}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("prompt.system", "Think."),
        ("prompt.examples[1][0]", "b"),
        ("skills[price].text", "look up"),
        ("skills[0].text", "odd name"),
        ("prompt.none", None),
    ],
)
def test_a_path_reads_what_is_there(path: str, value: JsonValue) -> None:
    assert read(DOCUMENT, path) == value
    assert read(DOCUMENT, path) is not ABSENT


@pytest.mark.parametrize(
    "path",
    [
        "prompt.task",
        "prompt.examples[2]",
        "prompt.examples[+]",
        "prompt.examples[01]",
        "prompt.examples[²]",
        "prompt.examples[-1]",
        "prompt[system]",
        "skills.price",
        "skills[1]",
        "prompt.system.more",
        "prompt.none.more",
    ],
)
def test_what_is_not_there_is_absent(path: str) -> None:
    assert read(DOCUMENT, path) is ABSENT


@pytest.mark.parametrize(
    "path",
    ["", ".a", "[0]", "a.", "a..b", "a[", "a[]", "a]", "a[b]c", "1a", "a[[b]]", "a.[b]", "a b."],
)
def test_a_malformed_path_is_refused_with_its_place(path: str) -> None:
    with pytest.raises(HarnessError):
        parse(path)


def test_names_with_spaces_and_hyphens_are_one_step() -> None:
    assert parse("arguments.to unit.x-y[a b]") == ("arguments", "to unit", "x-y", "a b")
    assert isinstance(parse("a[a]")[0], Key)
    assert isinstance(parse("a[a]")[1], Item)


keys = st.from_regex(r"[a-z_][a-z0-9_]{0,3}", fullmatch=True)
items = st.from_regex(r"[a-z0-9+ .]{1,4}", fullmatch=True)
steps = st.tuples(
    keys,
    st.lists(keys.map(lambda k: f".{k}") | items.map(lambda i: f"[{i}]"), max_size=4),
)


@given(steps)
def test_a_path_is_its_steps_joined(parts: tuple[str, list[str]]) -> None:
    first, rest = parts
    path = first + "".join(rest)
    again = "".join(f"[{s}]" if isinstance(s, Item) else f".{s}" for s in parse(path))
    assert again[1:] == path


def test_an_item_named_plus_is_not_a_new_item() -> None:
    assert position([{"name": "+"}], Item("+")) is None


@pytest.mark.parametrize(
    ("left", "right", "meets"),
    [
        ("prompt.system", "prompt.system", True),
        ("prompt", "prompt.system", True),
        ("prompt.system", "prompt", True),
        ("prompt.system", "prompt.task", False),
        ("skills[a]", "skills[a].text", True),
        ("skills[a]", "skills[b]", False),
        ("skills[+]", "skills[+]", False),
        ("skills[+]", "skills", True),
        ("skills[a].examples[+]", "skills[a].examples[+]", False),
    ],
)
def test_two_paths_meet_where_one_lies_on_or_in_the_other(
    left: str, right: str, meets: bool
) -> None:
    assert overlap(left, right) is meets
    assert overlap(right, left) is meets
