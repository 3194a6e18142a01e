"""Programs that define primitives rule by rule run as under JAX, with the imports changed."""

import functools
import importlib
import subprocess
import sys
import warnings

import numpy as np
import pytest

import plugjax
from plugjax.errors import FallbackWarning
from plugjax.extend.calls import define
from plugjax.extend.core import Primitive
from plugjax.extend.errors import RuleConflictError
from plugjax.extend.registry import Registry, active, use
from plugjax.extend.rules import abstract_eval, expand_rule
from plugjax.interpreters import ad, batching, mlir, xla


class Modules:
    """The modules that a program imports, from one framework."""

    def __init__(self, name):
        self.jax = importlib.import_module(name)
        self.core = importlib.import_module(f"{name}.core")
        self.extend = importlib.import_module(f"{name}.extend.core")
        self.ad = importlib.import_module(f"{name}.interpreters.ad")
        self.batching = importlib.import_module(f"{name}.interpreters.batching")
        self.mlir = importlib.import_module(f"{name}.interpreters.mlir")
        self.xla = importlib.import_module(f"{name}.interpreters.xla")
        self.hlo = importlib.import_module(f"{name}.extend.mlir.dialects").stablehlo
        self.jnp = importlib.import_module(f"{name}.numpy")
        self.lax = importlib.import_module(f"{name}.lax")


@pytest.fixture(params=["jax", "plugjax"], scope="module")
def modules(request):
    if request.param == "jax":
        importlib.import_module("jax.extend.mlir.dialects.stablehlo")
    return Modules(request.param)


def multiply_add(m):
    """``x * y + z`` as a primitive with every kind of rule."""
    p = m.extend.Primitive("multiply_add_defined")

    def bind(x, y, z):
        return p.bind(x, y, z)

    p.def_impl(lambda x, y, z: np.add(np.multiply(x, y), z))

    @p.def_abstract_eval
    def _aval(x, y, z):
        assert x.shape == y.shape == z.shape
        return m.core.ShapedArray(x.shape, x.dtype)

    def lowering(ctx, x, y, z):
        return [m.hlo.AddOp(m.hlo.MulOp(x, y), z).result]

    m.mlir.register_lowering(p, lowering, platform="cpu")

    def jvp(primals, tangents):
        x, y, z = primals
        x_dot, y_dot, z_dot = tangents

        def whole(t, like):
            return m.jnp.zeros_like(like) if type(t) is m.ad.Zero else t

        tangent = bind(whole(x_dot, x), y, bind(x, whole(y_dot, y), whole(z_dot, z)))
        return bind(x, y, z), tangent

    m.ad.primitive_jvps[p] = jvp

    def transpose(ct, x, y, z):
        def by(operand, *factors):
            return (
                bind(*factors, m.jnp.zeros_like(ct)) if m.ad.is_undefined_primal(operand) else None
            )

        return by(x, ct, y), by(y, x, ct), ct if m.ad.is_undefined_primal(z) else None

    m.ad.primitive_transposes[p] = transpose

    def batch(args, axes):
        size = next(x.shape[d] for x, d in zip(args, axes, strict=True) if d is not None)
        front = [m.batching.bdim_at_front(x, d, size) for x, d in zip(args, axes, strict=True)]
        return bind(*front), 0

    m.batching.primitive_batchers[p] = batch
    return bind


@pytest.fixture(scope="module")
def bind(modules):
    return multiply_add(modules)


def square_add(bind):
    return lambda a, b: bind(a, a, b)


class TestMultiplyAdd:
    """The tutorial "How JAX primitives work"."""

    def test_eager(self, bind):
        assert float(bind(2.0, 10.0, 3.0)) == 23.0

    def test_jit(self, modules, bind):
        assert float(modules.jax.jit(square_add(bind))(2.0, 10.0)) == 14.0
        text = modules.jax.jit(square_add(bind)).lower(2.0, 10.0).as_text(dialect="stablehlo")
        assert "stablehlo.multiply" in text
        assert "stablehlo.add" in text

    def test_jvp(self, modules, bind):
        jvp = functools.partial(modules.jax.jvp, square_add(bind), (2.0, 10.0), (1.0, 1.0))
        assert [float(v) for v in jvp()] == [14.0, 5.0]
        assert [float(v) for v in modules.jax.jit(jvp)()] == [14.0, 5.0]

    def test_grad(self, modules, bind):
        assert float(modules.jax.grad(square_add(bind))(2.0, 10.0)) == 4.0
        assert float(modules.jax.jit(modules.jax.grad(square_add(bind)))(2.0, 10.0)) == 4.0
        assert float(modules.jax.grad(modules.jax.grad(square_add(bind)))(2.0, 10.0)) == 2.0

    def test_vmap(self, modules, bind):
        x, y = np.array([2.0, 3.0], np.float32), np.array([10.0, 20.0], np.float32)
        for f in (square_add(bind), modules.jax.jit(square_add(bind))):
            assert modules.jax.vmap(f)(x, y).tolist() == [14.0, 29.0]
        slopes = modules.jax.vmap(modules.jax.grad(square_add(bind)))(x, y)
        assert slopes.tolist() == [4.0, 6.0]


def several(m):
    """A primitive with two results, evaluated by its lowering, which is written as a function."""
    p = m.extend.Primitive("sum_and_scale")
    p.multiple_results = True
    p.def_impl(functools.partial(m.xla.apply_primitive, p))
    p.def_abstract_eval(lambda x, y, *, factor: [x, y])

    def function(x, y, *, factor):
        return [m.lax.add(x, y), m.lax.mul(y, m.lax.full_like(y, factor))]

    m.mlir.register_lowering(p, m.mlir.lower_fun(function, multiple_results=True))

    def transpose(cts, x, y, *, factor):
        ct_x, ct_y = (m.ad.instantiate_zeros(ct) for ct in cts)
        return [ct_x, m.lax.add(ct_x, m.lax.mul(ct_y, m.lax.full_like(ct_y, factor)))]

    m.ad.deflinear2(p, transpose)

    def batch(args, dims, **params):
        return p.bind(*args, **params), dims

    m.batching.primitive_batchers[p] = batch
    return lambda x, y: p.bind(x, y, factor=3.0)


def test_several_results(modules):
    f = several(modules)
    x = np.array([1.0, 2.0, 3.0], np.float32)
    jax = modules.jax
    for run in (jax.jit(f), jax.vmap(f), jax.jit(jax.vmap(f))):
        assert [y.tolist() for y in run(x, x)] == [[2.0, 4.0, 6.0], [3.0, 6.0, 9.0]]
    _, pull = jax.vjp(jax.jit(f), x, x)
    assert [ct.tolist() for ct in pull([x, x])] == [[1.0, 2.0, 3.0], [4.0, 8.0, 12.0]]


def test_rules_by_operand(modules):
    m = modules
    p = m.extend.Primitive("product")
    p.def_abstract_eval(lambda x, y: x)
    p.def_impl(lambda x, y: x * y)
    m.mlir.register_lowering(p, m.mlir.lower_fun(lambda x, y: x * y, multiple_results=False))
    m.ad.defbilinear(p, lambda ct, x, y: p.bind(ct, y), lambda ct, x, y: p.bind(x, ct))
    m.batching.defbroadcasting(p)
    q = m.extend.Primitive("exponential")
    q.def_abstract_eval(lambda x: x)
    q.def_impl(lambda x: m.jnp.exp(x))
    m.mlir.register_lowering(q, m.mlir.lower_fun(m.jnp.exp, multiple_results=False))
    m.ad.defjvp2(q, lambda t, y, x: p.bind(t, y))

    def f(x, y):
        return p.bind(q.bind(x), y)

    for run in (m.jax.grad(f, (0, 1)), m.jax.jit(m.jax.grad(f, (0, 1)))):
        np.testing.assert_allclose(run(0.5, 2.0), np.exp(0.5) * np.array([2.0, 1.0]), rtol=1e-6)
    x, y = np.arange(6.0, dtype=np.float32).reshape(3, 2), np.ones((2, 3), np.float32)
    found = m.jax.vmap(p.bind, (0, 1))(x, y)
    np.testing.assert_array_equal(found, x)
    np.testing.assert_array_equal(m.jax.vmap(p.bind, (1, None))(x, y[0]), x.T)


def test_rules_are_found_under_every_registry_and_may_be_given_late():
    p = plugjax.extend.core.Primitive("late")
    p.def_abstract_eval(lambda x: x)
    p.def_impl(lambda x: x + 1)
    with use(active().extended()):
        assert float(p.bind(1.0)) == 2.0
    assert plugjax.vmap(p.bind)(np.zeros(2, np.float32)).tolist() == [1.0, 1.0]
    batching.primitive_batchers[p] = lambda args, dims: (args[0] * 7, dims[0])
    assert plugjax.vmap(p.bind)(np.ones(2, np.float32)).tolist() == [7.0, 7.0]
    assert Registry().table(plugjax.extend.impl).find(p) is None


def test_without_a_lowering_compiled_code_calls_the_function():
    p = plugjax.extend.core.Primitive("on_the_host")
    p.def_abstract_eval(lambda x: x)
    p.def_impl(lambda x: x + 1)
    with warnings.catch_warnings(), plugjax.default_device("xla"):
        warnings.simplefilter("ignore", FallbackWarning)
        assert float(plugjax.jit(p.bind)(np.float32(1))) == 2.0


def test_every_backend(backend):
    bind = multiply_add(Modules("plugjax"))
    with plugjax.default_device(backend):
        x = np.array([2.0, 3.0], np.float32)
        slopes = plugjax.jit(plugjax.vmap(plugjax.grad(square_add(bind))))(x, x)
        assert slopes.tolist() == [4.0, 6.0]
        assert bind(x, x, x).tolist() == [6.0, 12.0]


def test_rules_of_plugins_are_read_and_not_displaced():
    sin_p = plugjax.lax.sin_p
    assert sin_p in ad.primitive_jvps
    assert sin_p not in ad.primitive_transposes
    out, dim = batching.primitive_batchers[sin_p]([np.zeros((2, 3), np.float32)], [1])
    assert (out.shape, dim) == ((2, 3), 1)
    with pytest.raises(RuleConflictError, match=r"'sin' has a jvp rule already \(lax: "):
        ad.primitive_jvps[sin_p] = lambda primals, tangents: None
    with pytest.raises(RuleConflictError, match="replace=True"):
        mlir.register_lowering(sin_p, lambda ctx, x: x)
    with pytest.raises(NotImplementedError, match="no transpose rule for primitive 'sin'"):
        ad.get_primitive_transpose(sin_p)
    assert xla.apply_primitive(sin_p, 0.0) == 0.0


EARLY = """
import plugjax
from plugjax.errors import RuleConflictError
from plugjax.interpreters import ad, batching

own_p = plugjax.extend.Primitive("own")
own_p.def_abstract_eval(lambda x: x)
own_p.def_impl(lambda x: x + 1)
batching.primitive_batchers[plugjax.lax.cos_p] = lambda args, dims: None
ad.primitive_jvps[plugjax.lax.sin_p] = lambda primals, tangents: None
for primitive, kind, line in (("cos", "batching", 9), ("sin", "jvp", 10)):
    try:
        plugjax.numpy.zeros(2)
    except RuleConflictError as error:
        assert f"'{primitive}' has a {kind} rule already (lax: " in str(error), error
        assert f"program.py:{line} (<module>), before plugins were loaded" in str(error), error
    else:
        raise AssertionError(primitive)
# The rules that were refused are dropped.
assert float(own_p.bind(1.0)) == 2.0
assert float(plugjax.grad(plugjax.lax.sin)(0.0)) == 1.0
assert plugjax.vmap(plugjax.lax.cos)(plugjax.numpy.zeros(2)).tolist() == [1.0, 1.0]
"""


def test_an_early_rule_in_a_plugins_cell_is_refused_when_plugins_are_loaded(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(EARLY)
    done = subprocess.run(
        [sys.executable, program], capture_output=True, text=True, timeout=120, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr


def test_a_lowering_for_other_hardware_is_named():
    p = plugjax.extend.core.Primitive("elsewhere")
    p.def_abstract_eval(lambda x: x)
    mlir.register_lowering(p, lambda ctx, x: x, platform="gpu")
    with (
        plugjax.default_device("xla"),
        pytest.raises(
            plugjax.extend.errors.LoweringError, match="'elsewhere' has lowerings for cuda, rocm"
        ),
    ):
        plugjax.jit(p.bind)(1.0)


def test_what_is_defined_while_another_registry_is_in_force_stays_defined():
    with use(active().extended()):
        twice_p = Primitive("twice_elsewhere", multiple_results=True, structured=True)
        define(abstract_eval, twice_p, lambda x: [x])
        define(expand_rule, twice_p, lambda: lambda x: [x + x])
        assert float(twice_p.bind(plugjax.numpy.float32(3))[0]) == 6
    assert float(twice_p.bind(plugjax.numpy.float32(3))[0]) == 6
    assert float(plugjax.jit(lambda x: twice_p.bind(x)[0])(3.0)) == 6
