"""Transformations, loops and branches called wrongly: refused, or accepted, as in JAX."""

import numpy as np
import pytest

from tests.malformed.single_calls import check_accepted, check_refused

REFUSED = (
    # Numbers of arguments
    "jax.grad(lambda x, y: jnp.sum(x * y), (0, 0))(x, x)", "jax.grad(lambda x, y: jnp.sum(x * y), ())(x, x)", "jax.grad(jnp.sum, 1)(x)",
    "jax.grad(jnp.sum, -2)(x)", "jax.jacfwd(lambda x, y: x * y, (0, -2))(x, x)", "jax.hessian(lambda x, y: jnp.sum(x * y), (0, 0))(x, x)",
    "jax.checkpoint(lambda x: x, static_argnums=[0])(x)", "jax.checkpoint(lambda x, y: x, static_argnums=(True, False))(x, x)",
    "rule(jax.custom_vjp(lambda x, n: x, nondiff_argnums=('n',)))(x, 2)", "rule(jax.custom_jvp(lambda x, n: x, nondiff_argnums=1))(x, 2)",
    # Axes
    "jax.vmap(jnp.sin, out_axes=True)(x)", "jax.vmap(jnp.sin, out_axes=np.array(0))(x)", "jax.vmap(jnp.sin, axis_name={'x'})(x)",
    "jax.vmap(jnp.sin, axis_size=[3])(x)", "jax.vmap(jnp.sin, axis_size=3j)(x)",
    # Placements
    "jax.jit(jnp.sin, in_shardings=x)(x)", "jax.jit(jnp.sin, in_shardings=False)(x)", "jax.jit(jnp.sin, device=x)(x)", "jax.jit(jnp.sin, backend={1})(x)",
    "jax.device_put(x, donate=True, may_alias=True)", "jax.device_put((x, x), (None, None, None))",
    # Functions
    "rule(jax.custom_jvp('a', nondiff_argnums=(1,)))(x, 2)", "empty(jax.custom_jvp(jnp.sin))(x)", "jax.vjp(jnp.sin, x)[1](2**70)",
    "jax.lax.custom_linear_solve(lambda x: 2 * x, x, lambda f, b: (1.0, 2))", "jax.jit(lambda x: x if x > 0 else -x)(x)",
    "jax.jit(lambda x: x if x > 0 else -x)(x[0])", "jax.lax.while_loop(lambda c: c < 9, lambda c: c * 2, x)",
    "jax.jit(lambda x: x * 2)(np.zeros(3, jax.dtypes.float0))", "jax.lax.map(lambda x: x * 2, np.zeros(3, jax.dtypes.float0))",
)  # fmt: skip
ACCEPTED = (
    "jax.jit(lambda x: x * 2, donate_argnums=np.int64(0))(x + 0)", "jax.jit(lambda x, n: x * n, static_argnums=np.array(1))(x, 2)",
    "jax.checkpoint(jnp.sin, policy=[1])(x)", "jax.jacrev(jnp.sin, allow_int=np.array([True, False]))(x)",
    "jax.grad(lambda x, y: jnp.sum(x * y), np.int64(1))(x, x)",
)  # fmt: skip


def scope_of(library):
    def rule(fun):
        if hasattr(fun, "defjvp"):
            fun.defjvp(lambda n, p, t: (p[0] * n, t[0] * n))
        else:
            fun.defvjp(lambda x, n: (x, None), lambda n, r, g: (g,))
        return lambda x, n: library.jvp(lambda x: fun(x, n), (x,), (x,))

    def empty(fun):
        fun.defjvp({})
        return fun

    return {"np": np, "x": library.numpy.ones(3), "rule": rule, "empty": empty}


@pytest.mark.parametrize("text", REFUSED)
def test_refused_with_the_type_of_jax(text):
    check_refused(text, scope_of)


@pytest.mark.parametrize("text", ACCEPTED)
def test_accepted_as_in_jax(text):
    check_accepted(text, scope_of)
