"""Gathers and scatters of `plugjax.lax` with drawn dimension numbers and modes:

JAX's types and errors, a loop's values.
"""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from tests.drawn import DTYPES, agree, arrays, operands

SIZES = st.integers(1, 4)
MODES = ["clip", "fill", "promise_in_bounds", None]
INDICES = ["int32", "int32", "int32", "int8", "uint8", "int16", "uint32", "float32"]


@st.composite
def plans(draw):
    """Shapes of operand and indices, and dimension numbers, in the words of gather.

    Axes of the operand are batched (with an axis of the indices), collapsed (slices of size 1), or offsets; the indices
    say where slices start along `start_index_map`, in any order.
    """
    rank = draw(st.integers(0, 3))
    shape = [draw(SIZES) for _ in range(rank)]
    roles = [draw(st.sampled_from(["collapsed", "offset", "offset", "batched"])) for _ in shape]
    batched = [d for d in range(rank) if roles[d] == "batched"]
    collapsed = [d for d in range(rank) if roles[d] == "collapsed"]
    mapped = [d for d in draw(st.permutations(range(rank))) if roles[d] == "collapsed" or (roles[d] == "offset" and draw(st.booleans()))]  # fmt: skip
    slices = [1 if roles[d] != "offset" else draw(st.integers(0 if d in mapped else n, n)) for d, n in enumerate(shape)]  # fmt: skip
    # Axes of the indices: those of the batches and free ones, in some order; coordinates come last.
    free = draw(st.lists(SIZES, max_size=2))
    labels = draw(st.permutations([*[("b", d) for d in batched], *[("f", i) for i in range(len(free))]]))  # fmt: skip
    index_shape = [shape[i] if kind == "b" else free[i] for kind, i in labels]
    index_batched = [labels.index(("b", d)) for d in batched]
    out_rank = len(labels) + roles.count("offset")
    offsets = sorted(draw(st.permutations(range(out_rank)))[: roles.count("offset")])
    return {
        "shape": tuple(shape),
        "slices": tuple(slices),
        "indices": (*index_shape, len(mapped)),
        "offsets": tuple(offsets),
        "collapsed": tuple(collapsed),
        "batched": tuple(batched),
        "index_batched": tuple(index_batched),
        "mapped": tuple(mapped),
    }


@st.composite
def spoiled(draw, plan):
    """Sometimes dimension numbers that do not fit."""
    if draw(st.integers(0, 4)):
        return plan
    name = draw(st.sampled_from(["offsets", "collapsed", "mapped", "batched", "index_batched", "slices"]))  # fmt: skip
    change = draw(st.sampled_from([lambda t: t[:-1], lambda t: (*t, 1), lambda t: t[::-1], lambda t: (*t[:-1], 7), lambda t: (*t[:-1], -1)]))  # fmt: skip
    return {**plan, name: change(plan[name])}


def places(plan, indices, limited):
    """Pairs of a position in the result and its position in the operand; `None` if that is outside."""
    shape, slices = plan["shape"], plan["slices"]
    batches = indices.shape[:-1]
    window_axes = [d for d in range(len(shape)) if d not in plan["collapsed"] and d not in plan["batched"]]  # fmt: skip
    for batch in np.ndindex(*batches):
        start = [0] * len(shape)
        for d, i in zip(plan["mapped"], indices[batch].tolist(), strict=True):
            start[d] = int(i)
        outside = any(not 0 <= s <= n - w for s, n, w in zip(start, shape, slices, strict=True))
        if limited:
            start = [min(max(s, 0), n - w) for s, n, w in zip(start, shape, slices, strict=True)]
        for d, i in zip(plan["batched"], plan["index_batched"], strict=True):
            start[d] = batch[i]
        for window in np.ndindex(*[slices[d] for d in window_axes]):
            source = list(start)
            for d, w in zip(window_axes, window, strict=True):
                source[d] += w
            rest = iter(batch)
            inside = dict(zip(plan["offsets"], window, strict=True))
            rank = len(batch) + len(window)
            out = tuple(inside[d] if d in inside else next(rest) for d in range(rank))
            yield out, None if outside and not limited else tuple(source)


def gather_numbers(lax, plan):
    return lax.GatherDimensionNumbers(
        offset_dims=plan["offsets"],
        collapsed_slice_dims=plan["collapsed"],
        start_index_map=plan["mapped"],
        operand_batching_dims=plan["batched"],
        start_indices_batching_dims=plan["index_batched"],
    )


def scatter_numbers(lax, plan):
    return lax.ScatterDimensionNumbers(
        update_window_dims=plan["offsets"],
        inserted_window_dims=plan["collapsed"],
        scatter_dims_to_operand_dims=plan["mapped"],
        operand_batching_dims=plan["batched"],
        scatter_indices_batching_dims=plan["index_batched"],
    )


def result_shape(plan):
    rest = iter(plan["indices"][:-1])
    windows = iter(n for d, n in enumerate(plan["slices"]) if d not in plan["collapsed"] and d not in plan["batched"])  # fmt: skip
    rank = len(plan["indices"]) - 1 + len(plan["offsets"])
    return tuple(next(windows) if d in plan["offsets"] else next(rest) for d in range(rank))


@pytest.mark.parametrize("mode", MODES, ids=str)
@given(data=st.data())
def test_gather(mode, data):
    plan = data.draw(plans())
    x = data.draw(operands(DTYPES, st.just(plan["shape"])))
    inside = mode in ("promise_in_bounds", None)
    indices = data.draw(arrays(INDICES, st.just(plan["indices"]), 0 if inside else -2, 4))
    if inside:
        limit = [plan["shape"][d] - plan["slices"][d] for d in plan["mapped"]]
        indices = np.minimum(indices, np.array(limit, indices.dtype)).astype(indices.dtype)
    wrong = data.draw(spoiled(plan))
    fill = data.draw(st.sampled_from([None, None, 7]))

    def oracle(x, indices):
        default = fill if fill is not None else {"f": np.nan, "V": np.nan, "c": np.nan, "b": True, "i": None, "u": None}[x.dtype.kind]  # fmt: skip
        if default is None:
            default = np.iinfo(x.dtype).min if x.dtype.kind == "i" else np.iinfo(x.dtype).max
        out = np.zeros(result_shape(plan), x.dtype)
        for at, source in places(plan, indices, mode == "clip"):
            out[at] = default if source is None else x[source]
        return out

    agree(
        lambda _, j, x, indices: j.lax.gather(
            x, indices, gather_numbers(j.lax, wrong), wrong["slices"], mode=mode, fill_value=fill
        ),
        oracle,
        x,
        indices,
    )


UPDATES = {
    "scatter": lambda a, b: b,
    "scatter_add": lambda a, b: a + b,
    "scatter_sub": lambda a, b: a - b,
    "scatter_mul": lambda a, b: a * b,
    "scatter_min": min,
    "scatter_max": max,
}


@pytest.mark.spread(2)
@pytest.mark.parametrize("mode", MODES, ids=str)
@pytest.mark.parametrize("name", UPDATES)
@given(data=st.data())
def test_scatter(name, mode, data):
    plan = data.draw(plans())
    x = data.draw(operands(DTYPES, st.just(plan["shape"])))
    low = 0 if mode == "promise_in_bounds" else -2
    indices = data.draw(arrays(INDICES, st.just(plan["indices"]), low, 4))
    if mode == "promise_in_bounds":
        limit = [plan["shape"][d] - plan["slices"][d] for d in plan["mapped"]]
        indices = np.minimum(indices, np.array(limit, indices.dtype)).astype(indices.dtype)
    dtypes = [x.dtype.name] if data.draw(st.integers(0, 9)) else DTYPES
    shape = result_shape(plan) if data.draw(st.integers(0, 9)) else (5,)
    updates = data.draw(operands(dtypes, st.just(shape)))
    wrong = data.draw(spoiled(plan))
    combine = UPDATES[name]

    def oracle(x, indices, updates):
        out, seen = x.copy(), set()
        for at, target in places(plan, indices, mode == "clip"):
            if target is None:
                continue
            if combine is UPDATES["scatter"] and target in seen:
                raise TypeError("the order of updates is nobody's word")
            seen.add(target)
            out[target] = combine(out[target], updates[at])
        return out

    known = x.dtype.name in ("int32", "float32", "int16", "bool") and x.dtype == updates.dtype
    agree(
        lambda _, j, x, indices, updates: getattr(j.lax, name)(
            x, indices, updates, scatter_numbers(j.lax, wrong), mode=mode
        ),
        oracle if known and not (x.dtype == bool and name != "scatter") else None,
        x,
        indices,
        updates,
        tolerance=4,
    )


@given(data=st.data())
def test_index_take(data):
    x = data.draw(operands(DTYPES))
    count = data.draw(st.integers(0, max(x.ndim, 1)))
    axes = data.draw(st.permutations(range(x.ndim)))[:count]
    indices = [data.draw(arrays(["int32"], st.just((3,)), 0, 3)) for _ in axes]
    if not axes or not x.size:
        return
    agree(
        lambda n, j, x, *at: j.lax.index_take(x, at, tuple(axes)),
        None,
        x,
        *indices,
    )
