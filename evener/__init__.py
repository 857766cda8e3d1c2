"""evener: a language model and its harness improve each other, and it says by how much.

Importing this package imports nothing heavy; parts live in `evener.protocols`,
`evener.environments`, `evener.agents` and `evener.distill`.
"""

from evener.version import VERSION

__version__ = VERSION
__all__ = ["__version__"]
