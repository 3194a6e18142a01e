"""Exported functions from bytes. Reading runs no code but that of registered containers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from plugjax.export import program_bytes, schema
from plugjax.export.artifact import (
    Artifact,
    maximum_supported_calling_convention_version,
    minimum_supported_calling_convention_version,
)
from plugjax.export.exported import Exported
from plugjax.export.exporting import vjp_of_program
from plugjax.export.flat_tables import read
from plugjax.export.safety import DisabledSafetyCheck
from plugjax.export.sharding_tables import read_mesh, read_sharding
from plugjax.export.spreading import Shardings
from plugjax.export.symbolic.dimension import SymbolicScope, is_symbolic_dim, symbolic_shape
from plugjax.export.trees import read_tree
from plugjax.extend.core import ClosedJaxpr, ShapedArray
from plugjax.extend.meshes import NamedSharding

_KEYS = {
    "key<fry>": "key threefry2x32",
    "key<rbg>": "key rbg",
    "key<urbg>": "key unsafe_rbg",
}


@dataclass(frozen=True)
class NamedEffect:
    """An effect of a module that another program wrote.

    Attributes:
        type_name: what the writer called it.
    """

    type_name: str


def deserialize(blob: bytes | bytearray) -> Exported:
    """The exported function of an artifact that plugjax or JAX wrote.

    No code of the artifact runs. Its module may hold custom calls, which run when the function does: load what you trust.

    Args:
        blob: the bytes.

    Raises:
        ValueError: the bytes are no artifact, are damaged, or need a container that is not registered.
        NotImplementedError: it is for several devices and of a JAX before January 2026.

    Example:
        >>> import plugjax
        >>> import plugjax.numpy as jnp
        >>> from plugjax import export
        >>> exported = export.export(plugjax.jit(jnp.sin))(plugjax.ShapeDtypeStruct((4,), "float32"))
        >>> export.deserialize(exported.serialize()).fun_name
        'sin'
    """
    data = bytes(blob)
    program, scope = program_bytes.from_trailer(data)
    return _exported(read("Exported", data), program, scope)


def _fail(what: str) -> ValueError:
    return ValueError(f"export.deserialize: the artifact is malformed: {what}.")


def _exported(
    fields: Mapping[str, Any], program: ClosedJaxpr | None, scope: SymbolicScope
) -> Exported:
    name = fields["fun_name"]
    if name is None:
        raise _fail("it names no function")
    version = fields["calling_convention_version"]
    oldest, newest = (
        minimum_supported_calling_convention_version,
        maximum_supported_calling_convention_version,
    )
    if not oldest <= version <= newest:
        raise _fail(
            f"its calling convention is of version {version}, and {oldest} to {newest} are known"
        )
    devices = fields["nr_devices"] or fields["nr_devices_short"]
    if devices < 1:
        raise _fail(f"it is for {devices} devices")
    in_shardings, out_shardings = _shardings(fields, devices)
    unique = [_aval(aval, scope) for aval in fields["unique_avals"]]
    in_avals = _spread(_avals(fields, "in", unique, scope), in_shardings)
    out_avals = _spread(_avals(fields, "out", unique, scope), out_shardings)
    kept = tuple(fields["module_kept_var_idx"])
    if list(kept) != sorted(set(kept)) or any(i >= len(in_avals) for i in kept):
        raise _fail(f"its module takes the arguments {kept} of {len(in_avals)}")
    if not fields["platforms"]:
        raise _fail("it names no platforms")
    if program is not None:
        _check_program(program, in_avals, out_avals)
    vjp = fields["vjp"]
    get_vjp: Callable[[Artifact], Exported] | None = None
    if program is not None:
        get_vjp = vjp_of_program(program)
    elif vjp is not None:
        derivative = _exported(vjp, None, SymbolicScope())

        def stored(_: Artifact) -> Exported:
            return derivative

        get_vjp = stored
    return Exported(
        fun_name=name,
        in_tree=read_tree(fields["in_tree"], in_avals),
        in_avals=in_avals,
        out_tree=read_tree(fields["out_tree"], out_avals),
        out_avals=out_avals,
        in_shardings_hlo=(None,) * len(in_avals),
        out_shardings_hlo=(None,) * len(out_avals),
        nr_devices=devices,
        platforms=tuple(fields["platforms"]),
        ordered_effects=tuple(NamedEffect(e["type_name"]) for e in fields["ordered_effects"]),
        unordered_effects=tuple(NamedEffect(e["type_name"]) for e in fields["unordered_effects"]),
        disabled_safety_checks=tuple(_check(c) for c in fields["disabled_checks"]),
        mlir_module_serialized=fields["mlir_module"],
        calling_convention_version=version,
        module_kept_var_idx=kept,
        uses_global_constants=fields["uses_global_constants"],
        _in_named_shardings=in_shardings,
        _out_named_shardings=out_shardings,
        _get_vjp=get_vjp,
        _program=program,
    )


def _shardings(fields: Mapping[str, Any], devices: int) -> tuple[Shardings, Shardings]:
    """How the arguments and results are spread."""
    meshes = [read_mesh(each) for each in fields["unique_meshes"]]
    unique = [read_sharding(each, meshes) for each in fields["unique_shardings"]]

    def side(name: str) -> Shardings:
        if indices := fields[f"{name}_sharding_indices"]:
            if any(i > len(unique) for i in indices):
                raise _fail(f"it refers to shardings {indices} of {len(unique)}")
            return tuple(unique[i - 1] if i else None for i in indices)
        # Artifacts from before JAX 0.10 write each sharding out.
        return tuple(_written_out(each, devices) for each in fields[f"{name}_shardings"])

    found = side("in"), side("out")
    for sharding in (*found[0], *found[1]):
        if sharding is not None and sharding.mesh.size not in (0, devices):
            raise _fail(f"it is for {devices} devices, and a sharding is over {sharding.mesh}")
    return found


def _written_out(fields: Mapping[str, Any], devices: int) -> NamedSharding | None:
    named = fields["named_sharding"]
    if named is not None:
        return read_sharding(named)
    if fields["hlo_sharding"] and devices > 1:
        raise NotImplementedError(
            "export.deserialize: the artifact was written before January 2026 and has shardings in XLA's own form, which names no "
            "mesh. Write it again with JAX 0.10."
        )
    return None


def _spread(avals: tuple[ShapedArray, ...], shardings: Shardings) -> tuple[ShapedArray, ...]:
    """The avals, in which explicit axes of the meshes stand."""
    if len(avals) != len(shardings):
        raise _fail(f"it has shardings for {len(shardings)} values of {len(avals)}")
    for aval, sharding in zip(avals, shardings, strict=True):
        if sharding is not None and len(sharding.spec) > aval.ndim:
            raise _fail(f"it spreads {aval.str_short()} by {sharding.spec}")
    return tuple(a if s is None else s.typed(a) for a, s in zip(avals, shardings, strict=True))


def _check_program(
    program: ClosedJaxpr, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray]
) -> None:
    for found, wanted in ((program.in_avals, in_avals), (program.out_avals, out_avals)):
        if [a.strip_weak_type() for a in found] != [a.strip_weak_type() for a in wanted]:
            raise _fail(f"its program has the avals {found}, and its signature {list(wanted)}")


def _avals(
    fields: Mapping[str, Any], side: str, unique: Sequence[ShapedArray], scope: SymbolicScope
) -> tuple[ShapedArray, ...]:
    indices = fields[f"{side}_aval_indices"]
    if not indices:
        # Artifacts from before JAX 0.10 write each aval out.
        return tuple(_aval(aval, scope) for aval in fields[f"{side}_avals"])
    if any(i >= len(unique) for i in indices):
        raise _fail(f"it refers to avals {indices} of {len(unique)}")
    return tuple(unique[i] for i in indices)


def _aval(fields: Mapping[str, Any], scope: SymbolicScope) -> ShapedArray:
    kind = fields["dtype"]
    if not 0 <= kind < len(schema.DTYPES):
        raise _fail(f"it has a dtype of unknown kind {kind}")
    name = schema.DTYPES[kind]
    return ShapedArray(
        tuple(_size(d, scope) for d in fields["shape"]),
        program_bytes.dtype_named(_KEYS.get(name, name)),
    )


def _size(text: str, scope: SymbolicScope) -> Any:
    if text.isdecimal():
        return int(text)
    try:
        found = symbolic_shape(text, scope=scope)
    except RecursionError as error:
        raise _fail(
            f"a size has {len(text)} characters, and too many operations in one another"
        ) from error
    if len(found) != 1 or not is_symbolic_dim(found[0]):
        raise _fail(f"a size is {text!r}")
    return found[0]


def _check(fields: Mapping[str, Any]) -> DisabledSafetyCheck:
    if fields["kind"] == schema.CHECK_PLATFORM:
        return DisabledSafetyCheck.platform()
    if fields["kind"] == schema.CHECK_CUSTOM_CALL and fields["custom_call_target"]:
        return DisabledSafetyCheck.custom_call(fields["custom_call_target"])
    raise _fail(f"it disables a check of unknown kind {fields['kind']}")
