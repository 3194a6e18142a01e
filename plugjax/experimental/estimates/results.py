"""What is estimated, of what, and the rule kind ``roofline``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, TypeAlias

import numpy as np

from plugjax.extend.core import Primitive, ShapedArray, physical_aval
from plugjax.extend.dtypes import ExtendedDType
from plugjax.extend.rules import RuleKind

ValidRooflineDtype: TypeAlias = np.dtype[Any] | ExtendedDType


@dataclass(frozen=True, slots=True, kw_only=True)
class RooflineRuleContext:
    """The equation that is estimated.

    Attributes:
        name_stack: the scopes around it.
        primitive: its primitive.
        avals_in: avals of its operands.
        avals_out: avals of its results.
        jaxpr_eqn_ctx: what was set around it.
        mesh: ``None``: there is one device.
        pin_lhs_in_vmem: whether left operands of products are in fast memory.
        pin_rhs_in_vmem: whether right operands are.
    """

    name_stack: Any
    primitive: Primitive
    avals_in: Sequence[Any]
    avals_out: Sequence[Any]
    jaxpr_eqn_ctx: Any
    mesh: Any
    pin_lhs_in_vmem: bool
    pin_rhs_in_vmem: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RooflineShape:
    """A shape and a dtype.

    Example:
        >>> from plugjax.experimental.roofline import RooflineShape
        >>> import numpy as np
        >>> RooflineShape(shape=(2, 3), dtype=np.dtype("float32")).bytes
        24
    """

    shape: tuple[int, ...]
    dtype: ValidRooflineDtype

    @classmethod
    def from_aval(cls, aval: Any) -> RooflineShape:
        """Those of an aval.

        Raises:
            TypeError: it is no array's.
        """
        if not isinstance(aval, ShapedArray):
            raise TypeError(f"Expected ShapedArray, got {type(aval)}.")
        return cls(shape=aval.shape, dtype=aval.dtype)

    @property
    def size(self) -> int:
        """Number of elements."""
        return int(np.prod(self.shape))

    @property
    def bytes(self) -> int:
        """Number of bytes; those of a key are its words'."""
        stored = physical_aval(ShapedArray(self.shape, self.dtype))
        return int(stored.size * stored.dtype.itemsize)

    @classmethod
    def total_bytes(cls, avals: Sequence[Any]) -> int:
        """Number of bytes of all."""
        return sum(cls.from_aval(aval).bytes for aval in avals)


@dataclass(frozen=True, slots=True, kw_only=True)
class RooflineResult:
    """An estimate.

    Attributes:
        flops: arithmetic operations of products of matrices.
        unfused_flops: arithmetic operations of all equations.
        ici_bytes: bytes that go between devices, by axis.
        ici_latency: steps between devices, by axis.
        hbm_bytes: bytes that products of matrices read and write.
        peak_hbm_bytes: bytes of the values that live at one time.
        unfused_hbm_bytes: bytes that all equations read and write, each by itself.

    Example:
        >>> from plugjax.experimental.roofline import RooflineResult
        >>> (2 * RooflineResult(flops=3) + RooflineResult(flops=1)).flops
        7
    """

    flops: int = 0
    unfused_flops: int = 0
    ici_bytes: dict[str, int] = field(default_factory=dict)
    ici_latency: dict[str, int] = field(default_factory=dict)
    hbm_bytes: int = 0
    peak_hbm_bytes: int = 0
    unfused_hbm_bytes: int = 0

    @classmethod
    def zeros(cls) -> RooflineResult:
        """Nothing."""
        return cls()

    def __add__(self, other: RooflineResult) -> RooflineResult:
        found: dict[str, Any] = {}
        for name in _FIELDS:
            mine, theirs = getattr(self, name), getattr(other, name)
            if isinstance(mine, dict):
                found[name] = {k: mine.get(k, 0) + theirs.get(k, 0) for k in {*mine, *theirs}}
            else:
                # Values of two parts do not live at one time.
                found[name] = max(mine, theirs) if name == "peak_hbm_bytes" else mine + theirs
        return RooflineResult(**found)

    def __mul__(self, constant: float) -> RooflineResult:
        def times(value: Any) -> Any:
            if isinstance(value, dict):
                return {key: int(v * constant) for key, v in value.items()}
            return int(value * constant)

        return RooflineResult(**{name: times(getattr(self, name)) for name in _FIELDS})

    __rmul__ = __mul__


_FIELDS = tuple(each.name for each in fields(RooflineResult))

RooflineRule: TypeAlias = Callable[..., RooflineResult]

roofline_rule: RuleKind[RooflineRule] = RuleKind(
    "roofline", "(ctx, *shapes, **params) -> RooflineResult"
)
