"""Callbacks on buffers, on every backend; against JAX where operands stay as they are."""

import jax
import jax.experimental.buffer_callback
import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax.core.errors import JaxRuntimeError
from plugjax.experimental.buffer_callback import (
    Buffer,
    ExecutionContext,
    ExecutionStage,
    buffer_callback,
)

X = np.arange(3, dtype=np.float32)
MATRIX = np.arange(6, dtype=np.float32).reshape(2, 3)


def of(m):
    return jax.experimental.buffer_callback.buffer_callback if m is jax else buffer_callback


def struct(m, *shape, dtype=np.float32):
    return m.ShapeDtypeStruct(shape, dtype)


def test_pytrees_are_written_in_place(on_backend):
    seen = []

    def callback(context, out, x, *, more):
        seen.append((type(context), context.stage, x.shape, str(x.dtype), x.ndim))
        total, scaled = out["total"], out["scaled"]
        assert isinstance(total, Buffer)
        np.asarray(total)[...] = np.asarray(x).sum()
        np.multiply(x, more[0], out=np.asarray(scaled))

    shapes = {"total": struct(plugjax), "scaled": struct(plugjax, 3)}
    call = buffer_callback(callback, shapes)
    f = lambda x: call(x + 1, more=[jnp.float32(2)])  # noqa: E731
    for run in (f, plugjax.jit(f)):
        found = run(X)
        np.testing.assert_array_equal(found["total"], 6)
        np.testing.assert_array_equal(found["scaled"], 2 * (X + 1))
    assert set(seen) == {(ExecutionContext, ExecutionStage.EXECUTE, (3,), "float32", 1)}


@pytest.mark.parametrize("dtype", ["bfloat16", "int8", "bool", "complex64"])
def test_dtypes(on_backend, dtype):
    def callback(context, out, x):
        np.asarray(out)[...] = np.asarray(x)

    x = jnp.asarray([0, 1, 1]).astype(dtype)
    found = plugjax.jit(buffer_callback(callback, plugjax.ShapeDtypeStruct((3,), x.dtype)))(x)
    assert found.dtype == x.dtype
    np.testing.assert_array_equal(np.asarray(found), np.asarray(x))


def test_the_memory_of_operands_is_read_only(on_backend):
    def callback(context, out, x):
        assert not x.writeable
        assert out.writeable
        with pytest.raises(ValueError, match="read-only"):
            np.asarray(x)[...] = 7
        np.from_dlpack(out)[...] = np.from_dlpack(x) + 1
        assert x.__dlpack_device__() == (1, 0)

    found = plugjax.jit(buffer_callback(callback, struct(plugjax, 3)))(X)
    np.testing.assert_array_equal(found, X + 1)


def test_a_result_that_takes_the_place_of_an_operand(on_backend):
    def callback(context, out, x):
        assert np.shares_memory(np.asarray(out), np.asarray(x))
        np.asarray(out)[0] = 9

    call = buffer_callback(callback, struct(plugjax, 3), input_output_aliases={0: 0})
    x = jnp.asarray(X)
    for run in (call, plugjax.jit(call)):
        np.testing.assert_array_equal(run(x), [9, 1, 2])
        np.testing.assert_array_equal(x, X)


@pytest.mark.parametrize(
    "method",
    ["sequential", "sequential_unrolled", "expand_dims", "broadcast_all", "legacy_vectorized"],
)
def test_vmap(method):
    found = []
    for m in (jax, plugjax):
        shapes = []

        def callback(context, out, x, y, shapes=shapes):
            shapes.append((x.shape, y.shape))
            np.asarray(out)[...] = np.asarray(x) + np.asarray(y)

        call = of(m)(callback, struct(m, 3), vmap_method=method)
        with plugjax.default_device("xla"):
            result = np.asarray(m.jit(m.vmap(call, (0, None)))(MATRIX, X))
        found.append((result.tolist(), shapes))
    assert found[0] == found[1]


def test_in_a_loop(on_backend):
    def callback(context, out, x):
        np.add(x, 1, out=np.asarray(out))

    call = buffer_callback(callback, struct(plugjax, 3))
    found = plugjax.jit(lambda x: plugjax.lax.fori_loop(0, 3, lambda _, y: call(y), x))(X)
    np.testing.assert_array_equal(found, X + 3)


def test_effects_keep_a_call(on_backend):
    calls = []

    def run(**options):
        call = buffer_callback(lambda *_: calls.append(1), struct(plugjax, 3), **options)

        def f(x):
            call(x)
            return x

        plugjax.block_until_ready(plugjax.jit(f)(X))
        return len(calls)

    assert run() == 0
    assert run(has_side_effect=True) == 1


def test_the_text_is_that_of_jax():
    texts = []
    for m in (jax, plugjax):
        call = of(m)(lambda *_: None, struct(m, 2, 3), input_output_aliases={0: 0})
        text = m.jit(call).lower(MATRIX).as_text(*([] if m is jax else ["stablehlo"]))
        texts += [line.strip() for line in text.splitlines() if "custom_call" in line]
    assert texts[0] == texts[1]


def failing(context, out, x):
    raise KeyError("of the callback")


def test_an_exception_is_raised_as_it_is(on_backend):
    with pytest.raises(KeyError, match="of the callback"):
        plugjax.block_until_ready(plugjax.jit(buffer_callback(failing, struct(plugjax, 3)))(X))


def test_a_callback_that_returns_something(on_backend):
    call = buffer_callback(lambda context, out, x: 1, struct(plugjax, 3))
    with pytest.raises(ValueError, match="must not return any values"):
        plugjax.block_until_ready(call(X))


@pytest.mark.parametrize(
    "call",
    [
        lambda m, one: m.grad(lambda x: one()(x).sum())(X),
        lambda m, one: m.linear_transpose(one(), X)(X),
        lambda m, one: m.vmap(one())(MATRIX),
        lambda m, one: one(input_output_aliases={1: 0})(X),
        lambda m, one: one(input_output_aliases={0: 1})(X),
        lambda m, one: one(input_output_aliases={0: 0})(X[:2]),
    ],
    ids=["derivative", "transpose", "vmap", "operand", "result", "shape"],
)
def test_errors_are_of_the_types_of_jax(call):
    kinds = []
    for m in (jax, plugjax):
        with pytest.raises(Exception) as found:
            call(m, lambda m=m, **options: of(m)(lambda *_: None, struct(m, 3), **options))
        kinds.append(found.type)
    assert kinds[0] is kinds[1]


def test_a_stream_is_of_a_gpu(on_backend):
    def callback(context, out, x):
        with pytest.raises((RuntimeError, JaxRuntimeError), match="UNIMPLEMENTED"):
            _ = context.stream

    buffer_callback(callback, struct(plugjax, 3))(X).block_until_ready()
