"""Any program on any backend: a primitive without a lowering runs on the host, with a warning."""

import types
import warnings

import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax import lax
from plugjax.core import registry
from plugjax.core.errors import FallbackWarning, LoweringError
from plugjax.extend.core import Primitive
from plugjax.extend.rules import RuleSet, abstract_eval, hookimpl, impl, jvp_rule

cube_p = Primitive("cube_on_the_host")
pair_p = Primitive("pair_on_the_host", multiple_results=True)
bare_p = Primitive("only_a_kernel")
rules = RuleSet(__name__)


@rules.define(impl, cube_p)
def _cube(x):
    return np.power(x, 3)


@rules.define(abstract_eval, cube_p)
def _cube_aval(x):
    return x


@rules.define(jvp_rule, cube_p)
def _cube_jvp(primals, tangents):
    (x,), (x_dot,) = primals, tangents
    return cube_p.bind(x), 3.0 * x * x * x_dot


@rules.define(impl, pair_p)
def _pair(x, *, scale):
    return [x * np.float32(scale), np.asarray(x.sum(), np.float32)]


@rules.define(abstract_eval, pair_p)
def _pair_avals(x, *, scale):
    return [x, x.update(shape=())]


@rules.define(impl, bare_p)
def _bare(x):
    return (x + 1).astype(np.float32)


@pytest.fixture(autouse=True)
def with_plugin():
    built = registry.active().extended()
    source = types.SimpleNamespace(plugjax_rules=hookimpl(lambda: [rules]), __name__="fallback")
    with registry.use(built.load(source)), warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)
        yield


X = np.array([0.5, 1.0, 2.0], np.float32)


def test_under_jit(on_backend):
    f = plugjax.jit(lambda x: jnp.sum(cube_p.bind(x * 2.0)))
    np.testing.assert_allclose(f(X), np.sum((2 * X) ** 3), rtol=1e-6)


def test_several_results_and_parameters(on_backend):
    y, total = plugjax.jit(lambda x: pair_p.bind(x, scale=3))(X)
    np.testing.assert_allclose(y, 3 * X)
    np.testing.assert_allclose(total, X.sum())


def test_in_loops_and_branches(on_backend):
    def f(x):
        def step(c, a):
            return lax.cond(a > 0.7, lambda c: cube_p.bind(c) * 0.5, lambda c: c + a, c), c

        c, ys = lax.scan(step, x, jnp.asarray(X))
        return lax.while_loop(lambda c: jnp.sum(c) < 100.0, lambda c: cube_p.bind(c) + 1.0, c), ys

    compiled = plugjax.jit(f)(X)
    with plugjax.disable_jit():
        expected = f(jnp.asarray(X))
    for a, b in zip(compiled, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)


def test_derivatives_and_batches(on_backend):
    gradient = plugjax.jit(plugjax.grad(lambda x: jnp.sum(cube_p.bind(x))))(X)
    np.testing.assert_allclose(gradient, 3 * X**2, rtol=1e-6)
    many = np.stack([X, 2 * X])
    found = plugjax.jit(plugjax.vmap(plugjax.grad(lambda x: jnp.sum(cube_p.bind(x)))))(many)
    np.testing.assert_allclose(found, 3 * many**2, rtol=1e-6)


def test_a_kernel_alone_is_evaluated_abstractly_by_a_sample(on_backend):
    np.testing.assert_allclose(plugjax.jit(bare_p.bind)(X), X + 1)


@pytest.mark.parametrize("name", ["xla", "iree"])
def test_it_says_so_once_per_primitive_and_backend(name):
    loud = Primitive(f"loud_{name}")
    more = RuleSet(__name__)
    more.define(impl, loud)(lambda x: x)
    more.define(abstract_eval, loud)(lambda x: x)
    registry.active().load(
        types.SimpleNamespace(plugjax_rules=hookimpl(lambda: [more]), __name__=f"more {name}")
    )
    with plugjax.default_device(name), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        plugjax.jit(lambda x: loud.bind(loud.bind(x)))(X)
        plugjax.jit(lambda x: loud.bind(x) * 2.0)(X)
    said = [str(w.message) for w in caught if issubclass(w.category, FallbackWarning)]
    assert len(said) == 1
    assert f"loud_{name}" in said[0]
    assert name in said[0]


@pytest.mark.parametrize("name", ["xla", "iree"])
def test_it_can_be_an_error(name):
    with (
        plugjax.config.override("fallback", "error"),
        pytest.raises(LoweringError, match="cube_on_the_host"),
    ):
        plugjax.jit(cube_p.bind, device=name)(X)


@pytest.mark.parametrize("name", ["xla", "iree"])
def test_an_exception_in_the_kernel_arrives_as_it_is(name):
    class MineError(Exception):
        pass

    def fail(x):
        raise MineError("from the kernel")

    failing = Primitive(f"failing_{name}")
    more = RuleSet(__name__)
    more.define(impl, failing)(fail)
    more.define(abstract_eval, failing)(lambda x: x)
    registry.active().load(
        types.SimpleNamespace(plugjax_rules=hookimpl(lambda: [more]), __name__=f"more {name}")
    )
    with pytest.raises(MineError, match="from the kernel"):
        np.asarray(plugjax.jit(failing.bind, device=name)(X))


@pytest.mark.parametrize("name", ["xla", "iree"])
def test_a_kernel_that_gives_another_shape_is_refused(name):
    wrong = Primitive(f"wrong_{name}")
    more = RuleSet(__name__)
    more.define(impl, wrong)(lambda x: np.zeros(7, np.float32))
    more.define(abstract_eval, wrong)(lambda x: x)
    registry.active().load(
        types.SimpleNamespace(plugjax_rules=hookimpl(lambda: [more]), __name__=f"more {name}")
    )
    with pytest.raises(Exception, match=r"7"):
        np.asarray(plugjax.jit(wrong.bind, device=name)(X))
