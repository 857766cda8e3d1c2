"""Sandboxed templates over declared variables: text of a harness, never of a model or a task.

Only a small part of jinja2 is let in: variables, `if`, `for` over `tools`, and lists of filters and
tests. So a template cannot call, compute or grow without bound, and a variable that nobody
declared is found when the harness is checked and not in the middle of an episode.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import lru_cache
from typing import Any, cast

from jinja2 import StrictUndefined, Template, TemplateAssertionError, TemplateError, nodes
from jinja2.sandbox import SandboxedEnvironment

from evener.protocols.error import HarnessError

LISTS = frozenset({"tools"})
FILTERS = frozenset(
    {"default", "first", "join", "last", "length", "lower", "number", "title", "tojson", "trim"}
    | {"upper"}
)
TESTS = frozenset(  # none that computes with its value: `%` of a text is a format
    {"defined", "undefined", "none", "string", "number", "in", "eq", "ne", "lt", "le", "gt", "ge"}
    | {"lower", "upper", "true", "false"}
)
_KNOWN = f"filters: {', '.join(sorted(FILTERS))}; tests: {', '.join(sorted(TESTS))}"
GROWING = frozenset({"join", "tojson"})
ALLOWED_NODES = (
    nodes.Template,
    nodes.Output,
    nodes.TemplateData,
    nodes.Name,
    nodes.Const,
    nodes.Getattr,
    nodes.Getitem,
    nodes.If,
    nodes.For,
    nodes.CondExpr,
    nodes.Compare,
    nodes.Operand,
    nodes.And,
    nodes.Or,
    nodes.Not,
    nodes.Filter,
    nodes.Test,
)

_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:,\d{3})*(?:\.\d+)?")


def numbers(text: str) -> list[str]:
    """The numbers in a text, in order, without thousands separators."""
    return [found.replace(",", "") for found in _NUMBER.findall(text)]


def _number(text: object) -> str:
    """Filter `number`: the first number in a text."""
    found = numbers(str(text))
    if not found:
        raise TemplateError(f"no number in {str(text)[:60]!r}")
    return found[0]


def _json(value: object) -> str:
    """Filter `tojson`: JSON as it is written in calls (jinja2's own escapes it for HTML)."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _environment() -> SandboxedEnvironment:
    environment = SandboxedEnvironment(
        undefined=StrictUndefined,
        autoescape=False,
        keep_trailing_newline=True,
        optimized=False,  # nothing is worked out ahead of its variables
    )
    kept = cast(
        "dict[str, Callable[..., Any]]",
        environment.filters,  # pyright: ignore[reportUnknownMemberType] - jinja2's annotations
    )
    environment.filters = {
        **{name: made for name, made in kept.items() if name in FILTERS},
        "number": _number,
        "tojson": _json,
    }
    tests = cast(
        "dict[str, Callable[..., Any]]",
        environment.tests,  # pyright: ignore[reportUnknownMemberType] - jinja2's annotations
    )
    environment.tests = {name: made for name, made in tests.items() if name in TESTS}
    environment.globals = {}
    return environment


_ENVIRONMENT = _environment()


@lru_cache(maxsize=1024)
def compiled(text: str) -> Template:
    """The template of a checked text."""
    return _ENVIRONMENT.from_string(text)


def render(text: str, variables: Mapping[str, object], *, where: str) -> str:
    """The plain text. Raises HarnessError where a checked template cannot be filled in after all,
    `number` of a text without one for example."""
    if "{" not in text:
        return text
    try:
        return compiled(text).render(variables)
    except (TemplateError, TypeError, ValueError) as error:
        raise HarnessError(f"the template cannot be filled in: {error}", where=where) from None


def variables_of(text: str) -> frozenset[str]:
    """The variables a template reads. An unreadable template reads none: `check` refuses it."""
    try:
        return frozenset(_free(_ENVIRONMENT.parse(text)))
    except (TemplateError, ValueError, RecursionError):
        return frozenset()


def check(text: str, declared: Sequence[str], *, where: str) -> None:
    """Refuse a template that is malformed, reads undeclared variables or does more than fill in."""
    try:
        tree = _ENVIRONMENT.parse(text)
        # before it is compiled: that works out what is constant
        for node in _walk(tree):
            _check_node(node, declared, where=where)
        _bounded(tree, where=where)
        _ENVIRONMENT.from_string(text)
    except TemplateError as error:
        line = getattr(error, "lineno", None)
        unknown = isinstance(error, TemplateAssertionError)  # a filter or a test
        raise HarnessError(
            f"not a template: {error.message}",
            where=f"{where}, line {line}" if line else where,
            remedy=_KNOWN if unknown else "write a literal {{ as {{ '{{' }}",
        ) from None
    except ValueError as error:  # a number that Python does not read
        raise HarnessError(f"not a template: {error}", where=where) from None
    except (RecursionError, SyntaxError):
        raise HarnessError("the template is nested too deeply", where=where) from None
    for name in sorted(_free(tree)):
        if name not in declared:
            near = get_close_matches(name, declared, 1)
            raise HarnessError(
                f"{{{{ {name} }}}} is not a variable here",
                where=where,
                remedy=(f"did you mean {near[0]}? " if near else "")
                + ("variables: " + ", ".join(declared) if declared else "there are no variables"),
            )


def _check_node(node: nodes.Node, declared: Sequence[str], *, where: str) -> None:
    if not isinstance(node, ALLOWED_NODES):
        what = f"{type(node).__name__.lower()} is not allowed in a template"
    elif isinstance(node, nodes.For) and not (
        isinstance(node.iter, nodes.Name) and node.iter.name in LISTS and not node.recursive
    ):
        what = f"a template may only loop over {', '.join(sorted(LISTS))}"
    elif isinstance(node, nodes.Getattr | nodes.Getitem) and not (
        isinstance(node.node, nodes.Name) and node.node.name not in declared
    ):
        what = "only a loop's variable has fields"
    else:
        return
    raise HarnessError(
        what,
        where=where,
        remedy="use variables, if, for over tools, and filters: " + ", ".join(sorted(FILTERS)),
    )


def _bounded(tree: nodes.Template, *, where: str) -> None:
    """What multiplies text is let in once: a loop in a loop, or a filter that makes a text longer
    behind another one, grows by a power for every step."""
    for node in _walk(tree):
        inner = [each for each in _walk(node) if each is not node]
        if isinstance(node, nodes.For) and any(isinstance(each, nodes.For) for each in inner):
            what = "a loop stands in a loop"
        elif _grows(node) and any(map(_grows, inner)):
            what = f"one of {', '.join(sorted(GROWING))} is used on what another one made"
        else:
            continue
        raise HarnessError(what, where=where, remedy="use one after the other")


def _grows(node: nodes.Node) -> bool:
    return isinstance(node, nodes.Filter) and node.name in GROWING


def _walk(tree: nodes.Node) -> Iterator[nodes.Node]:
    yield tree
    for child in tree.iter_child_nodes():
        yield from _walk(child)


def _free(tree: nodes.Template) -> set[str]:
    """Names read outside the loops that bind them (`loop` belongs to every loop)."""

    def visit(node: nodes.Node, bound: frozenset[str]) -> Iterator[str]:
        if isinstance(node, nodes.Name):
            if node.ctx == "load" and node.name not in bound:
                yield node.name
            return
        if isinstance(node, nodes.For):
            yield from visit(node.iter, bound)
            targets = {name.name for name in node.target.find_all(nodes.Name)}
            if isinstance(node.target, nodes.Name):
                targets.add(node.target.name)
            inner = bound | targets | {"loop"}
            for child in [*node.body, *node.else_, *([node.test] if node.test else [])]:
                yield from visit(child, inner)
            return
        for child in node.iter_child_nodes():
            yield from visit(child, bound)

    return set(visit(tree, frozenset()))
