"""The checks that follow from a row of the op table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import plugjax
from plugjax.extend import dtypes, pytree
from plugjax.extend.core import ClosedJaxpr, Primitive, Var, as_array, aval_of, programs_in
from plugjax.extend.errors import RuleAbsentError
from plugjax.extend.transforms import TapeTracer, linearize_flat
from plugjax.testing.row import Op

SEED = 7


def operands(op: Op) -> list[Any]:
    """The row's sample operands, as NumPy arrays."""
    return list(op.sample(np.random.default_rng(SEED)))


def _arrays(values: Sequence[Any]) -> list[Any]:
    return [as_array(v) for v in values]


def _leaves(result: Any) -> list[np.ndarray[Any, Any]]:
    return [np.asarray(y) for y in pytree.leaves(result)]


def _close(found: Any, expected: Any, rtol: float, what: str) -> None:
    for a, b in zip(_leaves(found), [np.asarray(y) for y in pytree.leaves(expected)], strict=True):
        if a.shape != b.shape:
            raise AssertionError(f"{what}: shape {a.shape}, expected {b.shape}")
        wide = np.complex128 if b.dtype.kind == "c" else np.float64
        np.testing.assert_allclose(
            a.astype(wide), b.astype(wide), rtol=rtol, atol=max(rtol, 1e-30), err_msg=what
        )


def check_value(op: Op) -> None:
    """Eager values against the oracle."""
    values = operands(op)
    _close(op.function(*_arrays(values)), op.oracle(*values), op.rtol, f"{op.name}: value")


def check_abstract(op: Op) -> None:
    """Abstract evaluation against the kernel's result."""
    values = _arrays(operands(op))
    found = pytree.leaves(op.function(*values))
    expected = pytree.leaves(plugjax.eval_shape(op.function, *values))
    for y, e in zip(found, expected, strict=True):
        host = np.asarray(y)
        if (host.shape, host.dtype) != (e.shape, e.dtype) or y.aval != aval_of(e):
            raise AssertionError(f"{op.name}: kernel gives {host.dtype}{host.shape}, rule says {e}")


def check_jit(op: Op, rtol: float = 2e-6) -> None:
    """Compiled against eager, on the default device."""
    values = _arrays(operands(op))
    compiled = plugjax.jit(op.function, tiered=False)(*values)
    _close(compiled, op.function(*values), max(rtol, op.rtol), f"{op.name}: jit against eager")


def _wrt(op: Op, values: Sequence[Any]) -> tuple[int, ...]:
    if op.wrt is not None:
        return op.wrt
    return tuple(i for i, v in enumerate(values) if np.asarray(v).dtype.kind == "f")


def differentiable(op: Op, values: list[Any]) -> tuple[Any, list[Any]]:
    """The row as a function of the operands it is differentiated by."""
    places = _wrt(op, values)

    def function(*chosen: Any) -> Any:
        full = list(values)
        for place, x in zip(places, chosen, strict=True):
            full[place] = x
        return op.function(*full)

    return function, [values[p] for p in places]


def check_jvp(op: Op) -> None:
    """Forward derivatives against central differences in float64."""
    with plugjax.enable_x64(True):
        rng = np.random.default_rng(SEED + 1)
        values = [_wide(v) for v in operands(op)]
        function, point = differentiable(op, values)
        direction = [rng.uniform(-1, 1, np.shape(x)) for x in point]
        for _ in range(op.order):
            _, found = plugjax.jvp(function, tuple(_arrays(point)), tuple(_arrays(direction)))
            h = 1e-5
            plus = function(*_arrays([x + h * d for x, d in zip(point, direction, strict=True)]))
            minus = function(*_arrays([x - h * d for x, d in zip(point, direction, strict=True)]))
            expected = [
                (np.asarray(p) - np.asarray(m)) / (2 * h)
                for p, m in zip(pytree.leaves(plus), pytree.leaves(minus), strict=True)
                if np.asarray(p).dtype.kind in "fc"
            ]
            tangents = [y for y in _leaves(found) if y.dtype.kind in "fc"]
            _close(tangents, expected, 1e-6, f"{op.name}: jvp against differences")
            function = _directional(function, tuple(_arrays(direction)))


def _directional(function: Any, direction: tuple[Any, ...]) -> Any:
    def derivative(*xs: Any) -> Any:
        _, found = plugjax.jvp(function, xs, direction)
        return found

    return derivative


def _wide(value: Any) -> Any:
    array = np.asarray(value)
    return array.astype(np.float64) if array.dtype == np.float32 else array


def check_vjp(op: Op) -> None:
    """Reverse against forward derivatives: <y_bar, J x_dot> = <J^T y_bar, x_dot>."""
    if not (op.order and op.reverse):
        return
    rng = np.random.default_rng(SEED + 2)
    values = operands(op)
    function, point = differentiable(op, values)
    x_dot = [rng.uniform(-1, 1, np.shape(x)).astype(np.float32) for x in point]
    out, pull = plugjax.vjp(function, *_arrays(point))
    _, y_dot = plugjax.jvp(function, tuple(_arrays(point)), tuple(_arrays(x_dot)))
    y_bar = pytree.tree_map(
        lambda y: (
            as_array(rng.uniform(-1, 1, y.shape).astype(np.float32))
            if y.dtype.kind == "f"
            else np.zeros(y.shape, dtypes.float0)
        ),
        out,
    )
    x_bar = pull(y_bar)
    forward = sum(
        float(np.vdot(np.asarray(b, np.float64), np.asarray(d, np.float64)))
        for b, d in zip(pytree.leaves(y_bar), pytree.leaves(y_dot), strict=True)
        if np.asarray(d).dtype.kind == "f"
    )
    backward = sum(
        float(np.vdot(np.asarray(b, np.float64), np.asarray(d, np.float64)))
        for b, d in zip(x_bar, x_dot, strict=True)
    )
    np.testing.assert_allclose(forward, backward, rtol=2e-4, atol=2e-4, err_msg=op.name)


def check_vmap(op: Op, size: int = 3) -> None:
    """A batch at once against a loop, for every choice of batched operands."""
    values = operands(op)
    allowed = op.batch if op.batch is not None else tuple(range(len(values)))
    for chosen in range(1, 1 << len(allowed)):
        batched = {p for i, p in enumerate(allowed) if chosen >> i & 1}
        for place in (0, -1):
            _check_batch(op, values, batched, place, size)


def _check_batch(op: Op, values: list[Any], batched: set[int], place: int, size: int) -> None:
    rng = np.random.default_rng(SEED)
    draws = [op.sample(rng) for _ in range(size)]
    full = [
        np.stack([d[i] for d in draws], axis=place) if i in batched else v
        for i, v in enumerate(values)
    ]
    axes = tuple(place if i in batched else None for i in range(len(values)))
    found = plugjax.vmap(op.function, in_axes=axes)(*_arrays(full))
    singles = [
        op.function(*_arrays([d[i] if i in batched else v for i, v in enumerate(values)]))
        for d in draws
    ]
    expected = [np.stack(parts) for parts in zip(*[_leaves(s) for s in singles], strict=True)]
    _close(
        found, expected, max(op.rtol, 1e-5), f"{op.name}: vmap over {sorted(batched)} at {place}"
    )


def check_compiled(ops: Sequence[Op], backend: str, rtol: float = 1e-5) -> None:
    """Values of several rows in one compiled program on a backend, against eager NumPy."""
    samples = [operands(op) for op in ops]

    def program(all_values: list[list[Any]]) -> list[Any]:
        return [op.function(*xs) for op, xs in zip(ops, all_values, strict=True)]

    with plugjax.default_device(backend):
        found = plugjax.jit(program, tiered=False)([_arrays(s) for s in samples])
        found = [_leaves(f) for f in found]
    for op, f, s in zip(ops, found, samples, strict=True):
        _close(f, _on_numpy(op, s), max(rtol, op.rtol), f"{op.name} compiled for {backend}")


def check_eager(op: Op, backend: str, rtol: float = 1e-5) -> None:
    """Values of a row on a backend, without ``jit``, against eager NumPy."""
    values = operands(op)
    with plugjax.default_device(backend):
        found = op.function(*_arrays(values))
        platforms = {y.device.backend.name for y in pytree.leaves(found)}
        if platforms != {plugjax.devices(backend)[0].backend.name}:
            raise AssertionError(f"{op.name} on {backend}: the result is on {platforms}")
        found = _leaves(found)
    _close(found, _on_numpy(op, values), max(rtol, op.rtol), f"{op.name} on {backend}")


def _on_numpy(op: Op, values: Sequence[Any]) -> list[Any]:
    with plugjax.default_device("numpy"):
        return _leaves(op.function(*_arrays(values)))


def tape_primitives(op: Op) -> set[Primitive]:
    """The primitives of the row's tangent programs, which need a transpose rule."""
    values = operands(op)
    if op.order:
        function, point = differentiable(op, values)
    else:
        function, point = op.function, values
    chosen = [dtypes.is_inexact(aval_of(x).dtype) for x in point]
    programs = [function]
    if op.order > 1 and op.reverse:
        programs.append(pullback(function))
    found: set[Primitive] = set()
    for program in programs:
        try:
            linearized = linearize_flat(
                lambda *xs, f=program: pytree.leaves(f(*xs)), _arrays(point), chosen
            )
        except RuleAbsentError:  # The row states why it has no derivative.
            assert not op.order
            return set()
        for eqn in linearized.tape.eqns:
            found.add(eqn.primitive)
            if op.reverse:
                linear = [type(x) is TapeTracer for x in eqn.operands]
                for inner in programs_in(eqn.params):
                    found |= _on_tangents(inner, linear)
    return found


def pullback(function: Any) -> Any:
    """A function of the same arguments that gives their cotangents, of ones for the results."""

    def pulled(*xs: Any) -> Any:
        out, pull = plugjax.vjp(function, *xs)
        return pull(pytree.tree_map(_ones, out))

    return pulled


def _ones(y: Any) -> Any:
    dtype = y.dtype if y.dtype.kind in "fc" else dtypes.float0
    return np.ones(y.shape, dtype) if dtype != dtypes.float0 else np.zeros(y.shape, dtype)


def _on_tangents(jaxpr: ClosedJaxpr, linear: Sequence[bool]) -> set[Primitive]:
    """Primitives of a program that work on values computed from tangents; the others recompute residuals.

    The program's inputs are the last operands of its equation; ``linear`` marks the tangents among the operands.
    """
    invars = jaxpr.jaxpr.invars
    live = {v for v, t in zip(invars, linear[len(linear) - len(invars) :], strict=True) if t}
    found: set[Primitive] = set()
    for eqn in jaxpr.eqns:
        flags = [type(v) is Var and v in live for v in eqn.invars]
        if any(flags):
            live.update(eqn.outvars)
            found.add(eqn.primitive)
            for inner in programs_in(eqn.params):
                found |= _on_tangents(inner, flags)
    return found
