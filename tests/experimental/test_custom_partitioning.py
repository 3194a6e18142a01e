"""Functions that say how they are split: they run whole, and rules are read and checked as JAX does."""

import jax
import jax.experimental.custom_partitioning
import numpy as np
import pytest

import plugjax
import plugjax.experimental.custom_partitioning
import plugjax.numpy as jnp

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def of(m):
    return m.experimental.custom_partitioning


def scaled_sums(m, **options):
    f = of(m).custom_partitioning(lambda x, y=2.0: {"s": (x * y).sum(1)})
    f.def_partition(lambda *_: None, sharding_rule="i j, -> i", reduction_factors=("j",), **options)
    return f


def test_it_runs_whole(on_backend):
    f = scaled_sums(plugjax)
    for run in (f, plugjax.jit(f)):
        np.testing.assert_allclose(run(X)["s"], 2 * X.sum(1))
        np.testing.assert_allclose(run(X, y=3.0)["s"], 3 * X.sum(1))


def test_jaxprs_and_derivatives_are_those_of_jax():
    for m in (jax, plugjax):
        f = scaled_sums(m)
        (eqn,) = m.make_jaxpr(f)(X).eqns
        assert eqn.primitive.name == "custom_partitioning"
        assert str(eqn.params["sharding_rule"]).startswith("SdyShardingRule((('i', 'j'), ())")
        assert set(eqn.params) == {
            "call", "decode_shardings", "in_tree", "infer_sharding_from_operands", "out_tree", "partition",
            "propagate_user_sharding", "sharding_rule", "static_args",
        }  # fmt: skip
        with pytest.raises(NotImplementedError):
            m.grad(lambda x, f=f: f(x)["s"].sum())(X)
        with pytest.raises(NotImplementedError):
            m.vmap(f)(np.ones((2, 2, 3), np.float32))


def test_static_arguments():
    for m in (jax, plugjax):

        def power(x, n):
            assert type(n) is int
            return x**n

        f = of(m).custom_partitioning(power, static_argnums=(1,))
        f.def_partition(None, sharding_rule="i j -> i j")
        np.testing.assert_allclose(f(X, 2), X**2)
        np.testing.assert_allclose(m.jit(lambda x, f=f: f(x, 3))(X), X**3)
        with pytest.raises(m.errors.UnexpectedTracerError):
            m.jit(f)(X, 2)


def test_a_custom_derivative_around_it():
    f = scaled_sums(plugjax)

    @plugjax.custom_vjp
    def total(x):
        return f(x)["s"].sum()

    total.defvjp(lambda x: (total(x), x), lambda x, bar: (bar * jnp.full_like(x, 2),))
    np.testing.assert_array_equal(plugjax.grad(total)(X), 2 * np.ones_like(X))


RULES = [
    ("i j -> i j", {}),
    ("... i -> ... i", {}),
    ("...1 i, ...2 j -> ...1 j", {}),
    ("b (h d), d -> b h", {"h": 2}),
    ("i, j -> i j", {"reduction_factors": ("i",), "permutation_factors": ("j",)}),
    ("->", {}),
    ("i_1 j2 -> j2", {"need_replication_factors": ("i_1",)}),
    # Those that are refused.
    ("i j", {}),
    ("i . j -> i", {}),
    ("i ... -> i", {}),
    ("(i ...) -> i", {}),
    ("(i j -> i", {"j": 2}),
    ("i) -> i", {}),
    ("((i j) k) -> i", {}),
    ("(i) -> i", {}),
    ("1i -> i", {}),
    ("i-j -> i", {}),
    ("i$ -> i", {}),
    ("…i -> i", {}),
    ("(i j) -> i", {}),
    ("i j -> i", {"j": 3}),
    ("i -> i", {"k": 3}),
    ("i -> i", {"reduction_factors": ("k",)}),
    ("i -> i", {"reduction_factors": ("i", "i")}),
    ("i -> i", {"reduction_factors": ["i"]}),
    ("i j -> i", {"reduction_factors": ("j",), "permutation_factors": ("j",)}),
    ("(i j) k -> i", {"j": 2.5}),
    (None, {"reduction_factors": ("j",)}),
    (3, {}),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "options"), RULES, ids=str)
def test_rules(rule, options):
    found = []
    for m in (jax, plugjax):
        f = of(m).custom_partitioning(lambda x: x)
        try:
            f.def_partition(None, sharding_rule=rule, **options)
            found.append(str(f.sharding_rule))
        except (TypeError, ValueError) as error:
            found.append(type(error))
    assert found[0] == found[1]


@pytest.mark.parametrize(
    "make",
    [
        lambda cp: cp.CompoundFactor("a"),
        lambda cp: cp.CompoundFactor("a", 1),
        lambda cp: cp.CompoundFactor("a", cp.BATCHING),
        lambda cp: cp.CompoundFactor("a", "1"),
        lambda cp: cp.CompoundFactor("a", "b"),
        lambda cp: cp.ArrayMapping(1),
        lambda cp: cp.ArrayMapping("a", cp.BATCHING),
        lambda cp: cp.ArrayMapping(cp.BATCHING + "1", "a"),
        lambda cp: cp.SdyShardingRule((cp.ArrayMapping("a"),), (cp.ArrayMapping("b"),)),
    ],
)
def test_parts_of_rules(make):
    found = []
    for m in (jax, plugjax):
        try:
            found.append(str(make(of(m))))
        except ValueError as error:
            found.append(type(error))
    assert found[0] == found[1]


def test_what_is_stated_for_other_partitioners_is_refused():
    for m in (jax, plugjax):
        f = of(m).custom_partitioning(lambda x: x)
        f.def_partition(None, infer_sharding_from_operands=lambda *_: None)
        with pytest.raises(NotImplementedError, match="sharding_rule"):
            f(X)
        with pytest.raises(TypeError):
            f(X, k=1)
