"""References agree with those of JAX: values, what is written, types of errors, printed programs."""

import numpy as np
import pytest

import plugjax

jax = pytest.importorskip("jax")

CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


@case
def written_eagerly(j, np_, lax):
    r = j.new_ref(np_.zeros(3))
    before = r[...]
    r[1] += 1.0
    r[0] = 5.0
    return before, r[...]


@case
def the_first_value_stays(j, np_, lax):
    a = np_.zeros(3)
    r = j.new_ref(a)
    r[0] = 5.0
    return a, r[...]


@case
def closed_over_by_jit(j, np_, lax):
    r = j.new_ref(np_.zeros(3))

    @j.jit
    def f(x):
        r[1] += x
        return r[0] + x

    return f(1.0), f(2.0), r[...]


@case
def argument_of_jit(j, np_, lax):
    r = j.new_ref(np_.arange(6.0).reshape(2, 3))

    @j.jit
    def f(r, i, x):
        r[i, 1:] = x
        j.ref.addupdate(r, (0,), np_.ones(3))
        return r[i, 0], j.ref.swap(r, (1, 1), 7.0)

    return f(r, 1, np_.ones(2)), f(r, 0, np_.zeros(2)), r[...]


@case
def gradients_through_local_references(j, np_, lax):
    def f(x):
        r = j.new_ref(np_.zeros(2))
        r[0] = np_.sin(x)
        r[1] = r[0] * x
        j.ref.addupdate(r, 0, x * x)
        return r[0] * r[1]

    return j.grad(f)(1.3), j.jit(j.grad(f))(1.3), j.jvp(f, (1.3,), (0.5,))


@case
def gradients_through_indices_that_repeat(j, np_, lax):
    def f(x):
        r = j.new_ref(np_.zeros(3))
        j.ref.addupdate(r, (np_.array([0, 0, 2]),), x)
        return (r[...] ** 2).sum() + r[np_.array([0, 2])].sum()

    return j.grad(f)(np_.arange(3.0)), j.jit(j.grad(f))(np_.arange(3.0))


@case
def in_a_loop(j, np_, lax):
    def f(x):
        r = j.new_ref(np_.zeros(5))

        def body(i, c):
            r[i] = c * r[(i + 1) % 5] + c
            return c * 2

        c = lax.fori_loop(0, 5, body, x)
        return r[...].sum() * c

    return f(1.0), j.jit(f)(1.0), j.grad(f)(1.0), j.jit(j.grad(f))(1.0)


@case
def scanned(j, np_, lax):
    r = j.new_ref(np_.zeros(3))
    xs = j.new_ref(np_.arange(4.0))

    def body(c, x):
        r[1] = c
        x[...] = x[...] * 2
        return c + x[...], r[0] + c

    out = lax.scan(body, 1.0, xs)
    return out, r[...], xs[...]


@case
def while_and_branches(j, np_, lax):
    r = j.new_ref(0.0)
    n = lax.while_loop(lambda c: c < 3, lambda c: (j.ref.addupdate(r, ..., 2.0), c + 1)[1], 0)
    lax.cond(n > 1, lambda: j.ref.set(r, ..., r[...] * 3), lambda: None)
    found = lax.switch(n - 2, [lambda r: r[...], lambda r: j.ref.swap(r, ..., 1.0)], r)
    return n, found, r[...]


@case
def made_under_vmap(j, np_, lax):
    def f(y, i):
        r = j.new_ref(np_.stack([y, 2.0]))
        r[i] = y**3
        return r[...], r[0]

    return j.vmap(f)(np_.arange(3.0), np_.array([0, 1, 0]))


@case
def argument_of_vmap(j, np_, lax):
    r = j.new_ref(np_.zeros((2, 3)))

    def f(r, i, x):
        r[i] = x
        j.ref.addupdate(r, 0, x)
        return r[i]

    return j.vmap(f, in_axes=(1, 0, 0))(r, np_.array([0, 1, 0]), np_.arange(1.0, 4.0)), r[...]


@case
def read_under_vmap(j, np_, lax):
    r = j.new_ref(np_.arange(3.0))
    return j.vmap(lambda i: r[i] + r[0])(np_.array([2, 1]))


@case
def plumbing_under_grad(j, np_, lax):
    r = j.new_ref(1.0)

    def f(x):
        r[...] += lax.stop_gradient(x)
        return x * x * r[...]

    return j.grad(f)(3.0), r[...]


@case
def cotangents_are_stashed(j, np_, lax):
    grads = j.new_ref(0.0)

    @j.custom_vjp
    def stash(ref, x):
        return x

    def backward(ref, g):
        ref[...] = g
        return None, g

    stash.defvjp(lambda ref, x: (x, ref), backward)

    def f(x):
        return np_.sin(stash(grads, x * 2))

    first = j.grad(f)(1.0), grads[...]
    return first, j.jit(j.grad(f))(2.0), grads[...]


@case
def cotangents_are_stashed_in_a_loop(j, np_, lax):
    grads = j.new_ref(np_.zeros(3))

    @j.custom_vjp
    def stash(ref, i, x):
        return x

    def backward(saved, g):
        ref, i = saved
        ref[i] = g
        return None, None, g

    stash.defvjp(lambda ref, i, x: (x, (ref, i)), backward)

    def f(x):
        return lax.scan(lambda c, i: (stash(grads, i, c * 2), None), x, np_.arange(3))[0]

    return j.grad(f)(1.0), grads[...], j.jit(j.grad(f))(2.0), grads[...]


@case
def cotangents_are_added(j, np_, lax):
    _, pull = j.vjp(lambda x, y: np_.sin(x) * y, 3.0, 2.0)
    total = j.new_ref(1.0), j.new_ref(0.0)
    pull.with_refs(*total)(1.0)
    pull.with_refs(*total)(2.0)
    return total[0][...], total[1][...]


@case
def cotangents_are_left_out(j, np_, lax):
    _, pull = j.vjp(lambda w, x: w @ x, np_.ones((2, 2)), np_.ones(2))
    w, x = pull.with_refs(j.ad.GradValue(), j.ad.DontWant())(np_.ones(2))
    assert type(x) is j.ad.DidntWant
    return w


@case
def references_are_differentiated(j, np_, lax):
    def f(r, x):
        r[0] = x * x
        r[1] = r[0] * 2 + r[2]
        return r[1]

    r = j.new_ref(np_.arange(3.0))
    y, pull = j.vjp(f, r, 3.0)
    bars = j.new_ref(np_.ones(3)), j.new_ref(0.0)
    pull.with_refs(*bars)(1.0)
    return y, bars[0][...], bars[1][...], r[...]


@case
def references_have_tangents(j, np_, lax):
    r, t = j.new_ref(np_.arange(3.0)), j.new_ref(np_.ones(3))

    def f(r):
        r[0] = r[1] * 2
        return (r[...] ** 2).sum()

    return j.jvp(f, (r,), (t,)), r[...], t[...]


@case
def rules_of_custom_derivatives_get_references(j, np_, lax):
    f = j.custom_jvp(lambda r, x: r[...] * x)
    f.defjvp(lambda p, t: (f(*p), t[1] * 3.0))
    return j.grad(lambda x: f(j.new_ref(2.0), x))(1.0)


@case
def frozen(j, np_, lax):
    def f(x):
        r = j.new_ref(x)
        r[0] = x[1] * 2
        return j.freeze(r)

    return f(np_.arange(3.0)), j.jit(f)(np_.arange(3.0))


@case
def of_integers_and_bools(j, np_, lax):
    r, b = j.new_ref(np_.arange(4)), j.new_ref(np_.array([True, False]))
    r[2] = 9
    j.ref.addupdate(r, slice(0, 2), np_.array([1, 1]))
    b[0] = False
    return r[...], b[...], j.jit(lambda i: r[i])(2)


@case
def within_checkpoint(j, np_, lax):
    r = j.new_ref(0.0)

    @j.checkpoint
    def f(x):
        r[...] += 1.0
        return np_.sin(x) * r[...]

    return j.grad(f)(1.0), r[...]


def run(function, backend):
    if backend == "jax":
        return function(jax, jax.numpy, jax.lax)
    with plugjax.default_device(backend):
        return function(plugjax, plugjax.numpy, plugjax.lax)


@pytest.mark.spread(16)
@pytest.mark.parametrize("name", CASES)
def test_values_are_those_of_jax(name, backend):
    expected = jax.tree.leaves(run(CASES[name], "jax"))
    found = plugjax.tree.leaves(run(CASES[name], backend))
    assert len(found) == len(expected)
    for y, z in zip(found, expected, strict=True):
        assert (y.shape, y.dtype) == (z.shape, z.dtype)
        np.testing.assert_allclose(np.asarray(y), np.asarray(z), rtol=1e-5, atol=1e-6)


ERRORS = {
    "returned": (ValueError, "cannot be returned", lambda j, n: j.jit(lambda x: j.new_ref(x))(1.0)),
    "returned by a branch": (
        ValueError,
        "cannot be returned",
        lambda j, n: j.lax.cond(True, lambda r: r, lambda r: r, j.new_ref(1.0)),
    ),
    "passed twice": (
        ValueError,
        "only one reference to a mutable array may be passed",
        lambda j, n: (lambda r: j.jit(lambda x, y: x[...] + y[...])(r, r))(j.new_ref(1.0)),
    ),
    "closed over and passed": (
        ValueError,
        "both closed over and passed",
        lambda j, n: (lambda r: j.jit(lambda x: x[...] + r[...])(r))(j.new_ref(1.0)),
    ),
    "scanned and closed over": (
        ValueError,
        "mutable array",
        lambda j, n: j.jit(lambda r: j.lax.scan(lambda c, x: (c + r[0], x[...]), 0.0, r))(
            j.new_ref(n.zeros(3))
        ),
    ),
    "added": (TypeError, "unsupported operand type", lambda j, n: j.new_ref(1.0) + 1),
    "sine": (TypeError, "requires ndarray or scalar arguments", lambda j, n: n.sin(j.new_ref(1.0))),
    "sine under jit": (
        TypeError,
        "requires ndarray or scalar arguments",
        lambda j, n: j.jit(n.sin)(j.new_ref(1.0)),
    ),
    "stored": (
        ValueError,
        "Cannot store a Ref into another Ref",
        lambda j, n: j.ref.set(j.new_ref(1.0), ..., j.new_ref(2.0)),
    ),
    "dtype": (
        ValueError,
        "Invalid dtype for `swap`",
        lambda j, n: j.ref.set(j.new_ref(n.arange(3)), 0, 5.5),
    ),
    "shape": (
        ValueError,
        "Invalid shape for `swap`",
        lambda j, n: j.ref.set(j.new_ref(n.zeros(3)), slice(0, 2), n.ones(3)),
    ),
    "shape of a sum": (
        ValueError,
        "Invalid shape for `addupdate`",
        lambda j, n: j.ref.addupdate(j.new_ref(n.zeros((2, 3))), ..., n.ones(3)),
    ),
    "out of bounds": (ValueError, "Out of bound", lambda j, n: j.new_ref(n.arange(3))[5]),
    "an array": (ValueError, "Can only call `ref_get`", lambda j, n: j.ref.get(n.arange(3), 0)),
    "gradient": (
        ValueError,
        "Expected cotangent type",
        lambda j, n: j.grad(lambda r: r[...] * 2.0)(j.new_ref(3.0)),
    ),
    "length": (TypeError, r"len\(\) of unsized object", lambda j, n: len(j.new_ref(1.0))),
    "memory space": (
        NotImplementedError,
        "memory space",
        lambda j, n: j.new_ref(n.ones(2), memory_space="x"),
    ),
    "tangent": (
        Exception,
        "differentiated value on a non-differentiated array reference",
        lambda j, n: (lambda r: j.grad(lambda x: (j.ref.set(r, ..., x), x)[1])(1.0))(
            j.new_ref(0.0)
        ),
    ),
    "vmap": (
        Exception,
        "on an unbatched array reference",
        lambda j, n: (lambda r: j.vmap(lambda x: j.ref.set(r, ..., x))(n.arange(3.0)))(
            j.new_ref(0.0)
        ),
    ),
    "condition": (
        ValueError,
        "only one reference to a mutable array may be passed",
        lambda j, n: (
            lambda r: j.lax.while_loop(
                lambda c: r[...] < 3, lambda c: (j.ref.set(r, ..., 4.0), c)[1], 0
            )
        )(j.new_ref(0.0)),
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_have_the_types_of_jax_and_its_words(name):
    kind, words, call = ERRORS[name]
    with pytest.raises(kind, match=words):
        call(jax, jax.numpy)
    with pytest.raises(kind, match=words):
        call(plugjax, plugjax.numpy)


PROGRAMS = {
    "made": lambda j, n: j.make_jaxpr(
        lambda x: (lambda r: (j.ref.set(r, 0, 2.0), r[...])[1])(j.new_ref(x))
    )(n.zeros(3)),
    "read": lambda j, n: j.make_jaxpr(lambda r: r[...] + r[0])(j.new_ref(n.zeros(3))),
    "swapped": lambda j, n: j.make_jaxpr(lambda r: j.ref.swap(r, 0, 5))(j.new_ref(n.arange(3))),
    "added": lambda j, n: j.make_jaxpr(lambda r, i: j.ref.addupdate(r, i, 5.0))(
        j.new_ref(n.zeros(3)), 1
    ),
    "frozen": lambda j, n: j.make_jaxpr(lambda x: j.freeze(j.new_ref(x)))(1.0),
    "a weak value written": lambda j, n: j.make_jaxpr(lambda r, x: j.ref.set(r, ..., x))(
        j.new_ref(0.0), 1.0
    ),
    "small floats": lambda j, n: j.make_jaxpr(lambda x: x + n.bfloat16(1.5))(n.bfloat16(2)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_are_printed_as_in_jax(name):
    assert str(PROGRAMS[name](plugjax, plugjax.numpy)) == str(PROGRAMS[name](jax, jax.numpy))


def test_memory_is_written_in_place():
    with plugjax.default_device("numpy"):
        r = plugjax.new_ref(plugjax.numpy.zeros(4))
        r[0] = 1.0
        memory = r._value._host.ctypes.data
        for i in range(4):
            r[i] = float(i)
            plugjax.ref.addupdate(r, slice(0, 2), plugjax.numpy.ones(2))
        assert r._value._host.ctypes.data == memory
        seen = r[...]
        r[0] = 9.0
        assert r._value._host.ctypes.data != memory
        np.testing.assert_array_equal(seen, [4, 4, 2, 3])


def test_compiled_programs_are_kept():
    r = plugjax.new_ref(plugjax.numpy.zeros(3))
    traced = []

    @plugjax.jit
    def f(x):
        traced.append(x)
        r[0] += x

    f(1.0)
    f(2.0)
    assert len(traced) == 1
    np.testing.assert_array_equal(r[...], [3, 0, 0])


def test_windows_and_parts_of_parts(backend):
    with plugjax.default_device(backend):
        r = plugjax.new_ref(plugjax.numpy.arange(12.0).reshape(3, 4))

        @plugjax.jit
        def f(i):
            before = r[plugjax.ds(i, 2), 1]
            r[plugjax.ds(i, 2), 1] = before * 10
            r[0, plugjax.ds(0, 2, 2)] = plugjax.numpy.array([7.0, 8.0])
            r.at[1:].at[0, 3][...] = 99.0
            r.at[2].addupdate(1.0, 0)
            return before, r.at[1:].at[:, 0][...]

        before, column = f(1)
        np.testing.assert_array_equal(before, [5, 9])
        np.testing.assert_array_equal(column, [4, 9])
        np.testing.assert_array_equal(r[...], [[7, 1, 8, 3], [4, 50, 6, 99], [9, 90, 10, 11]])


def test_indices_have_the_meaning_of_numpy():
    x = np.arange(24).reshape(2, 3, 4)
    r = plugjax.new_ref(x)
    for index in (
        ..., 0, -1, (0, slice(None, None, -1)), (slice(1), None, 2), (slice(None), [0, 2]),
        (np.array([0, 1]), slice(None), np.array([[1], [2]])), x[:, :, 0] > 5, (..., slice(3, 0, -2)),
    ):  # fmt: skip
        np.testing.assert_array_equal(r[index], x[index])
        own = plugjax.new_ref(x)
        own[index] = np.zeros_like(x[index])
        expected = x.copy()
        expected[index] = 0
        np.testing.assert_array_equal(own[...], expected)


def test_references_are_no_arrays():
    r = plugjax.new_ref(plugjax.numpy.ones((2, 2)))
    assert isinstance(r, plugjax.Ref)
    assert not isinstance(r, plugjax.Array)
    assert (r.shape, r.dtype, r.ndim, r.size, len(r)) == ((2, 2), np.float32, 2, 4, 2)
    assert repr(r.aval) == "Ref{float32[2,2]}"
    assert r == r
    assert plugjax.new_ref(1.0) != r
    plugjax.jit(
        lambda r: [isinstance(r, plugjax.Ref) or 1 / 0, isinstance(r, plugjax.Array) and 1 / 0]
    )(r)


def test_second_derivatives():
    def f(x):
        r = plugjax.new_ref(plugjax.numpy.zeros(2))
        r[0] = plugjax.numpy.sin(x)
        return r[0] * x

    expected = 2 * np.cos(1.3) - 1.3 * np.sin(1.3)
    np.testing.assert_allclose(plugjax.grad(plugjax.grad(f))(1.3), expected, rtol=1e-5)
    np.testing.assert_allclose(plugjax.jit(plugjax.grad(plugjax.grad(f)))(1.3), expected, rtol=1e-5)
    np.testing.assert_allclose(plugjax.jacfwd(plugjax.jacfwd(f))(1.3), expected, rtol=1e-5)


def test_second_derivatives_of_loops_with_references():
    def f(x, j):
        r = j.new_ref(j.numpy.zeros(3))

        def body(i, c):
            r[i] = j.numpy.sin(c * x)
            return c + r[i]

        return j.lax.fori_loop(0, 3, body, x) + (r[...] ** 2).sum()

    def pure(x):
        c, total = x, 0.0
        for _ in range(3):
            y = jax.numpy.sin(c * x)
            c, total = c + y, total + y**2
        return c + total

    for backend in ("numpy", "xla"):
        with plugjax.default_device(backend):
            found = plugjax.jit(plugjax.grad(plugjax.grad(lambda x: f(x, plugjax))))(0.7)
        np.testing.assert_allclose(found, jax.grad(jax.grad(pure))(0.7), rtol=1e-4)


def test_disable_jit_runs_python():
    with plugjax.disable_jit():
        r = plugjax.new_ref(plugjax.numpy.zeros(3))

        def body(i, c):
            r[i] = c
            return c * 2

        plugjax.lax.fori_loop(0, 3, body, 1.0)
        np.testing.assert_array_equal(r[...], [1, 2, 4])


def test_exported_functions_have_references_of_their_own():
    def f(x):
        r = plugjax.new_ref(plugjax.numpy.zeros(2))
        r[0] = x
        return plugjax.lax.fori_loop(0, 2, lambda i, c: c + r[i], 1.0)

    spec = plugjax.ShapeDtypeStruct((), "float32")
    exported = plugjax.export.export(plugjax.jit(f))(spec)
    np.testing.assert_array_equal(exported.call(np.float32(3.0)), 4.0)
    r = plugjax.new_ref(1.0)
    with pytest.raises(NotImplementedError, match="closes over a reference"):
        plugjax.export.export(plugjax.jit(lambda x: x + r[...]))(spec)


WRITES = {
    "a number": lambda j, n, r: j.ref.set(r, ..., 3.0),
    "an array": lambda j, n, r: j.ref.set(r, ..., n.float32(2)),
    "a sum": lambda j, n, r: j.ref.set(r, ..., r[...] + 1),
    "swapped": lambda j, n, r: j.ref.swap(r, ..., 2.0),
    "added": lambda j, n, r: j.ref.addupdate(r, ..., 2.0),
    "under jit": lambda j, n, r: j.jit(lambda r: j.ref.set(r, ..., 2 * r[...]))(r),
    "read": lambda j, n, r: r[...],
}


@pytest.mark.parametrize("name", WRITES)
def test_what_is_written_is_not_weakly_typed(name):
    found = []
    for j, n in ((plugjax, plugjax.numpy), (jax, jax.numpy)):
        for start in (1.0, 2, n.float32(0)):
            ref = j.new_ref(start)
            if not isinstance(start, int):
                WRITES[name](j, n, ref)
            found.append((repr(ref), repr(ref[...]), (ref[...] + n.bfloat16(1)).dtype))
    assert found[:3] == found[3:]


def test_what_stands_for_a_cotangent_has_no_leaves():
    for j in (plugjax, jax):
        total = j.new_ref(0.0)
        _, pull = j.vjp(lambda a, b, c: a * b + c, 1.0, 2.0, 3.0)
        pulled = pull.with_refs(total, j.ad.GradValue(), j.ad.DontWant())
        assert len(j.tree.leaves(pulled(1.0))) == len(j.make_jaxpr(pulled)(1.0).out_avals) == 1
        assert [*j.tree.leaves(pull.args_res)] == []
