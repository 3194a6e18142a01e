"""Rematerialization against JAX: values, derivatives, saved residuals, repeated computations."""

import jax
import jax.ad_checkpoint
import jax.numpy as jnp
import numpy as np
import pytest

import plugjax
import plugjax.ad_checkpoint
import plugjax.checkpoint_policies
import plugjax.numpy as pnp

W = np.random.default_rng(0).normal(size=(3, 4, 4)).astype(np.float32) / 2
X = np.linspace(-1, 1, 8).reshape(2, 4).astype(np.float32)

POLICIES = {
    "none": lambda j: None,
    "everything": lambda j: j.checkpoint_policies.everything_saveable,
    "nothing": lambda j: j.checkpoint_policies.nothing_saveable,
    "dots": lambda j: j.checkpoint_policies.dots_saveable,
    "dots without batch": lambda j: j.checkpoint_policies.dots_with_no_batch_dims_saveable,
    "name": lambda j: j.checkpoint_policies.save_only_these_names("hidden"),
    "other names": lambda j: j.checkpoint_policies.save_any_names_but_these("hidden"),
    "all but a name": lambda j: j.checkpoint_policies.save_anything_except_these_names("hidden"),
    "both": lambda j: j.checkpoint_policies.save_from_both_policies(
        j.checkpoint_policies.dots_saveable, j.checkpoint_policies.save_only_these_names("hidden")
    ),
}


def layer(j, np_):
    def apply(w, x):
        hidden = j.ad_checkpoint.checkpoint_name(np_.tanh(x @ w), "hidden")
        return np_.sin(hidden) * j.jit(np_.cos)(hidden)

    return apply


def network(j, np_, policy):
    step = j.checkpoint(layer(j, np_), policy=POLICIES[policy](j))

    def loss(w, x):
        for i in range(3):
            x = step(w[i], x)
        return (x**2).sum()

    return loss


COMPOSITIONS = {
    "value": lambda j, f: f(W, X),
    "grad": lambda j, f: j.grad(f, (0, 1))(W, X),
    "jit grad": lambda j, f: j.jit(j.grad(f, (0, 1)))(W, X),
    "grad jit": lambda j, f: j.grad(j.jit(f), (0, 1))(W, X),
    "jvp": lambda j, f: j.jvp(f, (W, X), (W, X)),
    "linearize": lambda j, f: j.linearize(f, W, X)[1](W, X),
    "vmap grad": lambda j, f: j.vmap(j.grad(f), (None, 0))(W, np.stack([X, 2 * X])),
    "grad of grad": lambda j, f: j.grad(lambda x: (j.grad(f, 1)(W, x) ** 2).sum())(X),
    "jvp of grad": lambda j, f: j.jvp(lambda x: j.grad(f)(W, x), (X,), (X,)),
    "hessian": lambda j, f: j.hessian(lambda s: f(W, s * X))(1.0),
}


def close(found, wanted):
    found, wanted = (jax.tree.leaves(v) for v in (found, wanted))
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted, strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


@pytest.mark.spread(8)
@pytest.mark.parametrize("composition", COMPOSITIONS)
@pytest.mark.parametrize("policy", ["none", "dots", "name", "everything"])
def test_against_jax(policy, composition):
    with plugjax.default_device("numpy"):
        found = COMPOSITIONS[composition](plugjax, network(plugjax, pnp, policy))
    close(found, COMPOSITIONS[composition](jax, network(jax, jnp, policy)))


@pytest.mark.parametrize("policy", POLICIES)
def test_compiled_against_jax(policy, backend):
    found = COMPOSITIONS["jit grad"](plugjax, network(plugjax, pnp, policy))
    close(found, COMPOSITIONS["jit grad"](jax, network(jax, jnp, policy)))


def in_scan(j, np_):
    body = j.checkpoint(layer(j, np_), prevent_cse=False)

    def loss(w, x):
        return (j.lax.scan(lambda c, wi: (body(wi, c), None), x, w)[0] ** 2).sum()

    return loss


def test_in_scan(backend):
    found = COMPOSITIONS["jit grad"](plugjax, in_scan(plugjax, pnp))
    close(found, COMPOSITIONS["jit grad"](jax, in_scan(jax, jnp)))


def computed(jaxpr, name):
    """Number of equations of the primitive in a program, inner programs included."""
    own = sum(e.primitive.name == name for e in jaxpr.eqns)
    inner = plugjax.extend.core.programs_in
    return own + sum(computed(sub, name) for e in jaxpr.eqns for sub in inner(e.params))


@pytest.mark.parametrize(
    ("policy", "tanhs", "products"),
    [
        # For each of three layers: once forwards, once again; three products per layer in the
        # transposes.
        ("none", 6, 3 + 3 + 6),
        ("dots", 6, 3 + 6),
        # The derivative of tanh uses its unnamed result, as in JAX.
        ("name", 6, 3 + 3 + 6),
        ("everything", 3, 3 + 6),
    ],
)
def test_what_is_computed_twice(policy, tanhs, products):
    from plugjax.execution.compile import run_passes

    traced = plugjax.make_jaxpr(plugjax.grad(network(plugjax, pnp, policy), (0, 1)))(W, X)
    program = run_passes(traced, "numpy")
    assert computed(program, "tanh") == tanhs
    assert computed(program, "dot_general") == products
    assert computed(program, "optimization_barrier") >= 1


def test_residuals_are_the_inputs_and_what_the_policy_saves():
    """The forward pass gives the backward pass no array that the policy does not allow."""

    def forward_outputs(policy):
        f = plugjax.checkpoint(layer(plugjax, pnp), policy=POLICIES[policy](plugjax))
        jaxpr = plugjax.make_jaxpr(lambda w, x: plugjax.vjp(f, w, x)[0])(W[0], X)
        (call,) = (e for e in jaxpr.eqns if not e.params["differentiated"])
        return len(call.outvars)

    assert forward_outputs("none") == 1
    assert forward_outputs("dots") == 2
    assert forward_outputs("name") == 2


def test_jaxpr_is_that_of_jax():
    def shape(j, np_):
        jaxpr = j.make_jaxpr(j.checkpoint(lambda x: np_.sin(np_.sin(x))))(1.0)
        (call,) = jaxpr.jaxpr.eqns
        inner = call.params["jaxpr"]
        return [e.primitive.name for e in inner.eqns], {
            k: v for k, v in call.params.items() if k != "jaxpr"
        }

    assert shape(plugjax, pnp) == shape(jax, jnp)


def test_static_arguments():
    def of(j):
        f = j.checkpoint(lambda x, flag: x**2 if flag else x, static_argnums=(1,))
        return float(j.grad(f)(3.0, True)), float(j.grad(f)(3.0, False))

    assert of(plugjax) == of(jax)
    with pytest.raises(plugjax.errors.TracerBoolConversionError):
        plugjax.checkpoint(lambda x: x if x > 0 else -x)(1.0)


def whole_loop(j, np_, policy):
    """The policy applies to a loop over layers, and to a branch in each."""

    def network(w, x):
        def body(c, wi):
            y = layer(j, np_)(wi, c)
            y = j.lax.cond(y.sum() > 0, lambda z: np_.tanh(z @ z.T) @ z, lambda z: z @ wi, y)
            return y, y.sum()

        last, sums = j.lax.scan(body, x, w)
        return (last**2).sum() + (sums**3).sum()

    return j.checkpoint(network, policy=POLICIES[policy](j))


@pytest.mark.spread(2)
@pytest.mark.parametrize("policy", ["none", "everything", "dots", "name", "other names"])
def test_policies_within_loops_and_branches_against_jax(policy):
    close(
        *(
            COMPOSITIONS["grad"](j, whole_loop(j, n, policy))
            for j, n in ((plugjax, pnp), (jax, jnp))
        )
    )


@pytest.mark.parametrize("composition", ["grad of grad", "vmap grad"])
def test_policies_within_loops_compose(composition):
    found, expected = (
        COMPOSITIONS[composition](j, whole_loop(j, n, "dots"))
        for j, n in ((plugjax, pnp), (jax, jnp))
    )
    close(found, expected)


@pytest.mark.parametrize(
    ("policy", "tanhs", "products"),
    [
        # By branch and layer: once forwards, once again; two products in the transpose for each of
        # the four.
        ("none", 4, 4 + 4 + 8),
        ("dots", 4, 4 + 8),
        ("everything", 2, 4 + 8),
    ],
)
def test_what_a_loop_computes_twice(policy, tanhs, products):
    from plugjax.execution.compile import run_passes

    gradient = plugjax.value_and_grad(whole_loop(plugjax, pnp, policy), (0, 1))
    program = run_passes(plugjax.make_jaxpr(gradient)(W, X), "numpy")
    assert computed(program, "tanh") == tanhs
    assert computed(program, "dot_general") == products


def test_a_loop_under_a_policy_on_backends(backend):
    with plugjax.default_device(plugjax.devices(backend)[0]):
        found = COMPOSITIONS["jit grad"](plugjax, whole_loop(plugjax, pnp, "dots"))
    close(found, COMPOSITIONS["grad"](jax, whole_loop(jax, jnp, "none")))


def with_rules(j, np_):
    """Derivatives from rules only: a factor that counts as constant, and a function with a custom derivative."""

    @j.custom_jvp
    def cubed(x):
        return x**3

    cubed.defjvp(lambda primals, tangents: (cubed(*primals), cubed(*primals) * tangents[0]))
    return lambda x: np_.sin(j.lax.stop_gradient(x) * x) * np_.sin(cubed(x))


@pytest.mark.spread(2)
@pytest.mark.parametrize("policy", POLICIES)
def test_higher_derivatives_under_a_policy_follow_the_rules(policy):
    found, expected = [], []
    for j, results in ((plugjax, found), (jax, expected)):
        f = j.checkpoint(with_rules(j, j.numpy), policy=POLICIES[policy](j))
        for _ in range(3):
            f = j.grad(f)
            results += [f(1.3), j.jit(f)(1.3)]
    np.testing.assert_allclose(found, expected, rtol=1e-4)


@pytest.mark.parametrize("policy", POLICIES)
def test_policies_see_into_calls(policy):
    """As many products as with JAX: values saved inside a call that is not inlined are not computed again."""
    w, x = np.ones((3, 3), np.float32), np.ones(3, np.float32)

    def count(j):
        sin, cos = j.numpy.sin, j.numpy.cos

        def inner(x):
            return sin(cos(sin(cos(sin(cos(sin(cos(sin(x @ w)))))))))

        f = j.checkpoint(lambda x: sin(j.jit(inner)(x)).sum(), policy=POLICIES[policy](j))
        return str(j.make_jaxpr(j.grad(f))(x)).count("dot_general")

    assert count(plugjax) == count(jax)
