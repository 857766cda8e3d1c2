"""From a model's answer to a blame, or to the reason why it is none.

Nothing in an answer is taken on trust: the cause is one of the taxonomy, the event is in the
episode, the quote stands in that event, and the change applies to the harness, gives one that can
run, and repeats no run of the task's words.
"""

import re
from typing import TypeVar, cast

from pydantic import JsonValue

from evener.agents.critics.brief import event_text
from evener.agents.harness.check import check
from evener.agents.harness.decode import Malformed, value_at
from evener.agents.harness.reasoning import set_apart
from evener.agents.pattern import Background
from evener.agents.pattern.lexical import grams
from evener.protocols.attribution import Evidence, RootCause, Severity
from evener.protocols.digest import JsonObject, Wire, canonical
from evener.protocols.error import HarnessError, PatchError
from evener.protocols.harness import Harness
from evener.protocols.model import Reply, StopReason
from evener.protocols.patch import FieldEdit, Patch
from evener.protocols.path import ABSENT, read
from evener.protocols.trajectory import Trajectory

QUOTED = 3
"""Characters that a quote has at least."""
LONGEST_PATH = 300
Kind = TypeVar("Kind", RootCause, Severity)
_FENCE = re.compile(r"```\w*\n(.*?)\n?```", re.DOTALL)


class Refused(ValueError):
    """An answer that is no blame. `fault` is one word for counting; the text is for the model."""

    def __init__(self, fault: str, text: str) -> None:
        self.fault = fault
        super().__init__(text)


class Blame(Wire):
    """What a valid answer says."""

    root_cause: RootCause
    severity: Severity
    evidence: Evidence
    edit: FieldEdit | None = None


def read_blame(
    reply: Reply, failure: Trajectory, harness: Harness, background: Background
) -> Blame:
    """The blame. Raises Refused."""
    said = _object(reply)
    cause = _one_of(said, "root_cause", RootCause)
    return Blame(
        root_cause=cause,
        severity=_one_of(said, "severity", Severity),
        evidence=_evidence(said, failure),
        edit=None if cause is RootCause.AGENT_ERROR else _edit(said, failure, harness, background),
    )


def _object(reply: Reply) -> JsonObject:
    if reply.stop_reason is StopReason.LENGTH:
        raise Refused("cut_by_length", "the answer was cut: give the JSON object alone")
    if reply.stop_reason is StopReason.FILTERED:
        raise Refused("filtered", "the provider withheld the answer")
    text = set_apart(reply.text)[0].strip()
    fenced = _FENCE.fullmatch(text)
    text = fenced.group(1).strip() if fenced else text
    if not text.startswith("{"):
        raise Refused("prose", "that is no JSON object: begin with { and write nothing else")
    try:
        value, end = value_at(text, 0)
    except Malformed as error:
        raise Refused("invalid_json", f"that is no JSON: {error}") from None
    if text[end:].strip():
        raise Refused("prose", "something follows the JSON object: write nothing else")
    return cast("JsonObject", value)


def _one_of(said: JsonObject, key: str, kinds: type[Kind]) -> Kind:
    try:
        return kinds(str(said.get(key)))
    except ValueError:
        raise Refused(key, f"{key} has to be one of {', '.join(kinds)}") from None


def _evidence(said: JsonObject, failure: Trajectory) -> Evidence:
    at, quote = said.get("event"), said.get("quote")
    last = len(failure.events) - 1
    if not isinstance(at, int) or isinstance(at, bool) or not 0 <= at <= last:
        raise Refused("event", f"event has to be a number from 0 to {last}")
    if not isinstance(quote, str) or len(quote.strip()) < QUOTED:
        raise Refused("quote", "quote has to be a few words of the event")
    if _plain(quote) not in _plain(event_text(failure, at)):
        raise Refused("quote", f"the quote does not stand in event {at}: copy it exactly")
    return Evidence(trajectory=failure.digest(), event=at, quote=quote)


def _plain(text: str) -> str:
    """The text with one space for any run of them: a model folds lines."""
    return " ".join(text.split())


def _edit(
    said: JsonObject, failure: Trajectory, harness: Harness, background: Background
) -> FieldEdit | None:
    """The change, its old value as it stands; None where the answer names no field."""
    path = said.get("field_path")
    if path is None or path == "":
        return None
    if not isinstance(path, str) or len(path) > LONGEST_PATH:
        raise Refused("field_path", f"field_path has to be a text of up to {LONGEST_PATH} letters")
    new = said.get("new_value")
    private = {gram for gram in grams(failure.task.prompt) if not background.common(gram)}
    if new is not None and not private.isdisjoint(grams(_all_text(new))):
        raise Refused("leak", "new_value repeats words of this task: it has to help with others")
    try:
        old = read(harness.document(), path)
        edit = FieldEdit(field_path=path, old_value=old, new_value=ABSENT if new is None else new)
        patched = Patch(base=harness.digest(), edits=(edit,)).apply(harness)
        check(patched, background.actions)
    except (PatchError, HarnessError) as error:
        raise Refused("field_path", f"the change cannot be made: {error}") from None
    except (ValueError, RecursionError):
        what = "field_path or new_value is too long or nested too deeply"
        raise Refused("field_path", f"the change cannot be made: {what}") from None
    return edit


def _all_text(value: JsonValue) -> str:
    return value if isinstance(value, str) else canonical(value)
