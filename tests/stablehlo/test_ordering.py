"""Ordered effects of foreign primitives, through foreign calls."""

import functools
import types

import numpy as np
import pytest

import plugjax
from plugjax.core import registry
from plugjax.core.effects import Effect, effects_rule
from plugjax.core.errors import LoweringError
from plugjax.experimental import io_callback
from plugjax.extend.core import Primitive
from plugjax.extend.rules import RuleSet, abstract_eval, hookimpl, impl, jvp_rule, lowering
from plugjax.transforms.expansion import Kept, expand_rule
from plugjax.transforms.staging import stage

X = np.float32(1)


class Noted(Effect):
    ordered = True


log = []
note_p = Primitive("note")
call_p = Primitive("their_call", multiple_results=True, structured=True)
closed_p = Primitive("their_closed_call", multiple_results=True, structured=True)
shown_p = Primitive("shown")
rules = RuleSet(__name__)


@rules.define(impl, note_p)
def _note(x, *, label):
    log.append(label)
    return x


rules.define(abstract_eval, note_p)(lambda x, *, label: x)
rules.define(effects_rule, note_p)(lambda **_: frozenset({Noted()}))
rules.define(abstract_eval, call_p, closed_p)(lambda *avals, jaxpr: jaxpr.out_avals)
rules.define(expand_rule, call_p)(lambda *, jaxpr, **_: Kept(jaxpr))
rules.define(lowering, call_p, closed_p)(lambda ctx, *xs, jaxpr: ctx.inline(jaxpr, xs))
rules.define(abstract_eval, shown_p)(lambda x: x)
rules.define(impl, shown_p)(lambda x: x)


@rules.define(jvp_rule, shown_p)
def _shown_jvp(primals, tangents):
    plugjax.debug.callback(lambda t: log.append(float(t)), tangents[0])
    return primals[0], tangents[0] * 2.0


@pytest.fixture(autouse=True)
def _plugin():
    log.clear()
    plugin = types.SimpleNamespace(plugjax_rules=hookimpl(lambda: [rules]), __name__="notes")
    with registry.use(registry.Registry().discover().load(plugin)):
        yield


@pytest.mark.parametrize("name", ["xla", "iree"])
@pytest.mark.filterwarnings("ignore::plugjax.core.errors.FallbackWarning")
def test_host_kernels_in_order(name):
    def f(x):
        for i in range(20):
            y = x
            for _ in range(20 - i):
                y = plugjax.lax.sin(y)
            note_p.bind(y, label=i)
            io_callback(lambda i=i: log.append(-i), None, ordered=True)

    plugjax.jit(f, device=name)(X)
    assert log == [sign * i for i in range(20) for sign in (1, -1)]


def called(primitive):
    def body(x):
        for label in "abc":
            io_callback(lambda label=label: log.append(label), None, ordered=True)
            for _ in range(4):  # Too long to be inlined by the passes.
                x = plugjax.lax.sin(x)
        return [x]

    program = stage(body, [plugjax.numpy.asarray(X).aval])

    def f(x):
        (x,) = primitive.bind(x, jaxpr=program)
        io_callback(lambda: log.append("between"), None, ordered=True)
        return primitive.bind(x, jaxpr=program)[0]

    return f


@pytest.mark.parametrize("name", ["xla", "iree"])
def test_a_call_that_can_be_written_in_place(name):
    y = plugjax.jit(called(call_p), device=name)(X)
    expected = functools.reduce(lambda y, _: np.sin(y), range(24), X)
    np.testing.assert_allclose(y, expected, rtol=1e-5)
    assert log == [*"abc", "between", *"abc"]


@pytest.mark.parametrize("name", ["xla", "iree"])
def test_a_program_nobody_can_order_is_refused(name):
    with pytest.raises(LoweringError, match="their_closed_call"):
        plugjax.jit(called(closed_p), device=name)(X)


def test_a_callback_on_a_tangent():
    """As in JAX: executed by forward derivatives and by calls of a linearized function, not by reverse ones."""
    f = shown_p.bind
    plugjax.jvp(f, (X,), (X * 3,))
    assert log == [3.0]
    for function in (f, plugjax.jit(f)):
        log.clear()
        _, pushed = plugjax.linearize(function, X)
        assert log == []
        assert float(pushed(X * 5)) == 10.0
        assert log == [5.0]
    log.clear()
    assert float(plugjax.grad(f)(X)) == 2.0
    assert log == []
