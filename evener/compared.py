"""What a comparison of two contenders found, and with what a pipeline is told of it.

The verdict is read off the paired 95 % interval of B − A and a margin m ≥ 0, in this order:
better (lower bound above 0), not worse (lower bound above −m), worse (upper bound below 0), cannot
tell. It is `same` where both are one harness and one model, and cannot tell where less than
`COVERAGE` of the pairs was scored.
"""

from typing import Literal, TypeAlias

from evener.protocols.digest import Wire
from evener.protocols.summary import Cell, Comparison

COVERAGE = 0.9
Finding: TypeAlias = Literal["better", "not worse", "worse", "same", "cannot tell"]
EXIT: dict[Finding, int] = {"better": 0, "not worse": 0, "same": 0, "worse": 1, "cannot tell": 3}


class Compared(Wire):
    """`difference` is B − A. `unscored` are the episodes of each side without a reward, by cause;
    `looks` says how often a sealed split has been looked at now, for each run that a side is of."""

    a: Cell
    b: Cell
    difference: Comparison
    margin: float
    temperature: float
    coverage: float
    unscored: dict[str, dict[str, int]] = {}
    looks: dict[str, int] = {}
    finding: Finding


def judge(found: Comparison, margin: float, *, coverage: float, same: bool) -> Finding:
    """What the interval of B − A shows."""
    if coverage < COVERAGE:
        return "cannot tell"
    if same:
        return "same"
    if found.low > 0:
        return "better"
    if found.low > -margin:
        return "not worse"
    return "worse" if found.high < 0 else "cannot tell"
