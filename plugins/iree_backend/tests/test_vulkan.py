"""A Vulkan device, whose memory the host does not see; where a driver has one (Debian's mesa-vulkan-drivers has, without hardware)."""

import re
import warnings
from contextlib import nullcontext

import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax import lax
from plugjax.cli.classifier import init, train_step
from plugjax.errors import FallbackWarning

VALUES = np.linspace(-3, 3, 12, dtype=np.float32).reshape(3, 4)


def loss(w, x):
    hidden = jnp.tanh(x @ w)
    return (plugjax.nn.log_softmax(hidden) ** 2).mean()


def normal(x):
    return plugjax.random.normal(plugjax.random.key(0), (8,)) + x[0, 0]


def carried(x):
    return plugjax.lax.scan(lambda c, a: (c + a, c * a), jnp.zeros(4), x)


@pytest.mark.spread(2)
@pytest.mark.parametrize(
    "function",
    [
        lambda x: x @ x.T,
        lambda x: jnp.sin(x) + jnp.exp(-x),
        lambda x: jnp.abs(x) ** 1.5 + jnp.arctan2(x, 2.0) + jnp.cbrt(x),
        lambda x: (x.sum(0), x.max(1), jnp.argmax(x, 1), jnp.sort(x, 1)),
        lambda x: (x.astype(jnp.int32) // 2, (x > 0) & (x < 2)),
        lambda x: jnp.asarray(x).at[jnp.array([2, 0])].add(1.0)[jnp.array([0, 2])],
        normal,
        carried,
        plugjax.grad(loss),
    ],
    ids=["product", "functions", "powers", "reductions", "integers", "indices", "random", "scan", "gradient"],
)  # fmt: skip
def test_compiled_programs_give_the_values_of_numpy(vulkan, on_numpy, function):
    args = (VALUES.T @ VALUES / 9, VALUES) if function.__name__ == "loss" else (VALUES,)
    results = plugjax.jit(function)(*args)
    for ours, expected in zip(
        plugjax.tree.leaves(results), plugjax.tree.leaves(on_numpy(function, *args)), strict=True
    ):
        assert ours.device is vulkan
        assert ours._host is None
        np.testing.assert_allclose(np.asarray(ours), expected, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: (x[0], x[1:]),
        lambda x: jnp.concatenate([x, x[:2]]),
        lambda x: jnp.concatenate([x @ x.T, x], 1),
        lambda x: x.at[1:].set(0.0),
    ],
    ids=["slices", "concatenation", "products", "fill"],
)
def test_each_call_has_its_own_memory(vulkan, on_numpy, function):
    compiled = plugjax.jit(function)
    results = [compiled(jnp.asarray(VALUES + n)) for n in range(4)]
    for n, result in enumerate(results):
        for ours, expected in zip(
            plugjax.tree.leaves(result),
            plugjax.tree.leaves(on_numpy(function, jnp.asarray(VALUES + n))),
            strict=True,
        ):
            np.testing.assert_allclose(np.asarray(ours), expected, rtol=2e-5)


def test_training_in_place(vulkan):
    rng = np.random.default_rng(0)
    batches = [
        (rng.random((64, 64), np.float32), rng.integers(0, 10, 64).astype(np.int32))
        for _ in range(10)
    ]

    def train(*donated):
        step = plugjax.jit(train_step, donate_argnums=donated)
        parameters = init(plugjax.random.key(0))
        first, second = (plugjax.tree.map(jnp.zeros_like, parameters) for _ in range(2))
        state = (parameters, first, second, jnp.float32(0))
        losses = []
        for batch in batches:
            state, value = step(state, *batch)
            losses.append(float(value))
        return losses, plugjax.tree.leaves(state)

    losses, state = train(0)
    with plugjax.default_device("numpy"):
        expected, others = train()
    np.testing.assert_allclose(losses, expected, rtol=1e-5)
    for ours, theirs in zip(state, others, strict=True):
        np.testing.assert_allclose(np.asarray(ours), np.asarray(theirs), rtol=1e-3, atol=1e-4)


def test_no_thread_computes_what_another_does(vulkan):
    """Each kernel reads the numbers of its threads along the axes that have more than one."""

    def program(x, w):
        rows = plugjax.lax.conv_general_dilated(x, w, (1,), "SAME")
        return jnp.abs(jnp.fft.fft(rows)), jnp.einsum("abc,abd->acd", x, x)

    x, w = np.ones((2, 3, 8), np.float32), np.ones((4, 3, 3), np.float32)
    compiled = plugjax.jit(program).lower(x, w).compile({"phase": "executable-targets"})
    kernels = compiled.as_text().split("spirv.module Logical")[1:]
    counts = [re.search(r'"LocalSize", (\d+), (\d+), (\d+)', kernel).groups() for kernel in kernels]
    assert len(counts) > 4
    assert any(set(each) != {"1"} for each in counts)
    for kernel, each in zip(kernels, counts, strict=True):
        loaded = re.findall(r"(%\d+) = spirv\.Load \"Input\" %__builtin__LocalInvocationId", kernel)
        told = {
            int(axis)
            for number in loaded
            for axis in re.findall(rf"CompositeExtract {number}\[(\d)", kernel)
        }
        assert told >= {axis for axis, n in enumerate(each) if n != "1"}


@pytest.mark.parametrize(
    "shape", [(3, 31), (3, 32), (3, 67), (3, 128), (4, 8), (8, 5), (64, 64)], ids=str
)
def test_sorts(vulkan, shape):
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    with plugjax.config.override("fallback", "error"):
        least, order, most = plugjax.jit(
            lambda x: (jnp.sort(x, 1), jnp.argsort(x, 1), plugjax.lax.top_k(x, 2)[0])
        )(x)
    np.testing.assert_array_equal(least, np.sort(x, 1))
    np.testing.assert_array_equal(order, np.argsort(x, 1))
    np.testing.assert_array_equal(most, np.sort(x, 1)[:, :-3:-1])


def outer(y):
    return jnp.transpose(y[None] * (2 * y)[:, None], (1, 2, 0))


REPEATED = {
    "less its maximum": lambda x: x - jnp.max(x, 0),
    "softmax": lambda x: plugjax.nn.softmax(x, 0),
    "columns of unit length": lambda x: x / jnp.linalg.norm(x, axis=0),
    "rows": lambda x: jnp.broadcast_to(jnp.exp(jnp.sum(x, 0)), (3, x.shape[1])),
    "tables": lambda x: jnp.broadcast_to(jnp.sum(x.reshape(x.shape[1], -1, 5), 1), (2, x.shape[1], 5)),
    "twice": lambda x: outer((jnp.arange(1.0, 10.0).reshape(3, 3).astype(jnp.float16) * 2).astype(jnp.float32)),
    "products": lambda x: (x @ x.T)[None] * jnp.arange(1.0, 4.0)[:, None, None],
    "products with a row": lambda x: x.T - (x[0] @ x.T)[None],
}  # fmt: skip


@pytest.mark.parametrize("shape", [(40, 50), (10, 100), (65, 65)], ids=str)
@pytest.mark.parametrize("name", REPEATED)
def test_values_that_are_repeated(vulkan, on_numpy, name, shape):
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    expected = on_numpy(REPEATED[name], x)
    np.testing.assert_allclose(plugjax.jit(REPEATED[name])(x), expected, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "int8", "int16"])
@pytest.mark.parametrize("shape", [(40, 33), (8, 5, 33)], ids=str)
def test_narrow_numbers_that_are_read_twice(vulkan, on_numpy, shape, dtype):
    def centered(x):
        wide = x.reshape(shape).astype(jnp.float32)
        return wide - wide.sum(tuple(range(len(shape) - 1)))

    x = (np.arange(40 * 33).reshape(40, 33) % 7).astype(jnp.dtype(dtype))
    expected = on_numpy(centered, jnp.asarray(x))
    np.testing.assert_array_equal(np.asarray(plugjax.jit(centered)(x)), expected)


@pytest.mark.parametrize("dtype", ["bfloat16", "complex64"])
def test_constants(vulkan, dtype):
    numbers = np.linspace(-2, 2, 4).astype(jnp.dtype(dtype))
    x = VALUES.astype(numbers.dtype)
    wide = np.result_type(numbers, np.float32)
    # Operations that are compiled one by one are not refused.
    options = {"without": ("one_by_one",)}
    added = plugjax.jit(
        lambda x: (x + numbers, numbers.astype(wide) * x[0]), compiler_options=options
    )
    expected = (x + numbers, numbers.astype(wide) * x[0].astype(wide))
    for ours, theirs in zip(added(x), expected, strict=True):
        np.testing.assert_array_equal(np.asarray(ours), theirs)


def test_cumulative_sums_of_complex_numbers(vulkan, on_numpy):
    rng = np.random.default_rng(0)
    x = (rng.normal(size=(5, 7)) + 1j * rng.normal(size=(5, 7))).astype(np.complex64)

    def program(x):
        return (
            *(
                f(x, axis, reverse=r)
                for f in (lax.cumsum, lax.cumprod)
                for axis in (0, 1)
                for r in (False, True)
            ),
            plugjax.grad(lambda x: jnp.abs(jnp.cumsum(x @ x.T)).sum())(x),
            jnp.cumsum(x[:0]),
        )

    found, expected = plugjax.jit(program)(x), on_numpy(program, jnp.asarray(x))
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-4)


SLICES = {
    "columns": lambda x: x[:, 6:30] * 2,
    "pairs": lambda x: x[:, 6:30] + x[:, :24],
    "flags": lambda x: jnp.where((x > 9)[:, 6:30], x[:, :24], x[:, 7:31]),
    "images": lambda x: x.reshape(4, 3, 12)[:, 1:, 2:10] * 2,
    "dynamic": lambda x: lax.dynamic_slice(x, (0, x[0, 6].astype(int)), (4, 24)) * 2,
    "narrow": lambda x: x.astype(jnp.bfloat16)[:, 4:28] * 2,
    "bytes": lambda x: x.astype(jnp.int8)[:, 4:20] * jnp.int8(2),
    "sums": lambda x: x[:, 6:30].sum(0),
    "products": lambda x: x[:, 6:30] @ x[:, 2:26].T,
    "written": lambda x: jnp.zeros((4, 40)).at[:, 6:30].set(x[:, :24] * 2),
    "updated": lambda x: x.at[:, 6:30].add(x[:, :24]),
    "windows": plugjax.grad(
        lambda x: lax.reduce_window(
            x.reshape(3, 4, 12), -jnp.inf, lax.max, (2, 3, 3), (2, 1, 1), ((0, 1), (1, 1), (2, 1))
        ).sum()
    ),
}


@pytest.mark.parametrize("name", SLICES)
def test_slices_within_vectors(vulkan, on_numpy, name):
    x = np.arange(4 * 36, dtype=np.float32).reshape(4, 36)
    found = plugjax.jit(SLICES[name])(x)
    np.testing.assert_array_equal(found, on_numpy(SLICES[name], jnp.asarray(x)))


FACTORS = {"zeros": np.zeros((5, 4), np.complex64), "numbers": np.full((5, 4), 1 + 2j, np.complex64)}  # fmt: skip
_KERNEL = re.compile(r"( *)spirv\.module.*?\n\1\}", re.DOTALL)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "int8", "uint16"])
def test_numbers_of_an_axis(vulkan, dtype):
    for size in (3, 8, 100):
        found = plugjax.jit(lambda size=size: lax.iota(dtype, size))()
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, np.arange(size).astype(dtype))


@pytest.mark.parametrize("name", FACTORS)
def test_factors_are_filled_before_they_are_read(vulkan, on_numpy, name):
    x = np.random.default_rng(0).normal(size=(20, 5)).astype(np.float32)

    def product(x):
        return jnp.dot(x, FACTORS[name])

    step = plugjax.jit(product)
    np.testing.assert_allclose(step(x), on_numpy(product, jnp.asarray(x)), rtol=1e-4, atol=1e-5)
    text = step.lower(x).compile({"phase": "executable-targets"}).as_text()
    kernels = [found[0] for found in _KERNEL.finditer(text)]
    assert kernels
    for kernel in kernels:
        # Each thread reads what it wrote itself, by one address.
        shared = set(re.findall(r"%__workgroup_mem__\d+_addr", kernel))
        assert all(kernel.count(f"AccessChain {place}[") <= 1 for place in shared) or (
            "spirv.ControlBarrier" in kernel
        )


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_sums_that_other_threads_read(vulkan, dtype):
    """The gradient of a convolution, whose sums are in another order than its operand."""
    numbers = np.random.default_rng(0)
    w, x = (jnp.asarray(numbers.normal(size=(2, n, 2)), dtype) for n in (2, 4))
    rows = numbers.normal(size=(8, 2, 2, 4, 2)).astype(np.float32)

    def convolved(x):
        x, filters = jnp.clip(x, -9, 9), jnp.clip(w, -9, 9)
        return lax.conv_general_dilated(x, filters, (2,), "SAME", rhs_dilation=(2,), feature_group_count=2)  # fmt: skip

    @plugjax.jit
    def gradient(x, rows):
        total = plugjax.grad(lambda x: convolved(x).astype(jnp.float32).sum())
        return total(x), plugjax.vmap(convolved)(rows)

    with plugjax.default_device("numpy"):
        expected, _ = gradient(x, jnp.asarray(rows[0], dtype))
    for each in rows:
        found, _ = gradient(x, jnp.asarray(each, dtype))
        np.testing.assert_allclose(
            np.asarray(found, np.float32), np.asarray(expected, np.float32), rtol=2e-2
        )


def test_values_travel_both_ways(vulkan):
    x = plugjax.device_put(np.arange(1000, dtype=np.float32), vulkan)
    there = plugjax.device_put(x + 1, "numpy")
    back = plugjax.device_put(there, vulkan)
    assert float(back.sum()) == float(np.arange(1, 1001).sum())
    assert x.tolist()[:2] == [0.0, 1.0]


@pytest.mark.parametrize("mode", ["auto", "host", "compile"])
def test_eager_operations(vulkan, mode):
    plugjax.config.update("eager", mode)
    try:
        y = jnp.asarray(VALUES) * 2
        assert y.device is vulkan
        np.testing.assert_array_equal(np.asarray(y), VALUES * 2)
    finally:
        plugjax.config.update("eager", "auto")


def test_a_callback_gets_the_values(vulkan):
    f = plugjax.jit(
        lambda x: plugjax.pure_callback(np.sin, plugjax.ShapeDtypeStruct(x.shape, x.dtype), x) * 2
    )
    np.testing.assert_allclose(np.asarray(f(VALUES)), np.sin(VALUES) * 2, rtol=1e-6)


def test_float64(vulkan):
    with plugjax.enable_x64(True), warnings.catch_warnings():
        # Where the device has none, NumPy computes it.
        warnings.simplefilter("ignore", plugjax.errors.FallbackWarning)
        y = plugjax.jit(lambda x: x * 1.5 + 1e-12)(np.ones(3))
    assert np.asarray(y).tolist() == [1.5 + 1e-12] * 3


@pytest.mark.parametrize("groups", [{"feature_group_count": 2}, {"batch_group_count": 2}])
def test_convolutions_in_groups(vulkan, on_numpy, groups):
    rng = np.random.default_rng(0)
    features = 4 if "feature_group_count" in groups else 2
    images = rng.normal(size=(2, features, 4, 5)).astype(np.float32)
    kernel = rng.normal(size=(6, 2, 3, 2)).astype(np.float32)

    def convolve(x, k):
        return plugjax.lax.conv_general_dilated(x, k, (1, 1), "VALID", **groups)

    found = np.asarray(plugjax.jit(convolve)(images, kernel))
    np.testing.assert_allclose(found, on_numpy(convolve, images, kernel), rtol=2e-5, atol=1e-5)


@pytest.mark.parametrize("features", [4, 8])
def test_convolutions_in_groups_that_skip_columns(vulkan, on_numpy, features):
    rng = np.random.default_rng(0)
    images = rng.normal(size=(2, 4, 2)).astype(np.float32)
    kernel = rng.normal(size=(features, 2, 1)).astype(np.float32)

    def convolve(x, k):
        return lax.conv_general_dilated(x, k, (2,), "SAME", feature_group_count=2)

    found = np.asarray(plugjax.jit(convolve)(images, kernel))
    np.testing.assert_allclose(found, on_numpy(convolve, images, kernel), rtol=2e-5, atol=1e-5)


def test_bools_beyond_a_multiple_of_four(vulkan, on_numpy):
    x = np.array([1, np.inf, np.nan, -np.inf, 0, -0.0, np.nan], np.float32)
    found = plugjax.jit(lambda x: (jnp.isfinite(x), x < 0.5, x.astype(jnp.int8)))(np.nan_to_num(x))
    expected = on_numpy(
        lambda x: (jnp.isfinite(x), x < 0.5, jnp.asarray(x).astype(jnp.int8)), np.nan_to_num(x)
    )
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(np.asarray(ours), theirs)


def test_long_sums(vulkan, on_numpy):
    x = np.random.default_rng(0).normal(size=(256, 384)).astype(np.float32)
    for function in (lambda x: x.sum(1), lambda x: x.max(1), lambda x: x @ x[0]):
        found = np.asarray(plugjax.jit(function)(x))
        np.testing.assert_allclose(found, on_numpy(function, x), rtol=1e-4, atol=1e-4)


def sine_of_host(x):
    return plugjax.pure_callback(np.sin, plugjax.ShapeDtypeStruct(x.shape, x.dtype), x)


def called_in_scan(x):
    return plugjax.lax.scan(lambda c, a: (sine_of_host(c) + a, c.sum()), x[0], x)


def called_in_while(x):
    return plugjax.lax.while_loop(
        lambda s: (s[0] < 5) & (s[1].sum() < 100),
        lambda s: (s[0] + 1, sine_of_host(s[1]) * 2),
        (0, x),
    )


def called_in_branch(x):
    return plugjax.lax.cond(x.sum() < 99, sine_of_host, lambda x: x * 2, x)


def decomposed_in_scan(x):
    def step(c, a):
        return c + jnp.linalg.eigvals(c + a * jnp.eye(3)).real.sum() / 100, jnp.linalg.svdvals(c)

    return plugjax.lax.scan(step, x @ x.T, jnp.arange(3.0))


@pytest.mark.spread(2)
@pytest.mark.parametrize(
    "function",
    [called_in_scan, called_in_while, called_in_branch, decomposed_in_scan],
    ids=lambda function: function.__name__,
)
def test_the_host_is_called_in_loops(vulkan, on_numpy, function):
    expected = plugjax.tree.leaves(on_numpy(lambda x: function(jnp.asarray(x)), VALUES))
    for ours, theirs in zip(
        plugjax.tree.leaves(plugjax.jit(function)(VALUES)), expected, strict=True
    ):
        assert ours.device is vulkan
        np.testing.assert_allclose(np.asarray(ours), theirs, rtol=1e-5, atol=1e-6)


def test_branches_for_the_device(vulkan):
    def scaled(x):
        return lax.platform_dependent(x, cpu=lambda x: x * 2, vulkan=lambda x: x * 3)

    with plugjax.config.override("verify", "first"), warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(plugjax.jit(scaled)(VALUES), VALUES * 3)


def test_exports_for_the_device(vulkan):
    """What IREE does not compile the host runs: here a module that XLA's processor runs."""

    def factor(x):
        return jnp.linalg.cholesky(x @ x.T + 3 * jnp.eye(3))

    for function, warned in ((loss, nullcontext()), (factor, pytest.warns(FallbackWarning))):
        arguments = (VALUES.T, VALUES) if function is loss else (VALUES,)
        exported = plugjax.export.export(plugjax.jit(function))(*arguments)
        assert exported.platforms == ("vulkan",)
        expected = plugjax.jit(function)(*arguments)
        with warned:
            found = plugjax.export.deserialize(exported.serialize()).call(*arguments)
        assert found.device is vulkan
        np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-5)


def test_ordered_calls_in_loops(vulkan):
    seen = []

    def step(i, c):
        plugjax.debug.callback(lambda i, s: seen.append((int(i), float(s))), i, c[0], ordered=True)
        return c * 2

    plugjax.jit(lambda x: plugjax.lax.fori_loop(0, 4, step, x))(np.ones(2, np.float32))
    plugjax.effects_barrier()
    assert seen == [(0, 1.0), (1, 2.0), (2, 4.0), (3, 8.0)]
