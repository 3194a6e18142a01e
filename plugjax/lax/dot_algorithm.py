"""Algorithms of dot products: the dtypes of rounded operands and of the accumulator.

Some hardware has units for them; StableHLO names them. On other devices an algorithm defines the computation: operands
are converted to its precision types, products are added in its accumulation type or a wider one, and the sums are
converted to the dtype of the result.
"""

from __future__ import annotations

import enum
from typing import Any, NamedTuple, TypeAlias

import ml_dtypes
import numpy as np

from plugjax.extend.dtypes import FLOAT32, FLOAT64, DType, DTypeLike, as_numpy_dtype, bfloat16

FLOAT16: DType = np.dtype(np.float16)

# Dtypes of the result of float8 products.
_AFTER_FLOAT8 = (
    FLOAT32, FLOAT16, bfloat16, *(np.dtype(getattr(ml_dtypes, name)) for name in (
        "float8_e4m3fn", "float8_e5m2", "float8_e5m2fnuz", "float8_e4m3fnuz", "float8_e4m3b11fnuz",
    )),
)  # fmt: skip


class DotAlgorithm(NamedTuple):
    """An algorithm, for the ``precision`` argument of dot products.

    Attributes:
        lhs_precision_type: dtype that the left operand is rounded to.
        rhs_precision_type: dtype that the right operand is rounded to.
        accumulation_type: dtype to add in.
        lhs_component_count: parts that the left operand is split into, to emulate more precision.
        rhs_component_count: parts of the right operand.
        num_primitive_operations: products of parts that are added.
        allow_imprecise_accumulation: whether some sums may be of lower precision.

    Differs from JAX:
        Every algorithm runs on every device.

    Example:
        >>> import numpy as np, plugjax.numpy as jnp
        >>> from plugjax import lax
        >>> algorithm = lax.DotAlgorithm(np.float16, np.float16, np.float32)
        >>> lax.dot(jnp.array([1.0, 2.0]), jnp.array([1.0, 2.0001]), precision=algorithm)
        Array(5., dtype=float32)
    """

    lhs_precision_type: DTypeLike
    rhs_precision_type: DTypeLike
    accumulation_type: DTypeLike
    lhs_component_count: int = 1
    rhs_component_count: int = 1
    num_primitive_operations: int = 1
    allow_imprecise_accumulation: bool = False


class DotAlgorithmPreset(enum.Enum):
    """Algorithms that some hardware has, by name: ``LHS_RHS_ACCUMULATION``.

    ``ANY_F8``: any float8; a final ``ANY``: the dtype of the result. ``X3``, ``X6`` and ``X9``: so many products of parts emulate
    the precision of float32. ``DEFAULT`` leaves the choice to the compiler.
    """

    DEFAULT = enum.auto()
    ANY_F8_ANY_F8_F32 = enum.auto()
    ANY_F8_ANY_F8_F32_FAST_ACCUM = enum.auto()
    ANY_F8_ANY_F8_ANY = enum.auto()
    ANY_F8_ANY_F8_ANY_FAST_ACCUM = enum.auto()
    F16_F16_F16 = enum.auto()
    F16_F16_F32 = enum.auto()
    BF16_BF16_BF16 = enum.auto()
    BF16_BF16_F32 = enum.auto()
    BF16_BF16_F32_X3 = enum.auto()
    BF16_BF16_F32_X6 = enum.auto()
    BF16_BF16_F32_X9 = enum.auto()
    TF32_TF32_F32 = enum.auto()
    TF32_TF32_F32_X3 = enum.auto()
    F32_F32_F32 = enum.auto()
    F64_F64_F64 = enum.auto()

    def __repr__(self) -> str:
        return f"{type(self).__name__}.{self.name}"

    def __str__(self) -> str:
        return self.name

    @property
    def supported_lhs_types(self) -> tuple[DType, ...] | None:
        """Dtypes of a left operand; other operands are converted to the first one. ``None``: any."""
        if self.name in ("DEFAULT", *_FLOAT8_ACCUMULATION):
            return None
        if self.name.startswith("F16"):
            return (FLOAT16,)
        if self.name in ("BF16_BF16_BF16", "BF16_BF16_F32"):
            return bfloat16, FLOAT32
        return (FLOAT64,) if self.name.startswith("F64") else (FLOAT32,)

    @property
    def supported_rhs_types(self) -> tuple[DType, ...] | None:
        """As :attr:`supported_lhs_types`, of the right operand."""
        return self.supported_lhs_types

    @property
    def accumulation_type(self) -> DType | None:
        """The dtype to add in; ``None``: that of the result."""
        if self.name == "DEFAULT":
            return None
        if self.name in _FLOAT8_ACCUMULATION:
            return _FLOAT8_ACCUMULATION[self.name]
        words = self.name.split("_")
        return {"F16": FLOAT16, "BF16": bfloat16, "F32": FLOAT32, "F64": FLOAT64}[words[2]]

    def supported_output_types(
        self, lhs_dtype: DTypeLike, rhs_dtype: DTypeLike
    ) -> tuple[DType, ...] | None:
        """Dtypes of the product; the first one is converted to others. ``None``: any."""
        accumulation = self.accumulation_type
        if accumulation is None:
            return None
        if self.name in _FLOAT8_ACCUMULATION:
            return _AFTER_FLOAT8
        if self.name in ("F16_F16_F32", "BF16_BF16_F32"):
            small = FLOAT16 if self.name.startswith("F16") else bfloat16
            if as_numpy_dtype(lhs_dtype) == as_numpy_dtype(rhs_dtype) == small:
                return accumulation, small
        return (accumulation,)


_FLOAT8_ACCUMULATION: dict[str, DType | None] = {
    "ANY_F8_ANY_F8_F32": FLOAT32,
    "ANY_F8_ANY_F8_F32_FAST_ACCUM": FLOAT32,
    "ANY_F8_ANY_F8_ANY": None,
    "ANY_F8_ANY_F8_ANY_FAST_ACCUM": None,
}

Algorithm: TypeAlias = DotAlgorithm | DotAlgorithmPreset


def is_algorithm(precision: Any) -> bool:
    """Whether a ``precision`` argument is an algorithm."""
    return isinstance(precision, (DotAlgorithm, DotAlgorithmPreset))


def algorithm_dtypes(
    algorithm: Algorithm, lhs: DType, rhs: DType, out: DType
) -> tuple[DType, DType, DType]:
    """Dtypes to convert the operands to, and of the product before it is converted to ``out``."""
    if isinstance(algorithm, DotAlgorithm):
        left, right, total = (as_numpy_dtype(d) for d in algorithm[:3])
        return left, right, total

    def chosen(dtype: DType, supported: tuple[DType, ...] | None) -> DType:
        return dtype if supported is None or dtype in supported else supported[0]

    left = chosen(lhs, algorithm.supported_lhs_types)
    right = chosen(rhs, algorithm.supported_rhs_types)
    return left, right, chosen(out, algorithm.supported_output_types(left, right))


def swapped_algorithm(algorithm: Algorithm) -> Algorithm:
    """The algorithm for operands in the other order."""
    if isinstance(algorithm, DotAlgorithmPreset):
        return algorithm
    return algorithm._replace(
        lhs_precision_type=algorithm.rhs_precision_type,
        rhs_precision_type=algorithm.lhs_precision_type,
        lhs_component_count=algorithm.rhs_component_count,
        rhs_component_count=algorithm.lhs_component_count,
    )
