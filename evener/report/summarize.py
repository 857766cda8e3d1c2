"""Verdicts, rows and costs of a run from its log and store: nothing comes from anywhere else."""

from collections import Counter
from collections.abc import Iterable, Sequence

from evener.agents.models.remote.attempt import CallRecord
from evener.agents.models.remote.spending import Spending
from evener.agents.record.log import latest
from evener.protocols.digest import JsonObject, canonical
from evener.protocols.port import Store
from evener.protocols.summary import RoleUse, Rows, VerdictLine
from evener.protocols.trajectory import Trajectory
from evener.protocols.verdict import Verdict


def verdict_lines(entries: Iterable[JsonObject], store: Store) -> tuple[VerdictLine, ...]:
    """One line for each trial, in the order they were decided."""
    last = latest(entries, "round", "iteration", "patch")
    return tuple(_line(entry, store.get(Verdict, str(entry["verdict"]))) for entry in last)


def _line(entry: JsonObject, verdict: Verdict) -> VerdictLine:
    inside, outside = verdict.delta_in, verdict.delta_out
    return VerdictLine(
        round=int(_number(entry["round"])),
        iteration=int(_number(entry["iteration"])),
        patch=str(entry["patch"]),
        kind=verdict.kind,
        author=str(entry["author"]),
        outcome=verdict.ruling,
        delta_in=inside.value if inside else None,
        delta_in_low=inside.low if inside else None,
        delta_in_high=inside.high if inside else None,
        delta_out=outside.value if outside else None,
        delta_out_low=outside.low if outside else None,
        delta_out_high=outside.high if outside else None,
        n_in=inside.n if inside else 0,
        n_out=outside.n if outside else 0,
        coverage=verdict.coverage,
        rollouts=verdict.rollouts + verdict.reused,  # a trial run again says what the first said
        reason=verdict.reason,
    )


def rows(entries: Iterable[JsonObject]) -> Rows:
    """Training rows over all rounds."""
    last = latest(entries, "round")
    refused: Counter[str] = Counter()
    for entry in last:
        counts = entry["refused"]
        assert isinstance(counts, dict)
        refused.update({reason: int(_number(count)) for reason, count in counts.items()})
    accepted = sum(int(_number(entry["rows"])) for entry in last)
    return Rows(accepted=accepted, refused=dict(refused))


def student_use(trajectories: Iterable[Trajectory]) -> RoleUse:
    """What the student's episodes cost; calls answered from the cache cost nothing."""
    calls = tokens = 0
    seconds = 0.0
    for trajectory in trajectories:
        calls += trajectory.usage.calls
        tokens += trajectory.usage.completion_tokens
        seconds += trajectory.usage.seconds
    return RoleUse(calls=calls, tokens=tokens, seconds=round(seconds, 1))


def roles_use(calls: Iterable[JsonObject]) -> dict[str, RoleUse]:
    """What the roles beside the student asked of models, by the log's entries of calls: requests,
    retries included, tokens written, seconds of waiting."""
    found: dict[str, RoleUse] = {}
    for body in calls:
        record = CallRecord.model_validate_json(canonical(body))
        if record.role == "student":
            continue
        before = found.get(record.role, RoleUse())
        found[record.role] = RoleUse(
            calls=before.calls + len(record.attempts),
            tokens=before.tokens + sum(a.completion_tokens or 0 for a in record.attempts),
            seconds=round(before.seconds + sum(a.seconds for a in record.attempts), 1),
        )
    return found


def charged(by_role: dict[str, RoleUse], calls: Sequence[JsonObject]) -> dict[str, RoleUse]:
    """The same with what each role sent to interfaces and what that cost, by the log's entries of
    calls: those of episodes that were broken off and run again, too."""
    made = dict(by_role)
    for role in {str(body["role"]): None for body in calls}:
        book = Spending(role)
        book.resume(calls)
        priced = book.calls - book.untold - book.unpriced
        made[role] = made.get(role, RoleUse()).model_copy(
            update={
                "requests": book.calls,
                "usd": round(book.usd, 6) if priced else None,
                "unpriced": book.unpriced,
                "untold": book.untold,
            }
        )
    return made


def _number(value: object) -> float:
    assert isinstance(value, int | float)
    return float(value)
