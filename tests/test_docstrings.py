"""Every public function says what it does, and shows it by an example (which pytest runs as a doctest)."""

import importlib
import inspect

import pytest

from plugjax.cli.parity import listed

OWN = (
    "",
    "ad_checkpoint",
    "checkpoint_policies",
    "custom_batching",
    "custom_derivatives",
    "debug",
    "test_util",
)
NAMESPACES = sorted(
    {*(f"plugjax.{name}" for name in listed()), *(f"plugjax.{n}".rstrip(".") for n in OWN)}
)
# Of NumPy itself, under its own documentation; and names that raise, as in JAX, or read a file.
FOREIGN = "numpy"
WITHOUT = {"fromfile", "fromiter", "load"}


def public_functions(namespace):
    module = importlib.import_module(namespace)
    names = getattr(module, "__all__", None) or [n for n in dir(module) if not n.startswith("_")]
    for name in names:
        function = inspect.unwrap(getattr(module, name))
        foreign = (getattr(function, "__module__", None) or "").startswith(FOREIGN)
        if inspect.isfunction(function) and not foreign and name not in WITHOUT:
            yield name, function


@pytest.mark.parametrize("namespace", NAMESPACES)
def test_every_function_has_an_example(namespace):
    lacking = [n for n, f in public_functions(namespace) if ">>> " not in (inspect.getdoc(f) or "")]
    assert not lacking
