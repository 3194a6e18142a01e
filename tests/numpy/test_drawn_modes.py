"""The same calls with 64-bit numbers, strict promotion of dtypes, refused or warned promotion of ranks."""

import contextlib
import warnings

import jax
import jax.numpy
import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

import plugjax
import plugjax.numpy
from tests.drawn import DTYPES, WIDE_DTYPES, agree, arrays, axes_of, stretchable
from tests.numpy.test_drawn import (
    ALONG,
    BINARY,
    MANIPULATIONS,
    REDUCTIONS,
    UNARY,
    along,
    known_exponent,
)
from tests.numpy.test_drawn_creation import INDICES, POLYNOMIALS
from tests.numpy.test_drawn_products import CALLS, NUMBERS, PAIRS, pairs
from tests.numpy.test_drawn_searches import ANY, OF_ONE, OF_TWO, VECTORS

MODES = {
    "x64": lambda library: library.enable_x64(True),
    "strict dtypes": lambda library: library.numpy_dtype_promotion("strict"),
    "no rank promotion": lambda library: library.numpy_rank_promotion("raise"),
    "x64, strict dtypes": lambda library: _both(library.enable_x64(True), library.numpy_dtype_promotion("strict")),
}  # fmt: skip
EXAMPLES = settings().max_examples * 6


@contextlib.contextmanager
def _both(first, second):
    with first, second:
        yield


def under(mode, call, *args):
    with MODES[mode](plugjax), MODES[mode](jax):
        agree(call, None, *args)


def dtypes_of(mode):
    return [*DTYPES, *WIDE_DTYPES] if mode.startswith("x64") else DTYPES


@pytest.mark.parametrize("mode", MODES)
@settings(max_examples=EXAMPLES)
@given(data=st.data())
def test_elementwise(mode, data):
    name = data.draw(st.sampled_from([*BINARY, "where", "clip", "select"]))
    x, y = data.draw(stretchable(dtypes_of(mode)))
    assume(not known_exponent(name, y))

    def call(n, _, x, y):
        if name == "where":
            return n.where(n.equal(x, x), x, y)
        if name == "clip":
            return n.clip(x, y, 2)
        if name == "select":
            return n.select([n.equal(x, x)], [x], y)
        return getattr(n, name)(x, y)

    under(mode, call, x, y)


@pytest.mark.parametrize("mode", MODES)
@settings(max_examples=EXAMPLES)
@given(data=st.data())
def test_of_one_array(mode, data):
    family = data.draw(st.sampled_from(["unary", "reduction", "along", "manipulation", "number"]))
    x = data.draw(arrays(dtypes_of(mode)))
    axis, other = (data.draw(axes_of(x.ndim, several=False)) for _ in range(2))
    number = data.draw(st.sampled_from([2, 0.5, 1j, True]))
    if family == "unary":
        name = data.draw(st.sampled_from(UNARY))
        call = lambda n, _, x: getattr(n, name)(x)  # noqa: E731
    elif family == "reduction":
        name = data.draw(st.sampled_from([r for r in REDUCTIONS if "arg" not in r]))
        call = lambda n, _, x: getattr(n, name)(x, axis=axis)  # noqa: E731
    elif family == "along":
        name = data.draw(st.sampled_from(ALONG))
        call = lambda n, _, x: along(n, name, x, axis)  # noqa: E731
    elif family == "manipulation":
        name = data.draw(st.sampled_from(list(MANIPULATIONS)))
        call = lambda n, _, x: MANIPULATIONS[name](n, n.asarray(x), axis, other)  # noqa: E731
    else:
        name = data.draw(st.sampled_from(["add", "multiply", "divide", "power", "less", "maximum"]))
        assume(not known_exponent(name, x))
        call = lambda n, _, x: getattr(n, name)(number, x)  # noqa: E731
    under(mode, call, x)


@pytest.mark.parametrize("mode", MODES)
@settings(max_examples=EXAMPLES)
@given(data=st.data())
def test_products_and_searches(mode, data):
    family = data.draw(st.sampled_from(["product", "one", "two", "polynomial", "indices"]))
    if family == "product":
        name = data.draw(st.sampled_from(list(PAIRS)))
        args = data.draw(pairs(name, NUMBERS))
        f = CALLS.get(name, lambda n, x, y: getattr(n, name)(x, y))
        call = lambda n, _, x, y: f(n, x, y)  # noqa: E731
    elif family == "one":
        name = data.draw(st.sampled_from(list(OF_ONE)))
        args = [data.draw(arrays(["int32", "uint8", "float32"], ANY))]
        call = lambda n, _, x: OF_ONE[name](n, n.asarray(x))  # noqa: E731
    elif family == "two":
        name = data.draw(st.sampled_from(list(OF_TWO)))
        args = [data.draw(arrays(["int32", "uint8", "float32"], s)) for s in (VECTORS, ANY)]
        call = lambda n, _, x, y: OF_TWO[name](n, n.asarray(x), n.asarray(y))  # noqa: E731
    elif family == "polynomial":
        name = data.draw(st.sampled_from(list(POLYNOMIALS)))
        vectors = arrays(
            ["int32", "float32", "float16", "complex64"], st.integers(1, 4).map(lambda n: (n,))
        )
        args = [data.draw(vectors), data.draw(vectors)]
        call = lambda n, _, x, y: POLYNOMIALS[name](n, n.asarray(x), n.asarray(y))  # noqa: E731
    else:
        name = data.draw(st.sampled_from(list(INDICES)))
        a, b, k = (data.draw(st.integers(low, 4)) for low in (0, 0, -2))
        args = []
        call = lambda n, _: INDICES[name](n, a, b, k)  # noqa: E731
    under(mode, call, *args)


@pytest.mark.parametrize("name", ["add", "where", "matmul", "power", "copysign", "solve", "clip"])
def test_warnings_of_rank_promotion(name):
    """As many as JAX's: one for each operation that stretches a rank, or none."""
    for shapes in [((3,), (2, 3)), ((2, 3), (2, 3)), ((), (2, 3)), ((2, 3, 3), (3, 3))]:
        x, y = (np.ones(shape, np.float32) for shape in shapes)

        def call(n, x, y):
            if name == "where":
                return n.where(n.equal(x, x), x, y)
            if name == "solve":
                return n.linalg.solve(x, y)
            return getattr(n, name)(x, y)

        found = []
        for library, run in (
            (plugjax, lambda: call(plugjax.numpy, x, y)),  # noqa: B023
            (jax, lambda: jax.eval_shape(lambda x, y: call(jax.numpy, x, y), x, y)),  # noqa: B023
        ):
            with library.numpy_rank_promotion("warn"), warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter("always")
                result = outcome_with_warnings(run)
            found.append(
                (isinstance(result, Exception), any("rank" in str(w.message) for w in seen))
            )
        assert found[0] == found[1], (shapes, found)


def outcome_with_warnings(f):
    try:
        return f()
    except Exception as error:
        return error
