"""The harness registry: versions that stay, diffs that say why, a HEAD that moves only to what is
there and whole."""

import hashlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evener.agents.harness.load import load
from evener.agents.record.diff import dump_diff, load_diff
from evener.agents.record.memory import MemoryLog
from evener.agents.record.registry import Registry
from evener.protocols.attribution import Attribution, Evidence, Proposal, RootCause, Severity
from evener.protocols.diff import DiffRecord
from evener.protocols.error import PatchError, RunError
from evener.protocols.harness import Harness, Loop, Middleware, Prompt, Tool
from evener.protocols.model import ModelRef
from evener.protocols.patch import FieldEdit, Patch
from evener.protocols.verdict import Delta, Pair, Ruling, Verdict

TEXT = "Think step by step.\nUse the calculator for sums.\n"
SEED = Harness(
    name="storefront-seed",
    prompt=Prompt(system=TEXT),
    tools=(Tool(name="lookup", description="{{ braces }} é", action="lookup"),),
    middleware=Middleware(loop=Loop(max_turns=6)),
)
MODEL = ModelRef(base="small", revision="r1")


def verdict(ruling: Ruling) -> Verdict:
    return Verdict(
        trial="1-1",
        kind="improve",
        gate="paired",
        gate_digest="g",
        ruling=ruling,
        delta_in=Delta(value=0.25, low=1e-05, high=0.5, n=2),
        delta_out=Delta(value=0.0, low=-0.1, high=0.1, n=1),
        pairs_in=(Pair(task="a", before=0, after=1), Pair(task="b", before=0, after=0)),
        pairs_out=(Pair(task="c", before=1, after=1),),
        coverage=1.0,
        looks=1,
        rollouts=6,
        seed=0,
        reason="no: 012",
    )


def record(
    base: Harness,
    *edits: FieldEdit,
    name: str = "Fix the prompt!",
    parent: str = "v0",
    ruling: Ruling | None = Ruling.ACCEPT,
    fault: str = "",
    iteration: int = 1,
    rollouts: int = 6,
) -> DiffRecord:
    ruled = verdict(ruling).model_copy(update={"rollouts": rollouts}) if ruling else None
    return DiffRecord(
        round=1,
        iteration=iteration,
        parent=parent,
        proposal=Proposal(
            name=name,
            author="rule",
            patch=Patch(base=base.digest(), edits=edits),
            signatures=("parse_failed:no_call",),
        ),
        attributions=(
            Attribution(
                trajectory="t" * 64,
                author="rule",
                root_cause=RootCause.PROMPT_AMBIGUITY,
                harness_dim="P",
                severity=Severity.MAJOR,
                signature="parse_failed:no_call",
                evidence=Evidence(trajectory="t" * 64, event=3, quote="I think it is\u2028 12"),
            ),
        ),
        failures=9,
        model=MODEL,
        verdict=ruled,
        fault=fault,
    )


def edit(path: str, old: object, new: object) -> FieldEdit:
    return FieldEdit.model_validate({"field_path": path, "old_value": old, "new_value": new})


TURNS = edit("middleware.loop.max_turns", 6, 9)
PROMPT = edit("prompt.system", TEXT, "Always verify sums.\n")


def committed(registry: Registry) -> tuple[Harness, Harness]:
    """v0, v1 and v2."""
    registry.start(SEED)
    one = Patch(base=SEED.digest(), edits=(TURNS,)).apply(SEED)
    assert registry.commit(one, record(SEED, TURNS)) == "v1"
    two = Patch(base=one.digest(), edits=(PROMPT,)).apply(one)
    assert registry.commit(two, record(one, PROMPT, parent="v1", name="prompt")) == "v2"
    return one, two


def tree(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_versions_are_stored_with_their_diffs_and_head_moves(tmp_path: Path) -> None:
    registry = Registry(tmp_path / "harness")
    one, two = committed(registry)
    assert registry.versions() == ("v0", "v1", "v2")
    assert registry.head() == ("v2", two)
    assert [registry.get(v) for v in registry.versions()] == [SEED, one, two]
    assert load(registry.path("v1")) == one
    assert [registry.manifest(v)["parent"] for v in registry.versions()] == [None, "v0", "v1"]
    assert [name for name in sorted(tree(tmp_path / "harness")) if "/" in name] == [
        "v0/harness.yaml",
        "v0/manifest.json",
        "v0/sealed.json",
        "v1/diffs/001_fix-the-prompt.yaml",
        "v1/harness.yaml",
        "v1/manifest.json",
        "v1/sealed.json",
        "v2/diffs/001_prompt.yaml",
        "v2/harness.yaml",
        "v2/manifest.json",
        "v2/sealed.json",
    ]
    assert (tmp_path / "harness" / "HEAD").read_text() == "v2\n"
    assert registry.verify() == ()


def test_a_diff_has_the_changed_fields_the_evidence_and_the_verdict(tmp_path: Path) -> None:
    registry = Registry(tmp_path)
    committed(registry)
    made = record(SEED, TURNS)
    (found,) = registry.diffs("v1")
    assert made.verdict is not None
    bare = made.verdict.model_copy(update={"pairs_in": (), "pairs_out": ()})
    assert found == made.model_copy(update={"verdict": bare})
    text = (tmp_path / "v1" / "diffs" / "001_fix-the-prompt.yaml").read_text("utf-8")
    for wanted in (
        "applied: v1",
        "field_path: middleware.loop.max_turns",
        "old_value: 6",
        "new_value: 9",
        "name: Fix the prompt!",
        "author: rule",
        "root_cause: prompt_ambiguity",
        "ruling: ACCEPT",
        "n_in: 2",
        "n_out: 1",
        "failures: 9",
    ):
        assert wanted in text
    assert "description" not in text


@given(old=st.text(max_size=40), new=st.text(max_size=40), number=st.floats(0, 1))
def test_every_diff_comes_back_equal(
    tmp_path_factory: pytest.TempPathFactory, old: str, new: str, number: float
) -> None:
    change = edit("prompt.system", old, {"a": [new, number, None, True]})
    add = FieldEdit(field_path="skills[price]", new_value={"name": new})
    remove = FieldEdit(field_path="skills[price]", old_value=old)
    made = record(SEED, change, add, remove, ruling=None)
    path = tmp_path_factory.mktemp("diff") / "001_x.yaml"
    path.write_text(dump_diff(made, applied=None, equals=None), "utf-8")
    assert load_diff(path) == made


def test_committing_the_same_again_makes_no_new_version(tmp_path: Path) -> None:
    registry = Registry(tmp_path)
    one, two = committed(registry)
    before = tree(tmp_path)
    again = Registry(tmp_path)
    assert again.start(SEED) == "v0"
    assert again.commit(one, record(SEED, TURNS, rollouts=0)) == "v1"
    assert again.commit(two, record(one, PROMPT, parent="v1", name="prompt")) == "v2"
    assert tree(tmp_path) == before
    assert again.head()[0] == "v2"


def test_a_rollback_is_not_undone_by_committing_the_same_again(tmp_path: Path) -> None:
    registry = Registry(tmp_path)
    committed(registry)
    registry.rollback("v0", actor="person", reason="worse in the shop")
    committed(Registry(tmp_path))
    assert registry.head()[0] == "v0"


def test_a_crash_before_head_moved_is_made_good(tmp_path: Path) -> None:
    registry = Registry(tmp_path)
    committed(registry)
    moves = (tmp_path / "moves.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "moves.jsonl").write_text("".join(moves[:-1]))
    (tmp_path / "HEAD").write_text("v1\n")
    committed(Registry(tmp_path))
    assert registry.head()[0] == "v2"
    assert registry.versions() == ("v0", "v1", "v2")


def test_a_move_that_was_noted_only_after_a_crash_says_where_it_came_from(tmp_path: Path) -> None:
    registry = Registry(tmp_path)
    committed(registry)
    path = tmp_path / "moves.jsonl"
    moves = path.read_text().splitlines(keepends=True)
    path.write_text("".join(moves[:-1]))  # HEAD is written, and the note of it is not
    committed(registry)
    found = [json.loads(line) for line in path.read_text().splitlines()]
    assert [move["from"] for move in found] == [None, "v0", "v1"]


def test_another_first_harness_is_refused(tmp_path: Path) -> None:
    registry = Registry(tmp_path)
    registry.start(SEED)
    with pytest.raises(RunError, match="the run began with the harness"):
        registry.start(SEED.model_copy(update={"name": "other"}))
    assert registry.versions() == ("v0",)


def test_a_record_that_does_not_lead_to_the_harness_is_not_committed(tmp_path: Path) -> None:
    registry = Registry(tmp_path)
    registry.start(SEED)
    before = tree(tmp_path)
    with pytest.raises(PatchError, match="the patch leads from v0 to"):
        registry.commit(SEED.model_copy(update={"name": "other"}), record(SEED, TURNS))
    with pytest.raises(RunError, match="no version 'v7'"):
        registry.commit(SEED, record(SEED, TURNS, parent="v7"))
    with pytest.raises(PatchError, match="needs the record"):
        registry.commit(SEED)
    assert tree(tmp_path) == before


def test_a_version_with_the_content_of_an_earlier_one_is_linked_to_it(tmp_path: Path) -> None:
    registry = Registry(tmp_path)
    one, _ = committed(registry)
    back = edit("middleware.loop.max_turns", 9, 6)
    assert registry.commit(SEED, record(one, back, parent="v1", name="back")) == "v3"
    assert registry.manifest("v3")["equals"] == "v0"
    assert registry.equal_to(SEED) == "v0"


# Patches that were not accepted


def test_a_patch_that_was_turned_down_is_kept_once(tmp_path: Path) -> None:
    root = tmp_path / "a" / "harness"
    registry = Registry(root)
    registry.start(SEED)
    rejected = record(SEED, PROMPT, ruling=Ruling.REJECT, name="../../Outside")
    unsure = record(SEED, TURNS, ruling=Ruling.INDECISIVE, name="con")
    assert registry.refuse(rejected) == "001_outside.yaml"
    assert registry.refuse(unsure) == "002_con-1.yaml"
    replayed = record(SEED, PROMPT, ruling=Ruling.REJECT, name="../../Outside", rollouts=0)
    assert registry.refuse(replayed) == "001_outside.yaml"
    assert Registry(root).refuse(replayed) == "001_outside.yaml"
    found = Registry(root).not_accepted()
    assert [r.verdict.ruling for r in found.values() if r.verdict] == ["REJECT", "INDECISIVE"]
    assert found["001_outside.yaml"].proposal.name == "../../Outside"
    assert registry.versions() == ("v0",)
    assert [child.name for child in tmp_path.iterdir()] == ["a"]
    assert [child.name for child in (tmp_path / "a").iterdir()] == ["harness"]


def test_a_patch_that_does_not_apply_changes_nothing_and_is_kept_with_the_reason(
    tmp_path: Path,
) -> None:
    registry = Registry(tmp_path)
    registry.start(SEED)
    wrong = edit("prompt.system", "Use the calculator for  sums", "Always verify sums.")
    tried = record(SEED, wrong)
    with pytest.raises(PatchError, match="expected") as caught:
        registry.commit(SEED, tried)
    assert caught.value.reason == "wrong_old_value"
    assert registry.versions() == ("v0",)
    name = registry.refuse(record(SEED, wrong, ruling=None, fault=str(caught.value)))
    assert "equals: null" in (tmp_path / "not_accepted" / name).read_text()
    assert "prompt.system: expected" in registry.not_accepted()[name].fault


def test_a_patch_that_changes_nothing_is_linked_to_the_version_it_equals(tmp_path: Path) -> None:
    registry = Registry(tmp_path)
    one, _ = committed(registry)
    same = record(SEED, edit("middleware.loop.max_turns", 6, 6), ruling=None, fault="no_change")
    back = edit("middleware.loop.max_turns", 9, 6)
    earlier = record(one, back, parent="v1", ruling=Ruling.REJECT, name="back")
    for refused, equal in ((same, "v0"), (earlier, "v0")):
        text = (tmp_path / "not_accepted" / registry.refuse(refused)).read_text()
        assert f"equals: {equal}\n" in text
    with pytest.raises(PatchError) as caught:
        registry.commit(SEED, same)
    assert caught.value.reason == "no_change"
    assert registry.versions() == ("v0", "v1", "v2")


# Rollback


def test_rollback_restores_any_version_byte_for_byte(tmp_path: Path) -> None:
    log = MemoryLog()
    registry = Registry(tmp_path, log)
    one, _ = committed(registry)
    before = {v: hashlib.sha256(registry.path(v).read_bytes()).digest() for v in ("v0", "v1", "v2")}
    assert registry.rollback("v1", actor="person", reason="v2 is slow") == one
    assert registry.head() == ("v1", one)
    assert registry.rollback("v0", actor="person", reason="test") == SEED
    assert registry.rollback("v2", actor="person", reason="test") == registry.get("v2")
    assert registry.versions() == ("v0", "v1", "v2")
    after = {v: hashlib.sha256(registry.path(v).read_bytes()).digest() for v in before}
    assert after == before
    moves = [json.loads(line) for line in (tmp_path / "moves.jsonl").read_text().splitlines()]
    assert [(m["from"], m["to"], m["actor"]) for m in moves[-3:]] == [
        ("v2", "v1", "person"),
        ("v1", "v0", "person"),
        ("v0", "v2", "person"),
    ]
    logged = {"from": "v2", "to": "v1", "actor": "person", "reason": "v2 is slow"}
    assert log.of("head")[-3] == logged


@pytest.mark.parametrize("version", ["v9", "v1 ", "V1", "best", "", "../v1", "v01", "HEAD"])
def test_rollback_to_a_version_that_never_was_lists_those_there_are(
    tmp_path: Path, version: str
) -> None:
    registry = Registry(tmp_path)
    committed(registry)
    before = tree(tmp_path)
    with pytest.raises(RunError, match="there are v0, v1, v2"):
        registry.rollback(version, actor="person", reason="x")
    assert tree(tmp_path) == before


def test_rollback_to_a_version_that_is_gone_or_damaged_leaves_head(tmp_path: Path) -> None:
    registry = Registry(tmp_path)
    committed(registry)
    (tmp_path / "v1" / "harness.yaml").unlink()
    with pytest.raises(RunError, match=r"v1 is damaged: harness\.yaml is missing"):
        registry.rollback("v1", actor="person", reason="x")
    assert registry.head()[0] == "v2"


def test_after_a_rollback_the_next_version_has_a_new_number(tmp_path: Path) -> None:
    registry = Registry(tmp_path)
    committed(registry)
    registry.rollback("v0", actor="person", reason="x")
    new = Patch(base=SEED.digest(), edits=(PROMPT,)).apply(SEED)
    assert registry.commit(new, record(SEED, PROMPT, name="new")) == "v3"
    assert registry.head() == ("v3", new)


# Damage


def test_every_changed_byte_is_found_and_named(tmp_path: Path) -> None:
    registry = Registry(tmp_path)
    committed(registry)
    registry.refuse(record(SEED, PROMPT, ruling=Ruling.REJECT))
    for name, content in tree(tmp_path).items():
        if name in ("HEAD", "moves.jsonl"):
            continue
        for at in (0, len(content) // 2, len(content) - 1):
            changed = content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]
            (tmp_path / name).write_bytes(changed)
            faults = registry.verify()
            version, _, file = name.partition("/")
            # A seal with another hash in it blames the file whose hash that is.
            blamed = "" if file == "sealed.json" else file.split("/")[-1]
            assert any(version in fault and blamed in fault for fault in faults), (name, at)
        (tmp_path / name).write_bytes(content)
    assert registry.verify() == ()


def test_symbolic_links_are_not_followed_out_of_the_registry(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    registry = Registry(tmp_path / "harness")
    registry.start(SEED)
    (tmp_path / "harness" / "not_accepted").symlink_to(outside)
    with pytest.raises(RunError, match="not_accepted is a symbolic link"):
        registry.refuse(record(SEED, PROMPT, ruling=Ruling.REJECT))
    assert list(outside.iterdir()) == []
