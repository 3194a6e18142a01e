"""The arguments ``in_shardings`` and ``out_shardings`` of ``jit``, and where the arguments of a call are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plugjax.core import pytree
from plugjax.core.array import Array
from plugjax.core.device import Sharding, SingleDeviceSharding
from plugjax.execution.jit.program import Program
from plugjax.execution.layouts import sharding_of
from plugjax.meshes.context import as_sharding
from plugjax.meshes.partition import Partition
from plugjax.meshes.programs import Place, partition_of
from plugjax.meshes.spec import PartitionSpec
from plugjax.transforms.prefixes import broadcast_prefix
from plugjax.transforms.tree_differences import first_difference


def place_of(x: Any) -> Place:
    """Where a leaf of the arguments is: an array, or a struct with a sharding."""
    if type(x) is Array:
        return Place(x._placement.sharding, x._placement.committed)
    sharding = getattr(x, "sharding", None)
    return Place(sharding, True) if isinstance(sharding, Sharding) else Place()


class JitShardings:
    """How the user wants arguments and results of a jitted function to be spread.

    Args:
        name: of the function.
        arguments: ``in_shardings``: a pytree prefix of the arguments, of shardings, partition specs and ``None``.
        results: ``out_shardings``, likewise of the result.

    Raises:
        TypeError: a leaf is none of these.

    Attributes:
        key: what tells it from others.
    """

    def __init__(self, name: str, arguments: Any, results: Any) -> None:
        self._name = name
        self._arguments = _Prefix(f"jit({name})", "in_shardings", arguments)
        self._results = _Prefix(f"jit({name})", "out_shardings", results)
        self.key = (self._arguments.key, self._results.key)

    def partition(self, program: Program, places: Sequence[Place]) -> Partition | None:
        """How a program is spread over devices; ``None`` if it runs on one, and no mesh is about.

        Args:
            program: the traced function.
            places: where all leaves of the arguments are.
        """
        wanted: list[Sharding | None] = [None] * program.in_tree.num_leaves
        if self._arguments.given:
            wanted = self._wanted(program)
        kept = program.plan.kept
        return partition_of(
            f"jit({self._name})",
            program.plan.program,
            [places[i] for i in kept],
            [wanted[i] for i in kept],
            self._results.flat(program.out_tree),
        )

    def _wanted(self, program: Program) -> list[Sharding | None]:
        args, kwargs = pytree.unflatten(program.in_tree, range(program.in_tree.num_leaves))
        if kwargs:
            raise ValueError(
                f"jit({self._name}) does not support kwargs when in_shardings is specified. Pass them by position."
            )
        return self._arguments.flat(pytree.structure(args))


class _Prefix:
    """A pytree prefix of shardings."""

    def __init__(self, who: str, argument: str, tree: Any) -> None:
        self._who = who
        self._argument = argument
        tree = self._tree = pytree.tree_map(lambda leaf: sharding_of(leaf, "jit"), tree)
        leaves, structure = pytree.flatten(tree)
        for leaf in leaves:
            if not isinstance(leaf, (Sharding, PartitionSpec)):
                raise TypeError(
                    f"{who}: {argument} holds shardings, partition specs or None, got {leaf!r}. Take the sharding of an "
                    "array, x.sharding, or give device= instead."
                )
        self.given = bool(leaves)
        self.key = (structure, *leaves)

    def flat(self, structure: Any) -> list[Sharding | None]:
        """A sharding or ``None`` for each leaf of a tree of that structure."""
        # A class may flatten other leaves otherwise, so that no tree is built in vain.
        if not self.given:
            return [None] * structure.num_leaves
        tree = pytree.unflatten(structure, range(structure.num_leaves))
        try:
            found = broadcast_prefix(self._tree, tree, is_leaf=lambda x: x is None)
        except ValueError:
            raise ValueError(
                f"{self._who}: {self._argument} is no prefix of what it is for: "
                + first_difference(pytree.structure(self._tree), pytree.structure(tree))
            ) from None
        return [
            None if each is None else as_sharding("jit", each, self._argument) for each in found
        ]


def only_device(shardings: Sequence[Any]) -> Any:
    """The one device that shardings without a mesh name, ``None`` if there are none or others.

    Raises:
        ValueError: they name several devices.
    """
    leaves = pytree.leaves(
        [pytree.tree_map(lambda leaf: sharding_of(leaf, "jit"), each) for each in shardings]
    )
    if not leaves or not all(type(leaf) is SingleDeviceSharding for leaf in leaves):
        return None
    found = {leaf.device for leaf in leaves}
    if len(found) > 1:
        raise ValueError(f"jit: in_shardings and out_shardings name several devices: {found}.")
    (device,) = found
    kind = leaves[-1].memory_kind
    # Of the results, if there are shardings of both.
    return device if kind == "device" else leaves[-1]
