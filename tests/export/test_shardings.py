"""How values are spread, in the bytes of artifacts: over abstract meshes, which need no devices."""

import jax
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from jax import export as jax_export

import plugjax
from plugjax import export, lax
from plugjax.export import flat_tables
from plugjax.export.writing import _fields
from plugjax.sharding import AbstractMesh, AxisType, NamedSharding, PartitionSpec as P
from plugjax.stablehlo import mlir

MESH = AbstractMesh((4, 2), ("x", "y"), (AxisType.Auto, AxisType.Auto))
TYPED = AbstractMesh((4, 2), ("x", "y"), (AxisType.Explicit, AxisType.Auto))


def struct(spec, mesh=MESH):
    return plugjax.ShapeDtypeStruct((8, 4), "float32", sharding=NamedSharding(mesh, spec))


def exported_for(*specs, mesh=MESH, result=None):
    sharding = None if result is None else NamedSharding(mesh, result)
    function = plugjax.jit(lambda *xs: sum(xs), out_shardings=sharding)
    return export.export(function)(*(struct(spec, mesh) for spec in specs))


EXPORTED = exported_for(P("x"), P(("x", "y")), result=P(None, "y"))
PLAIN = bytes(EXPORTED.serialize())


@pytest.mark.parametrize("mesh", [MESH, TYPED], ids=["auto", "explicit"])
@pytest.mark.parametrize("spec", [P("x"), P(("y", "x")), P(), P("y", None)], ids=str)
def test_jax_reads_the_shardings(mesh, spec):
    exported = exported_for(spec, mesh=mesh, result=spec)
    blob = exported.serialize()
    for loaded in (jax_export.deserialize(blob), export.deserialize(blob)):
        assert loaded.nr_devices == 8
        for name in ("in_shardings_jax", "out_shardings_jax"):
            found, wanted = getattr(loaded, name)(None), getattr(exported, name)(None)
            assert [(str(s.mesh), str(s.spec)) for s in found] == [
                (str(s.mesh), str(s.spec)) for s in wanted
            ]
        assert list(map(str, loaded.in_avals)) == list(map(str, exported.in_avals))
        assert list(map(str, loaded.out_avals)) == list(map(str, exported.out_avals))


def test_the_tables_are_those_of_jax_but_for_the_module():
    def tables(lib, export):
        kinds = lib.sharding.AxisType
        mesh = lib.sharding.AbstractMesh((4, 2), ("x", "y"), (kinds.Explicit, kinds.Auto))
        rows = lib.NamedSharding(mesh, lib.P("x"), memory_kind="device")
        given = lib.ShapeDtypeStruct((8, 4), "float32", sharding=rows)
        function = lib.jit(lambda a, b: a * 2, out_shardings=rows)
        blob = export.export(function)(given, np.ones(3, np.float32)).serialize()
        return flat_tables.read("Exported", bytes(blob))

    ours, theirs = tables(plugjax, export), tables(jax, jax_export)
    for name in ours.keys() - {"mlir_module"}:
        assert ours[name] == theirs[name], name


def test_a_program_over_a_mesh_is_written():
    @plugjax.jit
    @plugjax.shard_map(mesh=MESH, in_specs=P("x", "y"), out_specs=P("x"))
    def summed(x):
        return lax.psum(x, "y") * lax.axis_index("x")

    def constrained(x):
        return lax.with_sharding_constraint(summed(x), NamedSharding(MESH, P(P.UNCONSTRAINED, "y")))

    exported = export.export(plugjax.jit(constrained))(struct(P("x")))
    loaded = export.deserialize(exported.serialize(jaxpr=True))
    assert str(loaded._program) == str(exported._program)
    assert loaded.vjp().nr_devices == 8


def test_reduced_and_unreduced_values_are_written():
    @plugjax.jit
    @plugjax.shard_map(mesh=MESH, in_specs=P("x", "y"), out_specs=P("x"))
    def summed(x):
        two = lax.pcast(plugjax.numpy.full(2, 2.0), ("x", "y"), to="reduced")
        doubled = lax.pcast(x * two, "y", to="unreduced")
        return lax.psum(doubled, "y")

    exported = export.export(summed)(struct(P("x", "y")))
    loaded = export.deserialize(exported.serialize(jaxpr=True))
    assert str(loaded._program) == str(exported._program)
    assert all(word in str(loaded._program) for word in ("{R:(x,y)}", "{V:x, U:y}"))


def test_a_typed_program_is_written():
    exported = exported_for(P("x"), P("x"), mesh=TYPED)
    loaded = export.deserialize(exported.serialize(jaxpr=True))
    assert loaded._program.in_avals == exported._program.in_avals
    assert str(loaded._program) == str(exported._program)


def test_what_has_no_form_is_refused():
    unnamed = AbstractMesh((4, 2), (1, 2))
    exported = export.export(plugjax.jit(lambda x: x))(struct(P(1), unnamed))
    with pytest.raises(ValueError, match="an axis of a mesh is named 1"):
        exported.serialize()
    with pytest.raises(ValueError, match="left to the compiler"):
        exported_for(P("x"), result=P(P.UNCONSTRAINED, "y")).serialize()


def test_the_mesh_of_a_call_must_have_the_axes():
    with pytest.raises(ValueError, match="does not match the mesh used for export"):
        EXPORTED.in_shardings_jax(TYPED)
    with pytest.raises(ValueError, match="does not match the mesh used for export"):
        EXPORTED.out_shardings_jax(AbstractMesh((2, 4), ("x", "y")))


def test_a_call_on_one_device_is_refused():
    x = np.ones((8, 4), np.float32)
    for device in ("numpy", "xla"):
        for call in (EXPORTED.call, plugjax.jit(EXPORTED.call)):
            with (
                plugjax.default_device(device),
                pytest.raises(
                    ValueError,
                    match="exported for 8 devices and is called in a context with 1 devices",
                ),
            ):
                call(x, x)


def test_iree_modules_of_programs_over_meshes_are_refused():
    for entry in (EXPORTED, (lambda x: x, (struct(P("x")),))):
        with pytest.raises(
            NotImplementedError, match="IREE exports of sharded programs are refused by name"
        ):
            export.to_stablehlo({"entry": entry})


def test_modules_for_compilers_without_shardy_are_refused(monkeypatch):
    portable = mlir._portable()

    class Older:
        @staticmethod
        def serialize_portable_artifact(module, version, with_shardy):
            return portable.serialize_portable_artifact(module, version, False)

    monkeypatch.setattr(mlir, "_portable", lambda: Older)
    exported = exported_for(P("x"))
    monkeypatch.undo()
    with (
        plugjax.default_device("xla"),
        pytest.raises(NotImplementedError, match="compilers without Shardy"),
    ):
        plugjax.jit(exported.call).lower(struct(P("x"))).as_text()


MESH_TABLE = {"axis_sizes": [8], "axis_names": ["x"], "axis_types": [1]}


def sharding(axes, mesh_index=0):
    return {"spec": {"partitions": [{"axes": axes}]}, "mesh_index": mesh_index}


CHANGES = {
    "a sharding that is not there": {"in_sharding_indices": [1, 9]},
    "a sharding too few": {"in_sharding_indices": [1]},
    "a mesh that is not there": {"unique_shardings": [sharding(["x"], 7)] * 3},
    "an axis that is not there": {"unique_shardings": [sharding(["z"])] * 3},
    "an axis twice": {"unique_shardings": [sharding(["x", "x"])] * 3},
    "no spec": {"unique_shardings": [{"mesh_index": 0}] * 3},
    "a spec that is too long": {"unique_shardings": [{"spec": {"partitions": [{"axes": []}] * 5}}] * 3},
    "an axis to be summed and not": {
        "unique_shardings": [{"spec": {"reduced": ["x"], "unreduced": ["x"]}}] * 3
    },
    "another number of devices": {"nr_devices": 4},
    "no devices": {"nr_devices": 0},
    "a name too few": {"unique_meshes": [{**MESH_TABLE, "axis_names": []}]},
    "a name twice": {"unique_meshes": [{"axis_sizes": [4, 2], "axis_names": ["x", "x"], "axis_types": [1, 1]}]},
    "an unknown type of axis": {"unique_meshes": [{**MESH_TABLE, "axis_types": [0]}]},
    "an axis without devices": {"unique_meshes": [{**MESH_TABLE, "axis_sizes": [0]}]},
    "devices of no kind": {"unique_meshes": [{**MESH_TABLE, "device": {"platform": "cpu"}}]},
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_tables_that_contradict_themselves(change):
    data = flat_tables.write("Exported", {**_fields(EXPORTED, 0), **CHANGES[change]})
    with pytest.raises(ValueError, match=r"export\.deserialize: the artifact is malformed"):
        export.deserialize(data)


def test_shardings_in_the_form_of_xla_are_refused():
    old = {"in_sharding_indices": [], "in_shardings": [{"hlo_sharding": b"abc"}] * 2}
    data = flat_tables.write("Exported", {**_fields(EXPORTED, 0), **old})
    with pytest.raises(NotImplementedError, match="shardings in XLA's own form"):
        export.deserialize(data)


def test_shardings_that_are_written_out_are_read():
    data = flat_tables.write("Exported", {**_fields(EXPORTED, 0), "in_sharding_indices": []})
    assert export.deserialize(data).in_shardings_jax(None) == EXPORTED.in_shardings_jax(None)


@settings(max_examples=300, deadline=None)
@given(st.integers(0, len(PLAIN) - 1), st.integers(0, 255))
def test_a_changed_byte_is_refused_or_harmless(place, byte):
    data = bytearray(PLAIN)
    data[place] = byte
    try:
        found = export.deserialize(data)
    except (ValueError, NotImplementedError):
        return
    assert isinstance(found, export.Exported)
