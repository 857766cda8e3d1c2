"""`evener harness`: the versions of a run's harness, and a person's patch through the same gate."""

import getpass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evener.cli.app import app
from evener.cli.output import AsJson, RunPath, emit

if TYPE_CHECKING:
    from evener.adapt import Adapted

group = typer.Typer(name="harness", help="The harness registry of a run.", no_args_is_help=True)
app.add_typer(group)

Version = Annotated[str, typer.Argument(help="A version, v1 for example.", show_default=False)]


@group.command("list")
def list_(run: RunPath, *, as_json: AsJson = False) -> None:
    """List versions, and the patches that were not accepted with their reason."""
    from evener.agents.record.run import RunFolder
    from evener.report.table import table
    from evener.searched import registry_of

    with RunFolder.read(run) as folder:
        registry = registry_of(folder)
        head, _ = registry.head()
        rows: list[tuple[str, str, str, str]] = []
        for version in registry.versions():
            records = registry.diffs(version)
            names = ", ".join(record.proposal.name for record in records) or "where the run began"
            verdict = records[0].verdict if records else None
            rows.append((version, "HEAD" if version == head else "", names, _found(verdict)))
        for name, record in registry.not_accepted().items():
            ruling = record.verdict.ruling if record.verdict else "NOT TRIED"
            rows.append(("–", ruling, name, record.fault or _found(record.verdict)))
    header = ("version", "state", "patch", "found")
    answer = [dict(zip(header, row, strict=True)) for row in rows]
    emit([{**one} for one in answer], table(header, rows), as_json=as_json)


def _found(verdict: object) -> str:
    reason = getattr(verdict, "reason", "")
    return str(reason)


@group.command()
def show(run: RunPath, version: Version) -> None:
    """Print a version's YAML, byte for byte."""
    from evener.agents.record.run import RunFolder
    from evener.searched import registry_of

    with RunFolder.read(run) as folder:
        registry = registry_of(folder)
        registry.get(version)  # a damaged version is refused, not shown
        typer.echo(registry.path(version).read_text("utf-8"), nl=False)


@group.command()
def diff(run: RunPath, before: Version, after: Version, *, as_json: AsJson = False) -> None:
    """Say what changed between two versions, line by line."""
    import difflib

    from evener.agents.harness.load import dump_yaml
    from evener.agents.record.run import RunFolder
    from evener.protocols.patch import between
    from evener.searched import registry_of

    with RunFolder.read(run) as folder:
        registry = registry_of(folder)
        old, new = registry.get(before), registry.get(after)
    lines = difflib.unified_diff(
        dump_yaml(old).splitlines(), dump_yaml(new).splitlines(), before, after, lineterm=""
    )
    emit(between(old, new), "\n".join(lines), as_json=as_json)


@group.command()
def check(
    harness: Annotated[
        str,
        typer.Argument(help="A YAML file, a name that ships, or RUN:VERSION.", show_default=False),
    ],
    *,
    environment: Annotated[
        str | None,
        typer.Option(help="A name, or a TOML configuration. Else the run's, else storefront."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check a harness against an environment, as a run would before its first episode."""
    import asyncio

    from evener.agents.pattern.background import published
    from evener.choose import check_named
    from evener.contender import environment_of, named_harness
    from evener.environments import create

    place = environment_of(environment, (harness,))
    where = create(place.name, **place.settings)
    found, _ = named_harness(harness, where)
    check_named(harness, found, asyncio.run(published(where)).actions)
    emit(
        {"name": found.name, "digest": found.digest()},
        f"{harness}: {found.name} is fit for {environment or place.name} ({found.digest()[:12]})",
        as_json=as_json,
    )


@group.command()
def adapt(
    harness: Annotated[
        str,
        typer.Argument(
            help="The optimized harness: a YAML file, a name that ships, or RUN:VERSION.",
            show_default=False,
        ),
    ],
    *,
    target: Annotated[
        str, typer.Option(help="The harness that stays at deployment, named in the same way.")
    ] = "target",
    environment: Annotated[
        str | None,
        typer.Option(help="A name, or a TOML configuration. Else the run's, else storefront."),
    ] = None,
    rewriter: Annotated[
        str | None,
        typer.Option(help="A model, named as in `student.model`, that words K's texts anew."),
    ] = None,
    api_base: Annotated[
        str | None, typer.Option(help="The address of the server where that model is.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Write K to this file as YAML.")] = None,
    as_json: AsJson = False,
) -> None:
    """Rewrite a harness for a reviewer in a target's actions (K), and say where each part went."""
    import asyncio

    from evener.adapt import adapted, render
    from evener.agents.knowledge.load import dump_yaml
    from evener.agents.record.atomic import write_atomically
    from evener.contender import environment_of, named_harness
    from evener.environments import create
    from evener.progress import Silent
    from evener.roles import named

    place = environment_of(environment, (harness, target))
    where = create(place.name, **place.settings)
    optimized, _ = named_harness(harness, where)
    minimal, _ = named_harness(target, where)

    async def whole() -> "Adapted":
        if rewriter is None:
            return await adapted(optimized, minimal, environment=where)
        async with named(rewriter, "rewriter", api_base=api_base, progress=Silent()) as model:
            return await adapted(optimized, minimal, environment=where, rewriter=model)

    found = asyncio.run(whole())
    if out is not None:
        write_atomically(out, dump_yaml(found.knowledge))
    kept = (
        f"wrote {out}; distill.knowledge={out} gives it to a reviewer"
        if out is not None
        else "K was not written: --out FILE does"
    )
    emit(found, f"{render(found)}\n{kept}", as_json=as_json)


@group.command()
def verify(run: RunPath, *, as_json: AsJson = False) -> None:
    """Check every file of the registry against what was written."""
    from evener.agents.record.run import RunFolder
    from evener.searched import registry_of

    with RunFolder.read(run) as folder:
        faults = registry_of(folder).verify()
    emit({"faults": list(faults)}, "\n".join(faults) or "all is as written", as_json=as_json)
    if faults:
        raise typer.Exit(1)


@group.command()
def rollback(
    run: RunPath,
    version: Version,
    *,
    reason: Annotated[str, typer.Option(help="Why, for the record.")] = "rollback by hand",
    as_json: AsJson = False,
) -> None:
    """Put another version in force. All versions stay; a damaged one is refused."""
    from evener.agents.record.run import RunFolder
    from evener.searched import registry_of

    with RunFolder.change(run) as folder:
        registry = registry_of(folder, write=True)
        harness = registry.rollback(version, actor=getpass.getuser(), reason=reason)
    emit(
        {"head": version, "digest": harness.digest()},
        f"HEAD is {version} ({harness.digest()[:12]})",
        as_json=as_json,
    )


@group.command()
def propose(
    run: RunPath,
    file: Annotated[
        Path, typer.Argument(help="A harness file with your change.", show_default=False)
    ],
    *,
    name: Annotated[str, typer.Option(help="What to call the patch.")] = "",
    model: Annotated[
        str | None,
        typer.Option(help="The student: base, m1 …; the model in force.", show_default=False),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Try your own change of HEAD at the run's gate; commit it if the gate accepts."""
    import asyncio

    from evener.agents.harness.load import load
    from evener.parts import Parts
    from evener.progress import watching
    from evener.propose import propose as try_patch

    with watching() as progress:
        attempt = try_patch(
            run,
            load(file),
            name=name or file.stem,
            model=model,
            parts=Parts(progress=progress),
        )
        record = asyncio.run(attempt)
    verdict = record.verdict
    text = f"{verdict.ruling}: {verdict.reason}" if verdict else record.fault
    emit(record, text, as_json=as_json)
