"""A person's own task file, scorer and functions; every bad file is one clear line."""

import json
from pathlib import Path

import pytest
from pydantic import JsonValue

from evener.environments import create
from evener.environments.function import FunctionAction
from evener.environments.jsonl import JsonlEnvironment
from evener.environments.record import normalized, read
from evener.environments.scorer import find, number
from evener.protocols.digest import JsonObject
from evener.protocols.error import ConfigError, DataError
from evener.protocols.message import Call
from evener.protocols.task import Split


def write(folder: Path, *rows: object, name: str = "tasks.jsonl") -> Path:
    path = folder / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def row(task: str | int, prompt: str, answer: JsonValue = "1", **more: JsonValue) -> object:
    return {"id": task, "prompt": prompt, "answer": answer, **more}


def refusal(path: Path, **params: str) -> str:
    with pytest.raises(DataError) as caught:
        read(path, **params)  # type: ignore[arg-type]
    line = str(caught.value)
    assert "\n" not in line
    return line


def test_a_byte_order_mark_windows_line_ends_and_blank_lines_change_nothing(tmp_path: Path) -> None:
    marked, plain = tmp_path / "d.jsonl", tmp_path / "plain.jsonl"
    marked.write_bytes(
        b'\xef\xbb\xbf{"id":"a","q":"1+1","answer":"2"}\r\n\r\n'
        b'{"id":"b","q":"2+2","answer":"4"}\r\n'
    )
    plain.write_bytes(b'{"id":"a","q":"1+1","answer":"2"}\n{"id":"b","q":"2+2","answer":"4"}\n')
    fields = {"prompt": "q"}
    records = read(marked, fields=fields)
    assert [(r.id, r.prompt, r.answer) for r in records] == [("a", "1+1", "2"), ("b", "2+2", "4")]
    assert [r.line for r in records] == [1, 3]
    digests = {JsonlEnvironment(path, fields=fields).digest for path in (marked, plain)}
    assert len(digests) == 1


def test_bytes_that_are_not_utf8_are_refused_with_line_and_offset(tmp_path: Path) -> None:
    path = tmp_path / "latin.jsonl"
    first = b'{"id":"a","prompt":"1+1","answer":"2"}\r\n'
    path.write_bytes(first + b'{"id":"b","prompt":"caf\xe9","answer":"4"}\r\n')
    line = refusal(path)
    assert "line 2" in line
    assert f"byte offset {len(first) + 23}" in line
    assert "not UTF-8" in line
    assert read(path, encoding="latin-1")[1].prompt == "café"


def test_a_line_separator_inside_a_text_does_not_end_the_line(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text('{"id": "a", "prompt": "one\u2028two", "answer": 1}\n', encoding="utf-8")
    assert read(path)[0].prompt == "one\u2028two"


def test_equal_ids_are_refused_with_both_lines(tmp_path: Path) -> None:
    line = refusal(write(tmp_path, row("t1", "2+2", "4"), row("t1", "2+3", "5")))
    assert "lines 1 and 2" in line
    assert "'t1'" in line


def test_the_number_1_and_the_text_1_are_the_same_id(tmp_path: Path) -> None:
    path = write(tmp_path, row("t0", "w"), row(1, "x"), row("1", "y", "2"))
    assert "lines 2 and 3" in refusal(path)


def test_two_values_on_a_line_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text('{"id":1,"q":"x","answer":"1"}  {"id":"1","q":"y","answer":"2"}\n')
    line = refusal(path)
    assert "line 1: a second value" in line
    assert "one JSON object a line" in line


def test_an_id_in_two_splits_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, row("a", "x", split="mine"), row("a", "y", split="test"))
    line = refusal(path)
    assert "lines 1 and 2" in line
    assert "in the splits mine and test" in line


def test_a_question_in_two_splits_is_refused_whatever_its_spelling(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        row("a", "What is 2 + 2?", split="mine"),
        row("b", "Something else", split="mine"),
        row("c", "what is  2 + 2", split="held_out"),
    )
    assert "lines 1 and 3 ask the same in the splits mine and held_out" in refusal(path)


def test_a_question_twice_in_one_split_is_let_in(tmp_path: Path) -> None:
    path = write(tmp_path, row("a", "x", split="mine"), row("b", "x", split="mine"))
    assert len(read(path)) == 2


def test_the_third_of_three_is_compared_with_the_split_that_differs(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        row("a", "x", split="mine"),
        row("b", "x", split="mine"),
        row("c", "x", split="test"),
    )
    assert "and 3 ask the same" in refusal(path)


@pytest.mark.parametrize(
    ("one", "other"), [("2+2", "2-2"), ("3*4", "3/4"), ("x^2", "x2"), ("5%", "5"), ("a<b", "a>b")]
)
def test_signs_of_arithmetic_tell_questions_apart(one: str, other: str) -> None:
    assert normalized(one) != normalized(other)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no task in it"),
        ("\n \n", "no task in it"),
        ("{", "line 1: not JSON"),
        ("[1]", "line 1: a list, not an object"),
        ('{"id": "a", "answer": 1}', "no 'prompt' among its keys"),
        ('{"id": "a", "prompt": "x"}', "no 'answer' among its keys"),
        ('{"id": null, "prompt": "x", "answer": 1}', "the id None"),
        ('{"id": true, "prompt": "x", "answer": 1}', "the id True"),
        ('{"id": 1.5, "prompt": "x", "answer": 1}', "the id 1.5"),
        ('{"id": "a", "prompt": " ", "answer": 1}', "'prompt' is ' '"),
        ('{"id": "a", "prompt": "x", "answer": NaN}', "NaN is not JSON"),
        ('{"id": "a", "prompt": "x", "answer": 1, "split": "train"}', "there is no split 'train'"),
        ("[" * 100_000, "nested too deeply"),
        (
            '{"id":1,"prompt":"x","answer":1,"split":"mine"}\n{"id":2,"prompt":"y","answer":1}',
            "line 2: no split",
        ),
    ],
)
def test_a_bad_file_is_one_clear_line(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(text, encoding="utf-8")
    line = refusal(path)
    assert said in line
    assert "bad.jsonl" in line


def test_a_file_that_is_not_there_is_one_clear_line(tmp_path: Path) -> None:
    assert "cannot be read" in refusal(tmp_path / "none.jsonl")


def test_an_unknown_field_of_the_mapping_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="'question' is not a field"):
        read(write(tmp_path, row("a", "x")), fields={"question": "q"})


def test_a_draw_has_no_repeats_and_depends_on_the_seed_alone(tmp_path: Path) -> None:
    rows = [row(number, f"task {number}", split="mine") for number in range(50)]
    environment = JsonlEnvironment(write(tmp_path, *rows))
    drawn = environment.tasks(Split.MINE, count=20, seed=1)
    assert len({task.id for task in drawn}) == 20
    assert drawn == environment.tasks(Split.MINE, count=20, seed=1)
    assert drawn != environment.tasks(Split.MINE, count=20, seed=2)


@pytest.mark.parametrize("count", [0, -1, 3])
def test_more_tasks_than_there_are_or_none_are_refused(tmp_path: Path, count: int) -> None:
    path = write(tmp_path, row("a", "x", split="mine"), row("b", "y", split="mine"))
    environment = JsonlEnvironment(path)
    with pytest.raises(DataError, match=f"has 2 tasks, {count} were asked for"):
        environment.tasks(Split.MINE, count=count, seed=0)


def test_without_splits_in_the_file_equal_questions_fall_into_one_split(tmp_path: Path) -> None:
    rows = [row(n, f"task {n // 2}") for n in range(400)]
    environment = JsonlEnvironment(write(tmp_path, *rows))
    by_prompt: dict[str, set[Split]] = {}
    for split in (Split.MINE, Split.HELD_IN, Split.HELD_OUT, Split.TEST):
        for task in environment.tasks(split, count=40, seed=0):
            by_prompt.setdefault(task.prompt, set()).add(split)
    assert all(len(splits) == 1 for splits in by_prompt.values())


def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


async def fail(text: str) -> str:
    """Fails."""
    raise ValueError(text)


def one(folder: Path, **params: object) -> JsonlEnvironment:
    path = write(folder, row("a", "What is 2+3?", "5", split="test", kind="sum"))
    return JsonlEnvironment(path, **params)  # type: ignore[arg-type]


async def test_functions_are_actions_with_a_schema_from_their_signature(tmp_path: Path) -> None:
    environment = one(tmp_path, actions=[add, fail])
    (task,) = environment.tasks(Split.TEST, count=1, seed=0)
    assert "5" not in task.document().values()
    session = await environment.open(task, seed=0)
    specs = {spec.name: spec for spec in session.actions()}
    assert list(specs) == ["add", "fail", "final"]
    assert specs["add"].description == "Adds two numbers."
    assert specs["add"].parameters["required"] == ["a", "b"]
    seen = await session.act(Call(name="add", arguments={"a": 2, "b": 3}))
    assert (seen.text, seen.error_kind) == ("5", None)
    wrong: list[JsonObject] = [{"a": 2}, {"a": 2, "b": "3"}, {"a": 2, "b": 3, "c": 4}]
    for arguments in wrong:
        refused = await session.act(Call(name="add", arguments=arguments))
        assert refused.error_kind == "bad_arguments"
    failed = await session.act(Call(name="fail", arguments={"text": "no luck"}))
    assert (failed.text, failed.error_kind) == ("ValueError: no luck", "action_failed")
    assert (await session.act(Call(name="sub"))).error_kind == "unknown_action"
    assert (await session.score()).value == 0.0
    done = await session.act(Call(name="final", arguments={"answer": "5"}))
    assert done.done
    assert (await session.score()).value == 1.0
    again = await session.act(Call(name="final", arguments={"answer": "6"}))
    assert (again.error_kind, again.done) == ("finished", True)
    assert (await session.score()).value == 1.0


async def test_doing_nothing_scores_0(tmp_path: Path) -> None:
    environment = one(tmp_path)
    session = await environment.open(environment.tasks(Split.TEST, count=1, seed=0)[0], seed=0)
    score = await session.score()
    assert (score.value, score.error_kind) == (0.0, "no_answer")


async def test_a_scorer_of_ones_own_is_asked_and_its_failure_is_no_zero(tmp_path: Path) -> None:
    async def scored(value: object) -> tuple[float | None, str]:
        def scorer(answer: JsonValue, expected: JsonValue) -> float:
            assert (answer, expected) == ("five", "5")
            return 1 / value  # type: ignore[operator]

        environment = one(tmp_path, scorer=scorer)
        session = await environment.open(environment.tasks(Split.TEST, count=1, seed=0)[0], seed=0)
        await session.act(Call(name="final", arguments={"answer": "five"}))
        score = await session.score()
        return score.value, score.verdict

    assert await scored(1) == (1.0, "correct")
    assert await scored(2) == (0.5, "incorrect")
    assert await scored(0) == (None, "error")
    assert await scored(0.5) == (None, "error")
    assert await scored("x") == (None, "error")


async def test_a_task_that_is_not_in_the_file_is_refused(tmp_path: Path) -> None:
    environment = one(tmp_path)
    (task,) = environment.tasks(Split.TEST, count=1, seed=0)
    for changed in ({"prompt": "other"}, {"id": "b"}, {"split": Split.MINE}):
        with pytest.raises(DataError, match="not in the file"):
            await environment.open(task.model_copy(update=dict(changed)), seed=0)


def test_two_actions_of_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="one name"):
        one(tmp_path, actions=[add, add])
    with pytest.raises(ConfigError, match="one name"):
        one(tmp_path, actions=[FunctionAction(add, name="final")])


def test_a_function_without_a_usable_signature_is_refused() -> None:
    with pytest.raises(ConfigError, match="action 'only'"):
        FunctionAction(lambda a, /: a, name="only")


def test_the_digest_covers_answers_scorer_and_actions(tmp_path: Path) -> None:
    path = write(tmp_path, row("a", "x", "1"))
    other = write(tmp_path, row("a", "x", "2"), name="other.jsonl")
    digests = {
        JsonlEnvironment(path).digest,
        JsonlEnvironment(path, number).digest,
        JsonlEnvironment(path, actions=[add]).digest,
        JsonlEnvironment(other).digest,
    }
    assert len(digests) == 4


def test_it_is_made_by_name_with_a_scorer_by_name(tmp_path: Path) -> None:
    path = write(tmp_path, row("a", "x", "1", split="test"))
    environment = create("jsonl", path=str(path), scorer="number")
    assert len(environment.tasks(Split.TEST, count=1, seed=0)) == 1


@pytest.mark.parametrize(
    ("answer", "expected", "right"),
    [("it is 1,250.0", "1250", True), (5, "5", True), ("none", "5", False), ("6", 5, False)],
)
def test_numbers_are_compared_as_numbers(
    answer: JsonValue, expected: JsonValue, right: bool
) -> None:
    assert number(answer, expected) is right


def test_a_scorer_is_found_by_name_or_import_path() -> None:
    assert find("number") is number
    assert find("evener.environments.scorer:number") is number
    for name in ("best", "no.such.module:f", "evener.environments.scorer:none"):
        with pytest.raises(ConfigError, match="scorer"):
            find(name)
