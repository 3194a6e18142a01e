"""Names for programs over meshes mean what they mean under JAX."""

import importlib
import pickle

import jax
import numpy as np
import pytest

import plugjax


@pytest.fixture(params=[jax, plugjax], ids=["jax", "plugjax"])
def framework(request):
    importlib.import_module(f"{request.param.__name__}.experimental.mesh_utils")
    importlib.import_module(f"{request.param.__name__}.experimental.scheduling_groups")
    return request.param


def test_what_types_say_along_manual_axes(framework):
    kind = framework.sharding.ManualAxisType
    found = kind(varying={"x"}, reduced=frozenset({"y"}))
    assert (found.varying, found.unreduced, found.reduced) == ({"x"}, set(), {"y"})
    assert found is kind(varying=["x"], reduced=["y"]) if framework is plugjax else found
    assert found.to_ct_mat().unreduced == {"y"}
    assert found.update(varying=frozenset()) == kind(reduced=frozenset({"y"}))
    assert found.vur == {"x", "y"}
    assert (found.empty, kind().empty) == (False, True)
    assert kind() is kind()
    assert pickle.loads(pickle.dumps(found)) is found
    assert (
        repr(kind())
        == "ManualAxisType(varying=frozenset(), unreduced=frozenset(), reduced=frozenset())"
    )
    with pytest.raises(ValueError, match="varying and unreduced cannot have common mesh axes"):
        kind(varying=frozenset({"x"}), unreduced=frozenset({"x"}))
    with pytest.raises(ValueError, match="varying and reduced cannot have common mesh axes"):
        kind(varying=frozenset({"x"}), reduced=frozenset({"x"}))


def test_types_within_shard_map(framework):
    mesh = framework.sharding.AbstractMesh((2, 2), ("x", "y"))
    spec, seen = framework.sharding.PartitionSpec("x"), []
    kind = framework.sharding.ManualAxisType

    def f(x):
        seen.append(framework.ShapeDtypeStruct.like(x).manual_axis_type)
        seen.append(seen[-1].invarying(framework.sharding.get_abstract_mesh()))
        seen.append(framework.typeof(x).manual_axis_type)
        seen.append(framework.typeof(x).update(manual_axis_type=kind()).mat)
        return x

    mapped = framework.shard_map(f, mesh=mesh, in_specs=spec, out_specs=spec)
    framework.eval_shape(mapped, framework.ShapeDtypeStruct((8,), np.float32))
    assert seen == [kind(varying=frozenset({"x"})), {"y"}, kind(varying=frozenset({"x"})), kind()]
    struct = framework.ShapeDtypeStruct((2,), np.float32, manual_axis_type=seen[0])
    assert struct.manual_axis_type is seen[0]
    assert struct != framework.ShapeDtypeStruct((2,), np.float32)
    assert struct.update(shape=(3,)).manual_axis_type is seen[0]
    assert framework.ShapeDtypeStruct.like(framework.numpy.ones(2)).manual_axis_type is None
    with pytest.raises(TypeError, match="manual_axis_type"):
        framework.ShapeDtypeStruct((2,), np.float32, manual_axis_type="x")


def test_an_order_of_devices_by_their_kind(framework):
    utils, seen = framework.experimental.mesh_utils, []
    devices = framework.devices("xla" if framework is plugjax else "cpu")[:1]
    kind = devices[-1].device_kind

    def handler(shape, devices, *, contiguous_submeshes):
        seen.append((tuple(shape), list(devices), contiguous_submeshes))
        return answer

    assert kind not in utils.device_kind_handler_dict
    utils.device_kind_handler_dict[kind] = handler
    try:
        answer = np.array(devices, object).reshape(1, 1)
        assert utils.create_device_mesh((1, 1), devices, contiguous_submeshes=True) is answer
        answer = None
        assert utils.create_device_mesh((1,), devices).tolist() == devices
    finally:
        del utils.device_kind_handler_dict[kind]
    assert seen == [((1, 1), devices, True), ((1,), devices, False)]


def test_the_part_of_a_call_that_is_needed(framework):
    groups = framework.experimental.scheduling_groups
    f = groups.scheduling_group("one")(lambda x, y: (-x, x * y))
    (eqn,) = framework.make_jaxpr(f)(1.0, 2.0).eqns
    needed, found = groups.dce_jaxpr_xla_metadata_rule([True, False], eqn)
    assert needed == [True, False]
    assert (len(found.invars), len(found.outvars)) == (1, 1)
    assert found.primitive is groups.xla_metadata_call_p
    assert [e.primitive.name for e in found.params["jaxpr"].jaxpr.eqns] == ["neg"]
    assert groups.dce_jaxpr_xla_metadata_rule([False, False], eqn) == ([False, False], None)


def test_specs_of_what_is_derived_from_values(framework):
    spec = framework.P("x", None, unreduced={"y"}, reduced={"z"})
    assert list(spec.to_lo()) == [spec]
    assert spec.to_tangent_spec() == spec
    assert spec.to_ct_spec() == framework.P("x", None, unreduced={"z"}, reduced={"y"})
