"""Promotion: the common dtype of operands.

It is the join in a lattice whose nodes are dtypes and three weak ones (int, float and complex, as of Python scalars):
the least node that all operands reach. The lattice is that of JAX 0.10.2; the table below gives its edges.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np

from plugjax.extend.core import Array, ShapedArray, Tracer, config, value_types
from plugjax.extend.dtypes import (
    COMPLEX128,
    FLOAT8_NAMES,
    FLOAT64,
    INT64,
    DType,
    ExtendedDType,
    float0,
    has_arrays,
    is_float,
    is_integer,
    kind_of,
    narrow,
)
from plugjax.extend.errors import KeyDtypeError, TrivialTangentError, TypePromotionError

# Lattice: the nodes that a node promotes to in one step. Nodes are dtype names; "i*", "f*", "c*"
# are weak.
_EDGES: dict[str, tuple[str, ...]] = {
    "bool": ("i*",),
    "i*": ("uint8", "int8", "uint4", "int4", "uint2", "int2"),
    "uint8": ("int16", "uint16"),
    "uint16": ("int32", "uint32"),
    "uint32": ("int64", "uint64"),
    "uint64": ("f*",),
    "int8": ("int16",),
    "int16": ("int32",),
    "int32": ("int64",),
    "int64": ("f*",),
    "f*": ("c*", "bfloat16", "float16", *FLOAT8_NAMES, "float4_e2m1fn"),
    "bfloat16": ("float32",),
    "float16": ("float32",),
    "float32": ("float64", "complex64"),
    "float64": ("complex128",),
    "c*": ("complex64",),
    "complex64": ("complex128",),
}


@cache
def _reachable(node: str) -> frozenset[str]:
    seen = {node}
    for successor in _EDGES.get(node, ()):
        seen |= _reachable(successor)
    return frozenset(seen)


def _node(dtype: DType, weak_type: bool) -> str:
    if weak_type:
        if is_float(dtype):
            return "f*"
        if dtype.kind == "c":
            return "c*"
        if is_integer(dtype):
            return "i*"
    return dtype.name


@cache
def _join(nodes: frozenset[str]) -> str:
    common = frozenset.intersection(*(_reachable(node) for node in nodes))
    least = [node for node in common if common <= _reachable(node)]
    if len(least) != 1:
        raise TypePromotionError(
            f"the dtypes {tuple(sorted(nodes))} have no common dtype to promote to. Convert one of them with .astype(...)."
        )
    return least[0]


def _agree_strictly(pairs: Iterable[tuple[DType, bool]]) -> bool:
    """Whether all strong dtypes are equal, and weak numbers reach that dtype without changing to a lower kind."""
    strong = {d for d, weak in pairs if not weak}
    weak_kinds = {kind_of(d) for d, weak in pairs if weak}
    if not strong:
        return True
    if len(strong) > 1:
        return False
    reached = {"b": "b", "i": "iu", "u": "iu", "f": "iuf", "c": "iufc"}[kind_of(next(iter(strong)))]
    return all(kind in reached for kind in weak_kinds)


@cache
def _promote(pairs: tuple[tuple[DType, bool], ...], x64: bool, mode: str) -> tuple[DType, bool]:
    extended = [d for d, _ in pairs if isinstance(d, ExtendedDType)]
    if extended:
        if all(d == extended[0] for d, _ in pairs):
            return extended[0], False
        names = ", ".join(str(d) for d, _ in pairs)
        raise KeyDtypeError(f"{extended[0]} does not promote with other dtypes: got {names}.")
    if any(d == float0 for d, _ in pairs):
        raise TrivialTangentError(
            "float0 is the dtype of tangents of integers: they have no values, and no operation takes them."
        )
    if mode == "strict" and not _agree_strictly(pairs):
        listed = ", ".join(sorted(f"weak {d.name}" if weak else d.name for d, weak in pairs))
        raise TypePromotionError(
            f"the dtypes {listed} have no available implicit dtype promotion under jax_numpy_dtype_promotion=strict. "
            "Convert them with .astype(...)."
        )
    for d, _ in pairs:
        if not has_arrays(d):
            raise TypePromotionError(
                f"the dtype {d!r} takes no part in promotion. Arrays hold numbers or bools in the machine's byte order."
            )
    node = _join(frozenset(_node(d, weak) for d, weak in pairs))
    if node.endswith("*"):
        # All operands are weak or lower: the result is the weak default of its kind. An operand of the kind itself
        # keeps its dtype (a weak bfloat16 stays bfloat16).
        own = [d for d, weak in pairs if weak and _node(d, True) == node]
        default = {"i*": INT64, "f*": FLOAT64, "c*": COMPLEX128}[node]
        dtype = default if x64 else narrow(default)
        if own and all(d == own[0] for d in own) and len(own) == len(pairs):
            dtype = own[0]
        return dtype, True
    dtype = _named(node)
    if not x64:
        dtype = narrow(dtype)
    return dtype, False


@cache
def _named(name: str) -> DType:
    return np.dtype(getattr(ml_dtypes, name)) if hasattr(ml_dtypes, name) else np.dtype(name)


def promote(pairs: Iterable[tuple[DType, bool]]) -> tuple[DType, bool]:
    """Join of ``(dtype, weak_type)`` pairs: dtype and weak type of the common type."""
    key = tuple(pairs)
    first = key[0]
    for pair in key:
        if pair != first:
            return _promote(key, config.enable_x64, config.read("numpy_dtype_promotion"))
    return first


def join(pairs: Iterable[tuple[DType, bool]]) -> DType:
    """The dtype of :func:`promote`, also under strict promotion: for conversions that a function makes itself."""
    return _promote(tuple(pairs), config.enable_x64, "standard")[0]


def promote_wide(pairs: Iterable[tuple[DType, bool]]) -> DType:
    """The dtype of :func:`promote`, where 64-bit dtypes of operands are never narrowed."""
    key = tuple(pairs)
    wide = config.enable_x64 or any(narrow(dtype) != dtype for dtype, _ in key)
    return _promote(key, wide, config.read("numpy_dtype_promotion"))[0]


def content(x: Any) -> Any:
    """What a value of a registered type is as an operand: what its ``__jax_array__`` gives, if it has one; others as they are."""
    if type(x) is Array:
        return x
    if type(x) in value_types or (isinstance(x, Tracer) and not isinstance(x.aval, ShapedArray)):
        read = getattr(x, "__jax_array__", None)
        return x if read is None else read()
    return x
