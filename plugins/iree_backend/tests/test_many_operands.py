"""Operations on more arrays than the runtime passes to a kernel."""

import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax import lax
from plugjax_iree import workarounds
from plugjax_iree.compile import CompileError, CompileTarget, compile_stablehlo


def arrays(count, *shape):
    return [np.full(shape, k / 8, np.float32) for k in range(count)]


def summed(*xs):
    return sum(xs)


def multiplied_and_reduced(*xs):
    total = sum(x * k for k, x in enumerate(xs))
    return jnp.sum(total, 0), total[0]


def branched(*xs):
    return lax.cond(xs[0][0] > 1, lambda: sum(xs), lambda: sum(jnp.sin(x) for x in xs))


def looped(*xs):
    return lax.fori_loop(0, 3, lambda i, c: c * 0.5 + sum(xs), xs[0])


def chosen(*xs):
    return lax.select_n(jnp.arange(3) % 40, *(jnp.broadcast_to(x[0], (3,)) for x in xs))


def multiplied(*xs):
    return (sum(xs[1:]) @ xs[0]) + sum(xs[:20])


CASES = [
    (summed, (5,), 2),
    (summed, (), 2),
    (multiplied_and_reduced, (4, 3), 2),
    (branched, (5,), 5),
    (looped, (5,), 3),
    (chosen, (2,), None),
    (multiplied, (4, 4), None),
    (plugjax.grad(lambda *xs: jnp.sum(jnp.sin(sum(xs))), range(45)), (5,), None),
    (lambda *xs: jnp.stack([x * 2 for x in xs]), (5,), 0),
]


@pytest.mark.parametrize(("function", "shape", "count"), CASES)
def test_values_are_those_of_numpy(function, shape, count, agrees, changes):
    with plugjax.config.override("fallback", "error"):
        agrees(function, *arrays(45, *shape), rtol=1e-5, atol=1e-5)
    assert count is None or changes["many_operands"] == count


def test_few_operands_stay_together(agrees, changes):
    agrees(summed, *arrays(16, 5), rtol=1e-6, atol=0)
    assert changes["many_operands"] == 0


def test_a_kernel_that_takes_too_many_buffers_is_refused():
    """What the workaround misses is compiled without fusion, as the message says a program is that the compiler refuses."""
    with plugjax.default_device("iree"):
        text = plugjax.jit(summed).lower(*arrays(45, 5)).as_text()
    with (
        workarounds.without(("many_operands", "one_by_one")),
        pytest.raises(CompileError, match=r"a kernel takes 46 buffers"),
    ):
        compile_stablehlo(text, CompileTarget(), subprocess=False)
    with workarounds.without(("many_operands",)):
        assert compile_stablehlo(text, CompileTarget(), subprocess=False)


@pytest.mark.parametrize("count", [14, 15, 16, 17])
def test_what_is_updated_and_read_is_copied(count, agrees):
    """The copy, too, reads many arrays; it must stay one."""

    def program(*xs):
        x = sum(xs)
        return x.at[0].set(5.0), x @ x.T, x[::-1]

    xs = [np.linspace(0, 1, 16, dtype=np.float32).reshape(4, 4) + i for i in range(count)]
    agrees(program, *xs, rtol=1e-5, atol=1e-5)
