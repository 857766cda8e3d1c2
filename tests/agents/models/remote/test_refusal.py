"""Refusals in the words of real servers."""

from email.utils import formatdate

import pytest

from evener.agents.models.remote.outcome import CallFault, QuotaError, plain
from evener.agents.models.remote.refusal import error_of, refusal, retry_after
from evener.protocols.error import BudgetError, InfraError, ModelError


@pytest.mark.parametrize(
    ("said", "figures"),
    [
        (
            "This model's maximum context length is 4096 tokens. However, you requested 5000 "
            "tokens (4744 in the messages, 256 in the completion). Please reduce the length.",
            (4744, 4096),
        ),
        (
            "This model's maximum context length is 2048 tokens. However, your request has 2100 "
            "input tokens. Please reduce the length of the input messages.",
            (2100, 2048),
        ),
        (
            "This model's maximum context length is 8192 tokens. However, your messages resulted "
            "in 9001 tokens.",
            (9001, 8192),
        ),
        ("prompt is too long: 210000 tokens > 200000 maximum", (210000, 200000)),
        ("the request exceeds the available context size. try increasing it", (None, None)),
    ],
)
def test_a_prompt_that_is_too_long_is_known_by_its_words_and_figures(
    said: str, figures: tuple[int | None, int | None]
) -> None:
    fault = refusal(400, said, wall=0)
    assert (fault.kind, fault.window) == ("context_exceeded", figures)
    assert "does not fit" in str(fault.error("host", attempts=1)) or figures[0]


@pytest.mark.parametrize(
    ("status", "said", "kind", "error"),
    [
        (429, "Rate limit reached", "rate_limited", InfraError),
        (429, "You exceeded your current quota, please check your plan", "quota", QuotaError),
        (402, "Payment required", "quota", BudgetError),
        (400, "Your credit balance is too low", "quota", BudgetError),
        (401, "Incorrect API key provided", "unauthorized", ModelError),
        (403, "no access", "unauthorized", ModelError),
        (404, "The model `x` does not exist", "not_found", ModelError),
        (408, "", "timeout", InfraError),
        (500, "oops", "overloaded", InfraError),
        (529, "Overloaded", "overloaded", InfraError),
        (
            400,
            "The response was filtered by the content management policy",
            "content_filter",
            InfraError,
        ),
        (400, "messages: roles must alternate", "refused", InfraError),
        (422, "extra fields", "refused", InfraError),
    ],
)
def test_a_status_and_its_words_have_a_kind_and_an_error(
    status: int, said: str, kind: str, error: type[Exception]
) -> None:
    fault = refusal(status, said, wall=0)
    assert fault.kind == kind
    assert isinstance(fault.error("host", attempts=1), error)


def test_a_model_without_tools_is_told_what_to_use() -> None:
    said = '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'
    assert "json or hermes" in refusal(400, said, wall=0).remedy


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2", 2.0),
        ("1.5", 1.5),
        ("-3", 0.0),
        ("soon", None),
        ("", None),
        (None, None),
        ("nan", None),
    ],
)
def test_retry_after_in_seconds(text: str | None, seconds: float | None) -> None:
    assert retry_after(text, wall=0) == seconds


def test_retry_after_as_a_date() -> None:
    assert retry_after(formatdate(1_700_000_030, usegmt=True), wall=1_700_000_000) == 30
    assert retry_after(formatdate(1_699_999_000, usegmt=True), wall=1_700_000_000) == 0


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ({"error": {"message": "m", "code": 502}}, ("m", "", 502)),
        ({"error": {"message": "m", "type": "t", "code": "c"}}, ("m", "c t", None)),
        ({"error": "m"}, ("m", "", None)),
        ({"detail": "m"}, ("m", "", None)),
        ({"object": "error", "message": "m", "code": 404}, ("m", "", 404)),
        ("text", ("text", "", None)),
        (None, ("", "", None)),
    ],
)
def test_errors_in_all_their_shapes(body: object, found: tuple[str, str, int | None]) -> None:
    assert error_of(body) == found  # type: ignore[arg-type]


def test_what_a_server_says_is_one_line_without_keys() -> None:
    assert plain("a\n\tb\x1b[31m" + "c" * 400).startswith("a b [31mccc")
    assert len(plain("x" * 1000)) <= 300
    assert "hunter" not in plain("Incorrect API key provided: sk-hunter22hunter. Bearer hunter22")


def test_how_often_it_was_tried_is_said() -> None:
    line = str(CallFault("overloaded", "busy", status=503).error("host", attempts=4))
    assert line == "host: busy (503) after 4 attempts"
