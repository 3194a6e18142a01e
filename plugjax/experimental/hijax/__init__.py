"""Operations and types of a program's own, given by classes: names of ``jax.experimental.hijax``."""

from plugjax.experimental.hijax.primitives import GradAccum, VJPHiPrimitive
from plugjax.experimental.hijax.rule_methods import HiPrimitive
from plugjax.experimental.hijax.types import (
    HiType,
    MappingSpec,
    aval_method,
    aval_property,
    register_hitype,
)
from plugjax.extend.core import (
    AbstractValue,
    ShapedArray,
    Zero,
    control_flow_allowed_effects,
    instantiate as instantiate_zeros,
)
from plugjax.extend.transforms import is_undefined_primal, show_only
from plugjax.state import AbstractRef

__all__ = [
    "AbstractRef",
    "AbstractValue",
    "GradAccum",
    "HiPrimitive",
    "HiType",
    "MappingSpec",
    "ShapedArray",
    "VJPHiPrimitive",
    "Zero",
    "aval_method",
    "aval_property",
    "control_flow_allowed_effects",
    "instantiate_zeros",
    "is_undefined_primal",
    "register_hitype",
]

show_only(globals(), __all__)
