"""Every row of the op table, every check; and the whole matrix of rules."""

import warnings
from functools import cache

import jax
import ml_dtypes
import numpy as np
import pytest

import plugjax
from plugjax.core import registry
from plugjax.core.errors import FallbackWarning
from plugjax.extend.core import aval_of, reshard_p
from plugjax.extend.rules import (
    abstract_eval,
    batching_rule,
    expand_rule,
    impl,
    jvp_rule,
    lowering,
    transpose_rule,
)
from plugjax.guard.noise import noise_p
from plugjax.guard.on_host import on_host_p
from plugjax.testing import (
    OPS,
    Op,
    check_abstract,
    check_compiled,
    check_eager,
    check_jit,
    check_jvp,
    check_value,
    check_vjp,
    check_vmap,
    operands,
    real,
    tape_primitives,
)
from plugjax.transforms.physical import physical_rule

rows = pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
CHUNK = 16


def chunks(ops):
    """Compilers take little longer for many rows than for one."""
    parts = [ops[i : i + CHUNK] for i in range(0, len(ops), CHUNK)]
    return pytest.mark.parametrize(
        "chunk", parts, ids=lambda chunk: f"{chunk[0].name}..{chunk[-1].name}"
    )


@rows
def test_value_against_the_oracle(op):
    check_value(op)


@rows
def test_abstract_against_concrete(op):
    check_abstract(op)


@rows
def test_jvp_against_differences(op):
    check_jvp(op)


@rows
def test_vjp_against_jvp(op):
    check_vjp(op)


@pytest.mark.spread(6)
@rows
def test_vmap_against_a_loop(op):
    check_vmap(op)


@pytest.mark.spread(3)
@rows
def test_jit_against_eager(op):
    check_jit(op)


@pytest.mark.spread(16)
@pytest.mark.backend_rows
@chunks(OPS)
def test_compiled_for_a_backend(chunk, backend):
    with warnings.catch_warnings():
        warnings.simplefilter("error", FallbackWarning)
        check_compiled(chunk, backend)


@pytest.mark.spread(16)
@pytest.mark.backend_rows
@rows
def test_eager_on_a_backend(op, backend):
    check_eager(op, backend)


@pytest.mark.spread(6)
@chunks([op for op in OPS if not op.without_jax])
def test_value_and_dtype_against_jax(chunk):
    values = [operands(op) for op in chunk]
    theirs = [op.under(jax.lax) for op in chunk]
    together = jax.jit(lambda values: [f(*xs) for f, xs in zip(theirs, values, strict=True)])
    for op, xs, expected in zip(chunk, values, together(values), strict=True):
        ours, expected = plugjax.tree.leaves(op.function(*xs)), jax.tree.leaves(expected)
        assert list(map(signature, ours)) == list(map(signature, expected)), op.name
        for y, z in zip(ours, expected, strict=True):
            y, z = np.asarray(y), np.asarray(z)
            if z.dtype.kind in "fc":
                np.testing.assert_allclose(y, z, rtol=2e-5, atol=1e-6, err_msg=op.name)
            else:
                np.testing.assert_array_equal(y, z, err_msg=op.name)


DTYPES = (
    np.float16, ml_dtypes.bfloat16, np.complex64, np.int8, np.int32, np.uint8, np.uint32, np.bool_,
)  # fmt: skip


# JAX has a type for these but no useful value: complex numbers have no order, integers no
# logarithm.
WITHOUT_MEANING = {
    "eq_to": {"c"},
    "max": {"c"},
    "min": {"c"},
    "clamp between arrays": {"c"},
    "argmax": {"c"},
    "argmin": {"c"},
    "cumlogsumexp": {"i", "u"},
    "cumlogsumexp reverse": {"i", "u"},
}


@pytest.mark.parametrize("op", [op for op in OPS if not op.without_jax], ids=lambda op: op.name)
@pytest.mark.filterwarnings("ignore:Casting complex values")
def test_dtypes_against_jax(op):
    """With floating operands of another dtype the row has JAX's type, unless JAX refuses them."""
    values = operands(op)
    floating = [np.asarray(x).dtype == np.float32 for x in values]
    for dtype in map(np.dtype, DTYPES if any(floating) else ()):
        if dtype.kind in WITHOUT_MEANING.get(op.name, ()):
            continue
        with np.errstate(invalid="ignore"):
            xs = [
                np.asarray(x).astype(dtype) if f else x
                for x, f in zip(values, floating, strict=True)
            ]
        try:
            theirs = jax.eval_shape(lambda *a: op.under(jax.lax)(*a), *xs)
        except (TypeError, ValueError, OverflowError):
            continue
        ours = plugjax.eval_shape(op.function, *xs)
        expected = [signature(y) for y in jax.tree.leaves(theirs)]
        assert [signature(y) for y in plugjax.tree.leaves(ours)] == expected, dtype.name


def signature(y):
    weak = y.weak_type if hasattr(y, "weak_type") else aval_of(y).weak_type
    return y.shape, y.dtype, weak


def test_names_are_distinct():
    assert len({op.name for op in OPS}) == len(OPS)


def test_a_row_of_a_function_that_is_wrong_is_found():
    wrong = Op("sin", plugjax.lax.sin_p, "sin", np.cos, real(-3, 3))
    with pytest.raises(AssertionError, match="sin: value"):
        check_value(wrong)


# The matrix ---------------------------------------------------------------------------------------


# Primitives of compiled programs that no transformation meets; `tests/guard` tests them.
# And what says how values are spread: tests/meshes.
_BEHIND_THE_TABLE = {noise_p, on_host_p, reshard_p}
# Their primitives have tests of their own: tests/experimental, tests/export, tests/ffi, tests/state.
_TESTED_ELSEWHERE = ("plugjax.experimental", "plugjax.export", "plugjax.ffi", "plugjax.state")


@cache
def primitives():
    """Every primitive with a rule of ours that the table is for."""
    for kind in (abstract_eval, impl, jvp_rule, batching_rule, lowering, transpose_rule):
        registry.table(kind)
    rules = registry.active().rules()
    ours = {rule.primitive for rule in rules if rule.module.startswith("plugjax")}
    ours -= {
        rule.primitive
        for rule in rules
        if rule.module.startswith(_TESTED_ELSEWHERE) and rule.kind is abstract_eval
    }
    return sorted(ours - _BEHIND_THE_TABLE, key=lambda p: p.name)


def declared(kind, primitive):
    """Derived rules do not count; an explicit "absent, because" does."""
    return registry.active().rule(kind, primitive) is not None


def is_stored(primitive):
    """Whether it works on extended dtypes alone, and is rewritten before lowering."""
    return declared(physical_rule, primitive) and primitive.name.startswith("random_")


def test_every_primitive_has_a_row():
    tested = {op.primitive for op in OPS}
    assert [p.name for p in primitives() if p not in tested] == []


@pytest.mark.parametrize(
    "kind", [abstract_eval, jvp_rule, batching_rule, impl, lowering], ids=lambda kind: kind.name
)
def test_every_cell_of_the_matrix_is_filled(kind):
    # Backends see what is stored for an extended dtype, and what a call stands for.
    def exempt(p):
        return kind in (impl, lowering) and (is_stored(p) or declared(expand_rule, p))

    assert [p.name for p in primitives() if not declared(kind, p) and not exempt(p)] == []


def test_what_derivatives_are_written_in_has_a_transpose():
    needed = set().union(*(tape_primitives(op) for op in OPS if op.order))
    assert len(needed) > 30
    assert sorted(p.name for p in needed if not declared(transpose_rule, p)) == []
