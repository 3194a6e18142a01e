"""What ``dir``, ``help`` and ``repr`` show."""

import importlib
import inspect
import pickle
import pydoc
import types

import jax
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax.cli.parity import listed

OWN = ("ad_checkpoint", "api_util", "custom_batching", "custom_derivatives", "debug", "export", "experimental.checkify", "profiler", "extend.core", "interpreters.ad", "visualize")  # fmt: skip
NAMESPACES = sorted({"", *listed(), *OWN})


@pytest.mark.filterwarnings("ignore:plugjax.cloud_tpu_init")
@pytest.mark.parametrize("name", NAMESPACES)
def test_dir_shows_public_names_only(name):
    module = importlib.import_module(f"plugjax.{name}".rstrip("."))
    public = getattr(module, "__all__", ())
    for each in dir(module):
        found = getattr(module, each)
        submodule = isinstance(found, types.ModuleType) and found.__name__.startswith("plugjax")
        assert each in public or submodule or each in ("__version__", "__version_info__", "__array_namespace_info__")  # fmt: skip
    assert set(public) <= {*dir(module)}


def function(x, n=1):
    """A function with a name."""
    return x * n


@plugjax.jit
def compiled(x):
    return x


@plugjax.vmap
def mapped(x):
    return x


@pytest.mark.parametrize(
    "transform",
    [
        "jit",
        "vmap",
        "grad",
        "value_and_grad",
        "jacfwd",
        "jacrev",
        "hessian",
        "checkpoint",
        "make_jaxpr",
    ],
)
def test_the_name_of_a_derived_function_is_that_of_jax(transform):
    ours, theirs = (getattr(j, transform)(function) for j in (plugjax, jax))
    for attribute in ("__name__", "__qualname__", "__module__"):
        assert getattr(ours, attribute).replace("plugjax", "jax") == getattr(theirs, attribute)
    assert str(inspect.signature(ours)) == str(inspect.signature(theirs))


def test_decorated_functions_pickle():
    for each in (compiled, mapped):
        assert pickle.loads(pickle.dumps(each)) is each


@pytest.mark.parametrize("method", ["sum", "reshape", "astype", "argsort", "mean", "at", "T"])
def test_help_of_methods_shows_signature_and_meaning(method):
    ours, theirs = jnp.ones(3), jax.numpy.ones(3)
    shown = pydoc.render_doc(getattr(type(ours), method))
    assert f"jax.Array.{method}" in shown or f"plugjax.numpy.{method}" in shown
    if callable(getattr(ours, method)):
        own = set(inspect.signature(getattr(ours, method)).parameters)
        known = set(inspect.signature(getattr(theirs, method)).parameters)
        assert known - {"args", "shape", "out_sharding"} <= own
