"""``jax._src.typing``: words for types that ``jax.typing`` keeps to itself."""

from typing import Any

from plugjax import Array as Array
from plugjax.extend.dtypes import DType as DType, DTypeLike as DTypeLike

Shape = tuple[int, ...]
DimSize = int | Any
