"""``pmap`` and ``smap``: functions mapped over an axis of their arguments, one index for each device, by ``shard_map``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from plugjax.extend import pytree
from plugjax.extend.backend import devices as devices_of
from plugjax.extend.core import Device, aval_of, moveaxis
from plugjax.extend.execution import jit
from plugjax.extend.meshes import (
    AxisType,
    IndivisibleError,
    Mesh,
    PartitionSpec,
)
from plugjax.extend.transforms import api_boundary, named_after
from plugjax.lax.shape import expand_dims, squeeze
from plugjax.lax.sharded.shard_map import Infer, shard_map


def pmap(
    fun: Callable[..., Any],
    axis_name: Hashable = None,
    *,
    in_axes: Any = 0,
    out_axes: Any = 0,
    static_broadcasted_argnums: int | Iterable[int] = (),
    devices: Sequence[Device] | None = None,
    backend: str | None = None,
    axis_size: int | None = None,
    donate_argnums: int | Iterable[int] = (),
) -> Callable[..., Any]:
    """Map a function over an axis of its arguments, each index on a device of its own.

    It is :func:`shard_map` over a mesh of one axis, compiled.

    Args:
        fun: the function of one index.
        axis_name: name of the axis, for collectives.
        in_axes: which axis of each positional argument to map over: an int, ``None`` for what all have, or a tuple of them or
            of pytree prefixes. Keyword arguments map over axis 0.
        out_axes: where the axis goes in each output.
        static_broadcasted_argnums: positions of arguments that are part of the signature by value.
        devices: the devices; the first ones of the default backend, if left out.
        backend: name of a backend whose devices to take.
        axis_size: size of the axis, needed only if no argument has it.
        donate_argnums: positions of arguments whose memory may be taken over.

    Returns:
        The mapped function, with ``lower`` as :func:`jit` gives it.

    Raises:
        ValueError: sizes differ, or there are too few devices.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> plugjax.pmap(lambda x: x / plugjax.lax.psum(x, "i"), axis_name="i")(jnp.ones((1, 3)))
        Array([[1., 1., 1.]], dtype=float32)
    """
    if not callable(fun):
        raise TypeError(f"pmap: expected a callable, got {fun!r}.")
    static = _numbers(static_broadcasted_argnums)
    name = "_pmap_axis" if axis_name is None else axis_name
    given = None if devices is None else list(devices)
    compiled: dict[Any, Any] = {}

    def prepared(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        dynamic = [x for i, x in enumerate(args) if i not in static]
        leaves, tree = pytree.flatten((dynamic, kwargs))
        axes = _axes(in_axes, args, static, kwargs, leaves)
        size = _size(fun, leaves, axes, axis_size)
        key = (size, tree, axes)
        if key not in compiled:
            mesh = _mesh(size, name, given, backend)
            whole = _mapped(fun, mesh, name, axes, tree, out_axes, static)
            compiled[key] = jit(
                whole, static_argnums=static or None, donate_argnums=_numbers(donate_argnums)
            )
        return compiled[key]

    @api_boundary
    def call(*args: Any, **kwargs: Any) -> Any:
        return prepared(args, kwargs)(*args, **kwargs)

    def lower(*args: Any, **kwargs: Any) -> Any:
        return prepared(args, kwargs).lower(*args, **kwargs)

    call.lower = lower  # type: ignore[attr-defined]  # functions have attributes
    return named_after(fun, call, fun.__doc__)


def _mapped(
    fun: Callable[..., Any],
    mesh: Mesh,
    name: Any,
    axes: tuple[int | None, ...],
    tree: Any,
    out_axes: Any,
    static: tuple[int, ...],
) -> Callable[..., Any]:
    """The function of whole arguments."""

    def whole(*args: Any, **kwargs: Any) -> Any:
        def local(*parts: Any) -> Any:
            own = [x if d is None else squeeze(x, (d,)) for x, d in zip(parts, axes, strict=True)]
            inner, keywords = pytree.unflatten(tree, own)
            rest = iter(inner)
            full = [x if i in static else next(rest) for i, x in enumerate(args)]
            result = fun(*full, **keywords)
            leaves, out_tree = pytree.flatten(result)
            return pytree.unflatten(
                out_tree,
                [
                    y if d is None else expand_dims(y, (0,))
                    for y, d in zip(leaves, _prefix(out_axes, result), strict=True)
                ],
            )

        dynamic = [x for i, x in enumerate(args) if i not in static]
        leaves = pytree.leaves((dynamic, kwargs))
        in_specs = tuple(
            PartitionSpec() if d is None else PartitionSpec(*[None] * d, name) for d in axes
        )
        out_specs = pytree.tree_map(
            lambda d: PartitionSpec() if d is None else PartitionSpec(name),
            out_axes,
            is_leaf=lambda x: x is None,
        )
        result = shard_map(
            local, mesh=mesh, in_specs=in_specs, out_specs=out_specs, check_vma=False
        )(*leaves)
        found, out_tree = pytree.flatten(result)
        return pytree.unflatten(
            out_tree,
            [
                y if d is None else moveaxis(y, 0, d % aval_of(y).ndim)
                for y, d in zip(found, _prefix(out_axes, result), strict=True)
            ],
        )

    whole.__name__ = getattr(fun, "__name__", "pmap")
    return whole


def _prefix(axes: Any, tree: Any) -> list[Any]:
    try:
        return list(pytree.broadcast_prefix(axes, tree, is_leaf=lambda x: x is None))
    except ValueError:
        raise ValueError(
            f"pmap: out_axes {axes!r} is no prefix of the result {pytree.structure(tree)}."
        ) from None


def _numbers(numbers: int | Iterable[int]) -> tuple[int, ...]:
    return (numbers,) if isinstance(numbers, int) else tuple(numbers)


def _axes(
    in_axes: Any,
    args: tuple[Any, ...],
    static: tuple[int, ...],
    kwargs: dict[str, Any],
    leaves: Sequence[Any],
) -> tuple[int | None, ...]:
    """The mapped axis of each leaf of the arguments that are not static."""
    each = list(in_axes) if isinstance(in_axes, (tuple, list)) else [in_axes] * len(args)
    if len(each) != len(args):
        raise ValueError(
            f"pmap: in_axes must have one entry for each positional argument, got {len(each)} for {len(args)} arguments."
        )
    found: list[Any] = []
    for i, (x, axes) in enumerate(zip(args, each, strict=True)):
        if i not in static:
            found += pytree.broadcast_prefix(axes, x, is_leaf=lambda a: a is None)
    found += [0] * len(pytree.leaves(kwargs))
    return tuple(
        None if d is None else _in_range(d, aval_of(x).ndim)
        for x, d in zip(leaves, found, strict=True)
    )


def _in_range(d: int, ndim: int) -> int:
    if not -ndim <= d < ndim:
        raise ValueError(
            f"pmap was requested to map its argument along axis {d}, which implies that its rank should be at least "
            f"{d + 1 if d >= 0 else -d}, but is only {ndim}."
        )
    return d % ndim


def _size(
    fun: Callable[..., Any], leaves: Sequence[Any], axes: Sequence[int | None], given: int | None
) -> int:
    sizes = {aval_of(x).shape[d] for x, d in zip(leaves, axes, strict=True) if d is not None}
    if given is not None:
        sizes.add(given)
    if not sizes:
        raise ValueError("pmap must have at least one non-None value in in_axes, or axis_size.")
    if len(sizes) > 1:
        name = getattr(fun, "__name__", "function")
        raise ValueError(
            f"pmap({name}) got inconsistent sizes for array axes to be mapped: {sorted(sizes)}. They must be one."
        )
    return int(sizes.pop())


def _mesh(size: int, name: Any, given: Sequence[Device] | None, backend: str | None) -> Mesh:
    found = list(devices_of(backend)) if given is None else list(given)
    if given is None:
        found = [device for device in found if device.kind == found[0].kind]
    if size > len(found):
        raise IndivisibleError(
            f"pmap: compiling computation that requires {size} logical devices, but only {len(found)} are available. Map over "
            "fewer, or set jax_num_cpu_devices before the first computation."
        )
    array = np.empty(size, object)
    array[:] = found[:size]
    return Mesh(array, (name,), axis_types=(AxisType.Auto,))


def smap(
    f: Callable[..., Any] | None = None,
    /,
    *,
    in_axes: Any = Infer,
    out_axes: Any,
    axis_name: Hashable,
) -> Any:
    """Map a function over one axis of the mesh in force: :func:`shard_map` with axes of arrays in place of specs.

    Args:
        f: the function of parts. Left out, a decorator is returned.
        in_axes: which axis of each argument is cut: an int, ``None`` for none, or a pytree prefix of them.
        out_axes: along which axis parts of each result are joined, likewise.
        axis_name: axis of the mesh.

    Raises:
        TypeError: ``in_axes`` is left out where types do not say it.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> f = plugjax.smap(lambda x: x * 2, in_axes=0, out_axes=0, axis_name="i")
        >>> with plugjax.set_mesh(plugjax.make_mesh((1,), ("i",))):
        ...     f(jnp.arange(3))
        Array([0, 2, 4], dtype=int32)
    """
    if f is None:
        return functools.partial(smap, in_axes=in_axes, out_axes=out_axes, axis_name=axis_name)

    def specs(axes: Any) -> Any:
        return pytree.tree_map(
            lambda d: PartitionSpec() if d is None else PartitionSpec(*[None] * d, axis_name),
            axes,
            is_leaf=lambda x: x is None,
        )

    return shard_map(
        f,
        in_specs=Infer if in_axes is Infer else specs(in_axes),
        out_specs=specs(out_axes),
        axis_names={axis_name},
    )
