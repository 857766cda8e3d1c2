"""What each accepted version is worth: the last harness against itself without that version.

The later patches are applied again on a line that leaves one out. Fresh held_out tasks, greedy,
under the model in force; a version whose interval does not lie above 0 is called redundant, unless
it only made the harness lighter and so was never meant to gain.
"""

from collections.abc import Sequence

from evener.agents.plan import derive
from evener.agents.record.registry import Registry
from evener.agents.rounds.watch import difference
from evener.agents.trials.supply import up_to
from evener.matrix.bench import Bench, Scorer
from evener.matrix.history import History
from evener.protocols.error import HarnessError, PatchError
from evener.protocols.harness import Harness
from evener.protocols.patch import FieldEdit, Patch
from evener.protocols.path import ABSENT, read
from evener.protocols.reference import EpisodeRef
from evener.protocols.summary import Effect
from evener.protocols.task import Purpose, Split, Task

TASKS = 60


def skip(history: History) -> str:
    """Nothing accepted, nothing to take out."""
    same = history.last.harness == history.seed.digest
    return "no accepted version is in force" if same else ""


def rollouts(history: History) -> int:
    """With all, and without each; as many versions as the last one's number at most."""
    return TASKS * (1 + int(history.last.version[1:]))


async def run(bench: Bench) -> str:
    """One `effect` entry for each version from the first to the last in force."""
    history = bench.history
    async with bench.open() as scorer:
        registry = Registry(scorer.team.folder.harness)
        line = lineage(registry, history.last.version)
        model = await scorer.team.serve(history.last.model.adapter or "base")
        seed = derive(history.config.plan.seed, "effect")
        tasks = up_to(scorer.team.environment, Split.HELD_OUT, count=TASKS, seed=seed)
        whole: Sequence[EpisodeRef] | None = None
        found: list[Effect] = []
        for version in line[1:]:
            proposals = [record.proposal for record in registry.diffs(version)]
            gains = any(proposal.kind != "simplify" for proposal in proposals)
            effect = Effect(
                version=version,
                patch=", ".join(proposal.name for proposal in proposals),
                model=str(model),
                split=str(Split.HELD_OUT),
            )
            try:
                harness = without(registry, line, version)
                scorer.team.check(harness)
            except (PatchError, HarnessError) as error:
                effect = effect.model_copy(update={"fault": str(error)})
            else:
                whole = whole or await _score(scorer, history, tasks, history.last.harness, "HEAD")
                digest = scorer.record.put(harness)
                less = await _score(scorer, history, tasks, digest, f"HEAD without {version}")
                effect = effect.model_copy(update=worth(whole, less, gains=gains, seed=seed))
            scorer.note("effect", effect, same=("version", "model"))
            found.append(effect)
    redundant = [e.version for e in found if e.redundant]
    faults = [e.version for e in found if e.fault]
    return (
        f"{len(found)} accepted versions taken out one by one on {len(tasks)} held_out tasks; "
        f"redundant: {', '.join(redundant) or 'none'}; cannot be taken out: "
        f"{', '.join(faults) or 'none'}"
    )


async def _score(
    scorer: Scorer, history: History, tasks: Sequence[Task], digest: str, what: str
) -> tuple[EpisodeRef, ...]:
    return await scorer.rollouts.run(
        tasks,
        harness=digest,
        model=history.last.model,
        purpose=Purpose.EVALUATE,
        seed=derive(history.config.plan.seed, "effect"),
        label=f"effects: {what}",
    )


def worth(
    whole: Sequence[EpisodeRef], less: Sequence[EpisodeRef], *, gains: bool, seed: int
) -> dict[str, object]:
    """The fields of an `Effect` from episodes with and without a version on the same tasks."""
    found = difference(less, whole, seed=seed)
    return {
        "difference": found.value,
        "low": found.low,
        "high": found.high,
        "n": found.n,
        "redundant": found.low <= 0 if gains else None,
    }


def lineage(registry: Registry, version: str) -> list[str]:
    """The versions that led to this one, v0 first."""
    line = [version]
    while (parent := registry.manifest(line[0])["parent"]) is not None:
        line.insert(0, str(parent))
    return line


def without(registry: Registry, line: Sequence[str], left_out: str) -> Harness:
    """The last harness of a line as it would be without the patch of one version. What only makes
    a harness lighter takes away of it what is there.

    Raises PatchError where a later patch needs that one, or where it makes no difference.
    """
    harness = registry.get(line[0])
    for version in line[1:]:
        if version == left_out:
            continue
        for record in registry.diffs(version):
            edits = record.proposal.patch.edits
            if record.proposal.kind == "simplify":
                edits = tuple(edit for edit in edits if _there(harness, edit))
                if not edits:
                    continue
            patch = Patch(base=harness.digest(), edits=edits)
            try:
                harness = patch.apply(harness)
            except PatchError as error:
                if error.reason == "no_change":
                    continue
                raise PatchError(
                    f"{version} does not apply without it ({error})", reason=error.reason
                ) from None
    if harness.digest() == registry.get(line[-1]).digest():
        raise PatchError("the harness is the same without it", reason="no_change")
    return harness


def _there(harness: Harness, edit: FieldEdit) -> bool:
    """Whether there is anything where the edit wants to take away."""
    try:
        return read(harness.document(), edit.field_path) is not ABSENT
    except HarnessError:
        return False
