"""``checkify`` with JAX as oracle: which check fires, its message, and the values."""

from types import SimpleNamespace

import jax
import jax.experimental.checkify
import numpy as np
import pytest

import plugjax
import plugjax.numpy
from plugjax.experimental import checkify
from plugjax.experimental.checkify.exceptions import (
    BatchedError,
    DivisionByZeroError,
    FailedCheckError,
    JaxException,
    NaNError,
    OOBError,
)
from plugjax.extend import Primitive, RuleSet, abstract_eval, hookimpl, impl, registry

OURS = SimpleNamespace(jax=plugjax, np=plugjax.numpy, lax=plugjax.lax, c=checkify)
THEIRS = SimpleNamespace(jax=jax, np=jax.numpy, lax=jax.lax, c=jax.experimental.checkify)
REFUSED = r"Cannot abstractly evaluate a checkify\.check which was not functionalized"

X = np.arange(5, dtype=np.float32)
INF, NAN = np.float32(np.inf), np.float32(np.nan)
ONE, MINUS = np.float32(1), np.float32(-1)


def arrays(m, args):
    return [m.np.asarray(x) for x in args]


def positive(m):
    """A function that checks its argument."""

    def f(x):
        m.c.check(x > 0, "{} is not positive, {name}", x, name=x)
        return m.np.log(x)

    return f


def scalar_at(m):
    return lambda x, i: x[i]


def custom_jvp(m):
    @m.jax.custom_jvp
    def f(x):
        m.c.check(x > 0, "custom: {}", x)
        return m.np.log(x)

    f.defjvp(lambda primals, tangents: (f(primals[0]), 10 * tangents[0]))
    return f


def custom_vjp(m):
    @m.jax.custom_vjp
    def f(x):
        m.c.check(x > 0, "custom: {}", x)
        return m.np.log(x)

    f.defvjp(lambda x: (f(x), x), lambda x, g: (g * 10 * x,))
    return f


def scan_of(m, body):
    return lambda c, xs: m.lax.scan(lambda c, x: (body(c + x), c * 2), c, xs)


def fori_of(m, body):
    return lambda x: m.lax.fori_loop(0, 3, lambda i, y: body(y - i), x)


def while_of(m):
    def condition(y):
        m.c.check(y < 4, "condition at {}", y)
        return y < 3

    def body(y):
        m.c.check(y != 1, "body at {}", y)
        return y + 1

    return lambda y: m.lax.while_loop(condition, body, y)


def count_to(m, end):
    return lambda y: m.lax.while_loop(
        lambda y: (m.c.check(y < 2, "condition at {}", y), y < end)[1], lambda y: y + 1, y
    )


def cond_of(m):
    return lambda p, x: m.lax.cond(p, positive(m), lambda x: m.np.sin(x) / x, x)


def switch_of(m):
    return lambda i, x: m.lax.switch(i, [positive(m), m.np.sqrt, lambda x: x / 0], x)


def two_checks(m):
    def f(x):
        m.c.check(x > 0, "first {}", x)
        m.c.check(x > 1, "second {}", x)
        return x

    return f


def rethrown(m):
    def f(x):
        error, y = m.c.checkify(positive(m))(x)
        m.c.check_error(error)
        return y

    return f


# A function of a module, arguments, and for which of them a check fails.
CASES = {
    "nan": (lambda m: m.np.sin, (INF,)),
    "no nan": (lambda m: m.np.sin, (ONE,)),
    "nan in jit": (lambda m: m.jax.jit(lambda x: m.np.sin(x) * 2), (INF,)),
    "nan of several": (lambda m: lambda x: m.np.log(m.np.sqrt(x)), (X - 2,)),
    "nan of complex": (lambda m: lambda x: x * x, (np.complex64(INF),)),
    "nan moved": (lambda m: lambda x: m.np.where(x > 0, x, NAN).reshape(1)[::-1], (X[:1],)),
    "maximum": (lambda m: lambda x: m.np.maximum(x, 0), (NAN,)),
    "integers": (lambda m: lambda x: x * x + 1, (np.int32(3),)),
    "power": (lambda m: lambda x: x**0.5, (MINUS,)),
    "softmax": (lambda m: m.jax.nn.softmax, (np.array([np.inf, 1], np.float32),)),
    "division": (lambda m: lambda x, y: x / y, (X, X)),
    "integer division": (lambda m: lambda x, y: x // y, (np.int32(3), np.int32(0))),
    "mean of nothing": (lambda m: m.np.mean, (X[:0],)),
    "division before nan": (lambda m: lambda x: m.np.log(x / 0 - 1) + m.np.log(x), (MINUS,)),
    "index": (scalar_at, (X, np.int32(7))),
    "index from the end": (scalar_at, (X, np.int32(-2))),
    "index before the start": (scalar_at, (X, np.int32(-7))),
    "static index": (lambda m: lambda x: x[7], (X,)),
    "static index before the start": (lambda m: lambda x: x[-7], (X,)),
    "indices": (scalar_at, (X, np.array([[1, 9], [11, 2]], np.int32))),
    "indices of two axes": (lambda m: lambda x, i: x[i, i], (X.reshape(1, 5), np.array([0, 6], np.int32))),
    "second axis": (lambda m: lambda x, i: x[:, i], (X.reshape(1, 5), np.array([0, 6], np.int32))),
    "small integers": (scalar_at, (X, np.array([3, 120], np.int8))),
    "unsigned": (scalar_at, (X, np.array([3, 250], np.uint8))),
    "no indices": (scalar_at, (X, np.zeros(0, np.int32))),
    "take_along_axis": (lambda m: lambda x, i: m.np.take_along_axis(x, i, 0), (X, np.array([9], np.int32))),
    "set": (lambda m: lambda x, i: x.at[i].set(1), (X, np.int32(7))),
    "add": (lambda m: lambda x, i: x.at[i].add(1), (X, np.array([-6, 1], np.int32))),
    "multiply": (lambda m: lambda x, i: x.at[i].multiply(2), (X, np.array([3, 5], np.int32))),
    "dynamic_slice": (lambda m: lambda x, i: m.lax.dynamic_slice(x, (i,), (2,)), (X, np.int32(4))),
    "dynamic_slice inside": (lambda m: lambda x, i: m.lax.dynamic_slice(x, (i,), (2,)), (X, np.int32(3))),
    "dynamic_update_slice": (
        lambda m: lambda x, i: m.lax.dynamic_update_slice(x, x[:2], (i,)), (X, np.int32(4)),
    ),
    "check": (positive, (MINUS,)),
    "check holds": (positive, (ONE,)),
    "check in jit": (lambda m: m.jax.jit(positive(m)), (MINUS,)),
    "check of NumPy's array": (lambda m: lambda x: m.c.check(x > 0, "{}", np.arange(3)), (MINUS,)),
    "debug_check": (lambda m: lambda x: m.c.debug_check(x > 0, "debug {}", x), (MINUS,)),
    "first of two": (two_checks, (MINUS,)),
    "second of two": (two_checks, (ONE,)),
    "check, then nan": (lambda m: lambda x: (m.c.check(x < 0, "check"), m.np.sin(x))[1], (INF,)),
    "check_error": (rethrown, (MINUS,)),
    "check_error in jit": (lambda m: m.jax.jit(rethrown(m)), (MINUS,)),
    "scan": (lambda m: scan_of(m, positive(m)), (ONE, X - 3)),
    "scan without failure": (lambda m: scan_of(m, m.np.sin), (ONE, X)),
    "scan with nan": (lambda m: scan_of(m, lambda x: x / (x - x)), (ONE, X)),
    "scan with an index": (lambda m: lambda x, i: m.lax.scan(lambda c, j: (c, x[j]), 0, i), (X, np.array([1, 8, 9], np.int32))),
    "reversed scan": (lambda m: lambda xs: m.lax.scan(lambda c, x: (c, positive(m)(x)), 0, xs, reverse=True), (X - 3,)),
    "scan of nothing": (lambda m: scan_of(m, positive(m)), (ONE, X[:0])),
    "fori_loop": (lambda m: fori_of(m, positive(m)), (ONE,)),
    "while condition and body": (while_of, (np.int32(0),)),
    "while body": (while_of, (np.int32(1),)),
    "while not entered": (while_of, (np.int32(5),)),
    "while condition after a step": (lambda m: count_to(m, 3), (np.int32(0),)),
    "while condition before a step": (lambda m: count_to(m, 3), (np.int32(2),)),
    "while without checks": (lambda m: lambda x: m.lax.while_loop(lambda y: y < 3, lambda y: y + 1, x), (ONE,)),
    "cond, true": (cond_of, (np.bool_(True), MINUS)),
    "cond, false": (cond_of, (np.bool_(False), np.float32(0))),
    "cond, no failure": (cond_of, (np.bool_(False), MINUS)),
    "switch": (switch_of, (np.int32(1), MINUS)),
    "switch, check": (switch_of, (np.int32(0), MINUS)),
    "loop in a branch": (
        lambda m: lambda p, x: m.lax.cond(p, fori_of(m, positive(m)), lambda x: x, x), (np.bool_(True), ONE),
    ),
    "custom_jvp": (custom_jvp, (MINUS,)),
    "custom_vjp": (custom_vjp, (MINUS,)),
    "custom_jvp in jit": (lambda m: m.jax.jit(custom_jvp(m)), (MINUS,)),
    "custom_vjp in jit": (lambda m: m.jax.jit(custom_vjp(m)), (MINUS,)),
    "checkpoint": (lambda m: m.jax.checkpoint(positive(m)), (MINUS,)),
    "grad": (lambda m: m.jax.grad(positive(m)), (MINUS,)),
    "grad of norm": (lambda m: m.jax.grad(m.np.linalg.norm), (np.zeros(2, np.float32),)),
    "grad of grad": (lambda m: m.jax.grad(m.jax.grad(positive(m))), (MINUS,)),
    "jvp": (lambda m: lambda x: m.jax.jvp(positive(m), (x,), (x,)), (MINUS,)),
    "grad of scan": (
        lambda m: m.jax.grad(lambda c, xs: scan_of(m, positive(m))(c, xs)[0]), (ONE, X - 3),
    ),
    "grad of cond": (lambda m: m.jax.grad(cond_of(m), argnums=1), (np.bool_(True), MINUS)),
    "grad of checkpoint": (lambda m: m.jax.grad(m.jax.checkpoint(positive(m))), (MINUS,)),
    "grad of custom_jvp": (lambda m: m.jax.grad(custom_jvp(m)), (MINUS,)),
    "grad of custom_vjp": (lambda m: m.jax.grad(custom_vjp(m)), (MINUS,)),
    "vmap": (lambda m: m.jax.vmap(positive(m)), (X - 2,)),
    "vmap, one fails": (lambda m: m.jax.vmap(positive(m)), (X,)),
    "vmap of an index": (lambda m: m.jax.vmap(scalar_at(m), (None, 0)), (X, np.array([1, 9, 11], np.int32))),
    "vmap of scan": (
        lambda m: m.jax.vmap(scan_of(m, positive(m)), (0, None)), (X[:2], X[:3]),
    ),
    "vmap of custom_jvp": (lambda m: m.jax.vmap(custom_jvp(m)), (X,)),
    "vmap of grad": (lambda m: m.jax.vmap(m.jax.grad(positive(m))), (X,)),
}  # fmt: skip
# Several checks fail, and the order of the operations in a derivative is the library's own.
SEVERAL = {"grad of norm", "grad of grad", "grad of scan"}


def outcome(m, name, errors, transform=lambda m, f: f):
    make, args = CASES[name]
    checked = transform(m, m.c.checkify(make(m), errors=getattr(m.c, errors)))
    error, out = checked(*arrays(m, args))
    message = error.get()
    leaves = [np.asarray(y) for y in m.jax.tree.leaves(out)]
    return message.strip() if message is not None else None, leaves


def compare(name, errors, transform=lambda m, f: f):
    expected, values = outcome(THEIRS, name, errors, transform)
    message, found = outcome(OURS, name, errors, transform)
    assert message == expected or (name in SEVERAL and message and expected)
    assert len(found) == len(values)
    for a, b in zip(found, values, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4)
    return message


@pytest.mark.spread(8)
@pytest.mark.parametrize("name", CASES)
def test_agrees_with_jax(name):
    compare(name, "all_checks")


@pytest.mark.spread(6)
@pytest.mark.parametrize("name", CASES)
def test_agrees_with_jax_under_jit(name):
    compare(name, "all_checks", lambda m, f: m.jax.jit(f))


@pytest.mark.parametrize("errors", ["user_checks", "nan_checks", "div_checks", "index_checks"])
@pytest.mark.parametrize(
    "name", ["cond, false", "switch", "scan", "index", "check, then nan", "division"]
)
def test_only_enabled_checks_count(name, errors):
    compare(name, errors)


SPREAD = (
    "nan of several", "integer division", "index", "indices of two axes", "set", "dynamic_slice", "check in jit", "second of two",
    "scan", "scan with an index", "while condition and body", "cond, true", "cond, false", "custom_jvp in jit", "checkpoint",
    "grad of cond", "vmap, one fails", "check_error in jit",
)  # fmt: skip


@pytest.mark.spread(8)
@pytest.mark.parametrize("name", SPREAD)
def test_every_backend_runs_the_pure_program(name, on_backend):
    compare(name, "all_checks", lambda m, f: m.jax.jit(f))


def both(make, *args):
    """Message and result of ours, compared with JAX's."""
    outcomes = []
    for m in (OURS, THEIRS):
        error, out = make(m)(*arrays(m, args))
        outcomes.append((error.get(), [np.asarray(y) for y in m.jax.tree.leaves(out)]))
    (message, found), (expected, values) = outcomes
    assert message == expected
    for a, b in zip(found, values, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)
    return message


# Each is mapped over five values, of which some fail.
MAPPED = {
    "check": positive,
    "division": lambda m: lambda x: m.np.log(x) / (x - 3),
    "index": lambda m: lambda x: m.np.arange(3)[x.astype(np.int32)],
    "scan": lambda m: lambda x: scan_of(m, positive(m))(x, m.np.arange(3.0)),
    "while": lambda m: lambda x: while_of(m)(x.astype(np.int32)),
    "cond": lambda m: lambda x: cond_of(m)(x > 2, x),
    "custom_jvp": custom_jvp,
    "custom_vjp": custom_vjp,
    "checkpoint": lambda m: m.jax.checkpoint(positive(m)),
    "grad": lambda m: m.jax.grad(positive(m)),
}


@pytest.mark.spread(6)
@pytest.mark.parametrize("jitted", [False, True])
@pytest.mark.parametrize("name", MAPPED)
def test_vmap_of_checkify_has_an_error_for_each_instance(name, jitted):
    def make(m):
        f = m.jax.vmap(m.c.checkify(MAPPED[name](m), errors=m.c.all_checks))
        return m.jax.jit(f) if jitted else f

    single = checkify.checkify(MAPPED[name](OURS), errors=checkify.all_checks)
    messages = [single(x)[0].get() for x in plugjax.numpy.asarray(X)]
    lines = [f"at mapped index {i}: {text}" for i, text in enumerate(messages) if text is not None]
    assert lines
    assert make(OURS)(plugjax.numpy.asarray(X))[0].get() == "\n".join(lines)
    if name != "while":  # JAX cannot map it.
        theirs = make(THEIRS)(jax.numpy.asarray(X))[0].get()
        assert [line.rstrip() for line in theirs.split("\n")] == lines


def test_vmap_of_vmap_of_checkify():
    message = both(lambda m: m.jax.vmap(m.jax.vmap(m.c.checkify(positive(m)))), X[:4].reshape(2, 2))
    assert message == "at mapped index 0, 0: 0.0 is not positive, 0.0 (`check` failed)"


@pytest.mark.spread(6)
@pytest.mark.parametrize(
    "name", ["check", "custom_vjp", "custom_jvp", "checkpoint", "scan", "cond"]
)
@pytest.mark.parametrize("x", [-1.0, 2.5])
def test_grad_of_checkify(name, x):
    """The derivative is that of the function; its error is the function's own."""

    def total(m, f):
        return lambda x: sum(y.sum() for y in m.jax.tree.leaves(f(x)))

    function = total(OURS, MAPPED[name](OURS))
    checked = checkify.checkify(function, errors=checkify.user_checks)

    def loss(x):
        error, y = checked(x)
        return y, error

    unchecked = SimpleNamespace(check=lambda *_, **__: None)
    expected = jax.grad(
        total(THEIRS, MAPPED[name](SimpleNamespace(**{**vars(THEIRS), "c": unchecked})))
    )(x)
    message = checked(plugjax.numpy.asarray(x))[0].get()
    for transform in (lambda f: f, plugjax.jit):
        slope, error = transform(plugjax.grad(loss, has_aux=True))(x)
        np.testing.assert_allclose(slope, expected, rtol=1e-5)
        assert error.get() == message


def test_jvp_and_second_derivatives_of_checkify():
    f = checkify.checkify(lambda x: positive(OURS)(x) ** 3)
    slope = lambda x: plugjax.grad(lambda x: f(x)[1])(x)  # noqa: E731
    np.testing.assert_allclose(
        plugjax.grad(slope)(2.0), (6 * np.log(2) - 3 * np.log(2) ** 2) / 4, rtol=1e-5
    )
    (error, _), _ = plugjax.jvp(f, (-1.0,), (1.0,))
    assert error.get().startswith("-1.0 is not positive")


def test_an_error_is_a_pytree_that_programs_take_and_give():
    error, _ = plugjax.jit(checkify.checkify(plugjax.numpy.log, checkify.nan_checks))(-1.0)
    again = plugjax.jit(lambda e: plugjax.tree.map(lambda x: x, e))(error)
    assert again.get() == "nan generated by primitive: log."
    assert isinstance(again.get_exception(), NaNError)
    assert str(again) == "Error(nan generated by primitive: log.)"
    assert checkify.init_error.get() is None
    assert plugjax.tree.leaves(checkify.init_error) == []


def test_exceptions_by_category():
    def category(f, *args):
        error, _ = checkify.checkify(f, errors=checkify.all_checks)(*args)
        return type(error.get_exception())

    x = plugjax.numpy.asarray(X)
    assert category(positive(OURS), x[0]) is FailedCheckError
    assert category(plugjax.numpy.log, x[1] - 2) is NaNError
    assert category(lambda x: x / 0, x) is DivisionByZeroError
    assert category(lambda x: x[9], x) is OOBError
    mapped = plugjax.vmap(checkify.checkify(positive(OURS)))(x)[0].get_exception()
    assert isinstance(mapped, BatchedError)
    assert list(mapped.error_mapping) == [(0,)]


def test_outside_of_checkify_a_check_raises():
    f, minus = positive(OURS), plugjax.numpy.asarray(MINUS)
    for run in (f, plugjax.grad(f), lambda x: plugjax.vmap(f)(x[None]), plugjax.checkpoint(f)):
        with pytest.raises(
            checkify.JaxRuntimeError, match=r"-1.0 is not positive, -1.0 \(`check` failed\)"
        ) as caught:
            run(minus)
        assert isinstance(caught.value, ValueError)
        assert isinstance(caught.value.__cause__, FailedCheckError)
        assert __file__ in caught.value.__notes__[0]
    assert f(-minus) == 0


def test_check_of_a_mapped_function_names_the_last_instance():
    for m, error in ((OURS, checkify.JaxRuntimeError), (THEIRS, THEIRS.c.JaxRuntimeError)):
        with pytest.raises(error, match=r"-1\.0 is not positive"):
            m.jax.vmap(positive(m))(m.np.array([1.0, -3.0, -1.0, 4.0]))


@pytest.mark.parametrize(
    "run",
    [
        lambda m, f, x: m.jax.jit(f)(x),
        lambda m, f, x: m.lax.scan(lambda c, y: (c, f(y)), 0.0, x[None]),
        lambda m, f, x: m.lax.cond(x > 0, f, lambda x: x, x),
        lambda m, f, x: m.lax.fori_loop(0, 3, lambda i, y: f(y), x),
        lambda m, f, x: m.jax.jit(m.jax.grad(f))(x),
    ],
)
def test_a_compiled_check_is_refused(run, backend):
    with plugjax.default_device(backend), pytest.raises(ValueError, match=REFUSED):
        run(OURS, positive(OURS), plugjax.numpy.asarray(ONE))
    with pytest.raises(ValueError, match=REFUSED):
        run(THEIRS, positive(THEIRS), jax.numpy.asarray(ONE))


def test_debug_check_does_nothing_outside_of_checkify(backend):
    def f(x):
        checkify.debug_check(x > 0, "not positive")
        return x

    with plugjax.default_device(backend):
        assert f(plugjax.numpy.asarray(MINUS)) == -1
        assert plugjax.jit(f)(MINUS) == -1


@pytest.mark.parametrize(
    ("pred", "fields"),
    [(np.bool_(True), ()), (1, ()), (None, ()), (np.ones(2) > 0, ()), (True, (1.0,)), (True, ("a",)), (True, (np.float32(1),))],
)  # fmt: skip
def test_malformed_checks(pred, fields):
    for m in (OURS, THEIRS):
        with pytest.raises(TypeError):
            m.c.check(pred, "message", *fields)
        with pytest.raises(TypeError):
            m.c.checkify(lambda m=m: m.c.check(pred, "message", *fields))()
        with pytest.raises(TypeError, match="check_error takes an Error as argument"):
            m.c.check_error(3)


def test_nested_checkify_splits_the_categories():
    """The inner error is a value; what it does not enable is dropped there."""

    def make(m):
        def f(x):
            error, y = m.c.checkify(lambda x: m.np.log(positive(m)(x)), errors=m.c.user_checks)(x)
            return error.get is None, y

        return m.c.checkify(f, errors=m.c.nan_checks)

    assert both(make, MINUS) == "nan generated by primitive: log."


def test_errors_of_a_scan_over_a_checked_function():
    def make(m):
        def f(xs):
            _, errors = m.lax.scan(lambda c, x: (c, m.c.checkify(positive(m))(x)[0]), 0, xs)
            return errors, ()

        return f

    assert both(make, X - 1).count("at mapped index") == 2


def test_a_program_without_checks_stays_as_it_is():
    f = checkify.checkify(
        lambda x: plugjax.lax.fori_loop(0, 3, lambda i, y: plugjax.numpy.sin(y), x)
    )
    assert str(plugjax.make_jaxpr(lambda x: f(x)[1])(1.0)) == str(
        plugjax.make_jaxpr(
            lambda x: plugjax.lax.fori_loop(0, 3, lambda i, y: plugjax.numpy.sin(y), x)
        )(1.0)
    )


def test_the_discharged_program_calls_no_python():
    f = checkify.checkify(scan_of(OURS, positive(OURS)), errors=checkify.all_checks)
    program = plugjax.make_jaxpr(f)(1.0, X)
    assert not program.effects
    assert "callback" not in str(program)


def test_a_check_in_a_jaxpr():
    program = plugjax.make_jaxpr(positive(OURS))(1.0)
    assert "check[debug=False]" in str(program)
    assert [repr(effect) for effect in program.effects] == ["Check"]


def test_what_the_first_failure_is_does_not_depend_on_jit():
    def f(x):
        y = plugjax.numpy.sin(x)
        checkify.check(x < 0, "negative")
        return y

    for g in (f, plugjax.jit(f)):
        error, _ = checkify.checkify(g, errors=checkify.all_checks)(plugjax.numpy.asarray(INF))
        assert error.get() == "nan generated by primitive: sin."


def test_nan_of_a_primitive_without_a_rule():
    f = checkify.checkify(plugjax.numpy.linalg.cholesky, errors=checkify.nan_checks)
    assert f(-plugjax.numpy.eye(2))[0].get() == "nan generated by primitive: cholesky."
    assert f(plugjax.numpy.eye(2))[0].get() is None


def test_vmap_of_a_while_loop_inside():
    error, out = checkify.checkify(plugjax.vmap(while_of(OURS)))(plugjax.numpy.array([2, 3, 5]))
    assert error.get() == "condition at 5 (`check` failed)"
    assert out.tolist() == [3, 3, 5]


def test_a_plugin_checks_its_own_primitive():
    """A rule, a category and a message from outside."""
    rules, halve_p = RuleSet(__name__), Primitive("halve")

    class OddError(JaxException):
        def __init__(self, x):
            super().__init__(x)
            self.x = x

        def __str__(self):
            return f"{self.x} is odd"

    @rules.define(abstract_eval, halve_p)
    def _aval(x):
        return x

    @rules.define(impl, halve_p)
    def _impl(x):
        return x // 2

    @rules.define(checkify.error_check, halve_p)
    def _check(checks, x):
        checks.add(plugjax.lax.ne(x % 2, 0), OddError, lambda payload: OddError(*payload), [x])
        return halve_p.bind(x)

    class Plugin:
        @hookimpl
        def plugjax_rules(self):
            return [rules]

    with registry.use(registry.active().extended(Plugin())):
        f = checkify.checkify(plugjax.jit(halve_p.bind), errors=frozenset({OddError}))
        error, out = f(plugjax.numpy.asarray(7))
        assert (error.get(), int(out)) == ("7 is odd", 3)
        assert f(plugjax.numpy.asarray(6))[0].get() is None


def test_printing_inside(capsys):
    def f(x):
        plugjax.debug.print("x is {}", x)
        return positive(OURS)(x)

    error, _ = plugjax.jit(checkify.checkify(f))(-1.0)
    assert error.get() is not None
    assert capsys.readouterr().out == "x is -1.0\n"


def test_a_function_that_closes_over_what_is_differentiated():
    def f(x):
        inner = plugjax.checkpoint(lambda y: positive(OURS)(y) * x)
        return plugjax.lax.cond(x > 0, lambda: inner(x), lambda: x)

    slope = plugjax.grad(lambda x: checkify.checkify(f)(x)[1])
    np.testing.assert_allclose(slope(2.0), np.log(2) + 1, rtol=1e-5)
    np.testing.assert_allclose(plugjax.jit(slope)(2.0), np.log(2) + 1, rtol=1e-5)


def test_a_matrix_is_solved_with_its_derivative():
    solve = checkify.checkify(plugjax.numpy.linalg.solve, errors=checkify.float_checks)
    a, b = np.array([[2, 1], [1, 3]], np.float32), np.array([1, 2], np.float32)
    error, x = plugjax.jit(solve)(a, b)
    assert error.get() is None
    np.testing.assert_allclose(a @ x, b, rtol=1e-5)
    found = plugjax.jacobian(lambda b: solve(a, b)[1])(b)
    np.testing.assert_allclose(found, np.linalg.inv(a), rtol=1e-5)


def test_wide_numbers_and_indices():
    with plugjax.enable_x64(True):
        f = checkify.checkify(lambda x, i: plugjax.numpy.log(x)[i], errors=checkify.all_checks)
        error, out = plugjax.jit(f)(X.astype(np.float64) + 1, np.int64(9))
        assert error.get().startswith("out-of-bounds indexing for array of shape (5,): index 9 ")
        assert out.dtype == np.float64
        assert (
            f(-X.astype(np.float64) - 1, np.int64(0))[0].get() == "nan generated by primitive: log."
        )
        mapped = plugjax.vmap(checkify.checkify(positive(OURS)))(
            plugjax.numpy.asarray(X, np.float64)
        )
        with pytest.raises(checkify.JaxRuntimeError, match=r"0\.0 is not positive"):
            mapped[0].throw()


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float8_e4m3fn", "complex64"])
def test_nan_of_every_width(dtype):
    f = checkify.checkify(lambda x: x * x, errors=checkify.nan_checks)
    for value, message in ((np.nan, "nan generated by primitive: mul."), (1.0, None)):
        assert f(plugjax.numpy.asarray(value, dtype))[0].get() == message


CLEAN = {
    "variance": (lambda m: m.np.var, (X,)),
    "norm": (lambda m: m.np.linalg.norm, (X,)),
    "median": (lambda m: m.np.median, (X,)),
    "interp": (lambda m: lambda x: m.np.interp(x, X, X), (X + 9,)),
    "histogram": (lambda m: lambda x: m.np.histogram(x, 3)[0], (X,)),
    "searchsorted": (lambda m: lambda x: m.np.searchsorted(X, x), (X * 3 - 1,)),
    "convolve": (lambda m: lambda x: m.np.convolve(x, x), (X,)),
    "fft": (lambda m: lambda x: m.np.abs(m.np.fft.fft(x)), (X,)),
    "one_hot": (lambda m: lambda i: m.jax.nn.one_hot(i, 3), (np.array([0, 7], np.int32),)),
    "nansum": (lambda m: m.np.nansum, (X * np.array([np.nan, 1, 1, 1, 1], np.float32),)),
    "gradient of gelu": (lambda m: m.jax.grad(lambda x: m.jax.nn.gelu(x).sum()), (X,)),
    "gradient of relu": (lambda m: m.jax.grad(lambda x: m.jax.nn.relu(x).sum()), (X,)),
    "gradient of logsumexp": (lambda m: m.jax.grad(m.jax.nn.logsumexp), (X,)),
    "random numbers": (lambda m: lambda x: x + 0 * m.jax.random.normal(m.jax.random.key(0), (5,)), (X,)),
    "permutation": (lambda m: lambda x: 0 * m.jax.random.permutation(m.jax.random.key(0), x), (X,)),
    "training step": (
        lambda m: m.jax.value_and_grad(lambda w: ((m.np.tanh(X @ w) - 1) ** 2).mean()), (X.repeat(2).reshape(5, 2) / 9,),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CLEAN)
def test_programs_without_failures(name, monkeypatch):
    monkeypatch.setitem(CASES, name, CLEAN[name])
    assert compare(name, "all_checks", lambda m, f: m.jax.jit(f)) is None


@pytest.mark.parametrize("m", [THEIRS, OURS], ids=["jax", "plugjax"])
def test_checks_in_compiled_functions_leak_no_tracers(m):
    with m.jax.checking_leaks():
        error, _ = m.c.checkify(m.jax.jit(positive(m)))(m.np.float32(-1))
    assert "-1.0 is not positive" in error.get()
