"""The form of a call: what of a reply carries the loss of a student trained on the format alone."""

from collections.abc import Awaitable, Callable, Sequence

import pytest

from evener.agents.harness.load import parse_yaml
from evener.agents.models.local.render import Renderer
from evener.distill.rows.build import Row, RowSet, build_rows
from evener.distill.rows.place import places, text_ends
from evener.distill.rows.skeleton import skeleton
from evener.distill.settings import SftSettings
from evener.protocols.event import Replied
from evener.protocols.harness import Harness
from evener.protocols.message import Origin
from evener.protocols.trajectory import Trajectory

END = 2
Collect = Callable[..., Awaitable[list[Trajectory]]]
CALL = '{"name": "lookup", "arguments": {"item": "red \\"lamp\\""}}'
FORM = '{"name": "", "arguments": {"": ""}}'


@pytest.fixture
def hermes(desk: Harness) -> Harness:
    other = parse_yaml("name: h\nmiddleware: {protocol: {format: hermes}}", where="h")
    return desk.model_copy(update={"middleware": other.middleware})


def form(text: str, harness: Harness) -> str:
    return "".join(text[a:b] for a, b in skeleton(text, harness))


def rows_of(
    episodes: Sequence[Trajectory], harness: Harness, renderer: Renderer, mask: str = "format"
) -> RowSet:
    settings = SftSettings.model_validate({"mask": mask})
    return build_rows(episodes, harness, renderer, settings=settings, model="tiny")


def learnt(row: Row, renderer: Renderer) -> str:
    return "".join(renderer.tokenizer.decode(list(row.ids[a:b])) for a, b in row.spans)


def with_reply(episode: Trajectory, text: str, origin: Origin = "student") -> Trajectory:
    """The episode with other words in its first reply."""
    at = next(i for i, m in enumerate(episode.messages) if m.sampled)
    new = episode.messages[at].model_copy(update={"content": text, "origin": origin})
    return episode.model_copy(
        update={"messages": (*episode.messages[:at], new, *episode.messages[at + 1 :])}
    )


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (CALL, FORM),
        ('{"name": "final", "arguments": {"answer": -4.5e3}}', '{"name": "", "arguments": {"": }}'),
        ('{"name": "a", "arguments": {}}', '{"name": "", "arguments": {}}'),
        (
            '{"name":"a","arguments":{"x":[1,{"y":"z"}],"name":null,"q":"{\\"k\\": 1}"}}',
            '{"name":"","arguments":{"":,"":,"":""}}',
        ),
        (
            '\n {"arguments": {"a": "b"}, "name": "é"} ',
            '{"arguments": {"": ""}, "name": ""}',
        ),
        ('<think>{"name": "a", "arguments": {}}</think>\n' + CALL, FORM),
        ('{"name": "", "arguments": {"": ""}}', FORM),
    ],
)
def test_the_form_of_a_json_call_is_what_does_not_say_which_call(
    desk: Harness, text: str, kept: str
) -> None:
    assert form(text, desk) == kept


@pytest.mark.parametrize(
    "text",
    [
        "",
        "42",
        "I would look it up.",
        "Sure: " + CALL,
        CALL + " That is it.",
        CALL + CALL,
        '{"name": "a"}',
        '{"name": "a", "arguments": "{}"}',
        '{"name": "a", "arguments": {}, "more": 1}',
        '{"name": "a", "arguments": {"x": 1,}}',
        '{"name": "a", "arguments": {"x": 1, "x": 2}}',
        '{"name": "a", "arguments": {"x": 1}',
        "[1]",
        "<think>" + CALL,
        f"<tool_call>{CALL}</tool_call>",
    ],
)
def test_what_is_no_call_by_the_letter_has_no_form(desk: Harness, text: str) -> None:
    assert skeleton(text, desk) == []


def test_the_form_of_hermes_has_its_tags_and_every_call_in_them(hermes: Harness) -> None:
    one = f"<tool_call>\n{CALL}\n</tool_call>"
    bare = f"<tool_call>\n{FORM}\n</tool_call>"
    assert form(one, hermes) == bare
    assert form(f"{one}\n{one}\n", hermes) == f"{bare}\n{bare}"
    assert form(CALL, hermes) == ""
    assert form(f"{one} done", hermes) == ""
    assert form(f"<tool_call>\n{CALL}", hermes) == ""
    assert form("<tool_call></tool_call>", hermes) == ""
    loop = hermes.middleware.loop.model_copy(update={"stop": ("</tool_call>",)})
    stopping = hermes.model_copy(
        update={"middleware": hermes.middleware.model_copy(update={"loop": loop})}
    )
    assert form(f"<tool_call>\n{CALL}\n", stopping) == f"<tool_call>\n{FORM}"


def test_several_bare_calls_have_a_form_where_the_protocol_takes_them(desk: Harness) -> None:
    assert form(f"{CALL}\n{CALL}", desk) == ""
    wire = desk.middleware.protocol.model_copy(update={"several": True})
    middleware = desk.middleware.model_copy(update={"protocol": wire})
    several = desk.model_copy(update={"middleware": middleware})
    assert form(f"{CALL}\n{CALL}\n", several) == f"{FORM}\n{FORM}"
    assert form(f"{CALL}\n{CALL} done", several) == ""
    assert form(CALL, several) == FORM


async def test_with_the_mask_format_the_form_and_the_end_of_turn_carry_the_loss(
    desk: Harness, renderer: Renderer, collect: Collect
) -> None:
    def letters(text: str) -> list[int]:
        return [renderer.encode(c)[0] for c in text] + [END]

    episodes = await collect(desk, 3, token_ids=letters)
    made = rows_of(episodes, desk, renderer)
    replies = [m.content for e in episodes for m in e.messages if m.sampled]
    # tokens of a letter each: all of the form, and nothing besides
    assert [learnt(row, renderer) for row in made.rows] == [
        form(reply, desk) + "<|im_end|>" for reply in replies
    ]
    whole = rows_of(episodes, desk, renderer, "spans")
    assert [row.ids for row in made.rows] == [row.ids for row in whole.rows]
    assert made.mask_digest() != whole.mask_digest()


def test_a_token_that_is_partly_a_name_or_a_value_carries_no_loss(
    desk: Harness, solved: list[Trajectory], renderer: Renderer
) -> None:
    made = rows_of(solved, desk, renderer)
    assert len(made.rows) == len(solved)
    for episode, row in zip(solved, made.rows, strict=True):
        replies = [m.content for m in episode.messages if m.sampled]
        forms = "".join(form(reply, desk) + "<|im_end|>" for reply in replies)
        said = learnt(row, renderer)
        rest = iter(forms)
        assert all(letter in rest for letter in said)  # letters of the form, in its order
        assert said.count("<|im_end|>") == len(replies)
        assert '"arguments"' in said
        for told in ("lookup", "calculator", "final", "expression", "answer", "item"):
            assert told not in said
    # this tokenizer's tokens do straddle: some of the form is lost with them
    first = [form(m.content, desk) for m in solved[0].messages if m.sampled]
    assert len(learnt(made.rows[0], renderer).replace("<|im_end|>", "")) < len("".join(first))


async def test_a_letter_of_several_tokens_is_told_apart_from_the_form_round_it(
    desk: Harness, renderer: Renderer, solved: list[Trajectory]
) -> None:
    text = '{"name": "lookup", "arguments": {"item": "é€😀"}}'
    ids = renderer.encode(text)
    assert len(renderer.encode("€")) > 1
    where = places(ids, renderer.decode)
    assert text_ends(ids, renderer.decode)[-1] == len(text)
    assert None in text_ends(ids, renderer.decode)
    assert "".join(text[a:b] for a, b in dict.fromkeys(where)) == text
    (row,) = rows_of([with_reply(solved[0], text)], desk, renderer).rows
    assert "é" not in learnt(row, renderer)
    assert "\ufffd" not in learnt(row, renderer)


def test_a_reply_that_is_no_call_carries_no_loss_and_is_counted(
    desk: Harness, solved: list[Trajectory], renderer: Renderer
) -> None:
    other = parse_yaml("name: l\nmiddleware: {protocol: {strict: false}}", where="l")
    lenient = desk.model_copy(update={"middleware": other.middleware})
    spoilt = with_reply(solved[0], f"Here it is: {CALL}")
    (row,) = rows_of([spoilt], lenient, renderer).rows
    replies = sum(m.sampled for m in spoilt.messages)
    assert learnt(row, renderer).count("<|im_end|>") == replies - 1
    assert "Here it is" in renderer.tokenizer.decode(list(row.ids))
    made = rows_of([spoilt], lenient, renderer)
    assert made.untrained == {"no_call": 1}
    whole = rows_of([spoilt], lenient, renderer, "spans").rows[0]
    assert "Here it is" in learnt(whole, renderer)


def test_a_row_of_no_calls_is_refused(
    desk: Harness, solved: list[Trajectory], renderer: Renderer
) -> None:
    at = next(i for i, m in enumerate(solved[0].messages) if m.sampled)
    short = solved[0].model_copy(
        update={
            "messages": solved[0].messages[: at + 1],
            "events": tuple(e for e in solved[0].events if isinstance(e, Replied))[:1],
        }
    )
    loop = parse_yaml("name: l\nmiddleware: {loop: {stop: ['END']}}", where="l")
    stopping = desk.model_copy(update={"middleware": loop.middleware})
    made = rows_of([with_reply(short, "Nothing to do. END")], stopping, renderer)
    assert made.refused == {"no_trainable_token": 1}
    assert made.untrained == {"no_call": 1}


def test_reasoning_before_a_call_carries_no_loss_and_a_reviewer_s_voice_still_refuses(
    desk: Harness, solved: list[Trajectory], renderer: Renderer
) -> None:
    call = next(m.content for m in solved[0].messages if m.sampled)
    thinking = with_reply(solved[0], f"<think>The candidate guesses.</think>{call}", "reviewer")
    (row,) = rows_of([thinking], desk, renderer).rows
    assert "think" not in learnt(row, renderer)
    assert learnt(row, renderer).startswith('{"name')
    spoken = '{"name": "lookup", "arguments": {"item": "the candidate is wrong"}}'
    refused = rows_of([with_reply(solved[0], spoken, "reviewer")], desk, renderer).refused
    assert refused == {"private_marker": 1}


async def test_sampled_tokens_that_cannot_be_mapped_are_refused(
    desk: Harness, renderer: Renderer, collect: Collect
) -> None:
    class Shrinking(Renderer):
        """Its decoder, like some, spells less text with one token more."""

        def decode(self, ids: Sequence[int]) -> str:
            text = super().decode(ids)
            return text[: len(text) // 2] if len(ids) == 7 else text

    episodes = await collect(desk, 2, token_ids=lambda text: [*renderer.encode(text), END])
    shrinking = Shrinking(renderer.tokenizer)
    assert rows_of(episodes, desk, shrinking).refused == {"mask_mismatch": 2}
    assert rows_of(episodes, desk, renderer).refused == {}
