"""The compounding table: every θ_t under every φ_t, and tool errors under its own.

φ_t is the harness that round t's search reached, θ_t the weights that were trained under it.
"""

import re
from collections.abc import Mapping, Sequence

from evener.protocols.summary import Cell
from evener.report.figure import share
from evener.report.table import Table

_MODEL = re.compile(r"base|trained_(\d+)")
_HARNESS = re.compile(r"seed|evolved_(\d+)")
Place = tuple[int, int]


def grid(cells: Sequence[Cell], split: str) -> dict[Place, Cell]:
    """One run's cells by (round of θ, round of φ), 0 for base and seed. A pair that was measured
    under another name, `trained+evolved` for example, is in its place too."""
    here = [cell for cell in cells if cell.split == split]
    found = {place: cell for cell in here if (place := _place(cell.name)) is not None}
    named = list(found.items())
    for cell in here:
        # rounds that changed nothing share a model or a harness, so one cell may have many places
        thetas = {theta for (theta, _), one in named if one.model == cell.model}
        phis = {phi for (_, phi), one in named if one.harness == cell.harness}
        for place in ((theta, phi) for theta in thetas for phi in phis if "@" not in cell.name):
            found.setdefault(place, cell)
    return found


def compounding(runs: Sequence[Sequence[Cell]], split: str) -> Table:
    """The table over one run or several, without rows where no round was measured apart."""
    title = f"weights θ under harness φ, {split}: share solved (n)"
    grids = [grid(cells, split) for cells in runs]
    places = {place for one in grids for place in one}
    if not any(max(place) for place in places):
        return Table(title, (), ())
    thetas, phis = (sorted({place[i] for place in places}) for i in (0, 1))
    header = [
        "θ", *("seed" if phi == 0 else f"evolved_{phi}" for phi in phis), "tool errors at its own φ"
    ]  # fmt: skip
    rows = [
        (
            "base" if theta == 0 else f"trained_{theta}",
            *(_rate(grids, (theta, phi)) for phi in phis),
            _errors(grids, (theta, theta)),
        )
        for theta in thetas
    ]
    return Table(title, header, rows)


def _place(name: str) -> Place | None:
    model, _, harness = name.partition("+")
    theta, phi = _MODEL.fullmatch(model), _HARNESS.fullmatch(harness)
    return (int(theta[1] or 0), int(phi[1] or 0)) if theta and phi else None


def _rate(grids: Sequence[Mapping[Place, Cell]], place: Place) -> str:
    found = [one[place] for one in grids if place in one]
    n = sum(cell.n for cell in found)
    return f"{share(sum(cell.solved for cell in found) / n)} ({n})" if n else "–"


def _errors(grids: Sequence[Mapping[Place, Cell]], place: Place) -> str:
    found = [one[place] for one in grids if place in one]
    n = sum(cell.n for cell in found)
    return share(sum(cell.tool_error_rate * cell.n for cell in found) / n) if n else "–"
