"""Arrays of one process as parts of arrays over the devices of all, and back.

On a mesh whose devices each process has a block of, an array over all devices is made of one block for each process. The two
conversions are linear, and each is the transpose of the other. Arrays with values are converted at once; within a program, which
has one shape in all processes, only arrays that are whole in each process are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from plugjax.experimental.multihost_utils.agreement import itself
from plugjax.extend import pytree
from plugjax.extend.calls import define
from plugjax.extend.core import (
    Primitive,
    ShapedArray,
    Tracer,
    as_array,
    instantiate,
)
from plugjax.extend.dtypes import is_extended
from plugjax.extend.execution import jit
from plugjax.extend.meshes import (
    Mesh,
    NamedSharding,
    PartitionSpec,
    make_array_from_process_local_data,
    make_array_from_single_device_arrays,
)
from plugjax.extend.rules import abstract_eval, batching_rule, expand_rule
from plugjax.extend.transforms import Axis
from plugjax.interpreters import ad
from plugjax.random import key_data, key_impl, wrap_key_data


class _Conversion(Primitive):
    """A primitive that is evaluated by a function of arrays, since what it gives may lie on devices of other processes."""

    __slots__ = ("_convert",)

    def __init__(self, name: str, convert: Callable[..., Any]) -> None:
        super().__init__(name)
        self._convert = convert

    def bind(self, *args: Any, **params: Any) -> Any:
        """Convert an array, or hand a tracer to its trace."""
        if isinstance(args[0], Tracer):
            return super().bind(*args, **params)
        return self._convert(*args, **params)


def host_local_array_to_global_array(local_inputs: Any, global_mesh: Mesh, pspecs: Any) -> Any:
    """Arrays over all devices, of the part that each process has.

    Args:
        local_inputs: pytree of arrays of this process, of the same shapes in all. Arrays over devices of other processes are given
            back.
        global_mesh: the mesh; the devices of each process are a block of it.
        pspecs: how they are spread: a pytree prefix of ``local_inputs`` of partition specs.

    Returns:
        The pytree with arrays whose axes are longer by the number of processes along the axes of the mesh that cut them.

    Raises:
        ValueError: ``None`` among ``pspecs``, a shape that cannot be divided, or devices that are no block.
        NotImplementedError: in a compiled function, where the shape would change.

    Example:
        >>> import numpy as np, plugjax
        >>> from plugjax.experimental import multihost_utils
        >>> mesh = plugjax.make_mesh((1,), ("x",))
        >>> multihost_utils.host_local_array_to_global_array(np.arange(2), mesh, plugjax.P("x"))
        Array([0, 1], dtype=int32)
    """
    return _each(host_local_array_to_global_array_p, local_inputs, global_mesh, pspecs)


def global_array_to_host_local_array(global_inputs: Any, global_mesh: Mesh, pspecs: Any) -> Any:
    """The part that this process has of arrays over all devices, as arrays over its own devices.

    Args:
        global_inputs: pytree of arrays. Arrays of this process alone are given back.
        global_mesh: the mesh; the devices of each process are a block of it.
        pspecs: how the results are spread: a pytree prefix of ``global_inputs`` of partition specs.

    Returns:
        The pytree with arrays over ``global_mesh.local_mesh``.

    Raises:
        ValueError: ``None`` among ``pspecs``, a shape that cannot be divided, or devices that are no block.
        NotImplementedError: in a compiled function, where the shape would change.

    Example:
        >>> import numpy as np, plugjax
        >>> from plugjax.experimental import multihost_utils
        >>> mesh = plugjax.make_mesh((1,), ("x",))
        >>> multihost_utils.global_array_to_host_local_array(np.arange(2), mesh, plugjax.P("x"))
        Array([0, 1], dtype=int32)
    """
    return _each(global_array_to_host_local_array_p, global_inputs, global_mesh, pspecs)


def _each(conversion: Primitive, tree: Any, mesh: Mesh, pspecs: Any) -> Any:
    leaves, structure = pytree.flatten(tree)
    specs = pytree.broadcast_prefix(pspecs, tree, is_leaf=lambda x: x is None)
    converted = [
        conversion.bind(as_array(leaf, conversion.name), global_mesh=mesh, pspec=_checked(spec))
        for leaf, spec in zip(leaves, specs, strict=True)
    ]
    return pytree.unflatten(structure, converted)


def _checked(pspec: PartitionSpec | None) -> PartitionSpec:
    if pspec is None:
        raise ValueError(
            "`None` is not a valid input to the pspecs argument. Use PartitionSpec() for arrays that are whole in each process."
        )
    return pspec


def host_local_array_to_global_array_impl(
    arr: Any, *, global_mesh: Mesh, pspec: PartitionSpec
) -> Any:
    """:func:`host_local_array_to_global_array` of one array with values.

    Example:
        >>> import numpy as np, plugjax
        >>> from plugjax.experimental import multihost_utils
        >>> mesh = plugjax.make_mesh((1,), ("x",))
        >>> multihost_utils.host_local_array_to_global_array_impl(np.arange(2), global_mesh=mesh, pspec=plugjax.P())
        Array([0, 1], dtype=int32)
    """
    array = as_array(arr, "host_local_array_to_global_array")
    if not array.is_fully_addressable:
        return array
    if is_extended(array.dtype):
        return _with_keys(
            host_local_array_to_global_array_impl, array, global_mesh=global_mesh, pspec=pspec
        )
    sharding = NamedSharding(global_mesh, _checked(pspec))
    return make_array_from_process_local_data(sharding, np.asarray(array))


def global_array_to_host_local_array_impl(
    arr: Any, *, global_mesh: Mesh, pspec: PartitionSpec
) -> Any:
    """:func:`global_array_to_host_local_array` of one array with values.

    Example:
        >>> import numpy as np, plugjax
        >>> from plugjax.experimental import multihost_utils
        >>> mesh = plugjax.make_mesh((1,), ("x",))
        >>> multihost_utils.global_array_to_host_local_array_impl(np.arange(2), global_mesh=mesh, pspec=plugjax.P())
        Array([0, 1], dtype=int32)
    """
    array = as_array(arr, "global_array_to_host_local_array")
    if array.is_fully_addressable:
        return array
    if is_extended(array.dtype):
        return _with_keys(
            global_array_to_host_local_array_impl, array, global_mesh=global_mesh, pspec=pspec
        )
    sharding = NamedSharding(global_mesh, _checked(pspec))
    if not array.sharding.is_equivalent_to(sharding, array.ndim):
        array = jit(itself, out_shardings=sharding)(array)
    here = gtl_abstract_eval(array.aval, global_mesh=global_mesh, pspec=pspec)
    return make_array_from_single_device_arrays(
        here.shape,
        NamedSharding(global_mesh.local_mesh, pspec),
        [shard.data for shard in array.addressable_shards],
    )


def _with_keys(convert: Callable[..., Any], keys: Any, **params: Any) -> Any:
    return wrap_key_data(convert(key_data(keys), **params), impl=key_impl(keys))


host_local_array_to_global_array_p = _Conversion(
    "host_local_array_to_global_array", host_local_array_to_global_array_impl
)
global_array_to_host_local_array_p = _Conversion(
    "global_array_to_host_local_array", global_array_to_host_local_array_impl
)


def ltg_abstract_eval(arr: Any, *, global_mesh: Mesh, pspec: PartitionSpec) -> ShapedArray:
    """The aval of an array over all devices.

    Args:
        arr: has shape and dtype of the part of a process.
        global_mesh: the mesh.
        pspec: how it is spread.

    Example:
        >>> import plugjax
        >>> from plugjax.experimental import multihost_utils
        >>> mesh = plugjax.make_mesh((1,), ("x",))
        >>> part = plugjax.ShapeDtypeStruct((4,), "float32")
        >>> multihost_utils.ltg_abstract_eval(part, global_mesh=mesh, pspec=plugjax.P("x"))
        ShapedArray(float32[4])
    """
    sizes = zip(arr.shape, *_blocks(global_mesh, pspec, len(arr.shape)), strict=True)
    return ShapedArray(tuple(n * everywhere // here for n, everywhere, here in sizes), arr.dtype)


def gtl_abstract_eval(arr: Any, *, global_mesh: Mesh, pspec: PartitionSpec) -> ShapedArray:
    """The aval of the part of a process.

    Args:
        arr: has shape and dtype of an array over all devices.
        global_mesh: the mesh.
        pspec: how it is spread.

    Example:
        >>> import plugjax
        >>> from plugjax.experimental import multihost_utils
        >>> mesh = plugjax.make_mesh((1,), ("x",))
        >>> whole = plugjax.ShapeDtypeStruct((4,), "float32")
        >>> multihost_utils.gtl_abstract_eval(whole, global_mesh=mesh, pspec=plugjax.P("x"))
        ShapedArray(float32[4])
    """
    sizes = zip(arr.shape, *_blocks(global_mesh, pspec, len(arr.shape)), strict=True)
    return ShapedArray(tuple(n * here // everywhere for n, everywhere, here in sizes), arr.dtype)


def _blocks(mesh: Mesh, pspec: PartitionSpec, ndim: int) -> tuple[Sequence[int], Sequence[int]]:
    """Into how many blocks each axis is cut, over all devices and over those of this process."""
    found = [NamedSharding(part, pspec).counts(ndim) for part in (mesh, mesh.local_mesh)]
    return found[0], found[1]


def ltg_batcher(
    insert_axis: bool,
    axis_data: Axis,
    vals_in: Sequence[Any],
    dims_in: Sequence[int | None],
    global_mesh: Mesh,
    pspec: PartitionSpec,
) -> tuple[Any, int | None]:
    """The batching rule of ``host_local_array_to_global_array_p``: instances are spread along ``spmd_axis_name``, or not at all.

    Args:
        insert_axis: accepted as in JAX.
        axis_data: the batch axis.
        vals_in: the array.
        dims_in: the place of the batch axis in it.
        global_mesh: the mesh.
        pspec: how one instance is spread.

    Returns:
        All instances, and the place of the batch axis.

    Example:
        >>> import numpy as np, plugjax
        >>> from plugjax.experimental import multihost_utils
        >>> mesh = plugjax.make_mesh((1,), ("x",))
        >>> f = lambda x: multihost_utils.host_local_array_to_global_array(x, mesh, plugjax.P("x"))
        >>> plugjax.vmap(f)(np.arange(4).reshape(2, 2))
        Array([[0, 1],
               [2, 3]], dtype=int32)
    """
    del insert_axis
    return _batched(
        host_local_array_to_global_array_p, axis_data, vals_in, dims_in, global_mesh, pspec
    )


def _batched(
    conversion: Primitive,
    axis: Axis,
    args: Sequence[Any],
    dims: Sequence[int | None],
    global_mesh: Mesh,
    pspec: PartitionSpec,
) -> tuple[Any, int | None]:
    (x,), (dim,) = args, dims
    if dim is not None:
        entries = [*pspec, *[None] * (dim - len(pspec))]
        entries.insert(dim, axis.spmd or None)
        pspec = PartitionSpec(*entries)
    return conversion.bind(x, global_mesh=global_mesh, pspec=pspec), dim


def _define_rules(
    conversion: _Conversion,
    back: _Conversion,
    aval: Callable[..., ShapedArray],
    batcher: Callable[..., tuple[Any, int | None]],
) -> None:
    """The rules of a conversion.

    Args:
        conversion: the primitive.
        back: its transpose.
        aval: of its result.
        batcher: its batching rule.
    """

    def within_a_program(**params: Any) -> Callable[[Any], list[Any]]:
        def same(x: Any) -> list[Any]:
            found = aval(x.aval, **params)
            if found.shape != x.aval.shape:
                raise NotImplementedError(
                    f"{conversion.name}: in a compiled function {x.aval.str_short()} would become {found.str_short()}, and programs "
                    "have one shape in all processes. Call it outside of jit."
                )
            return [x]

        return same

    def transpose(y_bar: Any, _: Any, **params: Any) -> tuple[Any]:
        return (back.bind(instantiate(y_bar), **params),)

    define(abstract_eval, conversion, aval)
    define(expand_rule, conversion, within_a_program)
    define(batching_rule, conversion, batcher)
    ad.deflinear2(conversion, transpose)


_define_rules(
    host_local_array_to_global_array_p,
    global_array_to_host_local_array_p,
    ltg_abstract_eval,
    partial(ltg_batcher, False),
)
_define_rules(
    global_array_to_host_local_array_p,
    host_local_array_to_global_array_p,
    gtl_abstract_eval,
    partial(_batched, global_array_to_host_local_array_p),
)
