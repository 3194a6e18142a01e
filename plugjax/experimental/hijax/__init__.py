"""Operations with rules of their own, given by a class: names of ``jax.experimental.hijax``."""

from plugjax.experimental.hijax.primitives import GradAccum, VJPHiPrimitive
from plugjax.extend.core import AbstractValue, ShapedArray, Zero, control_flow_allowed_effects
from plugjax.extend.core import instantiate as instantiate_zeros
from plugjax.extend.transforms import is_undefined_primal
from plugjax.state import AbstractRef

__all__ = [
    "AbstractRef",
    "AbstractValue",
    "GradAccum",
    "ShapedArray",
    "VJPHiPrimitive",
    "Zero",
    "control_flow_allowed_effects",
    "instantiate_zeros",
    "is_undefined_primal",
]
