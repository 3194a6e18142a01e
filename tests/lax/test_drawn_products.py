"""Products, convolutions and windows of `plugjax.lax` with drawn dimension numbers:

JAX's types and errors, NumPy's values.
"""

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

from tests.drawn import DTYPES, agree, arrays, operands

SIZES = st.integers(1, 3)
PREFERRED = [None, None, None, "float32", "float16", "bfloat16", "int32", "int8", "complex64"]
PRECISIONS = [None, None, "highest", "default", "float32", ("high", "highest"), "nonsense"]
SMALL = ("float16", "bfloat16")


@st.composite
def dots(draw):
    """Shapes of two operands and dimension numbers, sometimes ones that do not fit."""
    sizes = {c: draw(st.integers(0 if draw(st.integers(0, 5)) == 0 else 1, 3)) for c in "bcklmn"}
    batch, shared = draw(st.sampled_from(["", "b", "bc"])), draw(st.sampled_from(["", "k", "kl"]))
    left = draw(st.permutations([*batch, *shared, *draw(st.sampled_from(["", "m"]))]))
    right = draw(st.permutations([*batch, *shared, *draw(st.sampled_from(["", "n"]))]))
    places = [[[side.index(c) for c in letters] for side in (left, right)] for letters in (shared, batch)]  # fmt: skip
    shapes = [[sizes[c] for c in side] for side in (left, right)]
    spec = f"{''.join(left)},{''.join(right)}->{batch}{''.join(c for c in [*left, *right] if c in 'mn')}"
    kind = draw(st.integers(0, 15))
    if kind == 0 and shapes[1]:
        shapes[1][0] += 1
    elif kind == 1:
        places[draw(st.integers(0, 1))][draw(st.integers(0, 1))].append(draw(st.integers(-1, 3)))
    return shapes, places, spec


@given(data=st.data())
def test_dot_general(data):
    shapes, numbers, spec = data.draw(dots())
    x = data.draw(operands(DTYPES, st.just(tuple(shapes[0]))))
    same = [x.dtype.name] if data.draw(st.booleans()) else DTYPES
    y = data.draw(operands(same, st.just(tuple(shapes[1]))))
    preferred, precision = data.draw(st.sampled_from(PREFERRED)), data.draw(st.sampled_from(PRECISIONS))  # fmt: skip
    wide = {"int32", "float32", "complex64"}
    known = {x.dtype.name, y.dtype.name} <= wide and preferred is None
    agree(
        lambda n, j, x, y: j.lax.dot_general(
            x, y, numbers, precision=precision, preferred_element_type=preferred
        ),
        (lambda x, y: np.einsum(spec, x, y)) if known else None,
        x,
        y,
        tolerance=4,
    )


@given(data=st.data())
def test_dot(data):
    shapes = data.draw(st.sampled_from([((2, 3), (3, 2)), ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((), (3,)), ((2, 3), (2, 3)), ((2, 2, 3), (3,)), ((3,), (2,))]))  # fmt: skip
    x = data.draw(operands(DTYPES, st.just(shapes[0])))
    same = [x.dtype.name] if data.draw(st.booleans()) else DTYPES
    y = data.draw(operands(same, st.just(shapes[1])))
    preferred = data.draw(st.sampled_from(PREFERRED))
    wide = {x.dtype.name, y.dtype.name} <= {"float32", "complex64", "int32"} and preferred is None
    agree(
        lambda _, j, x, y: j.lax.dot(x, y, preferred_element_type=preferred),
        np.dot if wide else None,
        x,
        y,
        tolerance=4,
    )
    batched = [data.draw(operands(same, st.sampled_from([(2, 2, 3), (2, 3, 3), (1, 3, 3), (3,)]))) for _ in range(2)]  # fmt: skip
    agree(lambda _, j, x, y: j.lax.batch_matmul(x, y), None, *batched)


@st.composite
def convolutions(draw):
    """Shapes of an image and a kernel in the order N, C, space and O, I, space, and options."""
    rank = draw(st.integers(0, 2))
    groups, batches = draw(st.sampled_from([(1, 1), (1, 1), (2, 1), (1, 2)]))
    out, inputs = draw(st.integers(1, 2)) * groups * batches, draw(st.integers(1, 2))
    pair = lambda low, high: [draw(st.integers(low, high)) for _ in range(rank)]  # noqa: E731
    image = [batches * draw(SIZES), inputs * groups, *pair(1, 5)]
    kernel = [out, inputs, *pair(1, 3)]
    options = {
        "window_strides": pair(1, 2),
        "padding": draw(st.sampled_from(["SAME", "VALID", "SAME_LOWER"])) if draw(st.booleans()) else [(draw(st.integers(-1, 2)), draw(st.integers(0, 2))) for _ in range(rank)],
        "rhs_dilation": draw(st.sampled_from([None, pair(1, 2)])),
        "feature_group_count": groups,
        "batch_group_count": batches,
    }  # fmt: skip
    if not isinstance(options["padding"], str):
        options["lhs_dilation"] = draw(st.sampled_from([None, pair(1, 2)]))
    kind = draw(st.integers(0, 15))
    if kind == 0:
        draw(st.sampled_from([image, kernel]))[1] += 1
    elif kind == 1:
        options["window_strides"] = [*options["window_strides"], 1]
    elif kind == 2:
        options["feature_group_count"] = draw(st.sampled_from([0, 2, 3]))
    elif kind == 3:
        options["padding"] = draw(st.sampled_from(["FULL", "same", [(1, 1)] * 3]))
    return image, kernel, options


def convolved(x, w, options):
    """Convolution in one group: every element of the result is a sum over the window and the channels."""
    rank = x.ndim - 2
    stretch = options.get("lhs_dilation") or [1] * rank
    spread = options["rhs_dilation"] or [1] * rank
    strides, padding = options["window_strides"], options["padding"]
    sizes = [(n - 1) * s + 1 for n, s in zip(x.shape[2:], stretch, strict=True)]
    grown = np.zeros((*x.shape[:2], *sizes), x.dtype)
    grown[(..., *(slice(None, None, s) for s in stretch))] = x
    wide = [(k - 1) * s + 1 for k, s in zip(w.shape[2:], spread, strict=True)]
    if isinstance(padding, str):
        padding = [
            (0, 0) if padding == "VALID" else amounts(n, k, s, padding == "SAME_LOWER")
            for n, k, s in zip(sizes, wide, strides, strict=True)
        ]
    grown = np.pad(grown, [(0, 0), (0, 0), *((max(a, 0), b) for a, b in padding)])
    grown = grown[(..., *(slice(max(-a, 0), None) for a, _ in padding))]
    shape = [max((n - k) // s + 1, 0) for n, k, s in zip(grown.shape[2:], wide, strides, strict=True)]  # fmt: skip
    out = np.zeros((x.shape[0], w.shape[0], *shape), np.result_type(x, w))
    for at in np.ndindex(*shape):
        window = tuple(
            slice(i * s, i * s + k, d) for i, s, k, d in zip(at, strides, wide, spread, strict=True)
        )
        part = grown[(slice(None), slice(None), *window)]
        out[(..., *at)] = np.tensordot(part, w, (range(1, rank + 2), range(1, rank + 2)))
    return out


def amounts(size, kernel, stride, lower):
    total = max((-(-size // stride) - 1) * stride + kernel - size, 0)
    return (total - total // 2, total // 2) if lower else (total // 2, total - total // 2)


@given(data=st.data())
def test_conv_general_dilated(data):
    image, kernel, options = data.draw(convolutions())
    x = data.draw(operands(DTYPES, st.just(tuple(image))))
    same = [x.dtype.name] if data.draw(st.integers(0, 9)) else DTYPES
    w = data.draw(operands(same, st.just(tuple(kernel))))
    preferred = data.draw(st.sampled_from(PREFERRED))
    rank = len(image) - 2
    # The same with permuted axes.
    order = data.draw(st.permutations(range(rank + 2)))
    letters = np.array(list("NC" + "HW"[:rank]))
    specs = ("".join(letters[order]), "OI" + "HW"[:rank], "NC" + "HW"[:rank])
    x = np.transpose(x, order)
    back = np.argsort(order)
    simple = options["feature_group_count"] == options["batch_group_count"] == 1
    known = x.dtype.name in ("float32", "int32", "complex64") and preferred is None
    agree(
        lambda _, j, x, w: j.lax.conv_general_dilated(
            x, w, **options, dimension_numbers=specs, preferred_element_type=preferred
        ),
        (lambda x, w: convolved(np.transpose(x, back), w, options)) if known and simple else None,
        x,
        w,
        tolerance=8,
    )


OTHER_FORMS = {
    "conv": lambda lax, x, w, o: lax.conv(x, w, o["window_strides"], o["padding"]),
    "with general padding": lambda lax, x, w, o: lax.conv_with_general_padding(
        x, w, o["window_strides"], o["padding"], o.get("lhs_dilation"), o["rhs_dilation"]
    ),
    "transpose": lambda lax, x, w, o: lax.conv_transpose(
        x, w, o["window_strides"], o["padding"], o["rhs_dilation"],
        dimension_numbers=("NCHW"[: x.ndim], "OIHW"[: w.ndim], "NCHW"[: x.ndim]),
    ),
    "patches": lambda lax, x, w, o: lax.conv_general_dilated_patches(
        x, w.shape[2:], o["window_strides"], o["padding"], o.get("lhs_dilation"), o["rhs_dilation"]
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", OTHER_FORMS)
@given(data=st.data())
def test_other_convolutions(name, data):
    image, kernel, options = data.draw(convolutions())
    dtype = data.draw(st.sampled_from(["float32", "float32", "bfloat16", "int32", "complex64"]))
    x, w = (data.draw(arrays([dtype], st.just(tuple(s)))) for s in (image, kernel))
    agree(lambda _, j, x, w: OTHER_FORMS[name](j.lax, x, w, options), None, x, w)


WINDOWS = {"add": (0, np.sum), "max": (None, np.max), "min": (None, np.min), "mul": (1, np.prod)}


@pytest.mark.parametrize("name", WINDOWS)
@given(data=st.data())
def test_reduce_window(name, data):
    x = data.draw(arrays(DTYPES))
    rank = x.ndim + (data.draw(st.integers(0, 15)) == 0)
    pair = lambda low, high: tuple(data.draw(st.integers(low, high)) for _ in range(rank))  # noqa: E731
    window, strides = pair(1, 3), pair(0 if data.draw(st.integers(0, 15)) == 0 else 1, 2)
    padding = data.draw(st.sampled_from(["SAME", "VALID", [*zip(pair(0, 2), pair(0, 2), strict=True)], "WRONG"]))  # fmt: skip
    # JAX lets NumPy broadcast sizes and windows before it checks them.
    assume(padding != "SAME" or rank == x.ndim)
    dilation = data.draw(st.sampled_from([None, pair(1, 2)]))
    neutral, reducer = WINDOWS[name]
    if neutral is None:
        least, most = (False, True) if x.dtype == bool else (-np.inf, np.inf)
        if x.dtype.kind in "iu":
            least, most = np.iinfo(x.dtype).min, np.iinfo(x.dtype).max
        neutral = least if name == "max" else most
    # Complex numbers have no largest one.
    start = np.array(neutral if x.dtype.kind != "c" else abs(np.clip(neutral, 0, 1)), x.dtype)
    if data.draw(st.integers(0, 9)) == 0:
        start = data.draw(arrays(DTYPES, st.sampled_from([(), (1,)])))

    def oracle(x):
        spread = dilation or (1,) * x.ndim
        wide = [(k - 1) * d + 1 for k, d in zip(window, spread, strict=True)]
        pads = padding
        if isinstance(pads, str):
            pads = [(0, 0) if pads == "VALID" else amounts(n, k, s, False) for n, k, s in zip(x.shape, wide, strides, strict=True)]  # fmt: skip
        grown = np.pad(x, pads, constant_values=start)
        shape = [max((n - k) // s + 1, 0) for n, k, s in zip(grown.shape, wide, strides, strict=True)]  # fmt: skip
        out = np.zeros(shape, x.dtype)
        for at in np.ndindex(*shape):
            out[at] = reducer(grown[tuple(slice(i * s, i * s + k, d) for i, s, k, d in zip(at, strides, wide, spread, strict=True))])  # fmt: skip
        return out

    known = start.dtype == x.dtype and not start.shape and x.dtype.name in ("float32", "int32", "int16")  # fmt: skip
    agree(
        lambda _, j, x: j.lax.reduce_window(
            x, start, getattr(j.lax, name), window, strides, padding, None, dilation
        ),
        oracle if known and start == neutral else None,
        x,
        tolerance=4,
    )


@given(data=st.data())
def test_reduce_window_of_anything(data):
    """Dilated, with negative padding, by a custom operation."""
    x = data.draw(operands(DTYPES))
    pair = lambda low, high: tuple(data.draw(st.integers(low, high)) for _ in range(x.ndim))  # noqa: E731
    padding = [*zip(pair(-1, 2), pair(-1, 2), strict=True)]
    start = np.zeros((), x.dtype if data.draw(st.integers(0, 9)) else "float32")
    base, dilation = pair(1, 2), pair(1, 2)
    window, strides = pair(1, 3), pair(1, 2)
    agree(
        lambda _, j, x: j.lax.reduce_window(
            x, start, lambda a, b: j.lax.bitwise_not(a) if a.dtype == bool else a + b * b,
            window, strides, padding, base, dilation,
        ),
        None,
        x,
    )  # fmt: skip
