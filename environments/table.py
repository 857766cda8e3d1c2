"""Which environments there are, by name.

The ones that ship are listed in `ENVIRONMENTS`; other packages add theirs under the entry point
group `evener.environments` (name = "package.module:factory") and never replace one that ships.
"""

import difflib
import inspect
from collections.abc import Callable, Mapping
from importlib.metadata import entry_points
from typing import Any, TypeAlias

from evener.protocols.error import ConfigError
from evener.protocols.port import Environment

GROUP = "evener.environments"

Factory: TypeAlias = Callable[..., Environment]


def _storefront() -> Environment:
    from evener.environments.storefront.environment import Storefront

    return Storefront()


def _jsonl(
    path: str,
    scorer: str = "exact",
    *,
    fields: Mapping[str, str] | None = None,
    encoding: str = "utf-8",
) -> Environment:
    from evener.environments.jsonl import JsonlEnvironment

    return JsonlEnvironment(path, scorer, fields=fields, encoding=encoding)


ENVIRONMENTS: Mapping[str, Factory] = {"storefront": _storefront, "jsonl": _jsonl}


def names() -> tuple[str, ...]:
    """All registered names, sorted; those of other packages included."""
    return tuple(sorted({*ENVIRONMENTS, *(point.name for point in entry_points(group=GROUP))}))


def create(name: str, **params: Any) -> Environment:
    """The environment of that name. Raises ConfigError for an unknown name or parameter."""
    factory = _find(name)
    try:
        inspect.signature(factory).bind(**params)
    except TypeError as error:
        raise ConfigError(
            f"{error}, given {sorted(params)}",
            where=f"environment {name!r}",
            remedy=f"its parameters are {inspect.signature(factory)}",
        ) from None
    return factory(**params)


def _find(name: str) -> Factory:
    if name in ENVIRONMENTS:
        return ENVIRONMENTS[name]
    for point in entry_points(group=GROUP):
        if point.name == name:
            try:
                factory: Factory = point.load()
            except (ImportError, AttributeError) as error:
                raise ConfigError(
                    f"{point.value} cannot be imported: {error}",
                    where=f"environment {name!r}",
                    remedy="Install its package again, or fix its entry point",
                ) from error
            return factory
    near = difflib.get_close_matches(name, names(), n=1, cutoff=0.5)
    raise ConfigError(
        f"there is no environment {name!r}",
        remedy=f"Did you mean {near[0]!r}?" if near else f"There are {', '.join(names())}",
    )
