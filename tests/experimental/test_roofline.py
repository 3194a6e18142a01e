"""Estimates against those of JAX."""

import importlib
import logging

import jax
import jax.extend.core
import numpy as np
import pytest

import plugjax
import plugjax.experimental.roofline
from plugjax.experimental.roofline import RooflineResult, RooflineShape
from plugjax.extend.core import Primitive

F32 = "float32"
THEIRS = importlib.import_module("jax.experimental.roofline")


def of(m):
    return THEIRS if m is jax else plugjax.experimental.roofline


def structs(m, *shapes):
    return [m.ShapeDtypeStruct(s, F32) if isinstance(s, tuple) else s for s in shapes]


NUMBERS = ("flops", "unfused_flops", "hbm_bytes", "peak_hbm_bytes", "unfused_hbm_bytes")

PROGRAMS = {
    "unary": (lambda m, x: m.lax.exp(m.lax.neg(m.lax.sqrt(x))), (4, 5)),
    "binary": (lambda m, x, y: m.lax.max(m.lax.mul(m.lax.add(x, y), y), x), (4, 5), (4, 5)),
    "a literal": (lambda m, x: m.lax.add(x, np.float32(2)), ()),
    "comparison": (lambda m, x, y: m.lax.select(m.lax.lt(x, y), x, y), (3, 2), (3, 2)),
    "product": (lambda m, x, y: m.lax.dot(x, y), (4, 5), (5, 6)),
    "product of batches": (
        lambda m, x, y: m.lax.dot_general(x, y, (((2,), (1,)), ((0,), (0,)))), (3, 4, 5), (3, 5, 6),
    ),
    "sums": (lambda m, x: (m.lax.reduce_sum(x, (0,)), m.lax.cumsum(x, 1), m.lax.cumlogsumexp(x, 0)), (4, 5)),
    "what moves": (lambda m, x: m.lax.transpose(m.lax.reshape(m.lax.rev(x, (0,)), (5, 4)), (1, 0)), (4, 5)),
    "a jitted function": (lambda m, x: m.jit(lambda y: m.lax.sin(m.lax.cos(y)))(x), (4,)),
    "a loop": (lambda m, x: m.lax.scan(lambda c, y: (m.lax.add(c, y), m.lax.sin(y)), m.numpy.zeros(4), x), (7, 4)),
    "a loop of unknown steps": (lambda m, x: m.lax.while_loop(lambda y: m.lax.lt(y, np.float32(3)), m.lax.exp, x), ()),
    "convolution": (lambda m, x, k: m.lax.conv_general_dilated(x, k, (2,), [(1, 2)]), (2, 3, 9), (4, 3, 3)),
    "dilated convolution": (
        lambda m, x, k: m.lax.conv_general_dilated(x, k, (1, 2), "SAME", (1, 1), (2, 1), feature_group_count=1),
        (1, 2, 6, 7), (2, 2, 3, 3),
    ),
    "transposed convolution": (
        lambda m, x, k: m.lax.conv_general_dilated(x, k, (1,), [(2, 2)], lhs_dilation=(2,)), (1, 2, 6), (3, 2, 3),
    ),
    "values that die": (lambda m, x: m.lax.sin(m.lax.cos(m.lax.tan(x))), (100,)),
    "values that live": (lambda m, x: (m.lax.sin(x), m.lax.cos(x), x), (100,)),
    "a value that is read twice": (lambda m, x: m.lax.mul(y := m.lax.sin(x), y), (100,)),
    "callbacks": (
        lambda m, x: m.pure_callback(np.sin, m.ShapeDtypeStruct((4,), F32), x, vmap_method="sequential"), (4,),
    ),
    "integers": (lambda m, x: m.lax.bitwise_not(m.lax.convert_element_type(x, np.int32)), (4,)),
    "linear algebra": (lambda m, x: m.lax.linalg.cholesky(x, symmetrize_input=False), (4, 4)),
}  # fmt: skip


def numbers(found):
    return {name: getattr(found, name) for name in NUMBERS}


@pytest.mark.parametrize("name", PROGRAMS)
def test_estimates_are_those_of_jax(name):
    program, *shapes = PROGRAMS[name]
    found = []
    for m in (jax, plugjax):
        out, result = of(m).roofline(lambda *xs, m=m: program(m, *xs))(*structs(m, *shapes))
        found.append((numbers(result), [s.shape for s in m.tree.leaves(out)]))
    assert found[0] == found[1]


def test_gathers_and_scatters():
    def gathered(m, mode):
        numbers = m.lax.GatherDimensionNumbers((1,), (0,), (0,))
        return lambda x: m.lax.gather(x, np.array([[1], [2]]), numbers, (1, 5), mode=mode)

    def scattered(m, function):
        numbers = m.lax.ScatterDimensionNumbers((1,), (0,), (0,))
        return lambda x, u: function(m)(x, np.array([[1], [2]]), u, numbers)

    for mode in ("fill", "clip", "promise_in_bounds"):
        found = [
            numbers(of(m).roofline(gathered(m, mode))(*structs(m, (4, 5)))[1])
            for m in (jax, plugjax)
        ]
        for name in ("unfused_flops", "unfused_hbm_bytes"):
            assert found[0][name] == found[1][name]
    for function in (
        lambda m: m.lax.scatter_add,
        lambda m: m.lax.scatter_mul,
        lambda m: m.lax.scatter,
    ):
        found = [
            numbers(of(m).roofline(scattered(m, function))(*structs(m, (4, 5), (2, 5)))[1])
            for m in (jax, plugjax)
        ]
        for name in ("unfused_flops", "unfused_hbm_bytes"):
            assert found[0][name] == found[1][name]


def test_derivatives_and_fast_memory():
    for pins in ({}, {"pin_lhs_in_vmem": True}, {"pin_rhs_in_vmem": True}):
        found = []
        for m in (jax, plugjax):
            x = m.ShapeDtypeStruct((4, 4), "bfloat16")
            _, result = of(m).roofline(lambda x, m=m: m.lax.dot(x, x), vjp=True, **pins)(x)
            found.append({name: getattr(result, name) for name in ("flops", "hbm_bytes")})
        assert found[0] == found[1]
    # JAX's function needs a mesh.
    x = plugjax.ShapeDtypeStruct((4, 4), "float32")
    of_both = of(plugjax).roofline_and_grad(lambda x: x @ x, None, None, None)
    out, forward, both = of_both(x)
    assert out.shape == (4, 4)
    assert (forward.flops, both.flops) == (2 * 64, 3 * 2 * 64)


def test_rules_of_a_program(caplog):
    for m in (jax, plugjax):
        primitive = (jax.extend.core if m is jax else plugjax.extend.core).Primitive("rows")
        primitive.def_abstract_eval(lambda x, *, n: x)
        f = lambda x, p=primitive: p.bind(x, n=3)  # noqa: E731
        caplog.clear()
        with caplog.at_level(logging.WARNING, logger="plugjax.experimental.estimates.reading"):
            _, result = of(m).roofline(f)(*structs(m, (4,)))
        assert result.unfused_flops == 0
        if m is plugjax:
            assert "No roofline rule for rows" in caplog.text

        @of(m).register_roofline(primitive)
        def rule(ctx, x, *, n, m=m, primitive=primitive):
            assert ctx.primitive is primitive
            assert ctx.avals_in[0].shape == ctx.avals_out[0].shape == x.shape == (4,)
            return of(m).RooflineResult(unfused_flops=n * x.size)

        _, result = of(m).roofline(f)(*structs(m, (4,)))
        assert result.unfused_flops == 12
    free_p = Primitive("free")
    free_p.def_abstract_eval(lambda x: x)
    of(plugjax).register_standard_roofline(free_p)
    assert of(plugjax).roofline(free_p.bind)(1.0)[1].unfused_flops == 0


def test_results_add_and_multiply():
    for m in (jax, plugjax):
        result = of(m).RooflineResult
        x = result(flops=3, ici_bytes={"i": 2}, peak_hbm_bytes=5)
        y = result(flops=4, ici_bytes={"i": 1, "j": 7}, peak_hbm_bytes=9)
        total = 2 * (x + y) * 1.5
        assert (total.flops, total.ici_bytes, total.peak_hbm_bytes) == (21, {"i": 9, "j": 21}, 27)
        assert result.zeros() + x == x


def test_shapes():
    for m in (jax, plugjax):
        shape = of(m).RooflineShape
        aval = m.typeof(np.ones((2, 3), np.float32))
        found = shape.from_aval(aval)
        assert (found.shape, found.dtype, found.size, found.bytes) == ((2, 3), np.float32, 6, 24)
        assert shape.from_aval(m.typeof(m.random.key(0))).bytes == 8
        assert shape.total_bytes([aval, aval]) == 48
        with pytest.raises(TypeError, match="Expected ShapedArray"):
            shape.from_aval(3)
    assert RooflineShape(shape=(), dtype=np.dtype("int8")).bytes == 1
    assert RooflineResult().flops == 0


def test_a_mesh_is_refused():
    with pytest.raises(NotImplementedError, match="several devices"):
        of(plugjax).roofline(abs, mesh=object())


def test_programs_are_printed(capsys):
    of(plugjax).roofline(plugjax.lax.sin, print_jaxpr=True)(1.0)
    assert "sin a" in capsys.readouterr().out
