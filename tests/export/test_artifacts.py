"""Artifacts that plugjax writes and JAX reads, and the reverse."""

import collections
import io
import typing

import jax
import jax.numpy as jax_np
import numpy as np
import pytest
from jax import export as jax_export

import plugjax
import plugjax.numpy as jnp
from plugjax import export, tree_util

F32 = np.float32


class Point(typing.NamedTuple):
    x: typing.Any
    y: typing.Any


class Pair:
    def __init__(self, a, b, name):
        self.a, self.b, self.name = a, b, name


def _flatten(pair):
    return (pair.a, pair.b), pair.name


def _unflatten(name, children):
    return Pair(*children, name)


for registry, module in ((tree_util, export), (jax.tree_util, jax_export)):
    registry.register_pytree_node(Pair, _flatten, _unflatten)
    module.register_pytree_node_serialization(
        Pair,
        serialized_name="tests.Pair",
        serialize_auxdata=str.encode,
        deserialize_auxdata=bytes.decode,
    )
    module.register_namedtuple_serialization(Point, serialized_name="tests.Point")


def ours(function, *args, **kwargs):
    return export.export(plugjax.jit(function))(*args, **kwargs)


def theirs(function, *args, **kwargs):
    return jax_export.export(jax.jit(function))(*args, **kwargs)


def arrays(shape=(2, 3), dtype=F32):
    return (np.arange(np.prod(shape)).reshape(shape) / 4 + 0.5).astype(dtype)


def assert_same(ours_found, theirs_found):
    found = tree_util.tree_leaves(ours_found)
    wanted = jax.tree_util.tree_leaves(theirs_found)
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted, strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(
            np.asarray(a, np.complex128), np.asarray(b, np.complex128), rtol=2e-6
        )


PROGRAMS = {
    "pointwise": (lambda np_: lambda x, y: np_.sin(x) * y + 1, (arrays(), arrays())),
    "unused argument": (lambda np_: lambda x, y: np_.cos(y), (arrays((4,)), arrays((3,)))),
    "no argument is read": (lambda np_: lambda x: np_.arange(4), (arrays(),)),
    "dict": (lambda np_: lambda d: {"s": d["b"] - d["a"], "r": d}, ({"b": arrays(), "a": F32(1)},)),
    "list and none": (lambda np_: lambda t: ([t[0], None], ()), ([arrays((2,)), None],)),
    "named tuple": (lambda np_: lambda p: Point(p.y, p.x * 2), (Point(arrays(), F32(3)),)),
    "custom node": (lambda np_: lambda p: Pair(p.b, p.a @ p.b, "out"), (Pair(arrays((2, 2)), arrays((2, 2)), "in"),)),
    "ordered dict": (
        lambda np_: lambda d: collections.OrderedDict(u=d["z"], v=d["a"]),
        (collections.OrderedDict(z=arrays((2,)), a=arrays((1,))),),
    ),
    "weak": (lambda np_: lambda x, y: x * y, (2.0, arrays(dtype=np.float16))),
    "integers": (lambda np_: lambda x: (x // 3, x % 3, x > 2), (np.arange(5, dtype=np.int8),)),
    "complex": (lambda np_: lambda x: x * np_.conj(x) + 1j, (arrays(dtype=np.complex64),)),
    "bfloat16": (lambda np_: lambda x: x * 2, (arrays().astype(jnp.bfloat16),)),
    "linear algebra": (lambda np_: lambda x: np_.linalg.cholesky(x @ x.T + 4 * np_.eye(3)), (arrays((3, 3)),)),
    "sort and gather": (lambda np_: lambda x, i: np_.sort(x)[i], (arrays((5,))[::-1].copy(), np.array([1, 3]))),
    "large constant": (lambda np_: lambda x: x + np_.asarray(arrays((20, 20))), (arrays((20, 20)),)),
}  # fmt: skip


@pytest.mark.spread(2)
@pytest.mark.parametrize("case", PROGRAMS)
def test_jax_runs_what_plugjax_exports(case):
    make, args = PROGRAMS[case]
    exported = ours(make(jnp), *args)
    loaded = jax_export.deserialize(exported.serialize())
    wanted = theirs(make(jax_np), *args)
    for name in ("module_kept_var_idx", "platforms", "nr_devices", "uses_global_constants"):
        assert getattr(loaded, name) == getattr(wanted, name)
    assert loaded.in_tree == wanted.in_tree
    assert loaded.out_tree == wanted.out_tree
    assert_same(loaded.call(*args), jax.jit(make(jax_np))(*args))


@pytest.mark.spread(4)
@pytest.mark.parametrize("device", ["numpy", "xla"])
@pytest.mark.parametrize("case", PROGRAMS)
def test_plugjax_runs_what_jax_exports(case, device):
    make, args = PROGRAMS[case]
    loaded = export.deserialize(theirs(make(jax_np), *args).serialize())
    with plugjax.default_device(device):
        assert_same(loaded.call(*args), jax.jit(make(jax_np))(*args))


@pytest.mark.spread(4)
@pytest.mark.parametrize("device", ["numpy", "xla"])
@pytest.mark.parametrize("jaxpr", [False, True])
@pytest.mark.parametrize("case", PROGRAMS)
def test_plugjax_runs_what_plugjax_exports(case, device, jaxpr):
    make, args = PROGRAMS[case]
    loaded = export.deserialize(ours(make(jnp), *args).serialize(jaxpr=jaxpr))
    with plugjax.default_device(device):
        assert_same(loaded.call(*args), jax.jit(make(jax_np))(*args))


@pytest.mark.parametrize("case", ["pointwise", "linear algebra", "sort and gather"])
def test_iree_runs_artifacts(case):
    make, args = PROGRAMS[case]
    exported = ours(make(jnp), *args)
    with plugjax.default_device("iree"):
        for loaded in (exported, export.deserialize(exported.serialize(jaxpr=True))):
            assert_same(loaded.call(*args), jax.jit(make(jax_np))(*args))


def test_iree_runs_a_module_of_jax():
    loaded = export.deserialize(theirs(lambda x: jax_np.sin(x) @ x.T, arrays()).serialize())
    with plugjax.default_device("iree"):
        assert_same(loaded.call(arrays()), np.sin(arrays()) @ arrays().T)


def test_fields_are_those_of_jax():
    def make(np_):
        def scaled(x, *, by, unused=None):
            return np_.tanh(x) * by["k"]

        return scaled

    args, kwargs = (arrays(),), {"by": {"k": F32(2)}, "unused": np.int32(1)}
    exported, wanted = ours(make(jnp), *args, **kwargs), theirs(make(jax_np), *args, **kwargs)
    for name in (
        "fun_name", "in_shardings_hlo", "out_shardings_hlo", "nr_devices", "platforms", "ordered_effects",
        "unordered_effects", "disabled_safety_checks", "calling_convention_version", "module_kept_var_idx",
        "uses_global_constants",
    ):  # fmt: skip
        assert getattr(exported, name) == getattr(wanted, name), name
    assert list(map(str, exported.in_avals)) == list(map(str, wanted.in_avals))
    assert list(map(str, exported.out_avals)) == list(map(str, wanted.out_avals))
    assert exported.has_vjp()
    assert wanted.has_vjp()
    assert str(exported) == str(wanted)
    assert exported.mlir_module().startswith("module @jit_scaled")
    assert str(exported.mlir_module(serialized=False)) == exported.mlir_module()
    attributes = "jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32"
    assert attributes in exported.mlir_module()
    assert attributes in wanted.mlir_module()


def test_keys_pass_both_ways():
    def make(lib):
        return lambda key: (lib.random.uniform(key, (3,)), lib.random.split(key)[1])

    loaded = jax_export.deserialize(ours(make(plugjax), plugjax.random.key(7)).serialize())
    bits, key = loaded.call(jax.random.key(7))
    wanted_bits, wanted_key = make(jax)(jax.random.key(7))
    np.testing.assert_array_equal(bits, wanted_bits)
    np.testing.assert_array_equal(jax.random.key_data(key), jax.random.key_data(wanted_key))
    back = export.deserialize(theirs(make(jax), jax.random.key(7)).serialize())
    for device in ("numpy", "xla"):
        with plugjax.default_device(device):
            bits, key = back.call(plugjax.random.key(7))
            np.testing.assert_array_equal(bits, wanted_bits)
            np.testing.assert_array_equal(
                plugjax.random.key_data(key), jax.random.key_data(wanted_key)
            )


def test_64_bit_types_pass_both_ways():
    value = arrays(dtype=np.float64)
    with plugjax.enable_x64(True), jax.enable_x64(True):
        exported = ours(lambda x: x / 3 + jnp.arange(3), value)
        assert exported.out_avals[0].dtype == np.float64
        found = jax_export.deserialize(exported.serialize()).call(value)
        np.testing.assert_allclose(found, value / 3 + np.arange(3), rtol=1e-14)
        loaded = export.deserialize(theirs(lambda x: x / 3, value).serialize())
        np.testing.assert_allclose(loaded.call(value), value / 3, rtol=1e-14)
    with pytest.raises(ValueError, match=r"Dtype mismatch for args\[0\]"):
        loaded.call(value)


def test_an_artifact_for_several_platforms():
    exported = export.export(plugjax.jit(jnp.sin), platforms=["tpu", "cpu", "cuda"])(arrays())
    wanted = jax_export.export(jax.jit(jax_np.sin), platforms=["tpu", "cpu", "cuda"])(arrays())
    assert exported.platforms == wanted.platforms
    assert exported.uses_global_constants is wanted.uses_global_constants is True
    assert 'jax.global_constant = "_platform_index"' in exported.mlir_module()
    assert_same(jax_export.deserialize(exported.serialize()).call(arrays()), np.sin(arrays()))
    for blob in (exported.serialize(), wanted.serialize()):
        loaded = export.deserialize(blob)
        for device in ("numpy", "xla"):
            with plugjax.default_device(device):
                assert_same(loaded.call(arrays()), np.sin(arrays()))


def test_programs_that_differ_between_platforms_are_all_there():
    def by_platform(x):
        return plugjax.lax.platform_dependent(x, cpu=lambda x: x + 1, cuda=lambda x: x + 2)

    exported = export.export(plugjax.jit(by_platform), platforms=["cuda", "cpu"])(F32(1))
    assert "stablehlo.case" in exported.mlir_module()
    assert jax_export.deserialize(exported.serialize()).call(F32(1)) == 2
    assert export.deserialize(exported.serialize()).call(F32(1)) == 2


def test_a_function_that_is_called_often_is_written_once():
    def products(x):
        for _ in range(5):
            x = x @ x
        return x

    with plugjax.default_device("iree"):
        exported = export.export(plugjax.jit(products))(np.eye(3, dtype=np.float32))
        often = plugjax.jit(lambda x: [exported.call(x * i) for i in range(10)])
        text = often.lower(np.eye(3, dtype=np.float32)).as_text()
    assert text.count("stablehlo.dot_general") == 5


@pytest.mark.parametrize("device", ["numpy", "xla"])
@pytest.mark.parametrize("loaded", [False, True])
def test_a_program_for_other_platforms_is_refused(device, loaded):
    exported = export.export(plugjax.jit(jnp.sin), platforms=["tpu"])(arrays())
    if loaded:
        exported = export.deserialize(exported.serialize())
    with (
        plugjax.default_device(device),
        pytest.raises(ValueError, match="was exported for platforms '\\('tpu',\\)'"),
    ):
        exported.call(arrays())
    allowed = export.export(
        plugjax.jit(jnp.sin),
        platforms=["tpu"],
        disabled_checks=[export.DisabledSafetyCheck.platform()],
    )(arrays())
    if loaded:
        allowed = export.deserialize(allowed.serialize())
    with plugjax.default_device(device):
        assert_same(allowed.call(arrays()), np.sin(arrays()))


def test_what_cannot_be_exported():
    with pytest.raises(ValueError, match="must be the result of `jit`"):
        export.export(jnp.abs.__wrapped__ if hasattr(jnp.abs, "__wrapped__") else (lambda x: x))(
            F32(1)
        )
    with pytest.raises(ValueError, match="unknown platform 'abacus'"):
        export.export(plugjax.jit(jnp.sin), platforms=["abacus"])

    def prints(x):
        plugjax.debug.print("{}", x)
        return x

    with pytest.raises(NotImplementedError, match="host_callbacks is not yet"):
        ours(prints, F32(1))


def test_custom_calls_without_guarantees_are_refused_unless_allowed():
    def calls(ctx, x):
        from plugjax.stablehlo import mlir

        return mlir.value(
            "stablehlo.custom_call",
            ctx.avals_out[0],
            [x],
            {"call_target_name": mlir.string("my_kernel")},
        )

    rules = [(plugjax.lax.sin_p, calls)]
    with pytest.raises(ValueError, match="no compatibility guarantees: \\['my_kernel'\\]"):
        export.export(plugjax.jit(jnp.sin), _override_lowering_rules=rules)(F32(1))
    check = export.DisabledSafetyCheck.custom_call("my_kernel")
    exported = export.export(
        plugjax.jit(jnp.sin), _override_lowering_rules=rules, disabled_checks=[check]
    )(F32(1))
    assert "my_kernel" in exported.mlir_module()
    loaded = jax_export.deserialize(exported.serialize())
    assert loaded.disabled_safety_checks == (
        jax_export.DisabledSafetyCheck.custom_call("my_kernel"),
    )
    assert export.deserialize(exported.serialize()).disabled_safety_checks == (check,)


def test_containers_that_cannot_be_written():
    with pytest.raises(TypeError, match="only for dictionaries with string keys"):
        ours(lambda d: d[1], {1: F32(2)}).serialize()

    class Unknown(typing.NamedTuple):
        x: typing.Any

    with pytest.raises(ValueError, match="unregistered type"):
        ours(lambda p: p.x, Unknown(F32(1))).serialize()
    with pytest.raises(ValueError, match="Duplicate serialization registration for type"):
        export.register_namedtuple_serialization(Point, serialized_name="tests.Other")
    with pytest.raises(
        ValueError, match="Duplicate serialization registration for serialized_name"
    ):
        export.register_namedtuple_serialization(Unknown, serialized_name="tests.Point")
    with pytest.raises(ValueError, match="register_pytree_node_serialization"):
        export.register_namedtuple_serialization(Pair, serialized_name="tests.Pair2")
    with pytest.raises(ValueError, match="from_children"):
        export.register_pytree_node_serialization(
            io.BytesIO,
            serialized_name="tests.bytes",
            serialize_auxdata=bytes,
            deserialize_auxdata=bytes,
        )


def test_default_export_platform_is_that_of_jax():
    with plugjax.default_device("numpy"):
        assert export.default_export_platform() == "cpu"
    assert (
        export.minimum_supported_calling_convention_version,
        export.maximum_supported_calling_convention_version,
    ) == (
        jax_export.minimum_supported_calling_convention_version,
        jax_export.maximum_supported_calling_convention_version,
    )
