"""Detectors: does an episode show what a part of the optimized harness h* is there for?

They read a task's prompt, messages and events, never the answer or the score, so that the same
question can be put to an episode under h*, under the target harness, and of a trained student.
"""

from evener.distill.detectors.frozen import digest_of, frozen
from evener.distill.detectors.sighting import Sighting, sightings
from evener.distill.detectors.table import detectors_of, undetected

__all__ = [
    "Sighting",
    "detectors_of",
    "digest_of",
    "frozen",
    "sightings",
    "undetected",
]
