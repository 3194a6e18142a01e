"""Run a program: compiled for a backend, or step by step in an oracle."""

from __future__ import annotations

import contextlib
import importlib
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import plugjax
from plugjax.extend.core import Array, Jaxpr, programs_in
from plugjax.testing.fuzz.noise import noises, noisy
from plugjax.testing.fuzz.program import Program

Arrays = list[np.ndarray[Any, Any]]


def function_of(program: Program, library: Any) -> Any:
    """The program as a function over ``library``: plugjax or a module with its names."""
    namespace: dict[str, Any] = {
        "np": np,
        "inf": np.inf,
        "nan": np.nan,
        "jax": library,
        "jnp": library.numpy,
        "lax": library.lax,
    }
    exec(program.source(), namespace)
    return namespace["program"]


class Result:
    """Results of a program: arrays and weak types."""

    def __init__(self, values: Sequence[Any]) -> None:
        self.weak = [bool(getattr(v, "weak_type", False)) for v in values]
        self.arrays: Arrays = [np.asarray(v) for v in values]


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def on_backend(program: Program, backend: str) -> Result:
    """The program compiled as a whole.

    Raises:
        AssertionError: the program wrote into an argument.
    """
    with _quietly(), plugjax.enable_x64(program.x64), plugjax.default_device(backend):
        arguments = plugjax.tree.map(_on_device, program.operands)
        found = Result(plugjax.jit(function_of(program, plugjax), tiered=False)(*arguments))
    for given, x in zip(arguments, program.arguments, strict=False):
        if np.asarray(given).tobytes() != x.array.tobytes():
            raise AssertionError(f"the program wrote into its argument v{x.number}")
    return found


def _on_device(x: np.ndarray[Any, Any]) -> Array:
    """An array whose values are in device memory only, so that writes into it are seen."""
    array = plugjax.numpy.asarray(x)
    return Array(array.aval, array._placement, None, array._resident())


def on_numpy(program: Program, traced: bool = False) -> Result:
    """The program step by step on the NumPy backend, including bodies of loops with at least one step.

    If ``traced``, bodies of loops and branches are traced, as they are in a compiled program.
    """
    if traced:
        return _eager(program)
    try:
        with plugjax.disable_jit():
            return _eager(program)
    except ValueError:
        return _eager(program)


def _eager(program: Program) -> Result:
    with _quietly(), plugjax.enable_x64(program.x64), plugjax.default_device("numpy"):
        arguments = plugjax.tree.map(plugjax.numpy.asarray, program.operands)
        return Result(function_of(program, plugjax)(*arguments))


def in_library(program: Program, name: str) -> Result:
    """The program compiled by another library with the same names, such as JAX."""
    library = importlib.import_module(name)
    for part in ("scipy.special", "scipy.linalg", "nn", "numpy", "lax", "random", "ops"):
        importlib.import_module(f"{name}.{part}")
    library.config.update("jax_enable_x64", program.x64)
    with _quietly():
        return Result(library.jit(function_of(program, library))(*program.operands))


def with_noise(program: Program) -> Iterator[Arrays]:
    """Results of runs with noise in every rounding operation, each computed when it is asked for."""
    for noise in noises():
        with noisy() as give:
            give(noise)
            found = on_numpy(program).arrays
        yield found


def primitives(program: Program) -> list[str]:
    """Names of the primitives of the traced program."""
    found: set[str] = set()

    def walk(jaxpr: Jaxpr) -> None:
        for eqn in jaxpr.eqns:
            found.add(eqn.primitive.name)
            for inner in programs_in(eqn.params):
                walk(inner.jaxpr)

    arguments = program.operands
    with _quietly(), plugjax.enable_x64(program.x64), plugjax.default_device("numpy"):
        walk(plugjax.make_jaxpr(function_of(program, plugjax))(*arguments).jaxpr)
    return sorted(found)
