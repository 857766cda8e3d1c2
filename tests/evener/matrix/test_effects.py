"""A harness without one of the versions that led to it."""

from pathlib import Path

import pytest

from evener.agents.record.registry import Registry
from evener.matrix.effects import lineage, without, worth
from evener.protocols.attribution import Proposal, TrialKind
from evener.protocols.diff import DiffRecord
from evener.protocols.digest import JsonObject
from evener.protocols.error import PatchError
from evener.protocols.harness import Harness
from evener.protocols.model import ModelRef
from evener.protocols.patch import FieldEdit, Patch
from evener.protocols.reference import EpisodeRef
from evener.protocols.trajectory import Outcome

SKILL: JsonObject = {"name": "calc", "text": "count twice"}
REST: JsonObject = {
    "name": "calc",
    "when": {"words": [], "tools": []},
    "text": "count",
    "examples": [],
}


def commit(registry: Registry, *edits: FieldEdit, kind: TrialKind = "improve") -> str:
    version, harness = registry.head()
    patch = Patch(base=harness.digest(), edits=edits)
    record = DiffRecord(
        round=1,
        iteration=1,
        parent=version,
        proposal=Proposal(name="p", author="rule", patch=patch, kind=kind),
        model=ModelRef(base="b", revision="r"),
    )
    return registry.commit(patch.apply(harness), record)


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    found = Registry(tmp_path / "harness")
    found.start(Harness(name="h"))
    commit(found, FieldEdit(field_path="skills[+]", new_value={**SKILL}))
    commit(found, FieldEdit(field_path="prompt.system", old_value="", new_value="be brief"))
    return found


def test_the_later_patches_are_applied_without_the_one_left_out(registry: Registry) -> None:
    line = lineage(registry, "v2")
    assert line == ["v0", "v1", "v2"]
    less = without(registry, line, "v1")
    assert (less.skills, less.prompt.system) == ((), "be brief")
    assert without(registry, line, "v2") == registry.get("v1")


def test_a_version_that_a_later_one_stands_on_cannot_be_taken_out(registry: Registry) -> None:
    commit(
        registry,
        FieldEdit(
            field_path="skills[calc].text", old_value="count twice", new_value="count thrice"
        ),
    )
    line = lineage(registry, "v3")
    with pytest.raises(PatchError, match="v3 does not apply without it"):
        without(registry, line, "v1")


def test_a_lighter_version_takes_away_what_is_there_without_another(registry: Registry) -> None:
    commit(
        registry,
        FieldEdit(field_path="skills[calc].text", old_value="count twice", new_value="count"),
        FieldEdit(field_path="prompt.system", old_value="be brief", new_value="brief"),
        kind="simplify",
    )
    less = without(registry, lineage(registry, "v3"), "v1")
    assert (less.skills, less.prompt.system) == ((), "brief")
    commit(registry, FieldEdit(field_path="skills[calc]", old_value={**REST}), kind="simplify")
    with pytest.raises(PatchError, match="the same without it"):
        without(registry, lineage(registry, "v4"), "v1")


def test_versions_that_were_rolled_back_are_not_in_the_line(registry: Registry) -> None:
    commit(registry, FieldEdit(field_path="prompt.system", old_value="be brief", new_value="?"))
    commit(registry, FieldEdit(field_path="prompt.system", old_value="?", new_value="be brief"))
    registry.rollback("v2", actor="test", reason="back")
    assert lineage(registry, registry.head()[0]) == ["v0", "v1", "v2"]


def rewards(*values: float | None) -> list[EpisodeRef]:
    return [
        EpisodeRef(
            trajectory=f"{at}",
            episode="",
            task=f"t{at}",
            kind="",
            outcome=Outcome.INFRA if value is None else Outcome.FAILED,
            reward=value,
        )
        for at, value in enumerate(values)
    ]


def test_an_effect_is_paired_over_what_both_scored() -> None:
    whole, less = rewards(1, 1, None, *[1.0] * 20), rewards(0, None, 0, *[0.0] * 20)
    found = worth(whole, less, gains=True, seed=0)
    assert (found["n"], found["difference"], found["redundant"]) == (21, 1.0, False)


def test_no_difference_is_redundant_and_no_word_of_that_for_a_lighter_harness() -> None:
    same = rewards(*[1.0] * 60)
    assert worth(same, same, gains=True, seed=0)["redundant"] is True
    assert worth(same, same, gains=False, seed=0)["redundant"] is None
