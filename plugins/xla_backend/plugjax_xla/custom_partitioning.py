"""Functions that say how they are split: XLA's partitioner asks Python for the program of one device.

A program names what is asked by a key (:class:`Split`). With Shardy the rule of the operation says how values are spread, so that only the
program is asked for.
"""

from __future__ import annotations

import functools
import itertools
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from plugjax.extend import pytree
from plugjax.extend.core import ShapedArray, ShapeDtypeStruct, Sharding
from plugjax.extend.execution import run_passes
from plugjax.extend.meshes import Mesh, NamedSharding, PartitionSpec
from plugjax.extend.transforms import Structure, flat_call, stage
from plugjax.lax.sharded.primitive import inside
from plugjax.stablehlo import mlir
from plugjax.stablehlo.lower import lower_module
from plugjax_xla.jaxlib_shim import register_partitioner
from plugjax_xla.mesh_runtime import blocks_from_hlo, described
from plugjax_xla.partitioned import blocks_of, named

TARGET = "plugjax.CustomSPMDPartitioning"

_numbers = itertools.count()


@dataclass(eq=False)
class Split:
    """What is said of one call.

    Attributes:
        partition: gives the function of each device and how its arguments and results are spread.
        mesh: the devices.
        in_tree: structure of the arguments.
        out_tree: structure of the results.
        in_avals: of the arguments' leaves.
        out_avals: of the results' leaves.
        device_kind: the hardware.
        key: names it in programs.
    """

    partition: Callable[..., Any]
    mesh: Mesh
    in_tree: Any
    out_tree: Any
    in_avals: Sequence[ShapedArray]
    out_avals: Sequence[ShapedArray]
    device_kind: str
    key: str = field(default_factory=lambda: str(next(_numbers)))


_splits: weakref.WeakValueDictionary[str, Split] = weakref.WeakValueDictionary()


def announce(split: Split) -> None:
    """Let the partitioner find a split by its key while the object lives."""
    _register()
    _splits[split.key] = split


@functools.cache
def _register() -> None:
    register_partitioner(TARGET, _program_of_one_device)


def _program_of_one_device(
    arg_shapes: Sequence[Any],
    arg_shardings: Sequence[Any],
    result_shape: Any,
    result_sharding: Any,
    key: bytes,
) -> tuple[bytes, list[Any], Any]:
    """The module of one device, with how XLA is to spread its arguments and results."""
    split = _splits[key.decode()]
    several = result_shape.is_tuple()
    results = result_sharding.tuple_elements() if several else [result_sharding]
    mesh, function, out_shardings, in_shardings = split.partition(
        split.mesh,
        _structs(split, split.in_tree, split.in_avals, arg_shardings),
        _structs(split, split.out_tree, split.out_avals, results),
    )
    arguments = _flat(split.in_tree, in_shardings)
    outcomes = _flat(split.out_tree, out_shardings)
    expected = _parts(split.out_avals, outcomes)
    with mlir.own_session(), inside(mesh, frozenset(mesh.axis_names), False):
        flat = flat_call(function, split.in_tree, Structure(), "custom_partitioning")
        program = stage(flat, _parts(split.in_avals, arguments), "custom_partitioning")
        if [(a.shape, a.dtype) for a in program.out_avals] != [
            (a.shape, a.dtype) for a in expected
        ]:
            raise ValueError(
                f"custom_partitioning: Mismatch in result shapes. The function of one device gives {_shown(program.out_avals)}, and "
                f"by the shardings of the results its parts are {_shown(expected)}."
            )
        program = run_passes(program, "xla")
        lowered = lower_module(
            program, "xla", name="custom_partitioning", device_kind=split.device_kind, manual=mesh
        ).bytecode()
    pairs = zip(arguments, split.in_avals, strict=True)
    given = [described(blocks_of(sharding, aval.ndim)) for sharding, aval in pairs]
    pairs = zip(outcomes, split.out_avals, strict=True)
    found = [described(blocks_of(sharding, aval.ndim)) for sharding, aval in pairs]
    together = type(result_sharding).tuple_sharding(result_shape, found) if several else found[0]
    return lowered, given, together


def _shown(avals: Sequence[ShapedArray]) -> str:
    return ", ".join(aval.str_short() for aval in avals)


def _structs(
    split: Split, tree: Any, avals: Sequence[ShapedArray], shardings: Sequence[Any]
) -> Any:
    """Shapes with named shardings, in the structure of the user's."""
    mesh = split.mesh
    found = []
    for aval, hlo in zip(avals, shardings, strict=True):
        blocks = blocks_from_hlo(hlo, aval.ndim, mesh.size)
        sharding = None if blocks is None else named(mesh, blocks)
        spec = PartitionSpec() if sharding is None else sharding.spec
        full = PartitionSpec(*spec, *[None] * (aval.ndim - len(spec)))
        found.append(ShapeDtypeStruct(aval.shape, aval.dtype, sharding=NamedSharding(mesh, full)))
    return pytree.unflatten(tree, found)


def _flat(tree: Any, shardings: Any) -> list[Sharding]:
    found = pytree.leaves(shardings)
    for sharding in found:
        if not isinstance(sharding, Sharding):
            raise ValueError("Custom Partitioning rules must return Sharding.")
    if len(found) != tree.num_leaves:
        raise ValueError(
            f"custom_partitioning: expected {tree.num_leaves} shardings in the structure {tree}, got {shardings}."
        )
    return found


def _parts(avals: Sequence[ShapedArray], shardings: Sequence[Any]) -> list[ShapedArray]:
    pairs = zip(avals, shardings, strict=True)
    return [ShapedArray(sharding.shard_shape(aval.shape), aval.dtype) for aval, sharding in pairs]
