"""Runs a program: compiled for a backend, or step by step in an oracle, with or without noise."""

from __future__ import annotations

import contextlib
import importlib
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import ml_dtypes
import numpy as np

import plugjax
from plugjax.core.jaxpr import Jaxpr, subjaxprs
from plugjax.testing.fuzz.program import Program

Arrays = list[np.ndarray[Any, Any]]


def function_of(program: Program, library: Any, noise: Callable[[Any], Any] | None = None) -> Any:
    """The program as a function over ``library``, which is plugjax or has its names."""
    namespace: dict[str, Any] = {
        "np": np,
        "inf": np.inf,
        "nan": np.nan,
        "jax": library,
        "jnp": library.numpy,
        "lax": library.lax,
        "noise": noise,
    }
    exec(program.source(noisy=noise is not None), namespace)
    return namespace["program"]


class Result:
    """What a program gave: arrays and weak types."""

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
        AssertionError: it wrote into an argument.
    """
    with _quietly(), plugjax.enable_x64(program.x64), plugjax.default_device(backend):
        arguments = [plugjax.numpy.asarray(x.array) for x in program.arguments]
        found = Result(plugjax.jit(function_of(program, plugjax))(*arguments))
    for given, x in zip(arguments, program.arguments, strict=True):
        if np.asarray(given).tobytes() != x.array.tobytes():
            raise AssertionError(f"the program wrote into its argument v{x.number}")
    return found


def on_numpy(program: Program, noise: Callable[[Any], Any] | None = None) -> Result:
    """The program step by step on the NumPy backend; the bodies of loops too, save where a loop makes no step."""
    try:
        with plugjax.disable_jit():
            return _eager(program, noise)
    except ValueError:
        return _eager(program, noise)


def _eager(program: Program, noise: Callable[[Any], Any] | None) -> Result:
    with _quietly(), plugjax.enable_x64(program.x64), plugjax.default_device("numpy"):
        arguments = [plugjax.numpy.asarray(x.array) for x in program.arguments]
        return Result(function_of(program, plugjax, noise)(*arguments))


def in_library(program: Program, name: str) -> Result:
    """The program compiled by another library with the same names, such as JAX."""
    library = importlib.import_module(name)
    for part in ("scipy.special", "scipy.linalg", "nn", "numpy", "lax", "random", "ops"):
        importlib.import_module(f"{name}.{part}")
    library.config.update("jax_enable_x64", program.x64)
    arguments = [x.array for x in program.arguments]
    with _quietly():
        return Result(library.jit(function_of(program, library))(*arguments))


class Noise:
    """Moves what rounds by some units in its last place.

    Zeros change their signs: no sum promises its zero's sign. ``flush`` replaces subnormals by zeros instead of moving anything.
    """

    def __init__(self, seed: int, units: float = 2, flush: bool = False) -> None:
        self.rng = np.random.default_rng(seed)
        self.units, self.flush = units, flush

    def __call__(self, x: Any) -> Any:
        """A value moved."""
        jnp = plugjax.numpy
        dtype = x.dtype
        if dtype.kind not in "fcV":
            return x
        if dtype.kind == "c":
            part = jnp.finfo(dtype).dtype
            turn = self.rng.uniform(-1, 1, (2, *x.shape)) * self.units * float(jnp.finfo(part).eps)
            factor = (1 + turn[0] + 1j * turn[1]).astype(dtype)
            return jnp.where(jnp.isfinite(x), x * factor, x)
        info = ml_dtypes.finfo(dtype)
        if self.flush:
            return jnp.where(jnp.abs(x) < info.tiny, jnp.zeros_like(x), x)
        steps = self.rng.integers(-1, 2, x.shape) * self.units * float(info.eps)
        sign = np.where(self.rng.random(x.shape) < 0.5, 1, -1)
        moved = x * (1 + steps).astype(dtype)
        return jnp.where(x == 0, x * sign.astype(dtype), moved)


def with_noise(program: Program) -> list[Arrays]:
    """Results of runs in which everything that rounds was moved a little; runs that raise are left out."""
    noises = [
        Noise(0, flush=True),
        *(Noise(s) for s in range(1, 5)),
        *(Noise(s, 1) for s in (5, 6)),
    ]
    found = []
    for noise in noises:
        with contextlib.suppress(Exception):
            found.append(on_numpy(program, noise).arrays)
    return found


def primitives(program: Program) -> list[str]:
    """Names of the primitives that the program is traced to."""
    found: set[str] = set()

    def walk(jaxpr: Jaxpr) -> None:
        for eqn in jaxpr.eqns:
            found.add(eqn.primitive.name)
            for inner in subjaxprs(eqn.params):
                walk(getattr(inner, "jaxpr", inner))

    arguments = [x.array for x in program.arguments]
    with _quietly(), plugjax.enable_x64(program.x64), plugjax.default_device("numpy"):
        walk(plugjax.make_jaxpr(function_of(program, plugjax))(*arguments).jaxpr)
    return sorted(found)
