"""Whatever a student says, every detector answers, and answers the same again."""

import asyncio
from collections.abc import Awaitable, Callable

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evener.environments.storefront import Storefront
from evener.protocols.digest import canonical
from evener.protocols.harness import Harness
from evener.protocols.port import Detector
from evener.protocols.task import Split
from evener.protocols.trajectory import Trajectory

Play = Callable[..., Awaitable[Trajectory]]

VALUES = (
    st.sampled_from(["2*3", "9" * 5000, "-", "red drum", "inches", "meter", "²", "", " 7 "])
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.booleans()
    | st.none()
    | st.lists(st.integers(), max_size=2)
)
NAMES = ("calculator", "lookup", "convert", "convert_any", "quote", "final", "juggle", "")
ARGUMENTS = st.dictionaries(
    st.sampled_from(["expression", "item", "value", "from", "to", "answer", "quantity", "x"]),
    VALUES,
    max_size=4,
)
CALLS = st.builds(
    lambda name, given: canonical({"name": name, "arguments": given}),
    st.sampled_from(NAMES),
    ARGUMENTS,
)
LINES = st.lists(CALLS | st.text(max_size=30), min_size=1, max_size=5)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(said=LINES, nth=st.integers(0, 7), dressed=st.booleans(), split=st.sampled_from(Split))
def test_no_episode_is_too_odd_for_a_detector(
    said: list[str],
    nth: int,
    dressed: bool,
    split: Split,
    detectors: dict[str, Detector],
    target: Harness,
    optimized: Harness,
    shop: Storefront,
    play: Play,
) -> None:
    task = shop.tasks(split, count=8, seed=5)[nth]

    async def whole() -> Trajectory:
        return await play(optimized if dressed else target, task, *said)

    episode = asyncio.run(whole())
    again = Trajectory.model_validate_json(episode.model_dump_json())
    for detector in detectors.values():
        shows = detector.shows(episode)
        assert shows <= detector.applies(episode)
        assert detector.shows(again) == shows
