"""Host kernels as the evaluator calls them: which one runs a primitive, and functions that unwrap, run and wrap.

Rank-0 values are NumPy scalars, for which Python's operators are ten times faster than ufuncs: a plugin may give a kernel of
the kind ``scalar_impl`` beside its ``impl`` rule, for operands that are all of rank 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from plugjax.core import registry
from plugjax.core.array import Array
from plugjax.core.aval import ShapedArray
from plugjax.core.device import Placement
from plugjax.core.dtypes import ExtendedDType
from plugjax.core.primitive import Primitive
from plugjax.core.rules import abstract_eval, impl, scalar_impl
from plugjax.execution.host_math import QUIET, enter, leave
from plugjax.execution.out_of_memory import out_of_memory
from plugjax.meshes.types import with_spreads

# A function of Arrays.
Run = Callable[..., Any]


def output_avals(
    primitive: Primitive, avals: Sequence[ShapedArray], params: dict[str, Any]
) -> list[ShapedArray]:
    """Avals of the results, as the primitive's abstract evaluation says."""
    result = registry.table(abstract_eval)[primitive](*avals, **params)
    if ShapedArray.spreading:
        result = with_spreads(primitive, avals, params, result)
    return list(result) if primitive.multiple_results else [result]


def host_kernel(
    primitive: Primitive,
    avals: Sequence[ShapedArray],
    out_avals: Sequence[ShapedArray],
    params: dict[str, Any],
    placement: Placement,
) -> Callable[..., Any] | None:
    """The kernel that runs a primitive on host values at a placement; ``None`` if it must be compiled."""
    if any(isinstance(a.dtype, ExtendedDType) for a in (*avals, *out_avals)):
        return None
    if not placement.backend.runs_on_host(
        placement.sharding.devices[0], primitive, avals, out_avals
    ):
        return None
    rule = registry.table(impl).find(primitive)
    if rule is None:
        return None
    if params:
        return partial(rule, **params)
    if not any(a.shape for a in avals):
        return scalar_kernel(primitive) or rule
    return rule


def scalar_kernel(primitive: Primitive) -> Callable[..., Any] | None:
    """The kernel for operands of rank 0, unless another plugin has replaced the general one."""
    rule = registry.table(scalar_impl).get(primitive)
    if rule is None:
        return None
    active = registry.active()
    general, own = active.rule(impl, primitive), active.rule(scalar_impl, primitive)
    return (
        rule if general is not None and own is not None and general.module == own.module else None
    )


def run_kernel(
    kernel: Callable[..., Any],
    out_avals: Sequence[ShapedArray],
    placement: Placement,
    multiple_results: bool,
    count: int,
) -> Run:
    """A function that runs a kernel on ``count`` arrays; it gives an array, or a list of them."""
    if multiple_results:

        def run_many(*arrays: Array) -> Any:
            operands = [x._host if x._host is not None else x._fetch() for x in arrays]
            token = enter(QUIET)
            try:
                values = kernel(*operands)
            except MemoryError as error:
                raise out_of_memory(error) from None
            finally:
                leave(token)
            return [Array(a, placement, v) for a, v in zip(out_avals, values, strict=True)]

        return run_many
    (aval,) = out_avals

    if count == 1:

        def run_one(x: Array) -> Array:
            host = x._host
            if host is None:
                host = x._fetch()
            token = enter(QUIET)
            try:
                return Array(aval, placement, kernel(host))
            except MemoryError as error:
                raise out_of_memory(error) from None
            finally:
                leave(token)

        return run_one

    def run(*arrays: Array) -> Array:
        operands = [x._host if x._host is not None else x._fetch() for x in arrays]
        token = enter(QUIET)
        try:
            return Array(aval, placement, kernel(*operands))
        except MemoryError as error:
            raise out_of_memory(error) from None
        finally:
            leave(token)

    return run
