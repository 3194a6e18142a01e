"""``plugjax parity``: the list of names is JAX's, and stubs do not count."""

import importlib.util
import json
from pathlib import Path

import jax

from plugjax.cli import parity

_PATH = Path(__file__).with_name("jax_names.py")


def jax_names():
    spec = importlib.util.spec_from_file_location("jax_names", _PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_list_is_that_of_the_installed_jax():
    names = jax_names()
    assert jax.__version__ == "0.10.2"
    assert json.loads(names.FILE.read_text()) == names.table()


def stub(x):
    """A stub."""
    raise NotImplementedError("not yet")


def checked(x):
    if x:
        raise ValueError(x)
    return x


def test_a_function_that_only_raises_is_a_stub():
    assert parity.is_stub(stub)
    assert not parity.is_stub(checked)
    assert not parity.is_stub(lambda x: x)
    assert not parity.is_stub(dict)


def test_the_namespaces_that_are_whole_stay_whole():
    absent = parity.missing()
    assert absent["tree"] == []
    assert absent["tree_util"] == []


def test_each_missing_name_has_a_reason():
    absent = parity.missing(parity.listed("others"))
    assert not absent.get("")
    assert absent["experimental.pallas"]
    unexplained = [
        (n, name) for n, names in absent.items() for name in names if not parity.reason(n, name)
    ]
    assert unexplained == []
    assert parity.reason("numpy", "sin") == ""


def test_the_command(capsys):
    from rich.console import Console

    parity.run(Console(width=200), every_name=False)
    out = capsys.readouterr().out
    assert "numpy.linalg" in out
    assert "all" in out
    # What is missing of JAX's interface stands in its row.
    parity.run(Console(width=4000), every_name=True)
    out = capsys.readouterr().out
    (row,) = [line for line in out.splitlines() if " extend.core.primitives " in line]
    assert "empty2_p: JAX's way of making lowerings" in row
    # Kernels of other compilers are no part of it, and are said apart.
    assert " experimental.mosaic " not in out
    (line,) = [line for line in out.splitlines() if "kernels in the languages" in line]
    assert line.startswith("Not counted: ")


def test_what_is_not_counted_is_missing_and_undocumented():
    absent = parity.missing(parity.listed("others"))
    apart = [
        (n, name) for n, names in absent.items() for name in names if not parity.is_counted(n, name)
    ]
    assert ("experimental.jet", "jet") not in apart
    assert ("experimental.pallas", "pallas_call") in apart
    assert parity.is_counted("experimental.transfer", "TransferServer")
