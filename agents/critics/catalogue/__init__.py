"""The catalogue of repairs: typed edits for every failure pattern, over all five parts of φ.

Their content comes from the environment's published examples, its action schemas and error texts,
and from the attributions' own suggestions; never from a task.
"""

from evener.agents.critics.catalogue.repair import Ground, Repair, texts
from evener.agents.critics.catalogue.space import every
from evener.agents.critics.catalogue.table import repairs

__all__ = ["Ground", "Repair", "every", "repairs", "texts"]
