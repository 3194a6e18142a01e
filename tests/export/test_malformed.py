"""Bytes that are no artifact, or a damaged one."""

import hashlib
import json

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import plugjax
import plugjax.numpy as jnp
from plugjax import export
from plugjax.export import flat_tables, program_bytes
from plugjax.export.writing import _fields

X = np.ones((2, 3), np.float32)
EXPORTED = export.export(plugjax.jit(lambda d: {"y": jnp.sin(d["x"])}))({"x": X})
PLAIN = bytes(EXPORTED.serialize())
WITH_PROGRAM = bytes(EXPORTED.serialize(jaxpr=True))


@pytest.mark.parametrize(
    "data", [b"", b"abc", b"\0" * 40, b"\xff" * 64, PLAIN[:100], PLAIN[: len(PLAIN) // 2]]
)
def test_bytes_that_are_no_artifact(data):
    with pytest.raises(ValueError, match=r"export\.deserialize"):
        export.deserialize(data)


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


def test_references_that_share_a_table_do_not_grow_without_end():
    # Each list refers twice to the next one: 2**60 leaves in a few hundred bytes.
    class Shared(dict):
        pass

    builder = flat_tables._library().Builder(64)
    builder.StartObject(5)
    builder.PrependInt8Slot(0, 0, 0)
    tree = builder.EndObject()
    for _ in range(60):
        builder.StartVector(4, 2, 4)
        builder.PrependUOffsetTRelative(tree)
        builder.PrependUOffsetTRelative(tree)
        children = builder.EndVector()
        builder.StartObject(5)
        builder.PrependInt8Slot(0, 3, 0)
        builder.PrependUOffsetTRelativeSlot(1, children, 0)
        tree = builder.EndObject()
    builder.Finish(tree)
    with pytest.raises(ValueError, match="more tables than it has room for"):
        flat_tables.read("Tree", bytes(builder.Output()))


CHANGES = {
    "a version to come": {"calling_convention_version": 99},
    "no name": {"fun_name": None},
    "no structure": {"in_tree": None},
    "an argument that is not there": {"module_kept_var_idx": [7]},
    "an aval that is not there": {"in_aval_indices": [7]},
    "an unknown dtype": {"unique_avals": [{"shape": ["2"], "dtype": 99}]},
    "no platforms": {"platforms": []},
    "an unknown container": {"in_tree": {"kind": 9}},
    "too many leaves": {"out_tree": {"kind": 2, "children": [{"kind": 0}, {"kind": 0}]}},
    "too few leaves": {"out_tree": {"kind": 1}},
    "a class that is not registered": {"in_tree": {"kind": 5, "custom_name": "nobody"}},
    "a size without end": {"unique_avals": [{"shape": ["(" * 9 + "a"], "dtype": 10}]},
    "a size of many operations": {"unique_avals": [{"shape": ["mod(" * 5000 + "a"], "dtype": 10}]},
    "a size that is two": {"unique_avals": [{"shape": ["a, b"], "dtype": 10}]},
    "an unknown check": {"disabled_checks": [{"kind": 2}]},
}


@pytest.mark.parametrize("change", CHANGES)
def test_tables_that_contradict_themselves(change):
    data = flat_tables.write("Exported", {**_fields(EXPORTED, 0), **CHANGES[change]})
    with pytest.raises(ValueError, match=r"export\.deserialize|syntax error in symbolic shape"):
        export.deserialize(data)


def test_powers_that_take_long_are_refused():
    aval = {"unique_avals": [{"shape": ["n^1000000000"], "dtype": 10}]}
    with pytest.raises(ValueError, match="powers up to 64"):
        export.deserialize(flat_tables.write("Exported", {**_fields(EXPORTED, 0), **aval}))


def test_a_module_that_is_damaged_is_refused_when_it_is_read():
    data = flat_tables.write("Exported", {**_fields(EXPORTED, 0), "mlir_module": b"no module"})
    loaded = export.deserialize(data)
    with pytest.raises(ValueError, match="no StableHLO portable artifact"):
        loaded.mlir_module()
    with (
        plugjax.default_device("xla"),
        pytest.raises(ValueError, match="no StableHLO portable artifact"),
    ):
        loaded.call({"x": X})


@pytest.mark.parametrize("place", [-200, -90, -60, -20])
def test_a_damaged_program_is_refused(place):
    data = bytearray(WITH_PROGRAM)
    data[place] ^= 1
    with pytest.raises(ValueError, match="program in the artifact is damaged"):
        export.deserialize(data)


def _with_head(change):
    body = bytearray(program_bytes.trailer(EXPORTED._program))
    size = int.from_bytes(body[:8], "little")
    head = json.loads(body[8 : 8 + size])
    change(head)
    new = json.dumps(head).encode()
    body = len(new).to_bytes(8, "little") + new
    return (
        PLAIN
        + body
        + len(body).to_bytes(8, "little")
        + hashlib.sha256(body).digest()
        + program_bytes._MAGIC
    )


def _other_primitive(head):
    head["programs"][0]["eqns"][0][0] = "os.system"


def _other_class(head):
    head["programs"][0]["eqns"][0][3] = {"x": {"enum": ["Popen", "x"]}}


def _other_version(head):
    head["format"] = 2


def _unbound(head):
    head["programs"][0]["eqns"][0][1] = [1]


def _other_signature(head):
    for aval in head["programs"][0]["avals"]:
        aval[0] = [7]


def _objects(head):
    head["programs"][0]["avals"][0][1] = "object"


def _objects_as_constants(head):
    head["programs"][0]["eqns"][0][3] = {"x": {"host": [[1], "object", [0, 8], False]}}


def _strings(head):
    head["programs"][0]["avals"][0][1] = "U5"


def _too_large_a_number(head):
    head["programs"][0]["eqns"][0][3] = {"x": {"float": "0x1p99999"}}


@pytest.mark.parametrize(
    "change",
    [
        *(_other_primitive, _other_class, _other_version, _unbound, _other_signature),
        *(_objects, _objects_as_constants, _strings, _too_large_a_number),
    ],
)
def test_programs_that_say_what_they_must_not(change):
    with pytest.raises(ValueError, match="program"):
        export.deserialize(_with_head(change))


def test_python_in_a_program_is_refused_by_name():
    @plugjax.custom_vjp
    def f(x):
        return x * 2

    f.defvjp(lambda x: (f(x), None), lambda _, bar: (bar * 2,))
    exported = export.export(plugjax.jit(lambda x: f(x)))(X)
    with pytest.raises(ValueError, match="fwd_jaxpr_thunk of primitive 'custom_vjp_call'"):
        exported.serialize(jaxpr=True)
    assert export.deserialize(exported.serialize(vjp_order=1)).has_vjp()
