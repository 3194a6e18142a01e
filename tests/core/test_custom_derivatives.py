"""custom_jvp, custom_vjp, custom_gradient, closure_convert, custom_vmap: against JAX, in compositions and in errors."""

from functools import partial

import jax
import jax.custom_batching
import jax.custom_derivatives
import jax.numpy as jnp
import numpy as np
import pytest

import plugjax
import plugjax.custom_batching
import plugjax.custom_derivatives
import plugjax.numpy as pnp
from plugjax.core.errors import CustomJVPException, CustomVJPException, UnexpectedTracerError

X, Y = np.float32(0.7), np.float32(1.3)
AXIS = np.arange(3.0, dtype=np.float32)
XS = np.linspace(-1, 1, 4).astype(np.float32)


def programs(j, np_):
    """Functions of two scalars with custom derivatives that are not their true ones."""

    @j.custom_jvp
    def forward(x, y):
        return np_.sin(x) * y

    @forward.defjvp
    def forward_jvp(primals, tangents):
        x, y = primals
        x_dot, y_dot = tangents
        return forward(x, y), 2 * np_.cos(x) * x_dot * y + np_.sin(x) * y_dot

    @j.custom_jvp
    def parts(x, y):
        return x * y * y

    parts.defjvps(lambda t, out, x, y: 3 * t * y, None)

    @j.custom_vjp
    def reverse(x, y):
        return np_.sin(x) * y, x + y

    def fwd(x, y):
        return reverse(x, y), {"x": x, "rest": (y, np_.cos(x))}

    def bwd(res, bars):
        a, b = bars
        y, cosine = res["rest"]
        return 3 * cosine * a * y + b, np_.sin(res["x"]) * a

    reverse.defvjp(fwd, bwd)

    @partial(j.custom_vjp, nondiff_argnums=(0,))
    def applied(f, x, tree):
        return f(x) * tree["y"]

    applied.defvjp(
        lambda f, x, tree: (applied(f, x, tree), (x, tree)),
        lambda f, res, g: (g * f(res[0]), {"y": None}),
    )

    @partial(j.custom_jvp, nondiff_argnums=(1,))
    def power(x, n):
        return x**n

    @power.defjvp
    def power_jvp(n, primals, tangents):
        return power(primals[0], n), 7 * tangents[0]

    def silent(t, x):
        zero = type(t) is j.custom_derivatives.SymbolicZero
        return 0 * x if zero else t

    @j.custom_jvp
    def choosy(x, y):
        return x * y

    @partial(choosy.defjvp, symbolic_zeros=True)
    def choosy_jvp(primals, tangents):
        (x, y), (tx, ty) = primals, tangents
        bonus = 100.0 if type(ty) is j.custom_derivatives.SymbolicZero else 0.0
        return x * y, silent(tx, x) * (y + bonus) + silent(ty, y) * x

    @j.custom_vjp
    def symbolic(x, y):
        return x * y

    def symbolic_fwd(x, y):
        bonus = 10.0 if x.perturbed and not y.perturbed else 0.0
        return x.value * y.value, (x.value, y.value, bonus * x.value)

    def symbolic_bwd(res, g):
        x, y, bonus = res
        return g * (y + bonus), g * x

    symbolic.defvjp(symbolic_fwd, symbolic_bwd, symbolic_zeros=True)

    def gradient(x, y):
        return np_.tanh(x * y), lambda g: (g * np_.cos(x * y), None)

    tangled = j.custom_gradient(gradient)

    def converted(x, y):
        inner, hoisted = j.closure_convert(lambda a: np_.sin(a * y), x)
        g = j.custom_vjp(lambda a, *hs: inner(a, *hs))
        g.defvjp(
            lambda a, *hs: (inner(a, *hs), hs), lambda hs, bar: (2 * bar, *(bar * h for h in hs))
        )
        return g(x, *hoisted)

    return {
        "custom_jvp": forward,
        "defjvps": parts,
        "custom_vjp": lambda x, y: (lambda o: o[0] * 2 + o[1])(reverse(x, y)),
        "one output": lambda x, y: reverse(x, y)[0] * y,
        "nondiff function": lambda x, y: applied(np_.sin, x, {"y": y}),
        "nondiff number": lambda x, y: power(x, 3) * y,
        "symbolic zeros": choosy,
        "symbolic zeros, one silent": lambda x, y: choosy(x, np_.float32(2)) * y,
        "symbolic zeros in reverse": lambda x, y: symbolic(x, np_.float32(2)) * y,
        "custom_gradient": tangled,
        "closure_convert": converted,
        "in jit": lambda x, y: j.jit(forward)(x, y) * j.jit(reverse)(y, x)[0],
        "in cond": lambda x, y: j.lax.cond(x > 0, forward, lambda a, b: reverse(a, b)[0], x, y),
        "in scan": lambda x, y: j.lax.scan(
            lambda c, _: (reverse(c, y)[0] * 0.5 + c, c), x, None, length=3
        )[0],
        "in while": lambda x, y: j.lax.fori_loop(0, 3, lambda i, c: reverse(c, y)[0] * 0.5 + c, x),
        "mapped": lambda x, y: j.vmap(forward, (0, None))(x * XS, y).sum(),
        "mapped reverse": lambda x, y: j.vmap(reverse, (0, None))(x * XS, y)[0].sum(),
        "checkpointed": lambda x, y: j.checkpoint(reverse)(x, y)[0] * j.checkpoint(forward)(y, x),
    }


def compositions(j):
    def both(f):
        return j.grad(f, (0, 1))

    return {
        "value": lambda f: lambda x, y: f(j.device_put(x), j.device_put(y)),
        "jit": j.jit,
        "grad": both,
        "jit grad": lambda f: j.jit(both(f)),
        "grad jit": lambda f: both(j.jit(f)),
        "jvp": lambda f: lambda x, y: j.jvp(f, (x, y), (y, x)),
        "grad of grad": lambda f: j.grad(lambda x, y: j.grad(f)(x, y) * 1.0, 1),
        "hessian": lambda f: j.hessian(f),
        "vmap": lambda f: lambda x, y: j.vmap(f, (0, None))(XS, y),
        "vmap grad": lambda f: lambda x, y: j.vmap(both(f), (None, 0))(x, XS),
        "vmap vmap": lambda f: lambda x, y: j.vmap(j.vmap(f, (0, None)), (None, 0))(XS, XS[:2]),
        "grad vmap": lambda f: (
            lambda x, y: both(lambda a, b: j.vmap(f, (0, None))(a, b).sum())(XS, y)
        ),
        "jit grad vmap": lambda f: j.jit(
            lambda x, y: both(lambda a, b: j.vmap(f, (None, 0))(a, b).sum())(x, XS)
        ),
        "linearize": lambda f: lambda x, y: j.vjp(f, x, y)[1](np.float32(2.0)),
    }


def outcome(function):
    """The leaves of a result, or the type of the error."""
    try:
        return [np.asarray(v) for v in jax.tree.leaves(function())]
    except Exception as error:
        return type(error)


OURS, THEIRS = programs(plugjax, pnp), programs(jax, jnp)


def same(found, wanted):
    if isinstance(wanted, type) or isinstance(found, type):
        assert found is wanted
        return
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted, strict=True):
        assert a.shape == b.shape
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-5)


@pytest.mark.spread(8)
@pytest.mark.parametrize("composition", compositions(jax))
@pytest.mark.parametrize("program", THEIRS)
def test_against_jax(program, composition):
    with plugjax.default_device("numpy"):
        found = outcome(lambda: compositions(plugjax)[composition](OURS[program])(X, Y))
    same(found, outcome(lambda: compositions(jax)[composition](THEIRS[program])(X, Y)))


@pytest.mark.spread(16)
@pytest.mark.parametrize("program", THEIRS)
@pytest.mark.parametrize("composition", ["jit grad", "jit grad vmap"])
@pytest.mark.parametrize("device", ["xla", "iree"])
def test_compiled_against_jax(program, composition, device):
    with plugjax.default_device(device):
        found = outcome(lambda: compositions(plugjax)[composition](OURS[program])(X, Y))
    same(found, outcome(lambda: compositions(jax)[composition](THEIRS[program])(X, Y)))


def test_second_derivatives_in_scan_follow_the_rule():
    """JAX drops a custom_jvp rule at the second order in a scan; here a scan agrees with the unrolled loop."""
    f = OURS["custom_jvp"]

    def scanned(x):
        return plugjax.lax.scan(lambda c, _: (f(c, Y) * 0.5 + c, None), x, None, length=3)[0]

    def unrolled(x):
        for _ in range(3):
            x = f(x, Y) * 0.5 + x
        return x

    first = plugjax.grad(plugjax.grad(scanned))(X)
    np.testing.assert_allclose(first, plugjax.grad(plugjax.grad(unrolled))(X), rtol=1e-5)


def test_rules_see_concrete_values_without_jit():
    """Python control flow on values works in functions and rules, and so does a debugger."""

    @plugjax.custom_jvp
    def f(x):
        return x if x > 0 else -x

    @f.defjvp
    def f_jvp(primals, tangents):
        return f(*primals), (5.0 if primals[0] > 0 else 7.0) * tangents[0]

    assert float(plugjax.grad(f)(2.0)) == 5.0
    assert float(plugjax.grad(f)(-2.0)) == 7.0


def test_integers_have_no_tangents():
    def of(j, np_):
        @j.custom_vjp
        def pick(x, i):
            return x[i]

        pick.defvjp(
            lambda x, i: (x[i], (x, i)),
            lambda res, g: (np_.zeros_like(res[0]).at[res[1]].set(g), None),
        )
        return j.grad(lambda x: pick(x, 2))(np.arange(4.0, dtype=np.float32))

    np.testing.assert_array_equal(of(plugjax, pnp), of(jax, jnp))


BAD = {
    "no jvp": lambda j, np_: j.custom_jvp(np_.sin)(1.0),
    "no vjp": lambda j, np_: j.custom_vjp(np_.sin)(1.0),
    "no vmap": lambda j, np_: j.custom_batching.custom_vmap(np_.sin)(1.0),
    "arguments": lambda j, np_: ruled(j, np_.sin, lambda p, t: (p[0], t[0]))(1.0, 2.0),
    "no pair": lambda j, np_: j.grad(ruled(j, lambda x: x, lambda p, t: t[0]))(1.0),
    "trees": lambda j, np_: j.grad(ruled(j, lambda x: x, lambda p, t: (p[0], t)))(1.0),
    "tangent shape": lambda j, np_: j.grad(
        ruled(j, lambda x: x, lambda p, t: (p[0], np_.ones(3)))
    )(1.0),
    "tangent dtype": lambda j, np_: j.grad(
        ruled(j, lambda x: x, lambda p, t: (p[0], np_.array(1, np_.int32)))
    )(1.0),
    "primal tree": lambda j, np_: j.jit(
        j.grad(ruled(j, lambda x: x, lambda p, t: ((p[0],), (t[0],))))
    )(1.0),
    "fwd no pair": lambda j, np_: j.grad(reversed_(j, lambda x: x, lambda r, g: (g,)))(1.0),
    "bwd no tuple": lambda j, np_: j.grad(reversed_(j, lambda x: (x, x), lambda r, g: g))(1.0),
    "bwd count": lambda j, np_: j.grad(reversed_(j, lambda x: (x, x), lambda r, g: (g, g)))(1.0),
    "bwd structure": lambda j, np_: j.grad(
        reversed_(j, lambda x: (x["a"], x), lambda r, g: ([g],))
    )({"a": 1.0}),
    "bwd shape": lambda j, np_: j.grad(
        reversed_(j, lambda x: (x, x), lambda r, g: (np_.ones(3),))
    )(1.0),
    "forward mode": lambda j, np_: j.jvp(
        reversed_(j, lambda x: (x, x), lambda r, g: (g,)), (1.0,), (1.0,)
    ),
    "linear part": lambda j, np_: j.linearize(
        reversed_(j, lambda x: (x, x), lambda r, g: (g,)), 1.0
    )[1](1.0),
    "nondiff tracer": lambda j, np_: j.jit(
        lambda y: _nondiff(j)(y, 1.0)
    )(1.0),
    "defjvps": lambda j, np_: j.custom_jvp(lambda x, n: x, nondiff_argnums=(1,)).defjvps(None),
    "closed over": lambda j, np_: j.grad(
        lambda y: ruled(j, lambda x: x * y, lambda p, t: (p[0] * y, t[0]))(1.0)
    )(1.0),
    "vmap rule trees": lambda j, np_: j.vmap(
        mapped(j, lambda x: x, lambda n, b, x: (x, (b[0], b[0])))
    )(np_.arange(3.0)),
    "vmap rule output": lambda j, np_: j.jit(j.vmap(
        mapped(j, lambda x: x, lambda n, b, x: ((x, x), (True, True)))
    ))(np_.arange(3.0)),
}  # fmt: skip


def ruled(j, fun, jvp):
    f = j.custom_jvp(fun)
    f.defjvp(jvp)
    return f


def reversed_(j, fwd, bwd):
    f = j.custom_vjp(lambda x: x)
    f.defvjp(fwd, bwd)
    return f


def mapped(j, fun, rule):
    f = j.custom_batching.custom_vmap(fun)
    f.def_vmap(rule)
    return f


def _nondiff(j):
    f = j.custom_vjp(lambda n, x: x, nondiff_argnums=(0,))
    f.defvjp(lambda n, x: (x, None), lambda n, r, g: (g,))
    return f


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_the_error_of_jax(case):
    wanted = outcome(lambda: BAD[case](jax, jnp))
    found = outcome(lambda: BAD[case](plugjax, pnp))
    if isinstance(wanted, type):
        assert isinstance(found, type)
        assert found.__name__ == wanted.__name__
    else:
        same(found, wanted)


def vmapped(j, np_):
    """Functions with batching rules that differ visibly from ``vmap``'s."""
    f = mapped(j, lambda x, y: np_.sin(x) * y, None)

    @f.def_vmap
    def rule(axis_size, in_batched, x, y):
        assert isinstance(axis_size, int)
        flag = 10.0 * in_batched[0] + 100.0 * in_batched[1]
        out = np_.sin(x) * y + flag
        return out, in_batched[0] or in_batched[1]

    return f


VMAPPED = {
    "value": lambda j, f: f(X, Y),
    "vmap x": lambda j, f: j.vmap(f, (0, None))(XS, Y),
    "vmap y": lambda j, f: j.vmap(f, (None, 0))(X, XS),
    "vmap both": lambda j, f: j.vmap(f, (0, 0))(XS, XS),
    "jit vmap": lambda j, f: j.jit(j.vmap(f, (0, None)))(XS, Y),
    "vmap jit": lambda j, f: j.vmap(j.jit(f), (0, None))(XS, Y),
    "vmap jvp": lambda j, f: j.vmap(lambda x: j.jvp(f, (x, Y), (x, Y)))(XS),
    "vmap of tangents": lambda j, f: j.vmap(lambda t: j.jvp(f, (X, Y), (t, Y)))(XS),
    "jvp vmap": lambda j, f: j.jvp(lambda x: j.vmap(f, (0, None))(x, Y), (XS,), (XS,)),
    "jacfwd": lambda j, f: j.jacfwd(lambda x: j.vmap(f, (0, None))(x, Y))(XS),
    "in scan": lambda j, f: j.vmap(
        lambda x: j.lax.scan(lambda c, _: (f(c, Y), None), x, None, length=2)[0]
    )(XS),
    "sequential": lambda j, f: j.vmap(
        j.custom_batching.sequential_vmap(lambda x, y: x * y), (0, None)
    )(XS, Y),
}


@pytest.mark.parametrize("case", VMAPPED)
def test_custom_vmap_against_jax(case, backend):
    found = outcome(lambda: VMAPPED[case](plugjax, vmapped(plugjax, pnp)))
    same(found, outcome(lambda: VMAPPED[case](jax, vmapped(jax, jnp))))


def test_reverse_mode_through_custom_vmap_differentiates_the_function():
    """JAX refuses reverse mode here."""
    f = vmapped(plugjax, pnp)
    found = plugjax.vmap(plugjax.grad(f), (0, None))(XS, Y)
    np.testing.assert_allclose(found, np.cos(XS) * Y, rtol=1e-5)


def test_dead_outputs_of_calls_are_dropped():
    from plugjax.transforms.dce import dce

    def of(function):
        return plugjax.make_jaxpr(lambda x: function(x, Y)[1])(X)

    f = plugjax.custom_vjp(lambda x, y: (pnp.sin(x) * y, x * 2))
    f.defvjp(lambda x, y: (f(x, y), None), lambda r, g: (g[1], g[1]))
    pruned = dce(of(f))
    (call,) = pruned.eqns
    assert len(call.outvars) == 1
    assert [e.primitive.name for e in call.params["call_jaxpr"].eqns] == ["mul"]
    gradient = plugjax.grad(lambda x: plugjax.extend.core.jaxpr_as_fun(pruned)(x)[0])(X)
    assert float(gradient) == 1.0


def _jvp_scaled(package, y):
    """``x * y``, whose custom derivative by ``x`` is ``10 y``; it closes over ``y``."""

    @package.custom_jvp
    def f(x):
        return x * y

    @f.defjvp
    def f_jvp(primals, tangents):
        return f(*primals), tangents[0] * y * 10.0

    return f


def _vjp_scaled(package, y):
    @package.custom_vjp
    def f(x):
        return x * y

    f.defvjp(lambda x: (x * y, None), lambda _, bar: (bar * y * 10.0,))
    return f


CLOSING = {
    "value": lambda p, f: p.vmap(lambda y: f(p, y)(2.0))(AXIS),
    "integer argument": lambda p, f: p.vmap(lambda y: f(p, y)(2))(AXIS),
    "array argument": lambda p, f: p.vmap(lambda y: f(p, y)(np.ones(2, np.float32)))(AXIS),
    "compiled": lambda p, f: p.jit(p.vmap(lambda y: f(p, y)(2.0)))(AXIS),
    "gradient": lambda p, f: p.vmap(lambda y: p.grad(f(p, y))(2.0))(AXIS),
    "mapped argument": lambda p, f: p.vmap(lambda x, y: p.grad(f(p, y))(x))(*np.ones((2, 3), np.float32)),
    "two axes": lambda p, f: p.vmap(lambda x: p.vmap(lambda y: f(p, x * y)(x))(p.numpy.arange(2.0)))(AXIS),
    "inner axis": lambda p, f: p.vmap(lambda x: p.vmap(lambda y: f(p, y)(x))(p.numpy.arange(2.0)))(AXIS),
    "outer axis": lambda p, f: p.vmap(lambda x: p.vmap(lambda y: f(p, x)(y))(p.numpy.arange(2.0)))(AXIS),
    "nested": lambda p, f: p.vmap(lambda y: f(p, f(p, y)(1.0))(2.0))(AXIS),
    "named axis": lambda p, f: p.vmap(lambda y: f(p, y + p.lax.psum(y, "i"))(2.0), axis_name="i")(AXIS),
    "checkpoint": lambda p, f: p.vmap(lambda y: p.grad(p.checkpoint(lambda x: f(p, y)(x)))(2.0))(AXIS),
    "scan": lambda p, f: p.vmap(lambda y: p.lax.scan(lambda c, _: (f(p, y)(c), c), 2.0, None, 2))(AXIS),
    "what has no derivative": lambda p, f: p.vmap(p.grad(lambda y: f(p, p.lax.stop_gradient(y))(y)))(AXIS),
    "nothing": lambda p, f: p.vmap(lambda y: f(p, p.numpy.float32(3.0))(2.0), out_axes=None)(AXIS),
}  # fmt: skip


@pytest.mark.parametrize("make", [_jvp_scaled, _vjp_scaled])
@pytest.mark.parametrize("name", CLOSING)
def test_functions_with_a_custom_derivative_close_over_values_of_an_enclosing_vmap(name, make):
    ours, theirs = (CLOSING[name](package, make) for package in (plugjax, jax))
    plugjax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6), ours, theirs)


@pytest.mark.parametrize("make", [_jvp_scaled, _vjp_scaled])
def test_derivative_of_a_mapped_function_with_a_custom_derivative_that_closes_over_the_axis(make):
    def total(x):
        return plugjax.numpy.sum(plugjax.vmap(lambda y: make(plugjax, y)(x))(np.arange(3.0)))

    assert plugjax.grad(total)(2.0) == 30.0
    assert plugjax.jit(plugjax.grad(total))(2.0) == 30.0


@pytest.mark.parametrize("make", [_jvp_scaled, _vjp_scaled])
def test_functions_with_a_custom_derivative_refuse_to_close_over_a_value_under_differentiation(
    make,
):
    with pytest.raises(UnexpectedTracerError, match=r"closes over it.*as an argument"):
        plugjax.grad(lambda y: make(plugjax, y)(2.0))(3.0)
    with pytest.raises((CustomJVPException, CustomVJPException), match="closes over"):
        plugjax.grad(plugjax.jit(lambda y: make(plugjax, y)(2.0)))(3.0)
