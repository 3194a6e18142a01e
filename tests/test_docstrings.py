"""Every public function has a docstring with an example, which pytest runs as a doctest."""

import doctest
import importlib
import inspect
import re

import pytest

from plugjax.cli.parity import listed

OWN = (
    "",
    "ad_checkpoint",
    "checkpoint_policies",
    "custom_batching",
    "custom_derivatives",
    "debug",
    "experimental.sparse",
    "experimental.sparse.linalg",
    "api_util",
    "example_libraries.optimizers",
    "example_libraries.stax",
    "experimental.array_serialization.pytree_serialization",
    "experimental.array_serialization.pytree_serialization_utils",
    "experimental.array_serialization.serialization",
    "experimental.array_serialization.tensorstore_impl",
    "experimental.buffer_callback",
    "experimental.colocated_python",
    "experimental.compute_on",
    "experimental.control_deps",
    "experimental.custom_partitioning",
    "experimental.error_check",
    "experimental.fused",
    "experimental.jet",
    "experimental.layout",
    "experimental.multihost_utils",
    "experimental.ode",
    "experimental.random",
    "experimental.references",
    "experimental.rnn",
    "experimental.roofline",
    "experimental.scheduling_groups",
    "experimental.serialize_executable",
    "experimental.topologies",
    "experimental.transfer",
    "experimental.xla_metadata",
    "export",
    "ffi",
    "monitoring",
    "ref",
    "test_util",
    "util",
    "visualize",
)
NAMESPACES = sorted(
    {*(f"plugjax.{name}" for name in listed()), *(f"plugjax.{n}".rstrip(".") for n in OWN)}
)
# NumPy's own objects with their documentation; and names that raise, as in JAX, or read a file.
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


# Functions that make zeros, give a shape or a dtype, or whose point is that nothing is raised.
SHOWS_LITTLE = {
    *("zeros", "zeros_like", "empty", "empty_like", "zero_from_primal"),
    *("shape", "ndim", "dtype", "enable_x64", "default_device", "isdtype", "iscomplexobj"),
    *("clear_caches", "check_grads", "check_jvp", "check_vjp"),
    *("assert_equal", "sync_global_devices"),
}


def shows_little(example):
    """Whether the output is a shape, a dtype, or an array of zeros alone."""
    source, want = example.source.strip(), example.want.strip()
    if re.search(r"\.(shape|dtype|ndim)$", source):
        return True
    numbers = re.findall(r"[\d.]+", re.sub(r"dtype=\w+|shape=.*", "", want))
    return want.startswith("Array(") and bool(numbers) and not any(map(_is_positive, numbers))


def _is_positive(text):
    return any(digit in "123456789" for digit in text)


@pytest.mark.parametrize("namespace", NAMESPACES)
def test_every_example_shows_what_the_function_does(namespace):
    poor = []
    for name, function in public_functions(namespace):
        examples = doctest.DocTestParser().get_examples(inspect.getdoc(function) or "")
        outputs = [e for e in examples if e.want]
        if name not in SHOWS_LITTLE and all(map(shows_little, outputs)):
            poor.append(name)
    assert poor == []
