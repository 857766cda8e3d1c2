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
from evener.protocols.task import Split

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


def _math(
    *,
    mine: str | None = None,
    held_in: str | None = None,
    held_out: str | None = None,
    test: str | None = None,
    ood: str | None = None,
    fields: Mapping[str, str] | None = None,
    encoding: str = "utf-8",
    timeout_s: float = 30.0,
    require_sandbox: str | None = None,
) -> Environment:
    from evener.environments.math.environment import MathEnvironment
    from evener.environments.math.interpreter import sandboxed

    named = zip(Split, (mine, held_in, held_out, test, ood), strict=True)
    return MathEnvironment(
        {split: source for split, source in named if source is not None},
        fields=fields,
        encoding=encoding,
        timeout_s=timeout_s,
        interpreters=sandboxed(require_sandbox),
    )


ENVIRONMENTS: Mapping[str, Factory] = {
    "storefront": _storefront,
    "jsonl": _jsonl,
    "math": _math,
}


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
