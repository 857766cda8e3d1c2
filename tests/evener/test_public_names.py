import ast
import subprocess
import sys

import pytest

import evener


@pytest.mark.parametrize("name", evener.__all__)
def test_a_public_name_is_there(name: str) -> None:
    assert getattr(evener, name) is not None
    assert name in dir(evener)


def test_a_name_that_is_not_public_is_an_attribute_error() -> None:
    missing = "Horse"
    with pytest.raises(AttributeError, match="no attribute 'Horse'"):
        getattr(evener, missing)


def test_importing_the_package_imports_no_other_library() -> None:
    code = "import sys; before = set(sys.modules); import evener; print(set(sys.modules) - before)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    loaded = {name.partition(".")[0] for name in ast.literal_eval(done.stdout)}
    assert loaded - sys.stdlib_module_names == {"evener"}
