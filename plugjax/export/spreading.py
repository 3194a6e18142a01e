"""How arguments and results of exported functions are spread over devices, of which an artifact knows the number alone.

An artifact holds abstract meshes: who calls the function says which devices they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from plugjax.extend.backend import devices
from plugjax.extend.core import ClosedJaxpr, Jaxpr, Sharding, config
from plugjax.extend.errors import UnknownBackendError
from plugjax.extend.meshes import AbstractMesh, Mesh, NamedSharding, Partition

Shardings = tuple[NamedSharding | None, ...]


def named_shardings(who: str, partition: Partition) -> tuple[Shardings, Shardings]:
    """Shardings of arguments and results over abstract meshes.

    Args:
        who: the function, for messages.
        partition: how it is spread.

    Raises:
        NotImplementedError: an argument or result is spread by no names of a mesh, so that artifacts have no form for it.
    """
    return (
        tuple(_abstract(f"{who}: argument {i}", s) for i, s in enumerate(partition.arguments)),
        tuple(_abstract(f"{who}: result {i}", s) for i, s in enumerate(partition.results)),
    )


def _abstract(words: str, sharding: Sharding | None) -> NamedSharding | None:
    if sharding is None:
        return None
    if not isinstance(sharding, NamedSharding):
        raise NotImplementedError(
            f"{words} is spread by {sharding}, and artifacts hold shardings by the names of a mesh. Give a NamedSharding."
        )
    return sharding.update(mesh=sharding.mesh.abstract_mesh)


def over_mesh(who: str, shardings: Shardings, mesh: Mesh | AbstractMesh | None) -> Shardings:
    """The shardings over a mesh of the axes that the function was exported for; as they are, if it is ``None``.

    Raises:
        ValueError: the names, sizes or types of its axes are others.
    """
    if mesh is None:
        return shardings
    return tuple(None if s is None else _over(who, s, mesh) for s in shardings)


def _over(who: str, sharding: NamedSharding, mesh: Mesh | AbstractMesh) -> NamedSharding:
    held = sharding.mesh
    if (held.shape_tuple, held.axis_types) != (mesh.shape_tuple, mesh.axis_types):
        raise ValueError(
            f"{who}: the new mesh {mesh} does not match the mesh used for export, {held}. Give one with axes of these names, "
            "sizes and types."
        )
    return sharding.update(mesh=mesh)


def program_without_devices(program: ClosedJaxpr) -> ClosedJaxpr:
    """A program whose equations name abstract meshes alone."""
    return _Replacing().program(program)


class _Replacing:
    """Puts abstract meshes in place of those with devices."""

    def __init__(self) -> None:
        self.programs: dict[ClosedJaxpr, ClosedJaxpr] = {}

    def program(self, program: ClosedJaxpr) -> ClosedJaxpr:
        found = self.programs.get(program)
        if found is None:
            inner = program.jaxpr
            eqns = [
                eqn.replace(params={name: self.param(each) for name, each in eqn.params.items()})
                for eqn in inner.eqns
            ]
            jaxpr = Jaxpr(inner.constvars, inner.invars, inner.outvars, eqns, inner.debug_name)
            found = self.programs[program] = ClosedJaxpr(jaxpr, program.consts)
        return found

    def param(self, value: Any) -> Any:
        if isinstance(value, ClosedJaxpr):
            return self.program(value)
        if type(value) is tuple:
            return tuple(map(self.param, value))
        if isinstance(value, Mesh):
            return value.abstract_mesh
        if isinstance(value, NamedSharding):
            return value.update(mesh=value.mesh.abstract_mesh)
        return value


@contextmanager
def for_partitioner(partition: Partition | None) -> Iterator[None]:
    """Within the block a program that is spread is for XLA, whichever backend is the default one."""
    if partition is None:
        yield
        return
    try:
        device = devices("xla")[0]
    except UnknownBackendError:
        # Programs of one device are written as those of whole arrays then, which mean the same.
        yield
        return
    with config.override("default_device", device):
        yield


@contextmanager
def without_partitioner(platform: str) -> Iterator[None]:
    """Within the block programs over abstract meshes are for devices of a backend that share one memory."""
    with config.override("default_device", devices(platform)[0]):
        yield


def check_device_count(name: str, wanted: int, found: int) -> None:
    """Refuse a call over another number of devices than a function was exported for.

    Raises:
        ValueError: the numbers differ.
    """
    if wanted != found:
        raise ValueError(
            f"Exported.call: Function {name} was exported for {wanted} devices and is called in a context with {found} devices, "
            f"which is not allowed. Spread the arguments over {wanted} devices by device_put with in_shardings_jax(mesh), or enter a "
            "mesh of so many by set_mesh."
        )
