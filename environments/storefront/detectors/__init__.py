"""What a student does at the desk that its optimized harness is there for, read by the wording of
the desk's questions.

They decide no score, so this folder is no part of the environment's digest; detectors have their
own. Nothing here generates a world: all is read from the prompt and the events.
"""

from evener.environments.storefront.detectors.calculation import CALCULATION
from evener.environments.storefront.detectors.catalogue import CATALOGUE
from evener.environments.storefront.detectors.conversion import CONVERSION
from evener.environments.storefront.detectors.handing_in import HANDING_IN
from evener.protocols.behaviour import Behaviour

DETECTORS: dict[str, Behaviour] = {
    detector.name: detector for detector in (*CALCULATION, *CATALOGUE, *CONVERSION, *HANDING_IN)
}

__all__ = ["DETECTORS"]
