"""A refusal in the server's own words becomes a named fault, by its status first.

Messages are those of OpenAI, vLLM and the providers that litellm speaks to. A figure that cannot be
read is left out, never guessed.
"""

import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

from pydantic import JsonValue

from evener.agents.models.remote.outcome import CallFault, FaultKind

_CONTEXT = re.compile(
    r"context[ _](length|window)|maximum (input|model|sequence) length|prompt is too long"
    r"|input is too long|exceeds? the (available )?context|too many (input )?tokens",
    re.IGNORECASE,
)
_WINDOWS = (
    r"(?:context length|context window|maximum) (?:is|of)(?: only)? (\d+)",
    r"> (\d+) maximum",
    r"context (?:size|length|window)[^0-9]{0,20}(\d+)",
)
_PROMPTS = (
    r"\((\d+) in the messages",
    r"(?:request|prompt|input|messages?) (?:has|have|contains?|resulted in|of)[^0-9]{0,20}(\d+)",
    r"too long: (\d+) tokens",
    r"(?:passed|you requested) (\d+)(?: input)? tokens",
)
_FILTER = re.compile(r"content[ _]?(filter|policy|management)|responsible ai", re.IGNORECASE)
_QUOTA = re.compile(
    r"insufficient_quota|exceeded your current quota|credit balance|billing", re.IGNORECASE
)
_TOOLS = re.compile(r"tool[ _-]?(choice|call|use)|does not support tools", re.IGNORECASE)
_RETRIED = {408: "timeout", 409: "overloaded", 425: "overloaded", 429: "rate_limited"}


def refusal(
    status: int, said: str, *, code: str = "", headers: Mapping[str, str] | None = None, wall: float
) -> CallFault:
    """The fault of an answer with an error status. `code` is the server's own word for it, `wall`
    the time of day against which a date in Retry-After is held."""
    kind, remedy = _kind(status, f"{code} {said}")
    fault = CallFault(
        kind,
        said or f"the server answered {status}",
        status=status,
        retry_after=retry_after((headers or {}).get("retry-after"), wall=wall),
        remedy=remedy,
    )
    if kind == "context_exceeded":
        fault.window = (_figure(_PROMPTS, said), _figure(_WINDOWS, said))
    return fault


def error_of(body: JsonValue) -> tuple[str, str, int | None]:
    """(what it says, its code, its status) of an error in any of the shapes that servers use."""
    error = body.get("error", body) if isinstance(body, dict) else body
    if isinstance(error, str):
        return error, "", None
    if not isinstance(error, dict):
        return "", "", None
    said = next((str(error[k]) for k in ("message", "detail", "msg") if error.get(k)), "")
    words = [str(error[k]) for k in ("code", "type") if isinstance(error.get(k), str)]
    statuses = (error.get("code"), error.get("status"), error.get("status_code"))
    status = next((s for s in statuses if isinstance(s, int) and 400 <= s < 600), None)
    return said, " ".join(words), status


def retry_after(text: str | None, *, wall: float) -> float | None:
    """Seconds from a Retry-After header: a number, or an HTTP date (RFC 9110, 10.2.3)."""
    if not text:
        return None
    try:
        seconds = float(text)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(text).timestamp() - wall
        except (ValueError, TypeError, OverflowError):
            return None
    return max(0.0, seconds) if seconds - seconds == 0 else None


def _kind(status: int, said: str) -> tuple[FaultKind, str]:
    if (_QUOTA.search(said) and status in (400, 402, 403, 429)) or status == 402:
        return "quota", ""
    if status in _RETRIED:
        return _retried(status), ""
    if status >= 500:
        return "overloaded", ""
    if status in (401, 403):
        return "unauthorized", "check the key"
    if _CONTEXT.search(said) and status in (400, 413, 422):
        return "context_exceeded", ""
    if status == 404:
        return "not_found", ""
    if _FILTER.search(said):
        return "content_filter", ""
    remedy = ""
    if _TOOLS.search(said):
        remedy = "where the model takes no tools, use a harness whose protocol is json or hermes"
    return "refused", remedy


def _retried(status: int) -> FaultKind:
    match _RETRIED[status]:
        case "timeout":
            return "timeout"
        case "rate_limited":
            return "rate_limited"
        case _:
            return "overloaded"


def _figure(patterns: tuple[str, ...], said: str) -> int | None:
    for pattern in patterns:
        found = re.search(pattern, said, re.IGNORECASE)
        if found:
            return int(found.group(1))
    return None
