"""Chat templates with the assistant's tokens marked by `{% generation %}`, and what they mark.

Our own mask (mask.py) needs no marks. They are the second opinion of `mask = "template"`, and what
another trainer with assistant_only_loss needs. A marked template draws the same text as the plain.
"""

import re
from collections.abc import Sequence

from evener.agents.models.local.library import library
from evener.agents.models.local.render import Renderer
from evener.protocols.error import DataError
from evener.protocols.message import Message

_MARK = re.compile(r"\{%-?\s*generation\s*-?%\}")
# one expression draws a whole ChatML turn, as in SmolLM2's template
_CHATML_TURN = re.compile(
    r"\{\{\s*'<\|im_start\|>'\s*\+\s*message\['role'\]\s*\+\s*'(?P<a>\\n|\n)'\s*\+\s*"
    r"message\['content'\]\s*\+\s*'<\|im_end\|>'\s*\+\s*'(?P<b>\\n|\n)'\s*\}\}"
)
_CHATML_MARKED = (
    "{% if message['role'] == 'assistant' %}{{ '<|im_start|>assistant' + '\\n' }}"
    "{% generation %}{{ message['content'] + '<|im_end|>' }}{% endgeneration %}{{ '\\n' }}"
    "{% else %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>'"
    " + '\\n' }}{% endif %}"
)
_PROBE = (
    Message(role="system", content="Be brief."),
    Message(role="user", content="2+2?"),
    Message(role="assistant", content="4"),
    Message(role="user", content="and 3+3?"),
    Message(role="assistant", content='{"answer": 6}'),
)


def has_marks(template: str) -> bool:
    """Whether the template marks any generation."""
    return _MARK.search(template) is not None


def marked_template(renderer: Renderer, *, model: str) -> str:
    """The model's template with the assistant's text and its end-of-turn marked.

    Taken as it is where it has marks, else marked here (ChatML) or by TRL (the families it knows).
    Raises DataError, with the ways out, where it cannot be marked or the marks are wrong.
    """
    plain = renderer.tokenizer.chat_template
    if not isinstance(plain, str):
        raise _unmarked(model)
    marked = plain if has_marks(plain) else _mark(renderer, plain)
    if marked is None:
        raise _unmarked(model)
    _prove(renderer, marked, model=model)
    return marked


def drawn(renderer: Renderer, messages: Sequence[Message], template: str) -> str:
    """The conversation as another template draws it."""
    text: str = renderer.tokenizer.apply_chat_template(
        renderer.turns(messages), chat_template=template, tokenize=False
    )
    return text


def marked_ids(
    renderer: Renderer, messages: Sequence[Message], template: str
) -> tuple[list[int], list[int]]:
    """Token ids of the conversation, and 1 for every token that the template marks, else 0."""
    made = renderer.tokenizer.apply_chat_template(
        renderer.turns(messages),
        chat_template=template,
        tokenize=True,
        return_dict=True,
        return_assistant_tokens_mask=True,
    )
    ids: list[int] = made["input_ids"]
    mask: list[int] = made["assistant_masks"]
    return ids, mask


def end_of_turn(renderer: Renderer, *, model: str) -> int:
    """The token that the template puts behind an assistant's text.

    Raises DataError where it puts none: nothing would teach the student to stop.
    """
    opening, said = _PROBE[:2], _PROBE[2]
    whole = renderer.text([*opening, said], add_generation_prompt=False)
    after = whole[len(renderer.text(opening)) :].removeprefix(said.content)
    ids = renderer.encode(after.strip()) if after.strip() else []
    if not ids:
        raise DataError(
            "this template puts no end-of-turn token behind the assistant's text",
            where=model,
            remedy="use a chat template that ends every turn, in the model's chat_template.jinja",
        )
    return ids[0]


def _mark(renderer: Renderer, plain: str) -> str | None:
    found = _CHATML_TURN.findall(plain)
    if len(found) == 1:
        return _CHATML_TURN.sub(lambda _: _CHATML_MARKED, plain)
    utils = library("trl.chat_template_utils")
    try:
        made: str | None = utils.get_training_chat_template(renderer.tokenizer)
    except ValueError:
        return None
    return made


def _prove(renderer: Renderer, marked: str, *, model: str) -> None:
    """Raise DataError unless the marks are the assistant's text and end-of-turn, nothing more."""
    if drawn(renderer, _PROBE, marked) != renderer.text(_PROBE, add_generation_prompt=False):
        raise DataError("the marked template draws another text", where=model, remedy=_WAYS)
    ids, mask = marked_ids(renderer, _PROBE, marked)
    if not any(mask):
        raise _unmarked(model)
    end = end_of_turn(renderer, model=model)
    said = [[*renderer.encode(m.content), end] for m in _PROBE if m.role == "assistant"]
    stretches: list[list[int]] = []
    for index, (token, marked_here) in enumerate(zip(ids, mask, strict=True)):
        if marked_here and (index == 0 or not mask[index - 1]):
            stretches.append([])
        if marked_here:
            stretches[-1].append(token)
    if stretches != said:
        raise DataError(
            "this template's marks are not the assistant's text with its end-of-turn token",
            where=model,
            remedy=_WAYS,
        )


_WAYS = (
    'Set finetune.mask = "spans" (our own mask on token ids, which needs no marks), or put '
    "{% generation %} … {% endgeneration %} round the assistant's text and its end-of-turn token "
    "in the model's chat_template.jinja"
)


def _unmarked(model: str) -> DataError:
    return DataError("this template marks no assistant tokens", where=model, remedy=_WAYS)
