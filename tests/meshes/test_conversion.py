"""Arrays of one process as parts of arrays over all devices, and back, beside JAX."""

import jax
import numpy as np
import pytest
from jax.experimental import multihost_utils as jax_utils

import plugjax
from plugjax.experimental import multihost_utils
from tests.meshes.launching import HEAD, JAX_HEAD, apart, script

BODY = """
mesh = jax.make_mesh((2, 2), ("x", "y"), axis_types=(jax.sharding.AxisType.Auto,) * 2)
local = np.arange(4.0, dtype="f4").reshape(2, 2) + 10 * me
for spec in (P("x"), P("x", "y"), P(("x", "y")), P("y", "x")):
    whole = hosts.host_local_array_to_global_array(local, mesh, spec)
    assert hosts.host_local_array_to_global_array(whole, mesh, spec) is whole
    print(whole.shape, whole.sharding.spec, hosts.process_allgather(whole, tiled=True).tolist())
    for target in (spec, P("x")):
        part = hosts.global_array_to_host_local_array(whole, mesh, target)
        print(part.shape, part.sharding.spec, dict(part.sharding.mesh.shape), np.asarray(part).tolist())
tree = hosts.host_local_array_to_global_array({"a": local, "b": [local[0]]}, mesh, {"a": P("x"), "b": P()})
print(jax.tree.map(lambda x: x.shape, tree))
keys = hosts.host_local_array_to_global_array(jax.random.split(jax.random.key(me), 2), mesh, P("x"))
print(keys.shape, keys.dtype, jax.random.key_data(hosts.global_array_to_host_local_array(keys, mesh, P("x"))).tolist())
mapped = jax.vmap(lambda x: hosts.host_local_array_to_global_array(x, mesh, P("x")), in_axes=1, out_axes=1)(local)
print(mapped.shape, mapped.sharding.spec)
try:
    hosts.host_local_array_to_global_array(local, mesh, None)
except ValueError as error:
    print(str(error)[:51])
"""


@pytest.mark.parametrize("index", [0, 1])
def test_as_under_jax(outputs, index):
    expected, found = (outputs[name][index] for name in ("jax", "plugjax"))
    assert expected
    assert found == expected


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    found = {}
    for name, head in (("jax", JAX_HEAD), ("plugjax", HEAD)):
        path = script(tmp_path_factory.mktemp(name), BODY, head=head)
        done = apart(path, 2, JAX_NUM_CPU_DEVICES="2", PLUGJAX_NUM_CPU_DEVICES="2")
        assert [code for code, *_ in done] == [0, 0], done
        found[name] = [said for *_, said in done]
    return found


def test_derivatives(tmp_path):
    # JAX refuses: a cotangent has the shape of the whole array there.
    path = script(tmp_path, """
        def loss(x):
            return (hosts.host_local_array_to_global_array(x * 2, mesh, P("x")) ** 2).sum()
        local = np.arange(2.0, dtype="f4") + 10 * me
        print(float(loss(local)), np.asarray(jax.grad(loss)(local)).tolist())
        try:
            jax.jit(loss)(local)
        except NotImplementedError as error:
            print(error)
    """)  # fmt: skip
    for index, (code, _, said) in enumerate(apart(path, 2)):
        assert code == 0, said
        value, refusal = said
        assert value == f"888.0 {[80.0 * index, 80.0 * index + 8.0]}"
        assert "in a compiled function float32[2] would become float32[4]" in refusal


def in_one_process(m, utils, name):
    """Results of a conversion under the transformations, and its equation."""
    mesh = m.make_mesh((1,), ("x",), axis_types=(m.sharding.AxisType.Auto,))
    convert, primitive = getattr(utils, name), getattr(utils, f"{name}_p")
    x = m.numpy.arange(4.0)

    def f(x):
        return convert(x * 2, mesh, m.P("x"))

    def loss(x):
        return (f(x) ** 2).sum()

    results = (
        primitive.bind(x, global_mesh=mesh, pspec=m.P("x")), f(x), m.jit(f)(x), m.vmap(f, in_axes=1)(x.reshape(2, 2)),
        m.jvp(f, (x,), (x,))[1], m.grad(loss)(x), m.jit(m.grad(loss))(x),
    )  # fmt: skip
    eqn = m.make_jaxpr(f)(x).eqns[-1]
    return [y.tolist() for y in results], eqn.primitive.name, str(eqn.params["pspec"])


@pytest.mark.parametrize(
    "name", ["host_local_array_to_global_array", "global_array_to_host_local_array"]
)
def test_in_one_process(name, on_backend):
    expected = in_one_process(jax, jax_utils, name)
    assert in_one_process(plugjax, multihost_utils, name) == expected


def test_rules_as_functions():
    mesh = plugjax.make_mesh((1, 1), ("x", "y"))
    aval = plugjax.ShapeDtypeStruct((4, 2), np.float32)
    for rule in (multihost_utils.ltg_abstract_eval, multihost_utils.gtl_abstract_eval):
        found = rule(aval, global_mesh=mesh, pspec=plugjax.P("x"))
        assert (found.shape, found.dtype) == ((4, 2), np.float32)
    mapped = plugjax.vmap(
        lambda x: multihost_utils.host_local_array_to_global_array(x, mesh, plugjax.P("x")),
        in_axes=1,
        spmd_axis_name="y",
    )
    (eqn, *_) = plugjax.make_jaxpr(mapped)(np.ones((4, 2), np.float32)).eqns
    assert eqn.params["pspec"] == plugjax.P("x", "y")
