"""Products that IREE 3.13 computes as if unsigned numbers were signed, or refuses."""

import functools

import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax import lax

BYTES = np.array([254, 1, 200], np.uint8)
TABLE = np.full((4, 3), 200, np.uint8)
IMAGES = np.arange(2 * 6 * 6, dtype=np.uint8).reshape(2, 1, 6, 6) * 3
KERNEL = np.array([[[[200, 1], [2, 130]]]], np.uint8)
WEIGHTS = np.linspace(-1, 1, 15, dtype=np.float32).reshape(3, 5)


def convolved(x, k, **options):
    return lax.conv_general_dilated(x, k, (1, 1), "VALID", **options)


UNSIGNED = {
    "images by weights": lambda table, bytes_, images, kernel: table.astype(jnp.float32) @ WEIGHTS,
    "scaled images": lambda table, bytes_, images, kernel: (
        (table.astype(jnp.float32) / 255) @ WEIGHTS
    ),
    "transposed": lambda table, bytes_, images, kernel: (
        table.T.astype(jnp.float32) @ jnp.ones((4, 2))
    ),
    "mixed dtypes": lambda table, bytes_, images, kernel: jnp.matmul(jnp.ones((5, 3)), bytes_),
    "mixed integers": lambda table, bytes_, images, kernel: jnp.dot(
        jnp.ones((1, 3), jnp.int8), jnp.array([65535, 3, 7], jnp.uint16)
    ),
    "widened integers": lambda table, bytes_, images, kernel: (
        table.astype(jnp.int32) @ bytes_.astype(jnp.int32)
    ),
    "preferred int32": lambda table, bytes_, images, kernel: lax.dot_general(
        table,
        bytes_,
        (((1,), (0,)), ((), ())),
        preferred_element_type=jnp.int32,
    ),
    "preferred float32": lambda table, bytes_, images, kernel: lax.dot_general(
        table,
        bytes_,
        (((1,), (0,)), ((), ())),
        preferred_element_type=jnp.float32,
    ),
    "wrapping": lambda table, bytes_, images, kernel: jnp.dot(table, bytes_),
    "convolved bytes": lambda table, bytes_, images, kernel: convolved(
        images, kernel, preferred_element_type=jnp.int32
    ),
    "convolved floats": lambda table, bytes_, images, kernel: convolved(
        images.astype(jnp.float32), kernel.astype(jnp.float32)
    ),
    "bfloat16": lambda table, bytes_, images, kernel: (
        table.astype(jnp.bfloat16) @ bytes_.astype(jnp.bfloat16)
    ),
    "bools": lambda table, bytes_, images, kernel: (
        (table > 3).astype(jnp.int32) @ bytes_.astype(jnp.int32)
    ),
}


@pytest.mark.spread(8)
@pytest.mark.parametrize("name", UNSIGNED)
def test_unsigned(name):
    # Arguments: of constants the conversion is done while the program is compiled.
    arrays = (TABLE, BYTES, IMAGES, KERNEL)
    with plugjax.default_device("numpy"):
        expected = np.asarray(UNSIGNED[name](*map(jnp.asarray, arrays)))
    with plugjax.default_device("iree"):
        found = plugjax.jit(UNSIGNED[name])(*arrays)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(
        np.asarray(found, np.float64), np.asarray(expected, np.float64), rtol=1e-6, atol=1e-6
    )


SCORES = np.linspace(-1, 1, 24, dtype=np.float32).reshape(6, 4)
LABELS = np.array([0, 1, 2, 3, 1, 7])
BOOLS = {
    "one-hot labels": lambda x, labels, m: jnp.einsum("bn,bn->b", x, plugjax.nn.one_hot(labels, 4)),
    "dots under vmap": lambda x, labels, m: plugjax.vmap(jnp.dot)(m, x),
    "compared": lambda x, labels, m: jnp.einsum("bn,bn->b", (x > 0).astype(jnp.float32), x),
    "chosen": lambda x, labels, m: jnp.einsum("bn,bn->b", x, jnp.where(m, 1.0, 0.0)),
    "chosen integers": lambda x, labels, m: jnp.einsum(
        "bn,bn->b", labels[:, None], jnp.where(m, 1, 0)
    ),
    "both": lambda x, labels, m: jnp.einsum("bn,bn->b", m.astype(jnp.int32), m.astype(jnp.int32)),
    "bytes": lambda x, labels, m: jnp.einsum("bn,bn->b", m.astype(jnp.uint8), m.astype(jnp.uint8)),
    "matrices by vectors": lambda x, labels, m: jnp.einsum(
        "bij,bj->bi", x.reshape(2, 3, 4), m[:2].astype(jnp.float32)
    ),
    "many batch axes": lambda x, labels, m: jnp.einsum(
        "abn,abn->ab", x.reshape(2, 3, 4), m.reshape(2, 3, 4).astype(jnp.float32)
    ),
    "transposed": lambda x, labels, m: jnp.einsum("nb,nb->n", x.T, m.astype(jnp.float32).T),
    "reshaped": lambda x, labels, m: jnp.einsum(
        "bn,bn->b", x.reshape(3, 8), m.astype(jnp.float32).reshape(3, 8)
    ),
    "products with another": lambda x, labels, m: jnp.einsum(
        "bn,bn->b", x, m.astype(jnp.float32) * (x < 0.5)
    ),
    "signs": lambda x, labels, m: jnp.einsum("bn,bn->b", x, m.astype(jnp.float32) * 2 - 1),
    "whole rows": lambda x, labels, m: jnp.einsum(
        "bn,bn->b", x, jnp.broadcast_to(m[0].astype(jnp.float32), (6, 4))
    ),
    "a table's row": lambda x, labels, m: jnp.einsum(
        "bn,bn->b", x[labels % 3], m.astype(jnp.float32)
    ),
    "gradient of a loss": lambda x, labels, m: plugjax.grad(
        lambda x: (
            -jnp.sum(
                jnp.einsum("bn,bn->b", plugjax.nn.log_softmax(x), plugjax.nn.one_hot(labels, 4))
            )
        )
    )(x),
    "convolved": lambda x, labels, m: lax.conv_general_dilated(
        m.astype(jnp.float32)[None, None], x[None, None, :2, :2], (1, 1), "VALID"
    ),
    "summed products": lambda x, labels, m: jnp.sum(x * m, axis=1),
}


@pytest.mark.spread(8)
@pytest.mark.parametrize("name", BOOLS)
def test_bools_count_as_one_in_products(name):
    arrays = (SCORES, LABELS, SCORES.T.reshape(6, 4) > -0.2)
    with plugjax.default_device("numpy"):
        expected = np.asarray(BOOLS[name](*map(jnp.asarray, arrays)))
    with plugjax.default_device("iree"):
        found = plugjax.jit(BOOLS[name])(*arrays)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("shape", "kernel", "strides", "padding"),
    [
        ((2, 2, 3, 4), (2, 2, 2, 2), (2, 2), "VALID"),
        ((1, 1, 3, 3), (1, 1, 2, 2), (2, 2), "VALID"),
        ((2, 1, 5, 3), (1, 1, 2, 2), (1, 2), ((1, 1), (0, 0))),
        ((1, 1, 5, 5), (1, 1, 3, 3), (4, 4), ((0, 1), (1, 2))),
    ],
)
def test_convolutions_that_do_not_reach_the_end(shape, kernel, strides, padding, agrees):
    rng = np.random.default_rng(0)
    x, k = (rng.normal(size=s).astype(np.float32) for s in (shape, kernel))

    def program(x, k):
        y = lax.conv_general_dilated(x, k, strides, padding)
        return y, plugjax.grad(
            lambda x, k: jnp.sum(lax.conv_general_dilated(x, k, strides, padding) ** 2), (0, 1)
        )(x, k)

    agrees(program, x, k, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("dilation", "strides", "padding"),
    [
        ((1, 2), (2, 2), ((0, 0), (0, 0))),
        ((2, 3), (3, 2), ((1, 0), (0, 2))),
        ((2, 2), (1, 1), ((1, 1), (1, 1))),
    ],
)
def test_convolutions_of_dilated_arrays(dilation, strides, padding, agrees):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2, 1, 3, 4)).astype(np.float32)
    k = rng.normal(size=(2, 1, 2, 2)).astype(np.float32)

    def program(x, k):
        return lax.conv_general_dilated(x, k, strides, padding, lhs_dilation=dilation)

    agrees(program, x, k, rtol=1e-5, atol=1e-5)


@pytest.mark.spread(6)
@pytest.mark.parametrize(
    ("shape", "kernel", "options"),
    [
        ((2, 4, 9), (4, 2, 2), {"rhs_dilation": (3,), "feature_group_count": 2}),
        ((2, 4, 9, 8), (6, 2, 2, 2), {"rhs_dilation": (2, 2), "feature_group_count": 2}),
        (
            (2, 4, 5, 5),
            (6, 2, 2, 3),
            {"lhs_dilation": (2, 2), "rhs_dilation": (2, 1), "feature_group_count": 2},
        ),
        (
            (2, 4, 7, 5, 5),
            (6, 2, 2, 2, 3),
            {"rhs_dilation": (2, 1, 2), "feature_group_count": 2},
        ),
        ((2, 4, 9, 8), (8, 1, 2, 2), {"rhs_dilation": (2, 2), "feature_group_count": 4}),
        ((2, 4, 9, 8), (3, 4, 2, 2), {"rhs_dilation": (2, 3)}),
        ((4, 4, 9, 8), (6, 4, 2, 2), {"rhs_dilation": (2, 2), "batch_group_count": 2}),
        ((4, 1, 9, 8), (6, 1, 2, 2), {"rhs_dilation": (2, 2), "batch_group_count": 2}),
    ],
    ids=[
        "vectors",
        "images",
        "dilated images",
        "volumes",
        "each feature",
        "one group",
        "batches",
        "grey",
    ],
)
def test_kernels_with_holes_leave_out_what_no_tap_reads(shape, kernel, options, agrees):
    rng = np.random.default_rng(0)
    x = rng.normal(size=shape).astype(np.float32)
    x.reshape(-1)[::17] = np.nan
    k = rng.normal(size=kernel).astype(np.float32)
    padding = [(1, 0), *[(0, 1)] * (len(shape) - 3)]
    strides = (2, *[1] * (len(shape) - 3))

    def program(x, k):
        return lax.conv_general_dilated(x, k, strides, padding, **options)

    agrees(program, x, k, rtol=1e-4, atol=1e-5)


def test_gradients_of_kernels_with_holes_in_groups(agrees):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2, 4, 9, 8)).astype(np.float32)
    k = rng.normal(size=(6, 2, 2, 2)).astype(np.float32)

    def loss(x, k):
        y = lax.conv_general_dilated(
            x, k, (2, 1), "SAME", rhs_dilation=(2, 2), feature_group_count=2
        )
        return jnp.sum(y**2)

    agrees(plugjax.grad(loss, (0, 1)), x, k, rtol=1e-4, atol=1e-4)
    one_by_one = plugjax.vmap(lambda x, k: plugjax.grad(loss, 1)(x[None], k), (0, None))
    agrees(one_by_one, x, k, rtol=1e-4, atol=1e-4)


# A vector that is a slice, by what it is multiplied with: square matrices, and one of three axes.
SLICED_VECTORS = {
    "column": lambda x, t: x @ x[:, 0],
    "narrow matrix": lambda x, t: x @ x[:, 1:2],
    "on the left": lambda x, t: x[:, 0] @ x,
    "narrow on the left": lambda x, t: x[:, 1:2].T @ x,
    "row of the transpose": lambda x, t: x @ x.T[0],
    "twice": lambda x, t: x @ t[:, :, 1][:, 2],
    "inner axis": lambda x, t: x @ t[0, :, 0],
    "outer axis": lambda x, t: x @ t[:, 0, 0],
    "every other element": lambda x, t: x[:, ::2] @ x[::2, 0],
    "batch": lambda x, t: jnp.einsum("bij,bj->bi", t, t[:, :, 0]),
    "mapped": lambda x, t: plugjax.vmap(lambda a: a @ x[:, 0])(t),
    "mapped slice": lambda x, t: plugjax.vmap(lambda a: x @ a[:, 0])(t),
    "converted": lambda x, t: x @ x.astype(jnp.float16)[:, 0].astype(jnp.float32),
    "unknown place": lambda x, t: x @ lax.dynamic_index_in_dim(x, jnp.int32(x[0, 0]), 1, False),
    "columns in a scan": lambda x, t: lax.scan(lambda c, v: (c, x @ v), 0, x.T)[1],
    "gradient": lambda x, t: plugjax.grad(lambda x: jnp.sum(jnp.sin(x @ x[:, 0])))(x),
}


@pytest.mark.spread(8)
@pytest.mark.parametrize("size", [3, 16])
@pytest.mark.parametrize("name", SLICED_VECTORS)
def test_products_with_a_slice(name, size, agrees):
    x = np.arange(size * size, dtype=np.float32).reshape(size, size) % 7
    t = np.arange(size**3, dtype=np.float32).reshape(size, size, size) % 5
    agrees(SLICED_VECTORS[name], x, t, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("size", [4, 16])
def test_products_of_small_integers_with_a_slice(size, agrees):
    x = np.arange(size * size, dtype=np.int8).reshape(size, size) % 7

    def program(x):
        dot = functools.partial(lax.dot, preferred_element_type=np.int32)
        return dot(x, x[:, 0]), dot(x[:, 2], x), dot(x, x[1]), dot(x[:, ::2], x[::2, 0])

    agrees(program, x, rtol=0, atol=0)


LARGE = {
    "in one": ((2, 12, 13, 24), (3, 3, 24, 20), {}),
    "strides": ((2, 21, 22, 24), (3, 3, 24, 20), {"window_strides": (2, 2)}),
    "gaps": ((2, 20, 19, 24), (3, 2, 24, 20), {"rhs_dilation": (2, 3)}),
    "one feature": ((3, 20, 20, 1), (5, 5, 1, 32), {}),
    "one result": ((2, 24, 24, 32), (3, 3, 32, 1), {}),
    "bands": ((2, 90, 60, 96), (3, 3, 96, 16), {}),
    "bands that reach beyond": ((1, 146, 90, 64), (3, 3, 64, 16), {"window_strides": (2, 1)}),
    "holes in bands": ((2, 40, 40, 80), (3, 3, 80, 16), {"lhs_dilation": (2, 2)}),
    "a sequence": ((4, 400, 24), (9, 24, 24), {}),
    "moved": ((2, 20, 20, 24), (3, 3, 24, 20), {"padding": [(2, -2), (-1, 1)]}),
    "a volume": ((2, 9, 8, 7, 16), (3, 2, 3, 16, 16), {}),
}


@pytest.mark.spread(6)
@pytest.mark.parametrize("name", LARGE)
def test_large_convolutions(name, agrees):
    shape, taps, options = LARGE[name]
    rng = np.random.default_rng(0)
    rank = len(shape) - 2
    axes = "DHW"[-rank:]
    layout = (f"N{axes}C", f"{axes}IO", f"N{axes}C")
    options = {"window_strides": (1,) * rank, "padding": "SAME", **options}
    if "lhs_dilation" in options:
        options["padding"] = [(2, 1)] * rank

    def convolve(x, k):
        return lax.conv_general_dilated(x, k, dimension_numbers=layout, **options)

    def program(x, k):
        y, pullback = plugjax.vjp(convolve, x, k)
        return y, pullback(y)

    images, kernel = (rng.normal(size=size).astype(np.float32) for size in (shape, taps))
    agrees(program, images, kernel, rtol=1e-4, atol=1e-2)


def test_a_large_convolution_of_another_result_type(agrees):
    rng = np.random.default_rng(0)
    x, k = (rng.normal(size=s).astype(np.float32) for s in ((2, 12, 13, 24), (3, 3, 24, 20)))

    def convolve(x, k):
        layout = ("NHWC", "HWIO", "NHWC")
        return lax.conv_general_dilated(
            x, k, (1, 1), "SAME", dimension_numbers=layout, preferred_element_type=np.float64
        )

    with plugjax.enable_x64(True):
        agrees(convolve, x, k, rtol=1e-12, atol=1e-12)


VECTORS = {
    "rows": ((300, 200), (200,), "ij,j->i"),
    "columns": ((200, 300), (200,), "ji,j->i"),
    "a vector first": ((200,), (200, 300), "j,ji->i"),
    "a row": ((1, 200), (200, 300), "kj,ji->ki"),
    "a column": ((300, 200), (200, 1), "ij,jk->ik"),
    "several axes": ((10, 40, 200), (200, 1), "aij,jk->kai"),
    "in the middle": ((10, 200, 40), (200,), "ajb,j->ab"),
    "odd": ((203, 300), (203,), "ji,j->i"),
    "odd columns": ((200, 301), (200,), "ji,j->i"),
    "blocks of rows": ((1200, 40), (1200,), "ji,j->i"),
    "blocks and a rest": ((1031, 35), (1031,), "ji,j->i"),
    "many rows": ((70000, 8), (70000,), "ji,j->i"),
    "many rows and a rest": ((70001, 3), (70001,), "ji,j->i"),
    "blocks of no divisor": ((40024, 8), (40024,), "ji,j->i"),
    "few columns": ((6000, 3), (6000,), "ji,j->i"),
    "long": ((3, 40000), (40000,), "ij,j->i"),
}


@pytest.mark.spread(2)
@pytest.mark.parametrize("name", VECTORS)
def test_matrices_and_vectors(name, agrees):
    left, right, spelled = VECTORS[name]
    rng = np.random.default_rng(0)
    x, y = (rng.normal(size=size).astype(np.float32) for size in (left, right))
    agrees(lambda x, y: jnp.einsum(spelled, x, y), x, y, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("rows", [70000, 70001, 40024, 4001])
def test_kernels_do_not_grow_with_the_rows(rows):
    def program(x, y):
        return y @ x

    shapes = (
        plugjax.ShapeDtypeStruct((rows, 8), "float32"),
        plugjax.ShapeDtypeStruct((rows,), "float32"),
    )
    with plugjax.default_device("iree"):
        text = plugjax.jit(program).lower(*shapes).as_text()
    assert 2 <= text.count("stablehlo.reduce") <= 16


@pytest.mark.parametrize(
    ("shape", "count"), [((512, 64), 1), ((1200, 40), 1), ((512, 60), 1), ((1024, 28), 0)]
)
def test_products_that_go_through_memory_in_order(shape, count, agrees, changes):
    rng = np.random.default_rng(0)
    x, y = (rng.normal(size=size).astype(np.float32) for size in (shape, shape[:1]))
    agrees(lambda x, y: jnp.tanh(y @ x) + 1, x, y, rtol=1e-4, atol=1e-4)
    assert changes["streamed_products"] == count


def test_sums_of_what_a_few_numbers_scale(agrees):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(16, 40)).astype(np.float32), np.float32(1.5)
    z = rng.normal(size=40).astype(np.float32)

    def program(x, y, z):
        return (
            (x * y).sum(0),
            (x * y).sum(),
            (x + z).sum(0),
            (z * y).sum(),
            (x * z[:16, None]).sum(0),
        )

    agrees(program, x, y, z, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("shape", [(512, 600), (8, 40000), (520, 700), (1024, 16, 20), (515, 600)])
def test_sums_of_rows(shape, agrees):
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    agrees(lambda x: (x.sum(0), x.mean(0), plugjax.jvp(lambda x: (x * x).sum(0), (x,), (x,))[1]), x, rtol=1e-4, atol=1e-3)  # fmt: skip


# Functions, shapes of their arguments, and how many products are changed.
UNEVEN = [
    (lambda x, v: jnp.sum(x * v), [(3, 3), (3,)], 1),
    (lambda x, v: jnp.tanh(jnp.sum(x * v)) * v, [(5, 3), (3,)], 1),
    (lambda x, v: jnp.sum(x * v, (1, 2)), [(5, 3, 3), (3,)], 1),
    (lambda x, v: jnp.sum(x * v[:, None], (1, 2)), [(5, 3, 3), (5, 3)], 1),
    (lambda x, v: jnp.sum(x * v, (0, 1)), [(16, 32, 5), (32, 1)], 1),
    (lambda x, v: jnp.sum(x * v), [(3, 3), (3, 3)], 0),
    (lambda x, v: x @ v, [(4, 5), (5, 6)], 0),
]


@pytest.mark.parametrize(("function", "shapes", "count"), UNEVEN)
def test_factors_that_lack_an_axis(function, shapes, count, changes):
    draw = np.random.default_rng(0).normal
    arguments = [draw(size=shape).astype(np.float32) for shape in shapes]
    with plugjax.config.override("fallback", "error"), plugjax.config.override("verify", "off"):
        found = plugjax.jit(function, device="iree", compiler_options={"without": ("one_by_one",)})(
            *arguments
        )
    np.testing.assert_allclose(found, function(*arguments), rtol=1e-5, atol=1e-5)
    assert changes["uneven_products"] == count


def with_its_result(a, b):
    product = a @ b
    return product.T, product


# Functions, shapes of their arguments, and how many products exchange their factors.
TRANSPOSED = [
    (lambda a, b: (a @ b).T, [(3, 4), (4, 5)], 1),
    (lambda a, b: jnp.swapaxes(a @ b, 1, 2), [(2, 3, 4), (2, 4, 5)], 1),
    (lambda a, b: jnp.tensordot(a, b, ((1, 2), (0, 1))).T, [(3, 4, 5), (4, 5, 6)], 1),
    (lambda a, b: jnp.tensordot(a, b, 1).transpose(2, 3, 0, 1), [(2, 3, 4), (4, 5, 6)], 1),
    (lambda a, b: jnp.tensordot(a, b, 1).transpose(3, 2, 0, 1), [(2, 3, 4), (4, 5, 6)], 0),
    (lambda a, b: plugjax.grad(lambda b: jnp.sum(jnp.sin(a @ b)))(b), [(3, 4), (4, 5)], 1),
    # A conversion is between them.
    (lambda a, b: (a.astype("bfloat16") @ b.astype("bfloat16")).T, [(3, 4), (4, 5)], 0),
    (lambda a, b: (a @ b).T, [(3, 4), (4,)], 0),
    (with_its_result, [(3, 4), (4, 5)], 0),
]


@pytest.mark.parametrize(("function", "shapes", "count"), TRANSPOSED)
def test_transposed_products(function, shapes, count, agrees, changes):
    draw = np.random.default_rng(0).normal
    agrees(function, *(draw(size=s).astype(np.float32) for s in shapes), rtol=2e-2, atol=1e-5)
    assert changes["transposed_products"] == count


# Of an image and a kernel: shapes, padding and dilation of the kernel.
EMPTY = [
    ((2, 2, 2, 5), (1, 2, 2, 2), "VALID", (2, 1)),
    ((2, 1, 0, 4), (1, 1, 2, 2), ((2, 2), (1, 1)), (2, 1)),
    ((2, 1, 5, 5), (3, 1, 0, 2), "VALID", (1, 1)),
    ((0, 1, 5, 5), (3, 1, 2, 2), "SAME", (1, 1)),
    ((2, 0, 5, 5), (3, 0, 2, 2), "SAME", (1, 1)),
]


@pytest.mark.parametrize(("image", "kernel", "padding", "dilation"), EMPTY)
def test_convolutions_of_empty_arrays_and_their_gradients(image, kernel, padding, dilation, agrees):
    def program(x, k):
        def f(x, k):
            return lax.conv_general_dilated(x, k, (1, 1), padding, rhs_dilation=dilation)

        y, pullback = plugjax.vjp(f, x, k)
        return y, pullback(jnp.ones_like(y))

    with plugjax.config.override("fallback", "error"):
        agrees(program, np.ones(image, "f"), np.ones(kernel, "f"), rtol=0, atol=0)
