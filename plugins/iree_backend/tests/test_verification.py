"""Verification of first calls behind the workarounds: with one of them off, results are right all the same."""

import warnings

import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax import guard, lax
from plugjax.guard import VerificationWarning

X = np.random.default_rng(0).normal(size=(4, 4)).astype(np.float32)


def differences(x):
    r = jnp.sum(x, axis=1)
    return r[:, None] - r[None, :]


def updated_and_padded(x):
    return x.at[0].add(1.0), jnp.pad(x, 1), x * 2


def its_own_beginning(x):
    z = jnp.exp(x)
    return lax.fori_loop(0, 5, lambda i, c: jnp.sin(c), z) * z


def drops_its_carry(x):
    return lax.scan(lambda c, _: (jnp.sin(x[0, 0]), x[0, 0]), x[0, 0], x, unroll=2)


def weights(x):
    return jnp.sum(jnp.ones(4) / 4) + x


def images_by_weights(x):
    return (x * 10 + 200).astype(jnp.uint8).astype(jnp.float32) @ x


def of_a_constant_nan(x):
    return plugjax.nn.sigmoid(jnp.array([0.0, np.nan, 1.0, np.inf])) * x


def loops_in_an_unrolled_one(x):
    return lax.fori_loop(
        0, 4, lambda i, c: c + jnp.sum(lax.map(lambda q: q * 2, x[i])), 0.0, unroll=2
    )


def branches(x):
    def step(carry, row):
        a, _, c = carry
        chosen = lax.cond(a[0] > 0, lambda v: (v, v * 2, v), lambda v: (v * 3, v, v + 1), c)
        return chosen, c[0].sum()

    return lax.scan(step, (x[0], x[1], x[2]), x)


def by_a_column(x):
    q = (x * 10).astype(jnp.int8)
    return lax.dot(q, q[:, 0], preferred_element_type=jnp.int32)


def halved_until_small(x):
    """A loop whose body does not read the error that its condition reads."""

    def step(carry):
        y = carry[0] * 0.5
        return y, jnp.sum(y * y) + jnp.log(jnp.abs(x[0, 0]))

    return lax.while_loop(lambda carry: carry[1] > 0.01, step, (x, jnp.abs(x[0, 1]) + 1.0))


PROGRAMS = {
    "constant_reductions": weights,
    "paired_reductions": differences,
    "equal_copies": loops_in_an_unrolled_one,
    "ordered_loops": its_own_beginning,
    "invariant_carries": drops_its_carry,
    "late_users": updated_and_padded,
    "special_constants": of_a_constant_nan,
    "sliced_vectors": by_a_column,
    "unread_carries": halved_until_small,
    "unsigned_products": images_by_weights,
    "registers": branches,
}


_WRONG_WITHOUT = (
    "constant_reductions",
    "equal_copies",
    "paired_reductions",
    "sliced_vectors",
    "special_constants",
    "unsigned_products",
)


@pytest.mark.spread(6)
@pytest.mark.parametrize("workaround", PROGRAMS)
def test_right_without_a_workaround(workaround, tmp_path, monkeypatch):
    monkeypatch.setenv("PLUGJAX_REPORT_DIR", str(tmp_path))
    program = PROGRAMS[workaround]
    with plugjax.default_device("numpy"):
        expected = plugjax.tree.leaves(program(jnp.asarray(X)))
    plugjax.config.update("enable_compilation_cache", False)
    try:
        with (
            plugjax.default_device("iree"),
            plugjax.config.override("verify", "first"),
            plugjax.config.override("fallback", "silent"),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore", VerificationWarning)
            f = plugjax.jit(program, compiler_options={"without": (workaround,)})
            found = [plugjax.tree.leaves(f(X)) for _ in range(2)]
    finally:
        plugjax.config.update("enable_compilation_cache", True)
    for leaves in found:
        for y, z in zip(leaves, expected, strict=True):
            np.testing.assert_allclose(y, z, rtol=1e-5, atol=1e-5)
    if workaround in _WRONG_WITHOUT:
        assert guard.report()[-1].state == "repaired"
