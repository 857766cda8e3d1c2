"""Nothing of the private side reaches a row: a planted marker of every kind is refused."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from evener.agents.harness.load import parse_yaml
from evener.agents.models.local.render import Renderer
from evener.distill.rows.build import Row, RowSet, build_rows
from evener.distill.rows.marker import Markers, Sieve, markers_of
from evener.distill.rows.mask import without
from evener.distill.settings import SftSettings
from evener.distill.tuner import TrlFineTuner
from evener.protocols.digest import JsonObject
from evener.protocols.harness import ExampleCall, ExampleTurn, Harness
from evener.protocols.knowledge import (
    FailurePattern,
    Guidance,
    Hint,
    Knowledge,
    Omission,
    Recipe,
)
from evener.protocols.message import Origin
from evener.protocols.trajectory import Trajectory

RECIPE = "first ask what a single piece costs and only then multiply it by how many there are"
HINT = "the number that is handed in is not what the last action gave"
GUIDANCE = "prices are never in the question so always begin with asking for one of them"
EXAMPLE = "Zoe wants 79 pieces of a green candle that nobody else has ever asked for"
PATTERN = "whenever two numbers stand in a question without any word between them"
OMISSION = "the limits of this harness have no meaning for the other one at all"
REASON = "it skips the look-up and makes a price up, so the look-up has to come first"
PRIVATE = {
    "recipe": RECIPE,
    "hint": HINT,
    "guidance": GUIDANCE,
    "example": EXAMPLE,
    "pattern": PATTERN,
    "omission": OMISSION,
    "reason": REASON,
}
KNOWLEDGE = Knowledge(
    name="K",
    source="s",
    target="t",
    recipes=(Recipe(tool="quote", text=RECIPE, steps=()),),
    hints=(Hint(name="h", rule="answer_differs", text="{{ last }} " + HINT, source="x"),),
    guidance=(
        Guidance(
            skill="price",
            text=GUIDANCE,
            examples=((ExampleTurn(role="user", content=EXAMPLE),),),
        ),
    ),
    patterns=(FailurePattern(name="p", trigger=PATTERN, evidence="e", intervention="i"),),
    omissions=(Omission(part="memory", reason=OMISSION),),
)


@pytest.fixture
def optimized(desk: Harness) -> Harness:
    quote = parse_yaml(
        "name: q\ntools: [{name: quote, action: lookup}, {name: lookup, action: lookup}]",
        where="q",
    )
    return desk.model_copy(update={"tools": quote.tools})


@pytest.fixture
def markers(desk: Harness, optimized: Harness) -> Markers:
    return markers_of(KNOWLEDGE, optimized, desk, reviews=[{"reason": REASON}])


def rows_of(
    episodes: Sequence[Trajectory], harness: Harness, renderer: Renderer, markers: Markers | None
) -> RowSet:
    return build_rows(
        episodes, harness, renderer, settings=SftSettings(), model="tiny", markers=markers
    )


def trained(row: Row, renderer: Renderer) -> str:
    return "|".join(renderer.tokenizer.decode(list(row.ids[a:b])) for a, b in row.spans)


def first_reply(episode: Trajectory) -> int:
    return next(at for at, message in enumerate(episode.messages) if message.sampled)


def planted(
    episode: Trajectory, text: str, *, at: int | None = None, origin: Origin | None = None
) -> Trajectory:
    """The episode with reasoning before its first reply, or a word more in another message."""
    place = first_reply(episode) if at is None else at
    old = episode.messages[place]
    content = f"<think>{text}</think>{old.content}" if old.sampled else f"{old.content}\n{text}"
    new = old.model_copy(update={"content": content, "origin": origin or old.origin})
    messages = (*episode.messages[:place], new, *episode.messages[place + 1 :])
    return episode.model_copy(update={"messages": messages})


@pytest.mark.parametrize("kind", PRIVATE)
@pytest.mark.parametrize("origin", ["student", "reviewer"])
def test_a_private_text_in_a_reply_is_refused(
    desk: Harness,
    solved: list[Trajectory],
    renderer: Renderer,
    markers: Markers,
    kind: str,
    origin: Origin,
) -> None:
    spoilt = planted(solved[0], f"Well: {PRIVATE[kind]}, I think.", origin=origin)
    made = rows_of([spoilt, solved[1]], desk, renderer, markers)
    assert made.refused == {"private_marker": 1}
    assert [row.trajectory for row in made.rows] == [solved[1].id]


@pytest.mark.parametrize("kind", PRIVATE)
def test_a_private_text_among_what_the_student_was_told_is_refused(
    desk: Harness, solved: list[Trajectory], renderer: Renderer, markers: Markers, kind: str
) -> None:
    told = first_reply(solved[0]) + 1
    assert solved[0].messages[told].origin == "observation"
    made = rows_of([planted(solved[0], PRIVATE[kind], at=told)], desk, renderer, markers)
    assert made.refused == {"private_marker": 1}


def test_a_tool_that_only_h_star_has_is_refused_unless_the_task_has_the_word(
    desk: Harness, solved: list[Trajectory], renderer: Renderer, markers: Markers
) -> None:
    spoilt = planted(solved[0], "A quote would do.")
    assert rows_of([spoilt], desk, renderer, markers).refused == {"private_marker": 1}
    sieve = Sieve(markers)
    assert markers.tools == ("quote",)
    assert sieve.names_tool("Quote it", prompt="")
    assert not sieve.names_tool("unquoted quotes", prompt="")
    assert not sieve.names_tool("a quote", prompt="Give a Quote for 3 lamps.")


def test_a_candidate_that_was_replaced_is_refused_at_its_turn_alone(
    desk: Harness, optimized: Harness, solved: list[Trajectory], renderer: Renderer
) -> None:
    episode = solved[0]
    said = episode.messages[first_reply(episode)].content

    def refused(*entries: JsonObject) -> dict[str, int]:
        made = markers_of(KNOWLEDGE, optimized, desk, reviews=entries)
        return rows_of([episode], desk, renderer, made).refused

    entry: JsonObject = {"episode": episode.id, "turn": 0, "candidate": said, "reason": ""}
    assert refused(entry) == {"private_marker": 1}
    assert refused({**entry, "turn": 1}) == {}
    assert refused({**entry, "episode": "another"}) == {}
    # the episode was run again, and this time the candidate passed
    assert refused(entry, {"episode": episode.id, "turn": 0, "reason": ""}) == {}


def test_rows_without_a_marker_are_the_rows_of_no_markers(
    desk: Harness, solved: list[Trajectory], renderer: Renderer, markers: Markers
) -> None:
    assert rows_of(solved, desk, renderer, markers) == rows_of(solved, desk, renderer, None)
    thinking = planted(solved[0], "Seventy and two.")
    assert rows_of([thinking], desk, renderer, markers).refused == {}


def test_a_reviewers_voice_is_in_the_row_and_not_in_the_loss(
    desk: Harness, solved: list[Trajectory], renderer: Renderer
) -> None:
    words = (
        "The candidate guesses. Look it up first. Replace this with a look-up. "
        "The original proposal multiplies."
    )
    made = rows_of([planted(solved[0], words, origin="reviewer")], desk, renderer, None)
    (row,) = made.rows
    learnt = trained(row, renderer)
    assert "candidate guesses" in renderer.tokenizer.decode(list(row.ids))
    assert "Look it up first." in learnt
    assert "candidate" not in learnt
    assert "proposal" not in learnt
    assert "Replace" not in learnt
    call = solved[0].messages[first_reply(solved[0])].content
    assert f"{call}<|im_end|>" in learnt
    # every token is trained or masked by the plan: nothing else was lost
    (plain,) = rows_of([planted(solved[0], words)], desk, renderer, None).rows
    assert plain.ids == row.ids
    assert plain.trained > row.trained
    assert "candidate guesses" in trained(plain, renderer)


def test_a_token_that_is_partly_a_reviewers_voice_is_not_in_the_loss(
    desk: Harness, solved: list[Trajectory], renderer: Renderer, monkeypatch: pytest.MonkeyPatch
) -> None:
    spoken = planted(solved[0], "Well. The candidate guesses. Yes.", origin="reviewer")
    (row,) = rows_of([spoken], desk, renderer, None).rows
    places = Renderer.places

    def wider(self: Renderer, text: str) -> list[tuple[int, int]]:
        return [(max(0, a - 1), b + 1) for a, b in places(self, text)]

    monkeypatch.setattr(Renderer, "places", wider)
    (edged,) = rows_of([spoken], desk, renderer, None).rows
    assert edged.ids == row.ids
    assert edged.trained < row.trained


@pytest.mark.parametrize(
    "argument", ["the candidate is wrong", "REPLACE it", "replace this with 2+2"]
)
def test_a_reviewers_voice_in_the_call_itself_is_refused(
    desk: Harness, solved: list[Trajectory], renderer: Renderer, argument: str
) -> None:
    episode = solved[0]
    at = first_reply(episode)
    text = json.dumps({"name": "lookup", "arguments": {"item": argument}})
    spoken = episode.messages[at].model_copy(update={"content": text, "origin": "reviewer"})
    messages = (*episode.messages[:at], spoken, *episode.messages[at + 1 :])
    made = rows_of([episode.model_copy(update={"messages": messages})], desk, renderer, None)
    assert made.refused == {"private_marker": 1}


def test_what_the_target_says_itself_is_no_secret(desk: Harness, optimized: Harness) -> None:
    harness = desk.model_copy(
        update={"prompt": desk.prompt.model_copy(update={"system": f"Mind: {GUIDANCE}."})}
    )
    sieve = Sieve(markers_of(KNOWLEDGE, optimized, harness))
    assert not sieve.repeats(GUIDANCE, prompt="")
    assert sieve.repeats(PATTERN, prompt="")
    assert not sieve.repeats(PATTERN, prompt=PATTERN)
    # what the task says itself excuses that alone
    assert sieve.repeats(f"{PATTERN}. {RECIPE}", prompt=PATTERN)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("always ask before you multiply", True),
        ("ask before you multiply", False),  # fewer than five words are anybody's
        ("a b c d e", False),
    ],
)
def test_a_short_text_is_looked_for_whole(
    desk: Harness, optimized: Harness, text: str, told: bool
) -> None:
    short = KNOWLEDGE.model_copy(update={"recipes": (Recipe(tool="quote", text=text, steps=()),)})
    sieve = Sieve(markers_of(short, optimized, desk))
    assert sieve.repeats(f"Well, {text}, I say.", prompt="") is told


def test_texts_inside_examples_and_settings_of_k_are_private(
    desk: Harness, optimized: Harness
) -> None:
    spoken = ExampleTurn(
        role="assistant", call=ExampleCall(name="lookup", arguments={"item": EXAMPLE})
    )
    hint = Hint(name="h", rule="spelling", text="x", settings={"a": [PATTERN]}, source="x")
    knowledge = Knowledge(
        name="K",
        source="s",
        target="t",
        recipes=(Recipe(tool="quote", text="r", steps=(), example=(spoken,)),),
        hints=(hint,),
    )
    sieve = Sieve(markers_of(knowledge, optimized, desk))
    assert sieve.repeats(EXAMPLE, prompt="")
    assert sieve.repeats(PATTERN, prompt="")
    guided = Guidance(skill="s", text="g", examples=((spoken,),))
    skilled = Knowledge(name="K", source="s", target="t", guidance=(guided,))
    assert Sieve(markers_of(skilled, optimized, desk)).repeats(EXAMPLE, prompt="")


def test_holes_leave_what_stands_beside_them() -> None:
    spans = [(2, 6), (8, 10)]
    assert without(spans, []) == spans
    assert without(spans, [(3, 4)]) == [(2, 3), (4, 6), (8, 10)]
    assert without(spans, [(0, 9)]) == [(9, 10)]
    assert without(spans, [(6, 8)]) == spans


def test_a_fine_tuner_holds_its_rows_against_its_markers(
    student: Path, desk: Harness, solved: list[Trajectory], markers: Markers
) -> None:
    tuner = TrlFineTuner(student, SftSettings(), threads=1, markers=markers)
    made = tuner.rows([planted(solved[0], GUIDANCE), solved[1]], desk)
    assert made.refused == {"private_marker": 1}
    assert len(made.rows) == 1


def test_a_fine_tuner_asks_for_its_markers_each_time(
    student: Path, desk: Harness, optimized: Harness, solved: list[Trajectory]
) -> None:
    reviews: list[JsonObject] = []
    tuner = TrlFineTuner(
        student,
        SftSettings(),
        threads=1,
        markers=lambda: markers_of(KNOWLEDGE, optimized, desk, reviews=reviews),
    )
    spoilt = planted(solved[0], REASON)
    assert tuner.rows([spoilt], desk).refused == {}
    reviews.append({"reason": REASON})
    assert tuner.rows([spoilt], desk).refused == {"private_marker": 1}
