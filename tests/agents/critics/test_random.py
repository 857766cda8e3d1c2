"""The random critic: the same catalogue, the same episodes admitted, and no word of them heeded."""

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from evener.agents.critics import RandomCritic, RuleCritic, edits_digest
from evener.agents.critics.catalogue import Ground, every, repairs
from evener.agents.critics.catalogue.space import SPACE
from evener.agents.critics.catalogue.table import CATALOGUE
from evener.agents.critics.random import universe
from evener.agents.harness.check import check
from evener.agents.harness.load import load
from evener.agents.pattern import head, published
from evener.environments.storefront import Storefront, harness_path
from evener.protocols.attribution import Attribution, RootCause
from evener.protocols.digest import canonical
from evener.protocols.error import EvenerError, PatchError
from evener.protocols.harness import Harness, Memory, Note, Skill, When
from evener.protocols.patch import Patch
from evener.protocols.task import Purpose, Split
from evener.protocols.trajectory import Outcome

if TYPE_CHECKING:
    from tests.agents.critics.conftest import Imitator, Lab

Student = Callable[..., "Imitator"]


@pytest.fixture
def bare(sound: Harness) -> Harness:
    """No example on view, a skill for another kind, too much in memory."""
    return sound.model_copy(
        update={
            "prompt": sound.prompt.model_copy(update={"examples": ()}),
            "skills": (Skill(name="odd", when=When(words=("shelf", "of"))),),
            "memory": Memory(
                policy="notes", entries=(Note(name="a", text="a"), Note(name="b", text="b"))
            ),
        }
    )


def test_the_space_knows_every_pattern_of_the_catalogue(lab: "Lab", bare: Harness) -> None:
    assert set(SPACE) == set(CATALOGUE)
    asked = list(every(Ground(bare, lab.background)))
    assert {head(signature) for signature in asked} == set(CATALOGUE)
    assert len(set(asked)) == len(asked)
    assert {
        "no_form:shelf:a9",
        "no_example:freight",
        "wrong_skill:freight:odd",
        "refused:unknown_tool:unpack",
        "refused:wrong_type:stock.part",
        "refused:missing_argument:close.answer",
        "refused:not_offered:close",
        "observed:error:unpack.unit",
        "schema:unpack.amount",
        "parse:cut_by_length",
        "passing_error:timeout:stock",
        "dropped:close",
    } <= set(asked)
    assert not {"parse:no_call", "refused:unknown_tool:"} & set(asked)


def test_the_universe_is_every_sound_repair_once(lab: "Lab", bare: Harness) -> None:
    found = universe(bare, lab.background)
    digests = [edits_digest(p.patch) for p in found]
    assert digests == sorted(set(digests))
    for proposal in found:
        check(proposal.patch.apply(bare), lab.background.actions)
        assert (proposal.author, proposal.kind, proposal.rank) == ("random", "improve", 0.0)
        assert (proposal.signatures, proposal.attributions, proposal.group) == ((), (), "")
    ground = Ground(bare, lab.background)
    for name in CATALOGUE:
        asked = [s for s in every(ground) if head(s) == name]
        for repair in (r for s in asked for r in repairs(s, (), ground)):
            patch = Patch(base=bare.digest(), edits=repair.edits)
            try:
                patch.apply(bare)
            except PatchError:
                continue
            assert edits_digest(patch) in digests


def test_a_repair_that_leaves_no_harness_that_runs_is_not_in_it(lab: "Lab", bare: Harness) -> None:
    # nothing ends an episode, unless a repair brings the tool for it
    endless = bare.model_copy(update={"tools": bare.tools[:2]})
    found = universe(endless, lab.background)
    assert 0 < len(found) < len(universe(bare, lab.background))
    for proposal in found:
        check(proposal.patch.apply(endless), lab.background.actions)


async def test_what_the_rule_critic_offers_is_in_it(
    lab: "Lab", bare: Harness, imitator: Student
) -> None:
    known = {edits_digest(p.patch) for p in universe(bare, lab.background)}
    critic = RuleCritic(lab.background)
    blamed = [await critic.attribute(f, bare) for f in await lab.run(bare, imitator())]
    # what only an event can suggest is not the catalogue's
    offered = [
        p
        for p in await critic.propose(blamed, bare, limit=99)
        if not p.name.startswith("as-suggested")
    ]
    assert len(offered) > 5
    assert {edits_digest(p.patch) for p in offered} < known


async def test_it_blames_nothing(lab: "Lab", bare: Harness, imitator: Student) -> None:
    for failure in await lab.run(bare, imitator()):
        blamed = await RandomCritic(lab.background).attribute(failure, bare)
        assert blamed.root_cause is RootCause.AGENT_ERROR
        assert (blamed.signature, blamed.author) == ("random", "random")
        assert (blamed.harness_dim, blamed.diff_suggestion) == (None, None)
        assert blamed.trajectory == blamed.evidence.trajectory == failure.digest()
        assert blamed.evidence.event == 0
        assert blamed.evidence.quote in canonical(failure.events[0].document())


async def test_it_admits_what_the_rule_critic_admits(
    lab: "Lab", sound: Harness, bare: Harness, imitator: Student
) -> None:
    failure = (await lab.run(bare, imitator(), count=1))[0]
    key = failure.key.model_copy(update={"purpose": Purpose.GATE})
    task = failure.task.model_copy(update={"split": Split.TEST})
    critic = RandomCritic(lab.background)
    for other, harness in (
        (failure.model_copy(update={"key": key}), bare),
        (failure.model_copy(update={"task": task}), bare),
        (failure.model_copy(update={"outcome": Outcome.INFRA}), bare),
        (failure.model_copy(update={"outcome": Outcome.SOLVED}), bare),
        (failure.model_copy(update={"events": ()}), bare),
        (failure, sound),
    ):
        with pytest.raises(EvenerError):
            await critic.attribute(other, harness)


async def test_failures_do_not_change_what_it_offers(
    lab: "Lab", bare: Harness, imitator: Student
) -> None:
    rule, failures = RuleCritic(lab.background), await lab.run(bare, imitator())
    # a mining prompt that the documentation has too would keep the rule critic from an example
    shelf = next(f for f in failures if f.task.kind == "shelf")
    question = lab.background.of("shelf")[0].turns[0].content
    assert question is not None
    taken = shelf.model_copy(
        update={"task": shelf.task.model_copy(update={"prompt": f"Well. {question} Thanks."})}
    )
    some: list[list[Attribution]] = [
        [],
        [await rule.attribute(f, bare) for f in failures],
        [await rule.attribute(taken, bare)],
    ]
    answers = []
    for attributions in some:
        critic = RandomCritic(lab.background)
        for failure in (*failures, taken)[: len(attributions)]:
            await critic.attribute(failure, bare)
        await critic.attribute(taken, bare)
        answers.append(await critic.propose(attributions, bare, limit=60, seed=4))
    assert answers[0] == answers[1] == answers[2]
    assert len(answers[0]) == min(60, len(universe(bare, lab.background)))
    assert await RandomCritic(lab.background).propose([], bare, limit=60, seed=5) != answers[0]


async def test_every_repair_is_as_likely_as_another(lab: "Lab", bare: Harness) -> None:
    critic = RandomCritic(lab.background)
    known = {edits_digest(p.patch) for p in universe(bare, lab.background)}
    counts: Counter[str] = Counter()
    for seed in range(40 * len(known)):
        (drawn,) = await critic.propose([], bare, limit=1, seed=seed)
        counts[edits_digest(drawn.patch)] += 1
    assert set(counts) == known
    # chi-square with k - 1 degrees of freedom, five standard deviations above its mean
    squares = sum((count - 40) ** 2 / 40 for count in counts.values())
    free = len(known) - 1
    assert squares < free + 5 * (2 * free) ** 0.5


async def test_nothing_refused_is_drawn_and_names_differ(lab: "Lab", bare: Harness) -> None:
    critic = RandomCritic(lab.background)
    everything = await critic.propose([], bare, limit=999)
    assert len({p.name for p in everything}) == len(everything)
    refused = frozenset(edits_digest(p.patch) for p in everything[:-2])
    left = await critic.propose([], bare, refused=refused, limit=8, seed=1)
    assert {edits_digest(p.patch) for p in left} == {edits_digest(p.patch) for p in everything[-2:]}
    assert len(await critic.propose([], bare, limit=5, seed=2)) == 5


async def test_another_harness_has_another_universe(
    lab: "Lab", sound: Harness, bare: Harness
) -> None:
    critic = RandomCritic(lab.background)
    named: dict[str, set[str]] = {}
    for harness in (bare, sound):
        proposals = await critic.propose([], harness, limit=999, seed=3)
        changed = {proposal.patch.apply(harness).digest() for proposal in proposals}
        assert harness.digest() not in changed
        named[harness.digest()] = {edits_digest(proposal.patch) for proposal in proposals}
    of_bare, of_sound = named.values()
    assert of_bare - of_sound
    assert of_sound - of_bare


async def test_the_shop_desks_seed_has_a_large_universe() -> None:
    background = await published(Storefront())
    found = universe(load(harness_path("seed")), background)
    names = {p.name for p in found}
    assert len(found) > 60
    assert {"skill-price-3", "skill-convert-3", "lenient-protocol", "tidy-convert"} <= names
