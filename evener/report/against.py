"""Which cells stand against which, in one place, and what each difference says.

A name may end in `*`; `{t}` and `{n}` stand for every round that was measured and the one after it.
"""

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import NamedTuple

_ROUND = re.compile(r"trained_(\d+)\+")


class Against(NamedTuple):
    """Cell `a` minus cell `b`, and what that says."""

    a: str
    b: str
    says: str


AGAINST = (
    Against("base+evolved", "base+seed", "the evolved harness on untrained weights"),
    Against("base+hand", "base+seed", "what a person reached by hand"),
    Against("base+evolved", "base+hand", "the search against a person, on untrained weights"),
    Against("base+evolved", "base+random", "the search against edits at random"),
    Against("base+evolved_1", "base+random", "blame against edits at random, equal rollouts"),
    Against("trained+evolved", "base+seed", "harness and weights together"),
    Against("trained+evolved", "base+evolved", "training, under the harness that serves it"),
    Against("trained+evolved", "base+evolved_1", "training and what came after it"),
    Against("trained+evolved", "base+counterfactual_2", "both together against search alone"),
    Against("trained+evolved", "base+hand", "both together against a person's harness"),
    Against("trained+evolved", "trained+seed", "what the trained weights owe to the harness"),
    Against("trained+evolved", "trained_seed+seed", "both together against training alone"),
    Against("trained+evolved", "base+seed@best*", "both together against more calls: best of n"),
    Against("trained+evolved", "base+seed@majority*", "both together against a vote of n"),
    Against("trained+evolved", "trained_1+evolved_1", "the rounds after the first, altogether"),
    Against("base+optimized", "base+target", "the harness, before it is taken off"),
    Against("trained+target", "base+target", "what is left in the weights without the harness"),
    Against("trained+target", "base+optimized", "the weights alone against the harness"),
    Against("trained+target", "trained+optimized", "the trained student without the harness"),
    Against("trained+target", "format+target", "against training on the action format alone"),
    Against("base+reviewed", "base+target", "review with K, no training"),
    Against("base+reviewed_empty", "base+target", "review with an empty K, no training"),
    Against("base+reviewed", "base+reviewed_empty", "what K is worth to the reviewer"),
    Against("base+reviewed_flagged", "base+target", "review of flagged responses, no training"),
    Against("base+reviewed_always", "base+target", "review of every response, no training"),
    Against("base+reviewed", "base+reviewed_flagged", "what is lost where only flags call"),
    Against("base+reviewed_always", "base+reviewed", "what is lost where only flags call"),
    Against("recipe+target", "base+target", "the recipe rules alone, without a student"),
    Against("base+recipe", "base+target", "the recipe rules on untrained weights"),
    Against("trained+target", "base+reviewed", "the weights alone against review"),
    Against("trained+target", "recipe+target", "the weights alone against the rules alone"),
    Against("trained+target", "base+recipe", "the weights alone against the rules on the base"),
    Against("trained+target", "base+target@best*", "the weights alone against best of n"),
    Against("trained+target", "base+target@majority*", "the weights alone against a vote of n"),
    Against("trained+target", "base+optimized@best*", "the weights alone against best of n of h*"),
    Against("trained+target", "base+optimized@majority*", "the weights alone against a vote of h*"),
)
EACH_ROUND = (
    Against("trained_{t}+evolved_{n}", "trained_{t}+evolved_{t}", "the search of round {n}"),
    Against(
        "trained_{t}+evolved_{n}",
        "trained_{t}+counterfactual_{n}",
        "a harness evolved on the weights of round {t} against one evolved on those before",
    ),
)


def pairs(names: Iterable[str]) -> list[Against]:
    """Every declared difference whose two cells are among `names`, in the order declared."""
    known = list(names)
    rounds = sorted({int(m[1]) for name in known if (m := _ROUND.match(name))})
    wanted = [
        *AGAINST,
        *(
            Against(*(part.format(t=t, n=t + 1) for part in against))
            for t in rounds
            for against in EACH_ROUND
        ),
    ]
    return [
        Against(a, b, against.says)
        for against in wanted
        for a in known
        if a == against.a
        for b in known
        if fnmatchcase(b, against.b)
    ]


def says(a: str, b: str) -> str:
    """What `a` minus `b` says."""
    return next((one.says for one in pairs((a, b))), "")
