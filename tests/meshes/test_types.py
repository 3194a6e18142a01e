"""Types that say how values are spread, without devices: texts, rules from outside, and what the framework does with them."""

import importlib
import pickle
import types

import jax
import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax.extend import registry
from plugjax.extend.core import Primitive, ShapedArray, aval_of
from plugjax.extend.meshes import ShardingTypeError, sharding_rule, spec_of
from plugjax.extend.rules import RuleSet, abstract_eval, batching_rule, hookimpl, jvp_rule
from plugjax.sharding import AbstractMesh, AxisType, NamedSharding, PartitionSpec as P

MESH = AbstractMesh((4, 2), ("x", "y"), (AxisType.Explicit, AxisType.Explicit))


def struct(shape, *spec, dtype="float32", mesh=MESH):
    return plugjax.ShapeDtypeStruct(shape, dtype, sharding=NamedSharding(mesh, P(*spec)))


def type_of(function, *args):
    return plugjax.make_jaxpr(function)(*args).out_avals[0]


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (P("x", "y"), "float32[8@x,4@y]"),
        (P(("x", "y")), "float32[8@(x,y),4]"),
        (P(), "float32[8,4]"),
        (P(None, "y"), "float32[8,4@y]"),
    ],
)
def test_types_print_their_cuts(spec, text):
    found = type_of(lambda x: x + 1, struct((8, 4), *spec))
    assert str(found) == text
    assert found.sharding.spec == P(*spec, *[None] * (2 - len(spec)))
    assert pickle.loads(pickle.dumps(found)) is found


def test_axes_that_the_compiler_decides_on_are_in_no_type():
    mesh = AbstractMesh((4, 2), ("x", "y"), (AxisType.Explicit, AxisType.Auto))
    assert str(aval_of(struct((8, 4), "x", "y", mesh=mesh))) == "float32[8@x,4]"
    automatic = AbstractMesh((4, 2), ("x", "y"))
    assert aval_of(struct((8, 4), "x", mesh=automatic)) is ShapedArray((8, 4), "float32")


def test_another_shape_says_nothing_of_cuts():
    aval = aval_of(struct((8, 4), "x"))
    assert aval.update(shape=(4, 8)).spread is None
    assert str(aval.update(dtype=np.dtype("int32"))) == "int32[8@x,4]"


@pytest.mark.parametrize("spec", [("x", "y"), ("x",), (None, "y"), (("x", "y"),), ()])
@pytest.mark.parametrize("kind", ["Explicit", "Auto"])
def test_avals_are_made_with_shardings_as_in_jax(spec, kind):
    found = []
    for framework in (plugjax, jax):
        named = framework.sharding
        types = (getattr(named.AxisType, kind),) * 2
        mesh = named.AbstractMesh((4, 2), ("x", "y"), types)
        sharding = named.NamedSharding(mesh, framework.P(*spec))
        aval_type = importlib.import_module(f"{framework.__name__}.core").ShapedArray
        aval = aval_type((8, 4), np.dtype("float32"), sharding=sharding)
        plain = aval_type((8, 4), np.dtype("float32"))
        found.append(
            [
                str(aval),
                str(plain.update(sharding=sharding)),
                str(aval.update(dtype=np.dtype("int32"))),
                str(plain),
            ]
        )
    assert found[0] == found[1]


def test_avals_name_no_devices():
    mesh = plugjax.make_mesh((1,), ("x",), axis_types=(AxisType.Explicit,))
    with pytest.raises(ValueError, match="Mesh of an aval must be an AbstractMesh"):
        ShapedArray((8,), "float32", sharding=NamedSharding(mesh, P("x")))


def test_programs_are_lowered_for_thousands_of_devices():
    mesh = AbstractMesh((4096,), ("x",), (AxisType.Explicit,))
    x = struct((8192, 4), "x", mesh=mesh)
    with plugjax.default_device("xla"):
        text = plugjax.jit(lambda x: jnp.sin(x).sum(0)).lower(x).as_text()
    assert '"x"=4096' in text
    assert '{"x"}, {}' in text


# A primitive from outside ---------------------------------------------------------------------------

swap_p = Primitive("swap_last_axes")
rules = RuleSet(__name__)


@rules.define(abstract_eval, swap_p)
def _aval(x):
    return ShapedArray((*x.shape[:-2], x.shape[-1], x.shape[-2]), x.dtype)


@rules.define(jvp_rule, swap_p)
def _jvp(primals, tangents):
    return swap_p.bind(*primals), swap_p.bind(*tangents)


@rules.define(batching_rule, swap_p)
def _batching(axis, args, dims):
    return swap_p.bind(jnp.moveaxis(args[0], dims[0], 0)), 0


typed = RuleSet(__name__)


def using(*sets):
    """The registry with the rules of a package from outside."""
    source = types.SimpleNamespace(plugjax_rules=hookimpl(lambda: list(sets)), __name__="outside")
    return registry.use(registry.active().extended().load(source))


@typed.define(sharding_rule, swap_p)
def _sharding(avals, results):
    spec = spec_of(avals[0])
    return P(*spec[:-2], spec[-1], spec[-2])


def test_a_primitive_without_a_rule_asks_for_the_compiler():
    with (
        using(rules),
        pytest.raises(ShardingTypeError, match=r"sharding rule for swap_last_axes .*auto_axes"),
    ):
        type_of(swap_p.bind, struct((8, 4), "x"))


def test_a_rule_from_outside_goes_through_transformations():
    x = struct((8, 4), "x", "y")
    batch = struct((8, 6, 4), "x", None, "y")
    with using(rules, typed):
        assert str(type_of(swap_p.bind, x)) == "float32[4@y,8@x]"
        tangent = plugjax.make_jaxpr(lambda x: plugjax.jvp(swap_p.bind, (x,), (x,)))(x).out_avals[1]
        assert str(tangent) == "float32[4@y,8@x]"
        assert str(type_of(plugjax.vmap(swap_p.bind), batch)) == "float32[8@x,4@y,6]"


# Rules whose own operations do not go together ----------------------------------------------------------


def test_a_derivative_rule_that_types_refuse_runs_without_them():
    def rule(primals, tangents):
        (x,), (t,) = primals, tangents
        # The product along a cut axis would have to be told how it is spread.
        return swap_p.bind(x), swap_p.bind(t) + 0 * jnp.dot(x.T, x).sum() * swap_p.bind(t)

    own = RuleSet(__name__)
    own.define(abstract_eval, swap_p)(_aval)
    own.define(jvp_rule, swap_p)(rule)
    x = struct((8, 4), "x")
    with using(own, typed):
        _, tangent = plugjax.make_jaxpr(lambda x: plugjax.jvp(swap_p.bind, (x,), (x,)))(x).out_avals
    assert str(tangent) == "float32[4,8@x]"


def test_a_clash_names_operands_and_advice():
    with pytest.raises(
        ShardingTypeError, match=r"f32\[8@x,4\], f32\[8@y,4\] differ on axis 0. Reshard"
    ):
        type_of(jnp.add, struct((8, 4), "x"), struct((8, 4), "y"))


def test_a_result_cut_twice_by_an_axis_is_refused():
    with pytest.raises(ShardingTypeError, match=r"illegally sharded result: float32\[8@x,8@x\]"):
        type_of(lambda v: v[:, None] * v[None], struct((8,), "x"))
