"""The mesh in force: what names in partition specs mean where no mesh is given."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, ClassVar, TypeAlias

from plugjax.core.config import config
from plugjax.core.device import Sharding
from plugjax.core.primitive import state
from plugjax.meshes.mesh import NO_ABSTRACT_MESH, NO_MESH, AbstractMesh, AxisType, Mesh
from plugjax.meshes.named import NamedSharding
from plugjax.meshes.spec import PartitionSpec

ShardingLike: TypeAlias = Sharding | PartitionSpec


class set_mesh:  # noqa: N801  # JAX's name
    """Put a mesh in force in this thread: from now on, or within a ``with`` block.

    Results of compiled functions and new arrays are spread over its devices, and partition specs mean its axes.

    Args:
        mesh: the mesh; ``None`` for none.

    Raises:
        ValueError: it is no mesh, or a program is being traced.

    Example:
        >>> import plugjax
        >>> with plugjax.set_mesh(plugjax.make_mesh((1,), ("x",))):
        ...     plugjax.sharding.get_mesh().axis_names
        ('x',)
    """

    # Whether any mesh was ever put in force: before that, nothing looks for one.
    entered: ClassVar[bool] = False

    def __init__(self, mesh: Mesh | None) -> None:
        if not isinstance(mesh, (Mesh, type(None))):
            raise ValueError(
                f"Expected mesh of type `jax.sharding.Mesh`. Got {mesh!r} of type {type(mesh).__name__}."
            )
        if state.trace is not None and not _evaluating():
            raise ValueError("`set_mesh` can only be used outside of `jax.jit`. Enter it before.")
        set_mesh.entered = True
        self._mesh = mesh
        self._take_back = config.put("mesh", mesh)

    def __enter__(self) -> Mesh | None:
        """The mesh is in force already."""
        return self._mesh

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Put the mesh in force that was before."""
        self._take_back()


def _evaluating() -> bool:
    return not state.trace.origin or state.trace.origin == "the evaluator"


@contextmanager
def use_abstract_mesh(mesh: AbstractMesh) -> Iterator[None]:
    """Put an abstract mesh in force within a ``with`` block: programs are traced and lowered for it.

    Raises:
        ValueError: it is no abstract mesh.

    Example:
        >>> from plugjax.sharding import AbstractMesh, get_abstract_mesh, use_abstract_mesh
        >>> with use_abstract_mesh(AbstractMesh((2,), ("x",))):
        ...     get_abstract_mesh()
        AbstractMesh('x': 2, axis_types=(Auto,))
    """
    if not isinstance(mesh, (AbstractMesh, type(None))):
        raise ValueError(
            f"use_abstract_mesh: expected a mesh of type `jax.sharding.AbstractMesh`, got {mesh!r}."
        )
    with config.override("abstract_mesh", mesh):
        yield


def get_abstract_mesh() -> AbstractMesh:
    """The mesh in force without its devices; inside ``shard_map`` its axes are ``Manual``.

    Example:
        >>> from plugjax.sharding import get_abstract_mesh
        >>> get_abstract_mesh().empty
        True
    """
    found: AbstractMesh | None = config.read("abstract_mesh")
    if found is not None:
        return found
    mesh: Mesh | None = config.read("mesh")
    return NO_ABSTRACT_MESH if mesh is None else mesh.abstract_mesh


def get_mesh() -> Mesh:
    """The mesh that ``set_mesh`` put in force, an empty one if there is none.

    Raises:
        ValueError: a program is being traced.

    Example:
        >>> from plugjax.sharding import get_mesh
        >>> get_mesh()
        Mesh(axis_sizes=(), axis_names=())
    """
    if not _evaluating():
        raise ValueError(
            "`get_mesh` can only be used outside of `jax.jit`. Call get_abstract_mesh in traced functions."
        )
    found: Mesh | None = config.read("mesh")
    return found or NO_MESH


def mesh_in_force() -> Mesh | None:
    """The mesh whose devices programs are spread over where nothing else says it."""
    if not set_mesh.entered:
        return None
    found: Mesh | None = config.read("mesh")
    return found if found is not None and not found.empty else None


def with_devices(mesh: Mesh | AbstractMesh) -> Mesh | AbstractMesh:
    """The mesh in force in the place of an abstract mesh with its axes; other meshes as they are."""
    found = mesh_in_force()
    if found is None or not isinstance(mesh, AbstractMesh):
        return mesh
    same = (mesh.shape_tuple, mesh.axis_types) == (found.shape_tuple, found.axis_types)
    return found if same else mesh


def over_devices(sharding: Any) -> Any:
    """A sharding over the mesh in force, if it is over an abstract mesh with its axes; others as they are."""
    if not isinstance(sharding, NamedSharding):
        return sharding
    mesh = with_devices(sharding.mesh)
    if mesh is sharding.mesh:
        return sharding
    return NamedSharding(mesh, sharding.spec, memory_kind=sharding._kind)


def mesh_of_specs() -> Mesh | AbstractMesh | None:
    """The mesh whose axes partition specs mean."""
    abstract: AbstractMesh | None = config.read("abstract_mesh")
    found: Mesh | None = config.read("physical_mesh") or config.read("mesh")
    if abstract is not None and found is not None:
        if _other_types(abstract, found):
            return found.update(axis_types=abstract.axis_types)
        if abstract.size == found.size and abstract.shape_tuple != found.shape_tuple:
            return abstract
    if abstract is not None and not abstract.empty and found is None:
        return abstract
    return found if found is not None and not found.empty else None


def _other_types(abstract: AbstractMesh, mesh: Mesh) -> bool:
    """Whether types of axes were changed between those that the compiler decides on and those that stand in types."""
    return (
        abstract.shape_tuple == mesh.shape_tuple
        and abstract.axis_types != mesh.axis_types
        and AxisType.Manual not in abstract.axis_types
    )


def as_sharding(who: str, value: Any, argument: str) -> Sharding:
    """A sharding from a sharding or a partition spec.

    Raises:
        RuntimeError: a spec, and no mesh is in force.
        TypeError: neither.
    """
    if isinstance(value, Sharding):
        return value
    if isinstance(value, PartitionSpec):
        mesh = mesh_of_specs()
        if mesh is None:
            raise RuntimeError(
                f"{who} requires a non-empty mesh in context if you are passing `PartitionSpec`s to {argument}. Enter "
                "`with plugjax.set_mesh(mesh):`, or give a NamedSharding(mesh, spec)."
            )
        return NamedSharding(mesh, value)
    raise TypeError(f"{who}: {argument} takes shardings, partition specs or None; got {value!r}.")
