"""Structures of trees as data, and futures of trees."""

from __future__ import annotations

import base64
from collections.abc import Generator, Mapping
from concurrent.futures import Future
from typing import Any

from plugjax.extend import extensions, pytree

_TREE_KEY = "__jax_pytreedef_repr"
LEAVES_KEY = "__jax_leaf_ids"


def _of_trees(name: str) -> Any:
    return extensions.attribute("tree_bytes", "trees as bytes", name)


class PyTreeFuture(Future[Any]):
    """A tree that is being saved or loaded: a future, which can be awaited too.

    Attributes:
        pytree: the tree with a ``ShapeDtypeStruct`` in place of each array.

    Example:
        >>> from concurrent.futures import Future
        >>> from plugjax.experimental.array_serialization.pytree_serialization_utils import PyTreeFuture
        >>> inner = Future()
        >>> inner.set_result(3)
        >>> PyTreeFuture(inner).result()
        3
    """

    def __init__(self, future: Future[Any]) -> None:
        super().__init__()
        self._future = future
        self.pytree: Any = None

    def done(self) -> bool:
        """Whether it is saved or loaded, or has failed."""
        return self._future.done()

    def result(self, timeout: float | None = None) -> Any:
        """Wait for it; ``None`` of what is saved.

        Raises:
            TimeoutError: it takes longer.
            Exception: it has failed.
        """
        return self._future.result(timeout)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Wait for it, and give what it raised."""
        return self._future.exception(timeout)

    def __await__(self) -> Generator[None, None, Any]:
        while not self.done():
            yield
        return self.result()

    def __repr__(self) -> str:
        return f"PyTreeFuture(done={self.done()}, pytree={self.pytree})"


def serialize_pytreedef(node: pytree.PyTreeDef) -> dict[str, Any]:
    """A structure as data for JSON.

    Raises:
        ValueError: a container of a class that is not registered.
        ImportError: the package flatbuffers is not installed.

    Example:
        >>> from plugjax import tree
        >>> from plugjax.experimental.array_serialization import pytree_serialization_utils as utils
        >>> written = utils.serialize_pytreedef(tree.structure({"a": 1, "b": (2, 3)}))
        >>> tree.unflatten(utils.deserialize_pytreedef(written), "xyz")
        {'a': 'x', 'b': ('y', 'z')}
    """
    data = _of_trees("tree_as_bytes")(node)
    return {
        _TREE_KEY: base64.b64encode(data).decode("utf-8"),
        LEAVES_KEY: list(range(node.num_leaves)),
    }


def deserialize_pytreedef(pytreedef_repr: Mapping[str, Any]) -> pytree.PyTreeDef:
    """The structure that :func:`serialize_pytreedef`, here or in JAX, made data of.

    Raises:
        ValueError: it is damaged, or has a container of a class that is not registered.

    Example:
        >>> from plugjax import tree
        >>> from plugjax.experimental.array_serialization import pytree_serialization_utils as utils
        >>> utils.deserialize_pytreedef(utils.serialize_pytreedef(tree.structure([1]))) == tree.structure([2])
        True
    """
    holders = [object() for _ in pytreedef_repr[LEAVES_KEY]]
    data = base64.b64decode(pytreedef_repr[_TREE_KEY])
    found: pytree.PyTreeDef = _of_trees("tree_from_bytes")(data, holders)
    return found


def register_pytree_node_serialization(nodetype: Any, **options: Any) -> Any:
    """Let checkpoints hold a class of containers: :func:`plugjax.export.register_pytree_node_serialization`.

    Example:
        >>> from plugjax import tree_util
        >>> from plugjax.experimental.array_serialization import pytree_serialization_utils as utils
        >>> class Single:
        ...     def __init__(self, a):
        ...         self.a = a
        >>> tree_util.register_pytree_node(Single, lambda s: ((s.a,), None), lambda _, c: Single(*c))
        >>> _ = utils.register_pytree_node_serialization(
        ...     Single,
        ...     serialized_name="example.Single",
        ...     serialize_auxdata=lambda _: b"",
        ...     deserialize_auxdata=lambda _: None,
        ... )
        >>> written = utils.serialize_pytreedef(tree_util.tree_structure(Single(1)))
        >>> tree_util.tree_unflatten(utils.deserialize_pytreedef(written), [2]).a
        2
    """
    return _of_trees("register_pytree_node_serialization")(nodetype, **options)


__all__ = [
    "PyTreeFuture",
    "deserialize_pytreedef",
    "register_pytree_node_serialization",
    "serialize_pytreedef",
]
