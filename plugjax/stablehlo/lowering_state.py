"""What a lowering rule may ask about its module, by JAX's names: the devices, the lowering's parameters, unknown sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from plugjax.extend.core import Device
from plugjax.extend.meshes import AbstractMesh, Mesh

MeshAxisName = Any


@dataclass(frozen=True, slots=True)
class SPMDAxisContext:
    """The program under construction is that of one device along some axes of a mesh.

    Attributes:
        mesh: the mesh.
        manual_axes: names of these axes.

    Example:
        >>> import plugjax
        >>> from plugjax.interpreters import mlir
        >>> mlir.SPMDAxisContext(plugjax.sharding.AbstractMesh((2,), ("x",)), frozenset({"x"})).manual_axes
        frozenset({'x'})
    """

    mesh: Mesh | AbstractMesh
    manual_axes: frozenset[MeshAxisName] = frozenset()


@dataclass(frozen=True, slots=True)
class ShardingContext:
    """The program under construction is that of whole arrays.

    Attributes:
        num_devices: how many devices run it together.
        device_assignment: which; ``None`` if the program does not depend on it.
        abstract_mesh: as in JAX, for what is lowered without devices.

    Raises:
        ValueError: the devices are not so many.

    Example:
        >>> from plugjax.interpreters import mlir
        >>> mlir.ShardingContext(4).num_devices
        4
    """

    num_devices: int
    device_assignment: tuple[Device, ...] | None = None
    abstract_mesh: AbstractMesh | None = None

    def __post_init__(self) -> None:
        devices = self.device_assignment
        if devices is not None and len(devices) != self.num_devices:
            raise ValueError(
                f"ShardingContext: num_devices is {self.num_devices}, got {len(devices)} devices."
            )


AxisContext = SPMDAxisContext | ShardingContext


class ShapePolyLoweringState:
    """Sizes of a module that are not known.

    Attributes:
        dim_vars: names of the variables in them.
        uses_dim_vars: whether there are any.
        has_platform_index_argument: whether the first of them is the index of a platform.

    Example:
        >>> from plugjax.interpreters import mlir
        >>> mlir.ShapePolyLoweringState(("n",), ("cpu", "cuda")).dim_vars
        ('_platform_index', 'n')
    """

    def __init__(self, dim_vars: Sequence[str], lowering_platforms: Sequence[str] | None) -> None:
        several = lowering_platforms is not None and len(lowering_platforms) > 1
        self.has_platform_index_argument = several
        self.dim_vars = (*(("_platform_index",) if several else ()), *dim_vars)
        self.uses_dim_vars = bool(self.dim_vars)


@dataclass(frozen=True, slots=True)
class LoweringParameters:
    """How a program is lowered.

    Attributes:
        override_lowering_rules: pairs of a primitive and the rule that comes before its own.
        global_constant_computation: accepted as in JAX; functions get the values of variables as arguments.
        for_export: whether the module is for export.
        export_ignore_forward_compatibility: whether an export needs no older readers; see
            :meth:`~plugjax.interpreters.mlir.LoweringRuleContext.is_forward_compat`.
        hoist_constants_as_args: accepted as in JAX; large constants are arguments in any case.

    Example:
        >>> from plugjax.interpreters import mlir
        >>> mlir.LoweringParameters(for_export=True).for_export
        True
    """

    override_lowering_rules: Sequence[tuple[Any, Callable[..., Any]]] | None = None
    global_constant_computation: bool = False
    for_export: bool = False
    export_ignore_forward_compatibility: bool = False
    hoist_constants_as_args: bool = False


class Overridden:
    """Lowering rules of which some are replaced."""

    def __init__(self, rules: Any, overriding: Mapping[Any, Callable[..., Any]]) -> None:
        self._rules = rules
        self._overriding = overriding

    def get(self, primitive: Any, /) -> Callable[..., Any] | None:
        """The rule that is declared, or in its place."""
        return self._overriding.get(primitive) or self._rules.get(primitive)

    def find(self, primitive: Any, /) -> Callable[..., Any] | None:
        """The rule that is declared or derived, or in its place."""
        return self._overriding.get(primitive) or self._rules.find(primitive)
