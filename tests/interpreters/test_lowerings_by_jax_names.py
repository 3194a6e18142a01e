"""Lowerings that write programs, and calls of Python."""

import functools
import importlib

import numpy as np
import pytest

import plugjax
from plugjax.extend.core import ClosedJaxpr, Primitive, ShapedArray
from plugjax.interpreters import mlir


def test_a_lowering_writes_a_program(backend):
    p = Primitive(f"sine_of_sum_{backend}")
    program = plugjax.make_jaxpr(lambda x, y: plugjax.lax.sin(x + y))(1.0, 1.0)
    p.def_abstract_eval(lambda x, y: x)

    def lowering(ctx, *operands):
        assert ctx.module_context.platforms == ("cpu",)
        values, tokens = mlir.jaxpr_subcomp(
            ctx.module_context, program.jaxpr, None, mlir.TokenSet(), mlir.ir_constants(0.0)[:0], *operands,
            dim_var_values=(), const_lowering={}, outer_traceback=None,
        )  # fmt: skip
        assert len(tokens) == 0
        return values

    p.def_impl(lambda x, y: np.sin(x + y))
    mlir.register_lowering(p, lowering)
    with plugjax.default_device(backend):
        found = plugjax.jit(p.bind)(np.float32(0.25), np.float32(0.5))
    np.testing.assert_allclose(found, np.sin(0.75), rtol=1e-6)


def test_a_lowering_calls_a_function():
    p = Primitive("called")
    program = plugjax.make_jaxpr(plugjax.lax.cos)(1.0)
    p.def_abstract_eval(lambda x: x)
    mlir.register_lowering(
        p, functools.partial(mlir.core_call_lowering, name="own", call_jaxpr=program)
    )
    with plugjax.default_device("xla"):
        lowered = plugjax.jit(lambda x: p.bind(x) + p.bind(x)).lower(1.0)
        assert lowered.as_text(dialect="stablehlo").count("func.func private @own") == 1
        np.testing.assert_allclose(lowered.compile()(1.0), 2 * np.cos(1.0), rtol=1e-6)


def test_a_lowering_calls_python():
    p, seen = Primitive("python"), []
    p.def_abstract_eval(lambda x: x)

    def double(x):
        seen.append(np.shape(x))
        return [2 * x]

    def lowering(ctx, x):
        values, token, _ = mlir.emit_python_callback(
            ctx, double, None, [x], ctx.avals_in, ctx.avals_out, has_side_effect=False
        )
        assert token is None
        return values

    mlir.register_lowering(p, lowering)
    with plugjax.default_device("xla"):
        found = plugjax.jit(p.bind)(np.arange(3, dtype=np.float32))
    assert (found.tolist(), seen) == ([0.0, 2.0, 4.0], [(3,)])


def test_modules():
    program = plugjax.make_jaxpr(plugjax.lax.sin)(1.0)
    found = mlir.lower_jaxpr_to_module(
        "own module", program, platforms=("cpu",), in_avals=program.in_avals
    )
    text = mlir.module_to_string(found.module)
    assert "stablehlo.sine" in text
    assert "module @own_module" in text
    assert mlir.module_to_bytecode(found.module)[:4] == b"ML\xefR"
    with pytest.raises(NotImplementedError, match="a module is for one platform"):
        mlir.lower_jaxpr_to_module("m", program, platforms=("cpu", "cuda"))
    assert mlir.make_ir_context() is found.module.context
    with mlir.make_ir_context(), mlir.ir.Location.unknown():
        (kind,) = mlir.aval_to_ir_types(None, ShapedArray((2,), "float32"))
        assert str(kind) == "tensor<2xf32>"
        assert str(mlir.aval_to_ir_type(None, ShapedArray((), "int8"))) == "tensor<i8>"
    assert str(mlir.token_type()) == "!stablehlo.token"
    with pytest.warns(DeprecationWarning, match="is deprecated, as in JAX"):
        assert mlir.flatten_ir_values([1, (2, 3)]) == [1, 2, 3]
    with pytest.warns(DeprecationWarning, match="is deprecated, as in JAX"):
        assert mlir.unflatten_ir_values_like_types([1, 2, 3], ["a", ("b", "c")]) == [1, (2, 3)]


@pytest.mark.parametrize("name", ["ad", "batching", "mlir", "partial_eval", "xla"])
def test_submodules_are_attributes(name):
    module = getattr(plugjax.interpreters, name)
    assert module is importlib.import_module(f"plugjax.interpreters.{name}")
    assert name in dir(plugjax.interpreters)


def test_a_call_of_a_function_is_an_equation_and_is_transformed(backend):
    call = plugjax.extend.core.primitives.call_p

    def f(x):
        return call.bind(x, subfuns=(lambda y: [plugjax.lax.sin(y), y * x],))

    eqn = plugjax.make_jaxpr(f)(1.0).eqns[0]
    assert (eqn.primitive, type(eqn.params["call_jaxpr"])) == (call, ClosedJaxpr)
    assert call.call_primitive
    x = np.float32(0.5)
    with plugjax.default_device(backend):
        for run in (f, plugjax.jit(f)):
            np.testing.assert_allclose(run(x), [np.sin(x), x * x], rtol=1e-6)
        total = plugjax.jit(plugjax.vmap(plugjax.grad(plugjax.jit(lambda x: sum(f(x))))))
        np.testing.assert_allclose(total(x[None]), [np.cos(x) + 2 * x], rtol=1e-6)


def merged(m):
    """The text of a module that another one with equal names was merged into, and the new name of its main."""
    ir = m.ir
    parse = ir.Module.parse
    with m.make_ir_context(), ir.Location.unknown():
        one = """
        module @a {
          func.func public @main(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> }
          func.func private @g(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> }
        }"""
        two = """
        module @b {
          func.func public @main(%x: tensor<f32>) -> tensor<f32> {
            %0 = call @g(%x) : (tensor<f32>) -> tensor<f32>
            %1 = call @h(%0) : (tensor<f32>) -> tensor<f32>
            return %1 : tensor<f32>
          }
          func.func private @g(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> }
          func.func private @h(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> }
          func.func private @g_0(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> }
        }"""
        into = parse(one)
        name = m.merge_mlir_modules(into, "g", parse(two))
        return name, str(into)


def test_modules_are_merged_as_by_jax():
    theirs = importlib.import_module("jax.interpreters.mlir")
    assert merged(mlir) == merged(theirs)
    with mlir.make_ir_context(), mlir.ir.Location.unknown():
        empty = mlir.ir.Module.parse("module {}")
        with pytest.raises(ValueError, match="no function main"):
            mlir.merge_mlir_modules(empty, "f", mlir.ir.Module.parse("module {}"))


def test_python_values_become_attributes_as_by_jax():
    theirs = importlib.import_module("jax.interpreters.mlir")
    values = [
        True, 3, 2.5, "text", np.float32(1.5), np.int8(-3), np.array([1, 2], np.int16), {"a": 1, "b": [2.0, "c"]},
        np.dtype("float32"), np.bool_(False),
    ]  # fmt: skip
    for value in values:
        texts = []
        for m in (theirs, mlir):
            with m.make_ir_context(), m.ir.Location.unknown():
                texts.append(str(m.ir_attribute(value)))
        assert texts[0] == texts[1]
    for m in (theirs, mlir):
        with m.make_ir_context(), m.ir.Location.unknown(), pytest.raises(TypeError):
            m.ir_attribute(object())
