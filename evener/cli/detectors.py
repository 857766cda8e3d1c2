"""`evener detectors`: the patterns by which the recovery of a harness is measured."""

from typing import Annotated

import typer

from evener.cli.app import app
from evener.cli.output import AsJson, emit

group = typer.Typer(
    name="detectors", help="What an episode shows of a harness.", no_args_is_help=True
)
app.add_typer(group)


@group.command("list")
def list_(
    *,
    harness: Annotated[
        str,
        typer.Option(help="h*: a YAML file, a name that ships with the environment, RUN:VERSION."),
    ] = "optimized",
    environment: Annotated[
        str | None,
        typer.Option(help="A name, or a TOML configuration. Else the run's, else storefront."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the detectors of a harness, what they stand for, and the digest that freezes them.

    Parts of the harness that none of them stands for are named last.
    """
    import asyncio

    from evener.agents.pattern.background import published
    from evener.choose import check_named
    from evener.contender import environment_of, named_harness
    from evener.distill.detectors import detectors_of, digest_of, frozen, undetected
    from evener.environments import create
    from evener.protocols.digest import JsonObject
    from evener.report.table import table

    place = environment_of(environment, (harness,))
    where = create(place.name, **place.settings)
    optimized, _ = named_harness(harness, where)
    check_named(harness, optimized, asyncio.run(published(where)).actions)
    found = detectors_of(optimized, where)
    missing, digest = undetected(optimized, found), frozen(found)
    listed: list[JsonObject] = [
        {
            "name": one.name,
            "part": one.part,
            "conditional": one.conditional,
            "text": one.text,
            "digest": digest_of(one),
        }
        for one in found
    ]
    rows = [(d.name, d.part, "given a call" if d.conditional else "", d.text) for d in found]
    lines = [
        table(("name", "part", "conditional", "an episode shows it where"), rows),
        f"{len(found)} detectors of {optimized.name}, frozen as {digest}",
    ]
    if missing:
        lines.append(f"no detector stands for {', '.join(missing)}")
    answer: JsonObject = {
        "harness": optimized.name,
        "harness_digest": optimized.digest(),
        "environment": where.name,
        "digest": digest,
        "detectors": [*listed],
        "undetected": [*missing],
    }
    emit(answer, "\n".join(lines), as_json=as_json)
