"""Collectives under named axes of vmap: each in every context, against JAX."""

from contextlib import nullcontext

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import plugjax
import plugjax.numpy as pnp
from plugjax import lax
from plugjax.core import registry
from plugjax.extend.core import Primitive
from plugjax.extend.rules import ANY_AXIS, RuleSet, axis_names_rule, hookimpl
from plugjax.transforms.named_axes import free_axes, uses_axis
from tests.quick_oracle import optimised

X = np.random.default_rng(3).uniform(-1, 1, (4, 4, 8)).astype(np.float32)

# Functions of one instance, [4, 8], on an axis "i" of size 4.
COLLECTIVES = {
    "psum": lambda lax, y: lax.psum(y, "i"),
    "psum in a tree": lambda lax, y: lax.psum({"a": y, "b": (y[0], 2.0)}, "i"),
    "psum and positional": lambda lax, y: lax.psum(y, ("i", 0)),
    "psum of a constant": lambda lax, y: y * lax.psum(2, "i"),
    "psum of an array": lambda lax, y: y * lax.psum(np.arange(8, dtype=np.float32), "i"),
    "psum of bools": lambda lax, y: lax.psum(y > 0, "i") * y,
    "pmean": lambda lax, y: lax.pmean(y, "i"),
    "pmax": lambda lax, y: lax.pmax(y, "i"),
    "pmin": lambda lax, y: lax.pmin(y, "i"),
    "ppermute": lambda lax, y: lax.ppermute(y, "i", [(0, 1), (1, 3), (3, 2), (2, 0)]),
    "pshuffle": lambda lax, y: lax.pshuffle(y, "i", [2, 0, 3, 1]),
    "pswapaxes": lambda lax, y: lax.pswapaxes(y, "i", 0),
    "all_gather": lambda lax, y: lax.all_gather(y, "i"),
    "all_gather last": lambda lax, y: lax.all_gather(y, "i", axis=-1),
    "all_gather tiled": lambda lax, y: lax.all_gather(y, "i", axis=1, tiled=True),
    "all_gather of a constant": lambda lax, y: lax.all_gather(np.float32(2), "i") * y[0, 0],
    "all_to_all": lambda lax, y: lax.all_to_all(y, "i", 0, 1),
    "all_to_all to the front": lambda lax, y: lax.all_to_all(y.T, "i", 1, 0),
    "all_to_all tiled": lambda lax, y: lax.all_to_all(y, "i", 1, 0, tiled=True),
    "all_to_all in place": lambda lax, y: lax.all_to_all(y, "i", 1, 1, tiled=True),
    "psum_scatter": lambda lax, y: lax.psum_scatter(y, "i"),
    "psum_scatter tiled": lambda lax, y: lax.psum_scatter(y, "i", scatter_dimension=1, tiled=True),
    "axis_index": lambda lax, y: y * lax.axis_index("i"),
    "axis_size": lambda lax, y: y * lax.axis_size("i"),
    "several": lambda lax, y: lax.psum(lax.all_gather(y, "i")[lax.axis_index("i")] * y, "i"),
}


def total(jnp, tree):
    leaves = plugjax.tree.leaves(tree)
    return sum(jnp.sum(jnp.sin(v)) for v in leaves)


def mapped(j, f, **options):
    return j.vmap(f, axis_name="i", **options)


def halves(j, f):
    return lambda y: j.tree.map(lambda v: v / 2, f(y))


def in_scan(j, f):
    return lambda y: j.lax.scan(lambda c, t: (c + t, f(y * t)), np.float32(0), np.float32([1, 2]))


def over_slices(j, f):
    """The mapped values are those of the scan."""
    return lambda y: j.lax.scan(lambda c, t: (c, f(t * y)), 0.0, y[:2, 0])[1]


def in_while(j, f, jnp):
    def loop(y):
        step = lambda s: (s[0] + 1, s[1] + total(jnp, f(y + s[1])))  # noqa: E731
        return j.lax.while_loop(lambda s: s[0] < 2, step, (0, 0.0))[1]

    return loop


CONTEXTS = {
    "vmap": lambda j, jnp, f: mapped(j, f)(X),
    "vmap onto another axis": lambda j, jnp, f: mapped(j, f, in_axes=1, out_axes=-1)(X),
    "jit of vmap": lambda j, jnp, f: j.jit(mapped(j, f))(X),
    "vmap of jit": lambda j, jnp, f: mapped(j, j.jit(f))(X),
    "vmap of scan": lambda j, jnp, f: mapped(j, in_scan(j, f))(X),
    "vmap of scan over": lambda j, jnp, f: mapped(j, over_slices(j, f))(X),
    "vmap of cond": lambda j, jnp, f: mapped(
        j, lambda y: j.lax.cond(X[0, 0, 0] < 9, f, halves(j, f), y)
    )(X),
    "vmap of cond by value": lambda j, jnp, f: mapped(
        j, lambda y: j.lax.cond(y[0, 0] < 0, f, halves(j, f), y)
    )(X),
    "vmap of while": lambda j, jnp, f: mapped(j, in_while(j, f, jnp))(X),
    "grad of vmap": lambda j, jnp, f: j.grad(lambda x: total(jnp, mapped(j, f)(x)))(X),
    "vmap of grad": lambda j, jnp, f: mapped(j, j.grad(lambda y: total(jnp, f(y))))(X),
    "vmap of grad of scan": lambda j, jnp, f: mapped(
        j, j.grad(lambda y: total(jnp, in_scan(j, f)(y)[1]))
    )(X),
    "vmap of grad of cond": lambda j, jnp, f: mapped(
        j, j.grad(lambda y: total(jnp, j.lax.cond(X[0, 0, 0] < 9, f, halves(j, f), y)))
    )(X),
    "vmap of grad of grad": lambda j, jnp, f: mapped(
        j, j.grad(lambda y: jnp.sum(j.grad(lambda z: total(jnp, f(z * z)))(y) ** 2))
    )(X),
    "jacfwd of vmap": lambda j, jnp, f: j.jacfwd(lambda t: mapped(j, f)(t * X))(2.0),
    "vmap of jacfwd": lambda j, jnp, f: mapped(j, j.jacfwd(f))(X),
    "vmap of linearize": lambda j, jnp, f: mapped(j, lambda y: j.linearize(f, y)[1](y * y))(X),
    "unmapped operand": lambda j, jnp, f: mapped(j, lambda y, z: f(z), in_axes=(0, None))(X, X[0]),
    "unmapped operand of grad": lambda j, jnp, f: mapped(
        j, lambda y, z: j.grad(lambda z: total(jnp, f(z)))(z), in_axes=(0, None)
    )(X, X[0]),
    "inside another": lambda j, jnp, f: j.vmap(mapped(j, f))(np.stack([X, 2 * X])),
    "inside another, last axes": lambda j, jnp, f: j.vmap(
        mapped(j, f, in_axes=2), in_axes=3, out_axes=1
    )(np.moveaxis(np.stack([X, 2 * X]), (0, 1), (3, 2))),
    "around another": lambda j, jnp, f: mapped(j, j.vmap(f), in_axes=1)(np.stack([X, 2 * X])),
    "around another, last axis": lambda j, jnp, f: mapped(j, j.vmap(f, in_axes=2, out_axes=-1))(
        np.moveaxis(np.stack([X, 2 * X]), 0, 3)
    ),
}  # fmt: skip


def close(ours, theirs):
    ours, theirs = plugjax.tree.leaves(ours), jax.tree.leaves(theirs)
    assert [(y.shape, y.dtype) for y in ours] == [(y.shape, y.dtype) for y in theirs]
    for y, z in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(np.asarray(y), np.asarray(z), rtol=1e-4, atol=1e-4)


class SpeltOut:
    """jax.lax with collectives that lack a rule in JAX, or have a wrong one, written with ``all_gather``."""

    def __getattr__(self, name):
        return getattr(jax.lax, name)

    def pmax(self, y, name):
        return jax.lax.all_gather(y, name).max(0)

    def pmin(self, y, name):
        return jax.lax.all_gather(y, name).min(0)

    def psum_scatter(self, y, name, scatter_dimension=0, tiled=False):
        y, block = jax.lax.psum(y, name), y.shape[scatter_dimension] // jax.lax.axis_size(name)
        start = jax.lax.axis_index(name) * block
        found = jax.lax.dynamic_slice_in_dim(y, start, block, scatter_dimension)
        return found if tiled else found.squeeze(scatter_dimension)

    def all_to_all(self, y, name, split, concat, tiled=False):
        block = y.shape[split] // jax.lax.axis_size(name)
        start = jax.lax.axis_index(name) * block
        parts = [
            jax.lax.dynamic_slice_in_dim(part, start, block, split)
            for part in jax.lax.all_gather(y, name)
        ]
        if tiled:
            return jnp.concatenate(parts, concat)
        return jnp.stack([part.squeeze(split) for part in parts], concat)

    def pswapaxes(self, y, name, axis):
        return self.all_to_all(y, name, axis, axis)


@pytest.mark.spread(16)
@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("name", COLLECTIVES)
def test_against_jax(name, context):
    f, run = COLLECTIVES[name], CONTEXTS[context]
    # The oracle is compiled as one program: JAX compiles eager operations one by one. The steps of
    # a loop amplify the rounding of an unoptimised JAX.
    with optimised() if context == "vmap of while" else nullcontext():
        expected = jax.jit(lambda: run(jax, jnp, lambda y: f(SpeltOut(), y)))()
    close(run(plugjax, pnp, lambda y: f(lax, y)), expected)


@pytest.mark.parametrize("name", COLLECTIVES)
def test_values_against_those_of_jax(name):
    f, run = COLLECTIVES[name], CONTEXTS["vmap onto another axis"]
    close(run(plugjax, pnp, lambda y: f(lax, y)), run(jax, jnp, lambda y: f(jax.lax, y)))


# Functions of one instance, [12], on axes "i" and "j" of sizes 3 and 2.
SEVERAL_NAMES = {
    "psum": lambda lax, y: lax.psum(y, ("i", "j")),
    "psum one by one": lambda lax, y: lax.psum(y, "i") * lax.psum(y, "j"),
    "psum of a constant": lambda lax, y: y * lax.psum(1, ("i", "j")),
    "psum of an inner value": lambda lax, y: lax.psum(lax.axis_index("j"), ("i", "j")) * y,
    "pmax": lambda lax, y: lax.pmax(y, ("j", "i")),
    "pmean": lambda lax, y: lax.pmean(y, ["j", "i"]),
    "axis_index": lambda lax, y: y + lax.axis_index(("i", "j")),
    "axis_size": lambda lax, y: y + lax.axis_size(("i", "j")),
    "all_to_all tiled": lambda lax, y: lax.all_to_all(y, ("i", "j"), 0, 0, tiled=True),
    "all_to_all apart": lambda lax, y: lax.all_to_all(
        y.reshape(12, 1), ("i", "j"), 0, 1, tiled=True
    ),
    "ppermute": lambda lax, y: lax.ppermute(
        lax.ppermute(y, "i", [(0, 1), (1, 2), (2, 0)]), "j", [(0, 1), (1, 0)]
    ),
    "all_gather": lambda lax, y: lax.all_gather(lax.all_gather(y, "i"), "j"),
    "psum_scatter": lambda lax, y: lax.psum_scatter(
        lax.psum_scatter(y, "i", tiled=True), "j", tiled=True
    ),
    "axis_index under jit": lambda lax, y: (
        (plugjax if lax is not jax.lax else jax).jit(
            lambda: lax.axis_index("i") - 2 * lax.axis_index("j")
        )()
        * y
    ),
}
Z = np.random.default_rng(4).uniform(-1, 1, (3, 2, 12)).astype(np.float32)
ORDERS = {
    "i around j": lambda j, f: j.vmap(j.vmap(f, axis_name="j"), axis_name="i"),
    "j around i": lambda j, f: j.vmap(
        j.vmap(f, axis_name="i"), axis_name="j", in_axes=1, out_axes=1
    ),
    "grad of both": lambda j, f: j.grad(
        lambda x: (j.vmap(j.vmap(f, axis_name="j"), axis_name="i")(x) ** 2).sum()
    ),
    "grad inside both": lambda j, f: j.vmap(
        j.vmap(j.grad(lambda y: (f(y) ** 2).sum()), axis_name="j"), axis_name="i"
    ),
}


@pytest.mark.spread(2)
@pytest.mark.parametrize(
    ("name", "order"),
    # JAX has no derivative of pmax.
    [(n, o) for n in SEVERAL_NAMES for o in ORDERS if not (n == "pmax" and "grad" in o)],
)
def test_several_names_against_jax(name, order):
    f, run = SEVERAL_NAMES[name], ORDERS[order]
    close(run(plugjax, lambda y: f(lax, y))(Z), run(jax, lambda y: f(jax.lax, y))(Z))


def both_names(f, x):
    return plugjax.vmap(plugjax.vmap(f, axis_name="j"), axis_name="i")(x)


def test_gathering_and_scattering_along_several_names():
    gathered = both_names(lambda y: lax.all_gather(y, ("i", "j")), Z)
    np.testing.assert_array_equal(gathered[1, 1], Z.reshape(6, 12))
    tiled = both_names(lambda y: lax.all_gather(y, ("i", "j"), tiled=True), Z)
    np.testing.assert_array_equal(tiled[2, 0], Z.reshape(72))
    total = Z.sum((0, 1))
    scattered = both_names(lambda y: lax.psum_scatter(y, ("i", "j"), tiled=True), Z)
    np.testing.assert_allclose(scattered, total.reshape(3, 2, 2), rtol=1e-5)
    squeezed = both_names(lambda y: lax.psum_scatter(y[:6], ("i", "j")), Z)
    np.testing.assert_allclose(squeezed, total[:6].reshape(3, 2), rtol=1e-5)


def custom_rules(j):
    """Functions with custom rules that use the axis too."""
    lax = j.lax

    @j.custom_jvp
    def forward(y):
        return lax.psum(y, "i") * y

    @forward.defjvp
    def _(primals, tangents):
        return forward(*primals), lax.psum(tangents[0], "i") * lax.axis_index("i")

    @j.custom_vjp
    def backward(y):
        return lax.psum(y, "i") * y

    backward.defvjp(
        lambda y: (backward(y), y),
        lambda y, bar: (lax.psum(bar, "i") * y * lax.axis_index("i"),),
    )
    return {"custom_jvp": forward, "custom_vjp": backward, "checkpoint": j.checkpoint(forward)}


CUSTOM = {
    "vmap": lambda j, f: mapped(j, f),
    "vmap of jit": lambda j, f: mapped(j, j.jit(f)),
    "unmapped operand": lambda j, f: mapped(j, lambda y: f(2.0) + y),
    "grad of vmap": lambda j, f: j.grad(lambda x: mapped(j, f)(x).sum()),
    "vmap of grad": lambda j, f: mapped(j, j.grad(f)),
    "vmap of grad of jit": lambda j, f: mapped(j, j.grad(j.jit(f))),
    "vmap of grad of scan": lambda j, f: mapped(
        j, j.grad(lambda y: j.lax.scan(lambda c, _: (f(c), c), y, None, length=2)[0])
    ),
}


@pytest.mark.parametrize("context", CUSTOM)
@pytest.mark.parametrize("name", ["custom_jvp", "custom_vjp", "checkpoint"])
def test_inside_custom_rules(name, context):
    x = X[0, :, 0]
    ours, theirs = (CUSTOM[context](j, custom_rules(j)[name])(x) for j in (plugjax, jax))
    close(ours, theirs)


def test_the_inner_axis_of_two_with_one_name_is_meant():
    f = lambda j: j.vmap(j.vmap(lambda y: j.lax.psum(y, "i"), axis_name="i"), axis_name="i")  # noqa: E731
    close(f(plugjax)(X), f(jax)(X))


def test_an_incomplete_permutation_leaves_zeros():
    shift = plugjax.vmap(lambda y: lax.ppermute(y, "i", [(0, 1), (2, 3)]), axis_name="i")
    np.testing.assert_array_equal(shift(X), [0 * X[0], X[0], 0 * X[0], X[2]])
    slope = plugjax.grad(lambda x: pnp.sum(shift(x)))(X)
    np.testing.assert_array_equal(slope[:, 0, 0], [1, 0, 1, 0])
    constant = plugjax.vmap(lambda y: lax.ppermute(1.0, "i", [(0, 1)]), axis_name="i")(X)
    np.testing.assert_array_equal(constant, [0, 1, 0, 0])


def test_equal_maxima_share_a_tangent():
    y = plugjax.vmap(plugjax.grad(lambda y: lax.pmax(y, "i")), axis_name="i")
    np.testing.assert_array_equal(y(np.float32([1, 3, 3])), [0, 1.5, 1.5])


def test_constants_stay_what_they_are():
    found = []

    def f(y):
        found.extend([lax.psum(1, "i"), lax.psum(1.5, "i"), lax.axis_size("i"), lax.pmean(3, "i")])
        return y

    plugjax.jit(plugjax.vmap(f, axis_name="i"))(X)
    assert found == [4, 6.0, 4, 3.0]
    assert [type(v) for v in found] == [int, float, int, float]


def test_a_jitted_function_is_traced_once_per_size():
    sizes = []

    @plugjax.jit
    def f(y):
        sizes.append(lax.axis_size("i"))
        return lax.psum(y, "i") / lax.psum(1, "i")

    for n in (2, 3, 2, 3):
        found = plugjax.vmap(f, axis_name="i")(np.arange(n, dtype=np.float32))
        np.testing.assert_array_equal(found, [(n - 1) / 2] * n)
    assert sizes == [2, 3]


@pytest.mark.parametrize(
    "name",
    sorted({"psum", "pmean", "pmax", "ppermute", "all_gather", "psum_scatter", "axis_index"}),
)
def test_jaxprs_are_those_of_jax(name):
    env = {"axis_env": [("i", 4)]}
    ours = plugjax.make_jaxpr(lambda y: COLLECTIVES[name](lax, y), **env)(X[0])
    theirs = jax.make_jaxpr(lambda y: COLLECTIVES[name](jax.lax, y), **env)(X[0])
    assert "".join(str(ours).split()) == "".join(str(theirs).split())


def test_a_program_knows_the_names_it_uses():
    def f(y):
        inner = plugjax.jit(lambda y: lax.psum(y, ("i", "j")))(y)
        return plugjax.vmap(lambda z: lax.psum(z, "k") + lax.axis_index("l"), axis_name="k")(inner)

    program = plugjax.make_jaxpr(f, axis_env=[("i", 2), ("j", 3), ("l", 4)])(np.ones(3))
    assert free_axes(program) == {"i", "j", "l"}


def test_a_program_with_a_free_name_runs_where_the_name_is_bound():
    program = plugjax.make_jaxpr(lambda y: lax.psum(y, "i"), axis_env=[("i", 4)])(X[0])
    run = plugjax.extend.core.jaxpr_as_fun(program)
    np.testing.assert_allclose(
        plugjax.vmap(lambda y: run(y)[0], axis_name="i")(X)[0], X.sum(0), rtol=1e-5
    )
    with pytest.raises(NameError, match="unbound axis name: i"):
        run(X[0])
    with pytest.raises((NameError, TypeError), match="axis name"):
        plugjax.jit(run)(X[0])


UNBOUND = {
    "psum": lambda lax: lax.psum(X, "i"),
    "psum of a constant": lambda lax: lax.psum(1, "i"),
    "pmean": lambda lax: lax.pmean(X, "i"),
    "pmax": lambda lax: lax.pmax(X, "i"),
    "pmin": lambda lax: lax.pmin(X, "i"),
    "all_gather": lambda lax: lax.all_gather(X, "i"),
    "all_to_all": lambda lax: lax.all_to_all(X, "i", 0, 0),
    "psum_scatter": lambda lax: lax.psum_scatter(X, "i"),
    "axis_index": lambda lax: lax.axis_index("i"),
    "axis_size": lambda lax: lax.axis_size("i"),
    "several": lambda lax: lax.axis_index(("j", "i")),
}


@pytest.mark.parametrize("name", UNBOUND)
def test_unbound_names(name):
    for lib in (jax, plugjax):
        for run in (
            lambda f: f(),
            lambda f, j=lib: j.jit(f)(),
            lambda f, j=lib: j.vmap(lambda _: f(), axis_name="j")(X),
        ):
            with pytest.raises(NameError, match="unbound axis name"):
                run(lambda lib=lib: UNBOUND[name](lib.lax))


def test_ppermute_and_its_kin_need_the_name():
    for f in (
        lambda: lax.ppermute(X, "i", [(0, 0)]),
        lambda: lax.pshuffle(X, "i", [0]),
        lambda: lax.pswapaxes(X, "i", 0),
    ):
        with pytest.raises(NameError, match=r"unbound axis name: i.*vmap\(..., axis_name='i'\)"):
            f()


MISUSED = {
    "groups cover": (
        ValueError,
        lambda lax, y: lax.psum(y, "i", axis_index_groups=[[0, 1], [2, 2]]),
    ),
    "groups of positional": (
        ValueError,
        lambda lax, y: lax.psum(y, ("i", 0), axis_index_groups=[[0, 1, 2, 3]]),
    ),
    "groups of psum": (
        NotImplementedError,
        lambda lax, y: lax.psum(y, "i", axis_index_groups=[[0, 1], [2, 3]]),
    ),
    "groups of pmax": (
        NotImplementedError,
        lambda lax, y: lax.pmax(y, "i", axis_index_groups=[[0, 1], [2, 3]]),
    ),
    "groups of all_gather": (
        NotImplementedError,
        lambda lax, y: lax.all_gather(y, "i", axis_index_groups=[[0, 1], [2, 3]]),
    ),
    "groups of all_to_all": (
        NotImplementedError,
        lambda lax, y: lax.all_to_all(y[:2], "i", 0, 0, axis_index_groups=[[0, 1], [2, 3]]),
    ),
    "no permutation": (ValueError, lambda lax, y: lax.pshuffle(y, "i", [0, 0, 1, 2])),
    "size of all_to_all": (ValueError, lambda lax, y: lax.all_to_all(y, "i", 1, 0)),
    "size of all_to_all tiled": (
        ValueError,
        lambda lax, y: lax.all_to_all(y[:3], "i", 0, 0, tiled=True),
    ),
    "to": (ValueError, lambda lax, y: lax.all_gather(y, "i", to="elsewhere")),
    "positional axis": (ValueError, lambda lax, y: lax.psum(y, ("i", 5))),
}


@pytest.mark.parametrize("name", MISUSED)
def test_misuse(name):
    kind, f = MISUSED[name]
    for lib in (jax, plugjax):
        with pytest.raises(kind):
            mapped(lib, lambda y, lib=lib: f(lib.lax, y))(X)


def test_misuse_that_jax_asserts_or_lets_through():
    for f in (
        lambda y: lax.ppermute(y, "i", [(0, 1), (0, 2)]),
        lambda y: lax.ppermute(y, "i", [(0, 4)]),
        lambda y: lax.psum_scatter(y, "i", scatter_dimension=1),
        lambda y: lax.psum_scatter(y[:3], "i", tiled=True),
    ):
        with pytest.raises(ValueError, match=r"lax\."):
            mapped(plugjax, f)(X)


def test_groups_of_a_constant():
    f = lambda lax, y: lax.psum(1, "i", axis_index_groups=[[0, 1], [2, 3]])  # noqa: E731
    close(mapped(plugjax, lambda y: f(lax, y))(X), mapped(jax, lambda y: f(jax.lax, y))(X))


def test_on_every_backend(on_backend):
    def program(j, lib):
        def f(y):
            gathered = lib.all_gather(y, "i", tiled=True) * lib.axis_index("i")
            shifted = lib.ppermute(y, "i", [(0, 1), (1, 2), (2, 3), (3, 0)])
            return lib.psum_scatter(gathered, "i", tiled=True) - lib.pmean(y, "i") * shifted

        return j.jit(j.vmap(f, axis_name="i"))

    found = program(plugjax, lax)(pnp.asarray(X))
    assert found.device.backend.name == on_backend
    close(found, program(jax, jax.lax)(X))


@pytest.mark.parametrize(
    ("names", "expected"), [(["j", "i"], True), (["j"], False), (["j", ANY_AXIS], True)]
)
def test_a_rule_of_axis_names_may_be_a_generator(names, expected):
    rules, named_p = RuleSet(__name__), Primitive("named")

    @rules.define(axis_names_rule, named_p)
    def _names(**_):
        yield from names

    class Plugin:
        @staticmethod
        @hookimpl
        def plugjax_rules():
            return [rules]

    with registry.use(registry.active().extended(Plugin)):
        assert uses_axis("i", named_p, {}) is expected
