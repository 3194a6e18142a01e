"""Every lowering, run by XLA and compared bit for bit with JAX's."""

import warnings

import jax
import jax.extend.random
import ml_dtypes
import numpy as np
import pytest

from plugjax import lax
from plugjax.core import registry
from plugjax.core.config import config
from plugjax.core.dtypes import float0
from plugjax.core.errors import FallbackWarning, LoweringError
from plugjax.execution.jit.api import jit
from plugjax.extend.core import Primitive, ShapedArray
from plugjax.extend.rules import RuleSet, abstract_eval, expand_rule, hookimpl, impl, lowering
from plugjax.lax import (
    arithmetic,
    comparison,
    control_flow,
    conversion,
    dimension_numbers,
    exponential,
    gather_scatter,
    joining,
    reduction,
    selection,
    shape,
    slicing,
    sorting,
    special,
    trigonometric,
)
from plugjax.lax.dot import dot_general
from plugjax.lax.random_bits import multiply_add, threefry2x32
from plugjax.stablehlo import mlir
from plugjax.stablehlo.lower import lower_module, matching_results
from plugjax.stablehlo.mlir import Value

# Bits are compared: see the root's conftest.
COMPARES_BITS = True

RANDOM = np.random.RandomState(0)
F32 = RANDOM.randn(4, 5).astype(np.float32)
UNIT = RANDOM.uniform(-1, 1, (4, 5)).astype(np.float32)
POSITIVE = np.abs(F32) + np.float32(0.5)
LARGE = POSITIVE + np.float32(1)
EXTREME = np.array([0.0, -0.0, 1.5, 2.5, -2.5, -np.inf, np.inf, np.nan, 1e30, 1e-40], np.float32)
C64 = (F32 + 1j * F32[::-1]).astype(np.complex64)
I32 = RANDOM.randint(-100, 100, (4, 5)).astype(np.int32)
U32 = RANDOM.randint(0, 2**32, (4, 5), np.uint32)
BOOL = F32 > 0
ROW = F32[:1]
SCALAR = np.float32(2.5)


def leaves(tree):
    return jax.tree.leaves(tree)


def assert_same(found, expected):
    found, expected = leaves(found), leaves(expected)
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected, strict=True):
        ours, theirs = np.asarray(ours), np.asarray(theirs)
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        same = np.isnan(ours) & np.isnan(theirs) if ours.dtype.kind in "fc" else False
        bits = [np.ascontiguousarray(a).view(np.uint8) for a in (ours, theirs)]
        assert ours.tobytes() == theirs.tobytes() or np.array_equal(
            np.where(same, 0, ours), np.where(same, 0, theirs)
        ), bits


def on_xla(function, *args):
    return jit(function, device="xla")(*args)


UNARY = {
    arithmetic: {
        "neg": (F32, C64, I32, U32),
        "sign": (EXTREME, I32, U32, C64),
        "floor": (EXTREME,),
        "ceil": (EXTREME,),
        "abs": (EXTREME, I32, C64),
        "square": (F32, I32),
    },
    comparison: {
        "is_finite": (EXTREME,),
        "bitwise_not": (BOOL, I32, U32),
        "population_count": (U32, I32),
        "clz": (U32, I32),
    },
    exponential: {
        "exp": (EXTREME, C64),
        "exp2": (F32,),
        "expm1": (EXTREME, C64),
        "log": (POSITIVE, C64),
        "log1p": (POSITIVE, C64),
        "sqrt": (POSITIVE, C64),
        "rsqrt": (POSITIVE, C64),
        "cbrt": (EXTREME,),
        "logistic": (EXTREME, F32),
    },
    special: {"erf": (EXTREME,), "erfc": (EXTREME,), "erf_inv": (UNIT,)},
    trigonometric: {
        "sin": (F32, C64),
        "cos": (F32, C64),
        "tan": (F32, C64),
        "asin": (UNIT, C64),
        "acos": (UNIT, C64),
        "atan": (F32, C64),
        "sinh": (F32, C64),
        "cosh": (F32, C64),
        "tanh": (EXTREME, C64),
        "asinh": (F32, C64),
        "acosh": (LARGE, C64),
        "atanh": (UNIT, C64),
    },
}


@pytest.mark.spread(16)
@pytest.mark.parametrize(
    ("ours", "name", "x"),
    [
        pytest.param(getattr(module, name), name, x, id=f"{name}-{x.dtype}")
        for module, names in UNARY.items()
        for name, samples in names.items()
        for x in samples
    ],
)
def test_unary(ours, name, x):
    assert_same(on_xla(ours, x), jax.jit(getattr(jax.lax, name))(x))


BINARY = {
    arithmetic: {
        "add": ((F32, F32), (F32, ROW), (SCALAR, F32), (C64, C64), (I32, I32)),
        "sub": ((F32, ROW), (U32, U32)),
        "mul": ((F32, ROW), (C64, C64)),
        "div": ((F32, POSITIVE), (I32, I32), (U32, U32)),
        "rem": ((F32, POSITIVE), (I32, I32), (U32, U32)),
        "max": ((EXTREME, EXTREME[::-1]), (BOOL, ~BOOL), (I32, I32[::-1])),
        "min": ((EXTREME, EXTREME[::-1]), (BOOL, ~BOOL)),
        "nextafter": ((F32, POSITIVE),),
    },
    comparison: {
        "eq": ((EXTREME, EXTREME), (F32, SCALAR), (C64, C64), (BOOL, ~BOOL)),
        "ne": ((EXTREME, EXTREME), (I32, I32)),
        "ge": ((EXTREME, EXTREME[::-1]), (I32, I32[::-1])),
        "gt": ((F32, ROW), (U32, U32[::-1]), (BOOL, ~BOOL)),
        "le": ((EXTREME, EXTREME[::-1]),),
        "lt": ((I32, I32[::-1]), (U32, U32[::-1])),
        "bitwise_and": ((BOOL, ~BOOL), (I32, I32[::-1])),
        "bitwise_or": ((BOOL, ~BOOL), (U32, U32[::-1])),
        "bitwise_xor": ((BOOL, BOOL), (I32, I32[::-1])),
        "shift_left": ((U32, U32 % np.uint32(40)),),
        "shift_right_logical": ((U32, U32 % np.uint32(40)), (I32, np.int32(3))),
        "shift_right_arithmetic": ((I32, np.abs(I32) % np.int32(40)),),
    },
    exponential: {"pow": ((POSITIVE, F32), (C64, C64))},
    trigonometric: {"atan2": ((F32, ROW), (EXTREME, EXTREME[::-1]))},
}


@pytest.mark.spread(2)
@pytest.mark.parametrize(
    ("ours", "name", "args"),
    [
        pytest.param(getattr(module, name), name, args, id=f"{name}-{i}-{args[0].dtype}")
        for module, names in BINARY.items()
        for name, samples in names.items()
        for i, args in enumerate(samples)
    ],
)
def test_binary(ours, name, args):
    theirs = getattr(jax.lax, name)
    full = np.broadcast_arrays(*args)
    assert_same(on_xla(ours, *args), jax.jit(theirs)(*full))


GATHER = (
    dimension_numbers.GatherDimensionNumbers((1,), (0,), (0,)),
    jax.lax.GatherDimensionNumbers((1,), (0,), (0,)),
)
SCATTER = (
    dimension_numbers.ScatterDimensionNumbers((1,), (0,), (0,)),
    jax.lax.ScatterDimensionNumbers((1,), (0,), (0,)),
)
PLACES = np.array([[0], [3], [-1], [7]], np.int32)
MODES = ("clip", "fill", "promise_in_bounds")

# By name: our function, JAX's, and arguments for both.
CASES = {
    **{
        f"integer_pow-{y}": (
            lambda x, y=y: arithmetic.integer_pow(x, y),
            lambda x, y=y: jax.lax.integer_pow(x, y),
            (F32,),
        )
        for y in (0, 1, 2, 3, 5, 11, -1, -4)
    },
    **{
        f"round-{method}": (
            lambda x, m=method: arithmetic.round(x, m),
            lambda x, m=method: jax.lax.round(x, jax.lax.RoundingMethod(m)),
            (EXTREME,),
        )
        for method in (0, 1)
    },
    **{
        f"convert-{x.dtype}-{to}": (
            lambda x, to=to: conversion.convert_element_type(x, to),
            lambda x, to=to: jax.lax.convert_element_type(x, to),
            (x,),
        )
        for x in (EXTREME, C64, I32, U32, BOOL)
        for to in (
            "bool",
            "int8",
            "uint8",
            "int32",
            "float16",
            "bfloat16",
            "complex64",
            "float8_e4m3fn",
        )
    },
    "bitcast": (
        lambda x: conversion.bitcast_convert_type(x, np.uint8),
        lambda x: jax.lax.bitcast_convert_type(x, np.uint8),
        (F32,),
    ),
    "conj": (lax.conj, jax.lax.conj, (C64,)),
    "real": (lax.real, jax.lax.real, (C64,)),
    "imag": (lax.imag, jax.lax.imag, (C64,)),
    "complex": (lax.complex, jax.lax.complex, (F32, UNIT)),
    "select": (selection.select, jax.lax.select, (BOOL, F32, UNIT)),
    "select_n": (
        selection.select_n,
        jax.lax.select_n,
        (np.abs(I32) % np.int32(3), F32, UNIT, POSITIVE),
    ),
    "select_n-scalar": (selection.select_n, jax.lax.select_n, (np.int32(2), F32, UNIT, POSITIVE)),
    "clamp": (selection.clamp, jax.lax.clamp, (np.float32(-0.5), F32, np.float32(0.5))),
    "clamp-mixed": (selection.clamp, jax.lax.clamp, (np.float32(-0.5), F32, POSITIVE)),
    "reshape": (
        lambda x: shape.reshape(x, (2, 10)),
        lambda x: jax.lax.reshape(x, (2, 10)),
        (F32,),
    ),
    "transpose": (
        lambda x: shape.transpose(x, (1, 0)),
        lambda x: jax.lax.transpose(x, (1, 0)),
        (F32,),
    ),
    "rev": (lambda x: shape.rev(x, (1,)), lambda x: jax.lax.rev(x, (1,)), (F32,)),
    "squeeze": (lambda x: shape.squeeze(x, (0,)), lambda x: jax.lax.squeeze(x, (0,)), (ROW,)),
    "iota": (
        lambda: shape.broadcasted_iota(np.int32, (3, 4), 1),
        lambda: jax.lax.broadcasted_iota(np.int32, (3, 4), 1),
        (),
    ),
    "broadcast_in_dim": (
        lambda x: shape.broadcast_in_dim(x, (2, 4, 5), (1, 2)),
        lambda x: jax.lax.broadcast_in_dim(x, (2, 4, 5), (1, 2)),
        (F32,),
    ),
    "concatenate": (
        lambda *x: joining.concatenate(x, 0),
        lambda *x: jax.lax.concatenate(x, 0),
        (F32, ROW),
    ),
    "pad": (
        lambda x, v: joining.pad(x, v, ((1, -1, 0), (0, 1, 2))),
        lambda x, v: jax.lax.pad(x, v, ((1, -1, 0), (0, 1, 2))),
        (F32, SCALAR),
    ),
    "split": (
        lambda x: joining.split(x, (2, 3), 1),
        lambda x: jax.lax.split(x, (2, 3), 1),
        (F32,),
    ),
    "slice": (
        lambda x: joining.slice_p.bind(
            x, start_indices=(1, 0), limit_indices=(4, 5), strides=(2, 3)
        ),
        lambda x: jax.lax.slice(x, (1, 0), (4, 5), (2, 3)),
        (F32,),
    ),
    "dynamic_slice": (
        lambda x, i: slicing.dynamic_slice_p.bind(x, i, i, slice_sizes=(2, 2)),
        lambda x, i: jax.lax.dynamic_slice(x, (i, i), (2, 2)),
        (F32, np.int32(3)),
    ),
    "dynamic_update_slice": (
        slicing.dynamic_update_slice_p.bind,
        lambda x, u, i, j: jax.lax.dynamic_update_slice(x, u, (i, j)),
        (F32, ROW, np.int32(2), np.int32(9)),
    ),
    **{
        f"gather-{mode}": (
            lambda x, i, mode=mode: gather_scatter.gather(x, i, GATHER[0], (1, 5), mode=mode),
            lambda x, i, mode=mode: jax.lax.gather(x, i, GATHER[1], (1, 5), mode=mode),
            (F32, PLACES),
        )
        for mode in MODES
    },
    **{
        f"{name}-{mode}": (
            lambda x, i, u, name=name, mode=mode: getattr(gather_scatter, name)(
                x, i, u, SCATTER[0], mode=mode
            ),
            lambda x, i, u, name=name, mode=mode: getattr(jax.lax, name)(
                x, i, u, SCATTER[1], mode=mode
            ),
            (F32, PLACES, UNIT),
        )
        for name in ("scatter", "scatter_add", "scatter_mul", "scatter_min", "scatter_max")
        for mode in MODES[:2]
    },
    **{
        f"{name}-{x.dtype}": (
            lambda x, name=name: getattr(reduction, name)(x, (1,)),
            lambda x, name=name: getattr(jax.lax, name)(x, (1,)),
            (x,),
        )
        for name, samples in {
            "reduce_sum": (F32, I32, C64),
            "reduce_prod": (F32, C64),
            "reduce_max": (F32, I32, U32, BOOL),
            "reduce_min": (F32, I32, U32, BOOL),
            "reduce_and": (BOOL, I32),
            "reduce_or": (BOOL, U32),
            "reduce_xor": (BOOL, I32),
        }.items()
        for x in samples
    },
    **{
        f"{name}-{x.dtype}": (
            lambda x, name=name: getattr(reduction, name)(x, 0, np.int32),
            lambda x, name=name: getattr(jax.lax, name)(x, 0, np.int32),
            (x,),
        )
        for name in ("argmax", "argmin")
        for x in (EXTREME, I32, BOOL)
    },
    **{
        f"{name}-{reverse}": (
            lambda x, name=name, r=reverse: getattr(reduction, name)(x, 1, r),
            lambda x, name=name, r=reverse: getattr(jax.lax, name)(x, 1, r),
            (UNIT.repeat(20, axis=1),),
        )
        for name in ("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp")
        for reverse in (False, True)
    },
    "dot_general": (
        lambda x, y: dot_general(x, y, (((1,), (0,)), ((), ()))),
        lambda x, y: jax.lax.dot_general(x, y, (((1,), (0,)), ((), ()))),
        (F32, UNIT.T.copy()),
    ),
    "dot_general-batch": (
        lambda x, y: dot_general(x, y, (((1,), (1,)), ((0,), (0,))), precision="highest"),
        lambda x, y: jax.lax.dot_general(x, y, (((1,), (1,)), ((0,), (0,))), precision="highest"),
        (F32, UNIT),
    ),
    **{
        f"sort-{x.dtype}": (
            lambda x: sorting.sort(x, dimension=0),
            lambda x: jax.lax.sort(x, dimension=0),
            (x,),
        )
        for x in (EXTREME, I32, U32, C64, BOOL)
    },
    "sort-keys": (
        lambda *x: sorting.sort(x, dimension=1, num_keys=2),
        lambda *x: jax.lax.sort(x, dimension=1, num_keys=2),
        (I32 % np.int32(2), EXTREME[:5] * np.ones((4, 1), np.float32), F32),
    ),
    "threefry2x32": (
        threefry2x32,
        jax.extend.random.threefry2x32_p.bind,
        (U32[0, 0], U32[0, 1], U32, U32[::-1]),
    ),
    "multiply_add": (multiply_add, lambda a, b, c: a * b + c, (F32, ROW * np.ones_like(F32), UNIT)),
    "top_k": (lambda x: sorting.top_k(x, 3), lambda x: jax.lax.top_k(x, 3), (F32,)),
}


@pytest.mark.spread(8)
@pytest.mark.filterwarnings("ignore:Casting complex values to real")
@pytest.mark.parametrize("name", CASES)
def test_case(name):
    ours, theirs, args = CASES[name]
    assert_same(on_xla(ours, *args), jax.jit(theirs)(*args))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int8", "uint16", "float8_e5m2"])
def test_arithmetic_of_small_dtypes(dtype):
    x = np.arange(6).astype(ml_dtypes.bfloat16).astype(dtype)
    if dtype.startswith("float8"):
        assert_same(on_xla(arithmetic.max, x, x[::-1]), jax.jit(jax.lax.max)(x, x[::-1]))
    else:
        ours = on_xla(lambda a, b: arithmetic.add(arithmetic.mul(a, b), a), x, x[::-1])
        assert_same(ours, jax.jit(lambda a, b: a * b + a)(x, x[::-1]))


def multiply_add(module, sin):
    def step(carry, x):
        following = module.add(module.mul(sin(carry), x), carry)
        return following, (carry, x)

    return step


@pytest.mark.spread(2)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("unroll", [1, 2, 3, 5, True, 50])
def test_scan(unroll, reverse):
    xs, carry = RANDOM.randn(5, 3).astype(np.float32), np.ones(3, np.float32)

    def run(scan, module, sin):
        step = multiply_add(module, sin)
        return lambda c, xs: scan(step, c, xs, reverse=reverse, unroll=unroll)

    ours = on_xla(run(control_flow.scan, arithmetic, trigonometric.sin), carry, xs)
    assert_same(ours, jax.jit(run(jax.lax.scan, jax.lax, jax.lax.sin))(carry, xs))


def test_scan_of_no_steps_gives_the_carry_and_empty_outputs():
    carry, xs = np.ones(3, np.float32), np.zeros((0, 3), np.float32)
    last, (first, second) = on_xla(
        lambda c, xs: control_flow.scan(multiply_add(arithmetic, trigonometric.sin), c, xs),
        carry,
        xs,
    )
    assert_same(last, carry)
    assert first.aval.shape == second.aval.shape == (0, 3)


def test_while_with_constants_of_condition_and_body():
    def run(module, loop, sin, less):
        def body(state):
            return module.add(state[0], np.int32(1)), module.add(sin(state[1]), F32)

        return lambda n, x: loop(lambda state: less(state[0], n), body, (np.int32(0), x))

    args = (np.int32(5), UNIT)
    ours = run(arithmetic, control_flow.while_loop, trigonometric.sin, comparison.lt)
    theirs = run(jax.lax, jax.lax.while_loop, jax.lax.sin, jax.lax.lt)
    assert_same(on_xla(ours, *args), jax.jit(theirs)(*args))


@pytest.mark.parametrize("index", [-1, 0, 1, 2, 9])
def test_switch(index):
    def run(switch, module):
        branches = [module.sin, module.cos, lambda x: x]
        return lambda i, x: switch(i, branches, x)

    args = (np.int32(index), F32)
    assert_same(
        on_xla(run(control_flow.switch, trigonometric), *args),
        jax.jit(run(jax.lax.switch, jax.lax))(*args),
    )


def deep(x):
    for _ in range(12):
        x = trigonometric.sin(arithmetic.mul(x, np.float32(1.5)))
    return x


def test_program_that_is_called_twice_is_written_once():
    inner = jit(deep)
    outer = jit(lambda x: arithmetic.add(inner(inner(x)), F32), device="xla")
    text = outer.lower(UNIT).as_text()
    assert text.count("stablehlo.sine") == 12
    assert text.count("call @deep") == 2
    assert_same(outer(UNIT), on_xla(lambda x: arithmetic.add(deep(deep(x)), F32), UNIT))


def test_equal_literals_are_written_once_in_a_block():
    text = jit(deep, device="xla").lower(F32).as_text()
    assert text.count("stablehlo.constant") == 1


@pytest.mark.parametrize(
    "value",
    [
        np.zeros((3, 4), np.float32),
        np.array([0.0, -0.0], np.float32),
        np.array([[True, False, True], [False, False, True]]),
        np.ones((2, 3), bool),
        np.arange(5).astype(ml_dtypes.bfloat16),
        np.arange(5).astype(ml_dtypes.float8_e4m3fn),
        np.array([1 + 2j, 3 - 4j], np.complex64),
        np.zeros((0, 3), np.int32),
        np.uint8(200),
        np.zeros(2, float0),
    ],
    ids=lambda v: f"{v.dtype}{list(v.shape)}",
)
def test_constants_keep_their_bits(value):
    assert_same(on_xla(lambda: conversion.copy(value)), value)


def test_uniform_constants_are_stored_as_one_element(registered):
    with mlir.new_module("m"):
        assert "dense<7>" in str(mlir.elements(np.full((100, 100), 7)))
        assert "dense<[" in str(mlir.elements(np.array([0.0, -0.0])))


twice_p = Primitive("twice")
kernel_free_p = Primitive("kernel_free")


def without_lowering():
    rules = RuleSet(__name__)
    rules.define(abstract_eval, twice_p, kernel_free_p)(lambda x: x)
    rules.define(impl, twice_p)(lambda x: np.multiply(x, 2))

    class Plugin:
        @hookimpl
        def plugjax_rules(self):
            return [rules]

    return Plugin()


@pytest.fixture
def silent():
    with config.override("fallback", "silent"):
        yield


def test_host_kernel_stands_in_for_a_lowering(registered, silent):
    registered.load(without_lowering())
    assert_same(on_xla(lambda x: arithmetic.add(twice_p.bind(x), x), F32), F32 * 2 + F32)


def test_host_kernel_inside_loops_and_branches(registered, silent):
    registered.load(without_lowering())

    def program(x):
        x, _ = control_flow.scan(lambda c, _: (twice_p.bind(c), None), x, None, length=3)
        state = (np.int32(0), x)
        _, x = control_flow.while_loop(
            lambda s: comparison.lt(s[0], np.int32(2)),
            lambda s: (arithmetic.add(s[0], np.int32(1)), twice_p.bind(s[1])),
            state,
        )
        return control_flow.cond(True, twice_p.bind, lambda v: v, x)

    assert_same(on_xla(program, F32), F32 * 2**6)


def test_fallback_warns_once_for_a_primitive_and_platform(registered):
    primitive = Primitive("thrice")
    rules = RuleSet(__name__)
    rules.define(abstract_eval, primitive)(lambda x: x)
    rules.define(impl, primitive)(lambda x: np.multiply(x, 3))

    class Plugin:
        @hookimpl
        def plugjax_rules(self):
            return [rules]

    registered.load(Plugin())
    with config.override("fallback", "warn"):
        with pytest.warns(FallbackWarning, match="'thrice'.* has no lowering on platform 'xla'"):
            on_xla(primitive.bind, F32)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            on_xla(lambda x: primitive.bind(primitive.bind(x)), F32)


def test_fallback_error_names_primitive_platform_and_remedies(registered):
    registered.load(without_lowering())
    with (
        config.override("fallback", "error"),
        pytest.raises(LoweringError, match="'twice' has no lowering on platform 'xla'") as caught,
    ):
        on_xla(twice_p.bind, F32)
    assert "@rules.define(lowering, twice_p)" in str(caught.value)
    assert '"fallback", "warn"' in str(caught.value)


def test_policy_hook_overrides_the_configuration(registered):
    registered.load(without_lowering())

    class Policy:
        @hookimpl
        def plugjax_fallback_policy(self, primitive, platform):
            return "error" if (primitive, platform) == (twice_p, "xla") else None

    registered.load(Policy())
    with config.override("fallback", "silent"), pytest.raises(LoweringError):
        on_xla(twice_p.bind, F32)


def test_primitive_with_neither_lowering_nor_kernel_is_an_error(registered):
    registered.load(without_lowering())
    with pytest.raises(LoweringError, match="no host kernel"):
        on_xla(kernel_free_p.bind, F32)


def test_platform_rule_shadows_the_default(registered):
    rules = RuleSet(__name__)

    @rules.define(lowering, trigonometric.sin_p, platform="xla")
    def cosine(ctx, x: Value) -> Value:
        return mlir.value("stablehlo.cosine", ctx.avals_out[0], [x])

    class Plugin:
        @hookimpl
        def plugjax_rules(self):
            return [rules]

    registered.load(Plugin())
    assert_same(on_xla(trigonometric.sin, F32), jax.jit(jax.lax.cos)(F32))


def test_donated_argument_is_given_to_the_result_of_its_type(registered):
    def lowered(program, donated):
        reused = matching_results(program, donated)
        return lower_module(program, "xla", name="m", reused=reused).as_text()

    program = jit(lambda x, y: (arithmetic.neg(x), arithmetic.neg(y))).trace(I32, F32).jaxpr
    assert "tf.aliasing_output = 1 : i32" in lowered(program, (1,))
    single = jit(arithmetic.neg).trace(F32).jaxpr
    shrunk = jit(lambda x: reduction.reduce_sum(x, (0,))).trace(F32).jaxpr
    assert "tf.aliasing_output = 0" in lowered(single, (0,))
    assert "jax.buffer_donor = true" in lowered(shrunk, (0,))
    both = jit(lambda x, y: arithmetic.add(x, y)).trace(F32, F32).jaxpr
    assert matching_results(both, (0, 1)) == {0: 0, 1: None}


def test_equal_programs_give_equal_bytecode():
    def lowered():
        program = jit(lambda x: deep(x)).trace(F32).jaxpr
        return lower_module(program, "xla", name="m").bytecode()

    assert lowered() == lowered()


def test_module_is_valid_and_its_text_is_stablehlo():
    lowered = lower_module(jit(deep).trace(F32).jaxpr, "xla", name="m")
    assert lowered.module.operation.verify()
    assert "stablehlo.multiply" in lowered.as_text()
    assert '"stablehlo.multiply"' in lowered.as_text(generic=True)


def test_unknown_dtype_is_an_error():
    with mlir.new_module("m"), pytest.raises(TypeError, match="no element type"):
        mlir.type_of(ShapedArray((2,), "datetime64[s]"))


def test_all_lax_primitives_have_a_lowering(registered):
    table = registry.table(lowering, "xla")
    rows = registry.table(abstract_eval)
    # Programs are compiled with what a call stands for in its place, unless backends have a rule for it.
    calls = registry.table(expand_rule)
    expanded = {p for p in rows if p in calls and table.find(p) is None}
    assert {p.name for p in expanded} >= {"custom_jvp_call", "checkpoint"}
    assert [p.name for p in rows if p not in expanded and table.find(p) is None] == []
