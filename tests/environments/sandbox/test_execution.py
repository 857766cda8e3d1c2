"""What the tool says of ordinary code, and of arguments that are none."""

import pytest

from evener.environments.sandbox import Execution, PythonTool, Sandbox
from evener.environments.sandbox.tool import Interpreter

pytestmark = pytest.mark.asyncio(loop_scope="module")
LONG = 60.0


async def test_names_live_from_call_to_call(tool: PythonTool) -> None:
    await tool.run("def twice(x): return 2 * x\nbase = 21", LONG)
    execution = await tool.run("print(twice(base))", LONG)
    assert execution.model_copy(update={"elapsed": 0.0}) == Execution(
        stdout="42\n", stderr="", elapsed=0.0
    )


@pytest.mark.parametrize(
    ("code", "stdout"),
    [
        ("6 * 7", "42\n"),
        ("x = 1\nx + 1", "2\n"),
        ("None", ""),
        ("for i in range(2): i", ""),
        ("", ""),
        ("# nothing", ""),
        ("'a'; 'b'", "'b'\n"),
        ("print('é', '\\ud800')", "é \\ud800\n"),
        ("import sys; sys.exit()", ""),
        ("input", "<built-in function input>\n"),
        ("if __name__ == '__main__': print('main')", "main\n"),
    ],
)
async def test_the_value_of_a_last_expression_is_shown(
    tool: PythonTool, code: str, stdout: str
) -> None:
    execution = await tool.run(code, LONG)
    assert (execution.stdout, execution.error_kind) == (stdout, None)


@pytest.mark.parametrize(
    ("code", "kind", "said"),
    [
        ("def f(:", "syntax", "SyntaxError"),
        ("x = '\0'", "syntax", "null bytes"),
        ("(" * 5000, "syntax", "SyntaxError"),
        ("1 / 0", "exception", "ZeroDivisionError"),
        ("import sys; sys.exit(3)", "exception", "SystemExit: 3"),
        ("raise KeyboardInterrupt", "exception", "KeyboardInterrupt"),
        ("input()", "exception", "EOFError"),
        ("def f(): f()\nf()", "exception", "RecursionError"),
        ("print(10 ** 5000)", "exception", "4300 digits"),
        ("import nothing_of_that_name", "exception", "ModuleNotFoundError"),
    ],
)
async def test_an_error_has_its_kind(tool: PythonTool, code: str, kind: str, said: str) -> None:
    execution = await tool.run(f"{code}", LONG)
    assert execution.error_kind == kind
    assert said in execution.stderr
    assert (await tool.run("1", LONG)).stdout == "1\n"


async def test_a_traceback_is_of_the_code_alone(tool: PythonTool) -> None:
    execution = await tool.run("def f():\n    return 1 / 0\nf()", LONG)
    assert execution.stderr.splitlines()[:5] == [
        "Traceback (most recent call last):",
        '  File "<python 1>", line 3, in <module>',
        "    f()",
        '  File "<python 1>", line 2, in f',
        "    return 1 / 0",
    ]


async def test_what_was_printed_before_an_error_is_there(tool: PythonTool) -> None:
    raised = await tool.run("print('before')\n1 / 0", LONG)
    assert raised.stdout == "before\n"
    ended = await tool.run("print('before')\nwhile True: pass", 1.0)
    assert ended.stdout == "before\n"
    assert "not over after 1 s" in ended.stderr


async def test_long_output_is_cut_with_a_word_on_how_long_it_was(
    tool: PythonTool, sandbox: Sandbox
) -> None:
    execution = await tool.run("name = 1\nprint('é' * 500_000)", LONG)
    assert (execution.truncated, execution.error_kind) == (True, "output_truncated")
    assert execution.stdout.startswith("é" * 30_000)
    assert "\ufffd" not in execution.stdout
    assert f"[the first {sandbox.limits.output} of 1000001 bytes]" in execution.stdout
    assert (await tool.run("name", LONG)).stdout == "1\n"


async def test_an_error_tells_more_than_long_output(tool: PythonTool) -> None:
    execution = await tool.run("print('x' * 200_000)\n1 / 0", LONG)
    assert (execution.truncated, execution.error_kind) == (True, "exception")


async def test_bytes_that_are_no_text_are_shown_as_such(tool: PythonTool) -> None:
    execution = await tool.run("import sys; _ = sys.stdout.buffer.write(bytes(range(256)))", LONG)
    assert execution.error_kind is None
    assert "\ufffd" in execution.stdout
    assert "not UTF-8" in execution.stdout


@pytest.mark.parametrize("code", [None, 7, b"print(1)", "'\ud800'", "#" * 300_000])
async def test_what_is_no_code_is_refused(tool: Interpreter, code: str) -> None:
    execution = await tool.run(code, LONG)
    assert (execution.error_kind, execution.stdout) == ("schema", "")
    assert execution.stderr


async def test_the_longest_code_runs(tool: PythonTool) -> None:
    execution = await tool.run("#" * 250_000 + "\nprint(1)", LONG)
    assert (execution.stdout, execution.error_kind) == ("1\n", None)


@pytest.mark.parametrize("timeout", [0.0, -1.0, float("nan"), float("inf")])
async def test_a_timeout_is_a_positive_number(tool: PythonTool, timeout: float) -> None:  # noqa: ASYNC109
    with pytest.raises(ValueError, match="positive number"):
        await tool.run("1", timeout)


async def test_the_packages_of_mathematics_are_there(tool: PythonTool) -> None:
    pytest.importorskip("sympy")
    code = "from sympy import *\nx = symbols('x')\nintegrate(sin(x) * x, x)"
    assert (await tool.run(code, LONG)).stdout == "-x*cos(x) + sin(x)\n"
    assert (await tool.run("import numpy\nprint(numpy.arange(3).sum())", LONG)).stdout == "3\n"
    assert (await tool.run("import fractions, itertools, sysconfig, zoneinfo", LONG)).stderr == ""


async def test_a_value_that_travels_comes_back_the_same(tool: PythonTool) -> None:
    execution = await tool.run("1 / 0", LONG)
    assert Execution.model_validate_json(execution.model_dump_json()) == execution
