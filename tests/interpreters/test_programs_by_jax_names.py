"""Programs that read, interpret and rewrite programs run as under JAX, with the framework's name replaced."""

import importlib
import types

import numpy as np
import pytest

import plugjax

# The inverse of a function, by an interpreter of its program, and programs around it.
INVERSE = """
from functools import wraps

import numpy as np
import jax
import jax.numpy as jnp
from jax import lax
from jax.extend import core, source_info_util

inverse_registry = {lax.exp_p: jnp.log, lax.tanh_p: jnp.arctanh}


def inverse(fun):
    @wraps(fun)
    def wrapped(*args, **kwargs):
        closed_jaxpr = jax.make_jaxpr(fun)(*args, **kwargs)
        out = inverse_jaxpr(closed_jaxpr.jaxpr, closed_jaxpr.literals, *args)
        return out[0]

    return wrapped


def inverse_jaxpr(jaxpr, consts, *args):
    env = {}

    def read(var):
        return var.val if type(var) is core.Literal else env[var]

    for var, val in zip(jaxpr.outvars, args):
        env[var] = val
    for var, val in zip(jaxpr.constvars, consts):
        env[var] = val
    for eqn in jaxpr.eqns[::-1]:
        invals = [read(v) for v in eqn.outvars]
        outval = inverse_registry[eqn.primitive](*invals)
        env[eqn.invars[0]] = outval
    return [read(v) for v in jaxpr.invars]


def eval_jaxpr(jaxpr, consts, *args):
    env = {}

    def read(var):
        return var.val if type(var) is core.Literal else env[var]

    for var, val in zip(jaxpr.invars, args):
        env[var] = val
    for var, val in zip(jaxpr.constvars, consts):
        env[var] = val
    for eqn in jaxpr.eqns:
        bind_params = eqn.primitive.get_bind_params(eqn.params)
        name_stack = source_info_util.current_name_stack() + eqn.source_info.name_stack
        with source_info_util.user_context(eqn.source_info.traceback, name_stack=name_stack), eqn.ctx.manager:
            ans = eqn.primitive.bind(*[read(v) for v in eqn.invars], **bind_params)
        outs = ans if eqn.primitive.multiple_results else [ans]
        for var, val in zip(eqn.outvars, outs):
            env[var] = val
    return [read(v) for v in jaxpr.outvars]


def f(x):
    return jnp.exp(jnp.tanh(x))


def scaled(x):
    with jax.named_scope("scaling"):
        return jnp.sin(x) * np.arange(3.0, dtype=np.float32)
"""


def program(name, text):
    """The text as a module of a framework."""
    for module in (
        "core",
        "extend.core",
        "extend.source_info_util",
        "interpreters.partial_eval",
        "api_util",
        "extend.linear_util",
    ):
        importlib.import_module(f"{name}.{module}")
    source = text.replace("import jax.", f"import {name}.").replace("from jax", f"from {name}")
    source = source.replace("import jax\n", f"import {name} as jax\n")
    found = types.ModuleType("program")
    exec(compile(source, f"{name}_program.py", "exec"), found.__dict__)
    return found


@pytest.fixture(params=["jax", "plugjax"], scope="module")
def inverse(request):
    return program(request.param, INVERSE)


def test_the_inverse_of_a_function(inverse):
    y = inverse.f(0.5)
    for run in (inverse.inverse(inverse.f), inverse.jax.jit(inverse.inverse(inverse.f))):
        np.testing.assert_allclose(run(y), 0.5, rtol=1e-5)
    slopes = inverse.jax.vmap(inverse.jax.grad(inverse.inverse(inverse.f)))(
        np.array([1.5, 2.0], np.float32)
    )
    np.testing.assert_allclose(
        slopes, [1 / (1.5 * (1 - np.log(1.5) ** 2)), 1 / (2 * (1 - np.log(2.0) ** 2))], rtol=1e-4
    )


def test_equations_keep_scopes_through_an_interpreter(inverse):
    jax = inverse.jax
    first = jax.make_jaxpr(inverse.scaled)(1.0)
    again = jax.make_jaxpr(lambda x: inverse.eval_jaxpr(first.jaxpr, first.literals, x))(1.0)
    for found in (first, again):
        eqn = next(e for e in found.eqns if e.primitive is jax.lax.sin_p)
        assert str(eqn.source_info.name_stack) == "scaling"
        assert "_program.py:67" in inverse.source_info_util.summarize(eqn.source_info)
    assert "_program.py:67" in first.pretty_print(source_info=True)
    np.testing.assert_allclose(
        jax.core.eval_jaxpr(again.jaxpr, again.consts, 1.0)[0],
        np.sin(1.0) * np.arange(3),
        rtol=1e-6,
    )


def test_parts_of_programs_are_replaced(inverse):
    jax = inverse.jax
    closed = jax.make_jaxpr(lambda x: (jax.lax.sin(x), jax.lax.cos(x)))(1.0)
    first = closed.replace(
        jaxpr=closed.jaxpr.replace(
            outvars=closed.jaxpr.outvars[:1], debug_info=closed.jaxpr.debug_info
        )
    )
    assert len(first.out_avals) == len(first.jaxpr.out_avals) == 1
    assert first.literals == []
    pe = jax.interpreters.partial_eval
    pruned, used = pe.dce_jaxpr(closed.jaxpr, [False, True])
    assert ([e.primitive for e in pruned.eqns], used) == ([jax.lax.cos_p], [True])
    kept = pe.dce_jaxpr(jax.make_jaxpr(lambda x, y: y)(1.0, 2.0).jaxpr, [True], instantiate=True)[1]
    assert kept == [True, True]
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = closed.nothing


def test_constants_that_nothing_reads_are_dropped(inverse):
    jax, pe = inverse.jax, inverse.jax.interpreters.partial_eval
    one, two = np.arange(3.0, dtype=np.float32), np.arange(4.0, dtype=np.float32)
    closed = jax.make_jaxpr(lambda x: (x + jax.numpy.asarray(one), x * jax.numpy.asarray(two)))(1.0)
    pruned, consts, inputs = pe.dce_jaxpr_consts(closed.jaxpr, [False, True])
    assert (sum(consts), inputs) == (len(pruned.constvars), [True])
    values = [c for c, k in zip(closed.consts, consts, strict=True) if k]
    np.testing.assert_array_equal(jax.core.eval_jaxpr(pruned, values, 2.0)[0], 2 * two)


def test_what_is_known_is_evaluated(inverse):
    jax, pe = inverse.jax, inverse.jax.interpreters.partial_eval
    lu = jax.extend.linear_util

    def f(x, y):
        return [jax.lax.sin(x), jax.lax.add(jax.lax.sin(x), y)]

    info = jax.api_util.debug_info("test", f, (1.0, 2.0), {})
    assert info.arg_names == ("x", "y")
    fun = lu.wrap_init(f, debug_info=info)
    aval = jax.core.ShapedArray((), np.dtype(np.float32))
    known = pe.PartialVal.known(jax.numpy.float32(0.5))
    jaxpr, outs, consts = pe.trace_to_jaxpr_nounits(fun, [known, pe.PartialVal.unknown(aval)])
    np.testing.assert_allclose(outs[0].get_known(), np.sin(0.5), rtol=1e-6)
    assert outs[1].get_aval().shape == ()
    assert not outs[1].is_known()
    assert [e.primitive for e in jaxpr.eqns] == [jax.lax.add_p]
    np.testing.assert_allclose(
        jax.core.eval_jaxpr(jaxpr, consts, 2.0)[0], 2 + np.sin(0.5), rtol=1e-6
    )
    jaxpr, avals, consts = pe.trace_to_jaxpr_dynamic(lu.wrap_init(f, debug_info=info), [aval, aval])
    assert ([a.shape for a in avals], consts, len(jaxpr.eqns)) == ([(), ()], [], 3)


def test_functions_of_leaves(inverse):
    jax, api = inverse.jax, inverse.jax.api_util
    lu = jax.extend.linear_util

    def f(x, scale):
        return {"a": x, "b": scale["s"] * x}

    args = ((2.0,), {"scale": {"s": 3.0}})
    leaves, tree = jax.tree.flatten(args)
    flat, out_tree = api.flatten_fun(
        lu.wrap_init(f, debug_info=api.debug_info("t", f, *args)), tree
    )
    assert list(flat.call_wrapped(*leaves)) == [2.0, 6.0]
    assert jax.tree.unflatten(out_tree(), [1, 2]) == {"a": 1, "b": 2}
    assert api.donation_vector((0,), ("scale",), tree) == (True, True)
    assert api.flatten_axes("axes", jax.tree.structure(((1, 2), 3)), (0, None)) == [0, 0, None]
    with pytest.raises(ValueError, match="must be a tree prefix"):
        api.flatten_axes("axes", jax.tree.structure(((1, 2), 3)), (0, None, 1))
    g, dyn = api.argnums_partial(
        lu.wrap_init(f, debug_info=None if jax is plugjax else api.debug_info("t", f, *args)),
        0,
        (2.0, "s"),
    )
    assert dyn == (2.0,)
    assert g.f is f
    with pytest.raises(ValueError, match="Non-hashable static arguments"):
        api.argnums_partial(g, 0, (2.0, []))


def test_an_effect_of_a_primitive(inverse):
    jax = inverse.jax
    p = jax.extend.core.Primitive("effectful")
    effect = type("Noise", (jax.extend.core.Effect,), {})()

    @p.def_effectful_abstract_eval
    def avals(x, *, loud):
        return x, {effect} if loud else set()

    loud, quiet = (
        jax.make_jaxpr(lambda x, b=b: (p.bind(x, loud=b), x)[1])(1.0) for b in (True, False)
    )
    assert (set(loud.effects), set(quiet.effects)) == ({effect}, set())
    assert len(jax.interpreters.partial_eval.dce_jaxpr(loud.jaxpr, [True])[0].eqns) == 1
    assert jax.interpreters.partial_eval.dce_jaxpr(quiet.jaxpr, [True])[0].eqns == []


def test_rules_for_dead_code(inverse):
    jax, pe = inverse.jax, inverse.jax.interpreters.partial_eval
    p = jax.extend.core.Primitive("pair")
    p.multiple_results = True
    p.def_abstract_eval(lambda x, y: [x, y])

    def rule(used, eqn):
        if not any(used):
            return [False, False], None
        invars = [v for v, u in zip(eqn.invars, used, strict=True) if u]
        outvars = [v for v, u in zip(eqn.outvars, used, strict=True) if u]
        return list(used), eqn.replace(invars=invars, outvars=outvars)

    pe.dce_rules[p] = rule
    jaxpr = jax.make_jaxpr(lambda x, y: p.bind(x, y))(1.0, 2.0).jaxpr
    pruned, used = pe.dce_jaxpr(jaxpr, [False, True])
    assert (used, len(pruned.eqns[0].outvars)) == ([False, True], 1)


def test_reductions_are_batched(inverse):
    jax = inverse.jax
    p = jax.extend.core.Primitive("own_sum")
    p.def_impl(lambda x, axes: np.sum(np.asarray(x), axes))
    p.def_abstract_eval(
        lambda x, axes: jax.core.ShapedArray(np.delete(x.shape, axes).tolist(), x.dtype)
    )
    jax.interpreters.batching.defreducer(p)
    x = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)
    for axis in (0, 1, 2):
        found = jax.vmap(lambda y: p.bind(y, axes=(1,)), axis)(x)
        np.testing.assert_array_equal(found, np.moveaxis(x, axis, 0).sum(2))


def test_the_core_module_has_jaxs_names(inverse):
    jax = inverse.jax
    assert isinstance(jax.typeof(np.ones(2)), jax.core.AbstractValue)
    assert jax.core.max_dim(2, 3) == 3
    with pytest.warns(DeprecationWarning, match="core.DropVar is deprecated"):
        assert jax.core.DropVar is jax.extend.core.DropVar
    with pytest.raises(AttributeError, match=r"Use \w+\.extend\.core\.mapped_aval"):
        _ = jax.core.mapped_aval
    for error in (jax.errors.TracerBoolConversionError, jax.errors.UnexpectedTracerError):
        assert issubclass(error, jax.errors.JAXTypeError)
    assert issubclass(jax.errors.NonConcreteBooleanIndexError, jax.errors.JAXIndexError)


def test_a_policy_answers_in_words(inverse):
    jax = inverse.jax
    words = importlib.import_module(f"{jax.__name__}.ad_checkpoint")

    def policy(primitive, *_, **__):
        return words.Saveable if primitive is jax.lax.sin_p else words.Recompute

    f = jax.checkpoint(lambda x: jax.numpy.sin(jax.numpy.sin(x)), policy=policy)
    np.testing.assert_allclose(jax.grad(f)(0.5), np.cos(np.sin(0.5)) * np.cos(0.5), rtol=1e-6)


def test_sizes_that_are_expressions():
    (n,) = plugjax.export.symbolic_shape("n")
    assert str(plugjax.core.max_dim(n, 3)) == "max(n, 3)"
    assert (
        str(plugjax.core.min_dim(3, n)) == "min(n, 3)"
        or str(plugjax.core.min_dim(3, n)) == "min(3, n)"
    )
    assert plugjax.core.max_dim(n, n + 1) == n + 1


def test_values_of_a_class_become_arrays():
    from plugjax.interpreters import xla

    class Variable:
        def __init__(self, values):
            self.values = values

        def __array__(self, dtype=None, copy=None):
            return np.asarray(self.values, dtype)

    handlers = xla.canonicalize_dtype_handlers
    handlers[Variable] = handlers[np.ndarray]
    x = Variable([0.0, 1.0])
    for run in (plugjax.numpy.sin, plugjax.jit(plugjax.numpy.sin)):
        np.testing.assert_allclose(run(x), np.sin([0, 1]), rtol=1e-6)
    found = handlers[np.ndarray](np.arange(2.0))
    assert (type(found), found.dtype) == (np.ndarray, np.float32)
    theirs = importlib.import_module("jax.interpreters.xla").canonicalize_dtype_handlers[
        np.ndarray
    ](np.arange(2.0))
    assert (np.asarray(theirs).dtype, theirs.shape) == (found.dtype, found.shape)
    with pytest.raises(TypeError, match="a class of your own"):
        handlers[np.ndarray] = handlers[np.ndarray]


def test_rules_say_what_is_evaluated_of_an_operation(inverse):
    jax, pe = inverse.jax, inverse.jax.interpreters.partial_eval
    lu, lax = jax.extend.linear_util, jax.lax
    seen = []

    def of_sum(trace, x, y):
        """Writes a sum down with its operands exchanged, the known one as a constant."""
        seen.append((x.is_known(), y.is_known(), y.aval.shape, x.pval.is_known()))
        doubled = lax.mul(x.pval.get_known(), np.float32(2))
        at_once = trace.default_process_primitive(lax.neg_p, (trace.new_const(doubled),), {})
        np.testing.assert_array_equal(at_once, [-2, -2, -2])
        operands = (y, trace.instantiate_const(trace.new_const(doubled)))
        return trace.default_process_primitive(lax.sub_p, operands, {})

    pe.custom_partial_eval_rules[lax.add_p] = of_sum
    try:
        info = jax.api_util.debug_info("test", lax.add, (1.0, 2.0), {})
        fun = lu.wrap_init(lambda x, y: [lax.add(x, y), lax.sin(x)], debug_info=info)
        aval = jax.core.ShapedArray((3,), np.dtype(np.float32))
        known = pe.PartialVal.known(jax.numpy.ones(3, np.float32))
        jaxpr, outs, consts = pe.trace_to_jaxpr_nounits(fun, [known, pe.PartialVal.unknown(aval)])
    finally:
        del pe.custom_partial_eval_rules[lax.add_p]
    assert seen == [(True, False, (3,), True)]
    assert [o.is_known() for o in outs] == [False, True]
    assert [e.primitive for e in jaxpr.eqns] == [lax.sub_p]
    found = jax.core.eval_jaxpr(jaxpr, consts, np.full(3, 5, np.float32))
    np.testing.assert_array_equal(found[0], [3, 3, 3])
