"""Problems from files: read strictly, and every fault is one line with its file and its line."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import JsonValue

from evener.environments import create
from evener.environments.math import MathEnvironment
from evener.environments.math.collected import Collected
from evener.environments.math.overlap import overlaps
from evener.environments.math.problem import Problem
from evener.environments.math.source import records
from evener.environments.scoring import Checker
from evener.protocols.error import ConfigError, DataError
from evener.protocols.task import Split

FIGURE = (
    '[asy] draw((0,0)--(1,0)); label("$A$", (0,0)); [/asy]\n\\begin{tikzpicture}\\end{tikzpicture}'
)
WALK = (
    "Every evening Nora walks along the canal to the old mill and back, which takes her {} minutes "
    "at her usual pace, and twice as long when the towpath is flooded. How long is the way?"
)


@pytest.fixture(scope="module")
def checker() -> Iterator[Checker]:
    made = Checker()
    yield made
    made.close()


def row(number: int, problem: str, answer: JsonValue = "7") -> dict[str, JsonValue]:
    return {"id": f"p{number}", "problem": problem, "answer": answer}


def write(folder: Path, name: str, *rows: dict[str, JsonValue]) -> Path:
    path = folder / name
    path.write_text("".join(json.dumps(each) + "\n" for each in rows), encoding="utf-8")
    return path


def refusal(checker: Checker, **sources: Path | str) -> str:
    with pytest.raises(DataError) as caught:
        Collected({Split(name): str(path) for name, path in sources.items()}, checker=checker)
    line = str(caught.value)
    assert "\n" not in line
    return line


def test_a_byte_order_mark_windows_line_ends_and_blank_lines_change_nothing(
    tmp_path: Path, checker: Checker
) -> None:
    first, second = (json.dumps(row(n, f"What is {n} + {n}?", n)) for n in (1, 2))
    marked, plain = tmp_path / "marked.jsonl", tmp_path / "plain.jsonl"
    marked.write_bytes(b"\xef\xbb\xbf" + f"{first}\r\n\r\n  \r\n{second}\r\n".encode())
    plain.write_text(f"{first}\n{second}\n", encoding="utf-8")
    read = [Collected({Split.TEST: str(path)}, checker=checker) for path in (marked, plain)]
    assert read[0].digest == read[1].digest
    (problem,) = [p for p in read[0].draw(Split.TEST, count=2, seed=0) if p.id == "p2"]
    assert (problem.answer, problem.place) == ("2", f"{marked}, line 4")


def test_the_code_of_a_figure_is_passed_through(tmp_path: Path) -> None:
    path = write(tmp_path, "a.jsonl", row(1, f"In the figure, what is $AB$?\n{FIGURE}"))
    (task,) = MathEnvironment({Split.TEST: str(path)}).tasks(Split.TEST, count=1, seed=0)
    assert task.prompt == f"In the figure, what is $AB$?\n{FIGURE}"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (None, "the answer is null"),
        (True, "the answer is true"),
        ([1, 2], "the answer is [1, 2]"),
        ("", "cannot be read: it is empty"),
        ("  ", "cannot be read: it is empty"),
        ("\\frac{7}{", "cannot be read: it leaves a brace open"),
        ("7}", "closes a brace that it did not open"),
        ("the answer is 5", "has words round it (the answer)"),
        ("\\text{}", "it is empty"),
        ("\\frac{1}{0}", "divides by zero"),
    ],
)
def test_an_answer_that_is_none_is_told_with_its_line(
    answer: JsonValue, said: str, tmp_path: Path, checker: Checker
) -> None:
    path = write(tmp_path, "a.jsonl", row(1, "What is 3 + 4?"), row(2, "And 4 + 4?", answer))
    line = refusal(checker, test=path)
    assert line.startswith(f"{path}, line 2: ")
    assert said in line


def test_an_answer_that_algebra_cannot_read_is_told_with_its_line(
    tmp_path: Path, checker: Checker
) -> None:
    pytest.importorskip("math_verify", reason="the extra `math` is not installed")
    good, bad = row(1, "What is 3 + 4?", "\\sqrt{49}"), row(2, "And 4 + 4?", "\\sqrt + ")
    line = refusal(checker, test=write(tmp_path, "a.jsonl", good, bad))
    assert line.startswith(
        f"{tmp_path / 'a.jsonl'}, line 2: the answer '\\\\sqrt + ' cannot be read"
    )


def test_numbers_are_answers_as_they_are_written(tmp_path: Path) -> None:
    given = {"a b c": 204, "d e f": 4.5, "g h i": 0.00001, "j k l": 1e20}
    path = write(tmp_path, "a.jsonl", *(row(n, *each) for n, each in enumerate(given.items())))
    read = [record.answer for record in records(str(path))]
    assert read == ["204", "4.5", "0.00001", "100000000000000000000"]


def test_an_empty_file_a_missing_file_and_a_missing_key_are_one_line(
    tmp_path: Path, checker: Checker
) -> None:
    empty = tmp_path / "empty.jsonl"
    empty.write_text("\n \n", encoding="utf-8")
    assert refusal(checker, test=empty).startswith(f"{empty}: no task in it")
    assert "cannot be read: No such file" in refusal(checker, test=tmp_path / "none.jsonl")
    other = write(tmp_path, "other.jsonl", {"id": "1", "question": "What?", "answer": "1"})
    assert "line 1: no 'problem' among its keys" in refusal(checker, test=other)
    mapped = records(str(other), fields={"problem": "question"})
    assert mapped[0].prompt == "What?"
    with pytest.raises(DataError, match="'question' is not a field of a problem"):
        records(str(other), fields={"question": "problem"})


def test_ids_that_occur_twice_are_told_with_both_lines(tmp_path: Path, checker: Checker) -> None:
    path = write(tmp_path, "a.jsonl", row(1, "What is 3 + 4?"), row(1, "What is 4 + 4?"))
    assert f"{path}: lines 1 and 2 have the same id 'p1'" in refusal(checker, test=path)
    one = write(tmp_path, "one.jsonl", row(1, "What is 3 + 4?"))
    two = write(tmp_path, "two.jsonl", row(2, "How many?"), row(1, "What is 4 + 4?"))
    line = refusal(checker, test=one, mine=two)
    assert f"{two}, line 2 and {one}, line 1 have the same id 'p1'" in line


def test_a_problem_in_two_splits_is_told_with_both_lines(tmp_path: Path, checker: Checker) -> None:
    mine = write(tmp_path, "mine.jsonl", row(1, "What is 3 + 4?"), row(2, "Find  $x$ in $x=7$!"))
    test = write(tmp_path, "test.jsonl", row(3, "How many?"), row(4, "find $x$ in $x=7$"))
    line = refusal(checker, mine=mine, test=test)
    assert f"{mine}, line 2 (split mine) and {test}, line 2 (split test) ask the same" in line


def test_a_problem_that_was_reworded_a_little_is_found_and_a_phrase_is_not(
    tmp_path: Path, checker: Checker
) -> None:
    mine = write(tmp_path, "mine.jsonl", row(1, WALK.format(40)))
    test = write(tmp_path, "test.jsonl", row(2, WALK.format(55)))
    line = refusal(checker, mine=mine, test=test)
    assert f"{mine}, line 1 (split mine) and {test}, line 1 (split test) share" in line
    ending = "where m and n are relatively prime positive integers. Find the value of m plus n."
    splits = (Split.MINE, Split.TEST)
    phrased = [
        Problem(str(n), splits[n % 2], "", f"A die shows {n} with chance m over n, {ending}", "1")
        for n in range(12)
    ]
    assert overlaps(phrased) == ()


@pytest.mark.parametrize("copies", [1, 4, 5, 6, 40])
def test_many_copies_of_a_problem_are_no_phrase(copies: int) -> None:
    walk = WALK.format(40)
    mine = [
        Problem(f"c{n}", Split.MINE, "", f"Practice, number {n}. {walk}", "1")
        for n in range(copies)
    ]
    found = overlaps([*mine, Problem("t", Split.TEST, "", walk, "1")])
    assert len(found) == copies


def test_a_file_named_for_several_splits_is_shared_out_among_them(
    tmp_path: Path, checker: Checker
) -> None:
    rows = [row(n, f"What is the number that comes {n} steps after {n * n}?") for n in range(90)]
    path = str(write(tmp_path, "a.jsonl", *rows))
    sources = {Split.MINE: path, Split.HELD_IN: path, Split.HELD_OUT: path}
    found = Collected(sources, checker=checker)
    taken: set[str] = set()
    for split in sources:
        ids = {problem.id for problem in found.draw(split, count=15, seed=0)}
        assert not ids & taken
        taken |= ids


def test_a_split_without_a_source_or_with_too_few_is_told(tmp_path: Path) -> None:
    path = write(tmp_path, "a.jsonl", row(1, "What is 3 + 4?"))
    environment = create("math", test=str(path))
    with pytest.raises(DataError, match="has 1 problems, 2 were asked for"):
        environment.tasks(Split.TEST, count=2, seed=0)
    with pytest.raises(DataError, match="mine = FILE"):
        environment.tasks(Split.MINE, count=1, seed=0)


def test_a_hub_id_that_cannot_be_had_is_one_line(
    tmp_path: Path, checker: Checker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path))
    line = refusal(checker, test="hub:nobody/no-such-problems")
    assert line.startswith("hub:nobody/no-such-problems: cannot be loaded: ")
    assert "give the path of a file" in line
    assert "not a data set of the hub" in refusal(checker, test="hub:a b")


def test_settings_that_make_no_sense_are_told() -> None:
    with pytest.raises(ConfigError, match="The levels are process, bwrap"):
        create("math", require_sandbox="perfect")
    with pytest.raises(ConfigError, match=r"math\.timeout_s"):
        create("math", timeout_s=0)
    with pytest.raises(ConfigError, match="its parameters are"):
        create("math", path="a.jsonl")
