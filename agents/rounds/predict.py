"""What a patch should do, said before its trial and scored after it. Never a reason to accept.

By the rules of the loop alone: a patch repairs the failures it is aimed at, and may break what was
solved wherever the student is shown something else or met by another loop.
"""

from collections.abc import Mapping, Sequence

from evener.agents.harness.runtime import Runtime, prepare
from evener.protocols.attribution import Proposal
from evener.protocols.diff import Prediction
from evener.protocols.digest import Wire
from evener.protocols.harness import Harness, Skill, When
from evener.protocols.task import Task


class Came(Wire):
    """What came of a prediction, over the tasks that were scored before and after: predicted fixes
    and breaks that came true, and all tasks that became solved or stopped being so."""

    fixes_true: int = 0
    breaks_true: int = 0
    fixed: int = 0
    broken: int = 0


def predict(
    proposal: Proposal,
    harness: Harness,
    *,
    aimed: Sequence[Task],
    solved: Sequence[Task],
) -> Prediction:
    """`aimed` are the failed mining tasks that the proposal is aimed at, `solved` the solved ones.

    Fixes are the former; breaks are those of the latter that it touches. Raises PatchError where
    the patch does not apply to `harness`, HarnessError where a harness cannot be rendered.
    """
    fixes = [task.id for task in aimed]
    after = prepare(proposal.patch.apply(harness))
    before = prepare(harness)
    breaks = [task.id for task in solved if _touches(before, after, task.prompt)]
    return Prediction(fixes=tuple(dict.fromkeys(fixes)), breaks=tuple(dict.fromkeys(breaks)))


def score(prediction: Prediction, before: Mapping[str, bool], after: Mapping[str, bool]) -> Came:
    """Hold a prediction against two runs on the same tasks: whether each was solved, by its id. A
    task that either run did not score counts nowhere."""
    both = [task for task in before if task in after]
    fixed = {task for task in both if after[task] and not before[task]}
    broken = {task for task in both if before[task] and not after[task]}
    return Came(
        fixes_true=len(fixed.intersection(prediction.fixes)),
        breaks_true=len(broken.intersection(prediction.breaks)),
        fixed=len(fixed),
        broken=len(broken),
    )


def _touches(before: Runtime, after: Runtime, prompt: str) -> bool:
    """Whether an episode on this task may go otherwise: by loop, protocol, hooks or window, by what
    is on view at its start, by the tools on offer, or by a skill that a call may wake."""
    if before.harness.middleware != after.harness.middleware:
        return True
    old, new = (r.opening(prompt, notes=r.recalled(prompt)) for r in (before, after))
    if old.messages != new.messages:
        return True
    if [ready.tool for ready in old.tools] != [ready.tool for ready in new.tools]:
        return True
    offered = set(old.offered)
    return _wakeable(before.harness, offered) != _wakeable(after.harness, offered)


def _wakeable(harness: Harness, offered: set[str]) -> list[Skill]:
    """The skills that a call of these tools wakes; what else wakes them is no matter here."""
    return [
        skill.model_copy(update={"when": When(tools=tuple(sorted(offered & {*skill.when.tools})))})
        for skill in harness.skills
        if offered & {*skill.when.tools}
    ]
