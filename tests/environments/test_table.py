"""Environments by name, those of other packages included."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from evener.environments import ENVIRONMENTS, create, names
from evener.environments.storefront import Storefront
from evener.protocols.error import ConfigError


def test_a_name_makes_its_environment() -> None:
    environment = create("storefront")
    assert isinstance(environment, Storefront)
    assert environment.name == "storefront"
    assert set(ENVIRONMENTS) <= set(names())


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"no environment 'storefrnt'. Did you mean 'storefront'"):
        create("storefrnt")
    with pytest.raises(ConfigError, match="There are jsonl, math, storefront"):
        create("zzz")


def test_a_wrong_parameter_is_refused_with_the_right_ones() -> None:
    with pytest.raises(ConfigError, match=r"environment 'jsonl'.*'file'.*path"):
        create("jsonl", file="x")
    with pytest.raises(ConfigError, match="environment 'storefront'"):
        create("storefront", difficulty=3)


@pytest.fixture
def installed(tmp_path: Path) -> Iterator[None]:
    """A package that is installed beside this one, with entry points of its own."""
    info = tmp_path / "elsewhere-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: elsewhere\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[evener.environments]\n"
        "elsewhere = elsewhere_shop:make\n"
        "storefront = elsewhere_shop:make\n"
        "broken = elsewhere_shop:nothing\n"
    )
    (tmp_path / "elsewhere_shop.py").write_text(
        "from evener.environments.storefront import Storefront\n"
        "class Shop(Storefront):\n    name = 'elsewhere'\n"
        "def make(size: int = 1):\n    return Shop()\n"
    )
    sys.path.insert(0, str(tmp_path))
    yield
    sys.path.remove(str(tmp_path))
    sys.modules.pop("elsewhere_shop", None)


@pytest.mark.usefixtures("installed")
def test_another_package_adds_its_own_and_replaces_none_that_ships() -> None:
    assert "elsewhere" in names()
    assert create("elsewhere", size=2).name == "elsewhere"
    assert create("storefront").name == "storefront"
    with pytest.raises(ConfigError, match="cannot be imported"):
        create("broken")
