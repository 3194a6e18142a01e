"""Saying how values are spread between functions whose types say it and functions in which the compiler decides."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from plugjax.extend import pytree
from plugjax.extend.core import Array, ShapedArray, Tracer, as_array, aval_of, reshard_p
from plugjax.extend.meshes import (
    AbstractMesh,
    AxisType,
    NamedSharding,
    PartitionSpec,
    get_abstract_mesh,
    spec_of,
    use_abstract_mesh,
)
from plugjax.lax.placement import laid_out


def reshard(xs: Any, out_shardings: Any) -> Any:
    """Values spread in another way.

    Args:
        xs: pytree of arrays.
        out_shardings: a sharding, a partition spec of the mesh in force, or a pytree prefix of ``xs`` of them.

    Raises:
        RuntimeError: a spec, and no mesh is in force.
        ValueError: ``out_shardings`` is no prefix of ``xs``, or an array cannot be cut so.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> mesh = plugjax.make_mesh((1,), ("x",))
        >>> plugjax.reshard(jnp.arange(2), plugjax.NamedSharding(mesh, plugjax.P("x"))).sharding.spec
        P('x',)
    """
    return _each("reshard", xs, out_shardings)


def _each(who: str, tree: Any, shardings: Any) -> Any:
    leaves, structure = pytree.flatten(tree)
    try:
        wanted = pytree.broadcast_prefix(shardings, tree, is_leaf=lambda x: x is None)
    except ValueError:
        raise ValueError(
            f"{who}: {shardings!r} is no prefix of {structure}. Give one sharding for each part, or one for all."
        ) from None
    return pytree.unflatten(
        structure,
        [
            x if sharding is None else laid_out(who, as_array(x, who), sharding)
            for x, sharding in zip(leaves, wanted, strict=True)
        ],
    )


def auto_axes(
    f: Callable[..., Any] | None = None,
    /,
    *,
    axes: str | tuple[str, ...] | None = None,
    out_sharding: Any = None,
) -> Any:
    """A function within which the compiler decides how values are spread, although types of arguments may say it.

    Args:
        f: the function. Left out, a decorator is returned.
        axes: the axes of the mesh in question; all, if left out.
        out_sharding: how the results are spread: a pytree prefix of them, of shardings and partition specs. It may be given in the
            call instead.

    Raises:
        TypeError: no ``out_sharding`` was given.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> mesh = plugjax.make_mesh((1,), ("x",))
        >>> with plugjax.set_mesh(mesh):
        ...     plugjax.sharding.auto_axes(jnp.sin, out_sharding=plugjax.P("x"))(jnp.zeros(2))
        Array([0., 0.], dtype=float32)
    """
    if f is None:
        return functools.partial(auto_axes, axes=axes, out_sharding=out_sharding)
    function = f

    @functools.wraps(f)
    def call(*args: Any, out_sharding: Any = out_sharding, **kwargs: Any) -> Any:
        if out_sharding is None:
            raise TypeError(
                "Missing required keyword argument: 'out_sharding'. Pass it to auto_axes, or to the call of the function."
            )
        given = pytree.leaves(out_sharding, is_leaf=lambda s: isinstance(s, PartitionSpec))
        mesh = _mesh_about("auto_axes", [*given, *map(_sharding, pytree.leaves((args, kwargs)))])
        inner = _with_types(mesh, axes, AxisType.Auto)
        if inner is None or inner == mesh:
            result = function(*args, **kwargs)
        else:
            args, kwargs = _over(inner, (args, kwargs))
            with use_abstract_mesh(inner):
                result = function(*args, **kwargs)
        return _each("auto_axes", result, out_sharding)

    return call


def _sharding(x: Any) -> Any:
    """How a value is spread over a mesh, if its type or its place says it."""
    if isinstance(x, Tracer):
        return getattr(x.aval, "spread", None)
    return x._placement.sharding if type(x) is Array else None


def _mesh_about(who: str, shardings: Any) -> AbstractMesh | None:
    """The mesh in force, or that of some shardings."""
    here = get_abstract_mesh()
    found = {s.mesh.abstract_mesh for s in shardings if isinstance(s, NamedSharding)}
    if not here.empty:
        return here
    if len(found) > 1:
        raise ValueError(
            f"Shardings passed to {who} should have the same mesh. Got {', '.join(map(str, found))}."
        )
    return found.pop() if found else None


def _with_types(mesh: AbstractMesh | None, axes: Any, kind: AxisType) -> AbstractMesh | None:
    if mesh is None:
        return None
    names = mesh.axis_names if axes is None else (axes,) if isinstance(axes, str) else tuple(axes)
    return mesh.update_axis_types(dict.fromkeys(names, kind))


def _over(mesh: AbstractMesh, tree: Any) -> Any:
    """Values as those of programs over a mesh with other types of axes."""

    def cast(x: Any) -> Any:
        if not isinstance(x, (Array, Tracer)) or not isinstance(aval_of(x), ShapedArray):
            return x
        if aval_of(x).spread is None:
            return x
        return reshard_p.bind(x, dst_sharding=NamedSharding(mesh, spec_of(aval_of(x))))[0]

    return pytree.tree_map(cast, tree)


def explicit_axes(
    f: Callable[..., Any] | None = None,
    /,
    *,
    axes: str | tuple[str, ...] | None = None,
    in_sharding: Any = None,
) -> Any:
    """A function whose arguments are spread as it is told, within one in which the compiler decides.

    Args:
        f: the function. Left out, a decorator is returned.
        axes: the axes of the mesh in question; all, if left out.
        in_sharding: how the arguments are spread: a pytree prefix of their tuple, of shardings and partition specs. It may be
            given in the call instead.

    Raises:
        TypeError: no ``in_sharding`` was given.
        ValueError: no mesh is in force.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> mesh = plugjax.make_mesh((1,), ("x",))
        >>> with plugjax.set_mesh(mesh):
        ...     plugjax.sharding.explicit_axes(jnp.sin, in_sharding=plugjax.P("x"))(jnp.zeros(2))
        Array([0., 0.], dtype=float32)
    """
    if f is None:
        return functools.partial(explicit_axes, axes=axes, in_sharding=in_sharding)
    function = f

    @functools.wraps(f)
    def call(*args: Any, in_sharding: Any = in_sharding, **kwargs: Any) -> Any:
        if in_sharding is None:
            raise TypeError(
                "Missing required keyword argument: 'in_sharding'. Pass it to explicit_axes, or to the call of the function."
            )
        mesh = _mesh_about("explicit_axes", [])
        inner = _with_types(mesh, axes, AxisType.Explicit)
        if mesh is None or inner is None:
            raise ValueError(
                "Context mesh cannot be empty. Please use `jax.set_mesh` API to enter into a mesh context when using "
                "`explicit_axes` API."
            )
        with use_abstract_mesh(inner):
            result = function(*_each("explicit_axes", args, in_sharding), **kwargs)
        return _over(mesh, result)

    return call
