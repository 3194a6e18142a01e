"""Operations and types of a program's own, given by classes: names of ``jax.experimental.hijax``."""

from plugjax.experimental.hijax.boxes import Box, box_get, box_set, new_box
from plugjax.experimental.hijax.mutable_types import (
    AvalMutableQDD,
    AvalQDD,
    MutableHiType,
    cur_qdd,
)
from plugjax.experimental.hijax.primitives import GradAccum, VJPHiPrimitive
from plugjax.experimental.hijax.rule_methods import HiPrimitive
from plugjax.experimental.hijax.types import (
    HiPspec,
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
from plugjax.state.views import View as TransformedRef

__all__ = [
    "AbstractRef",
    "AbstractValue",
    "AvalMutableQDD",
    "AvalQDD",
    "Box",
    "GradAccum",
    "HiPrimitive",
    "HiPspec",
    "HiType",
    "MappingSpec",
    "MutableHiType",
    "ShapedArray",
    "TransformedRef",
    "VJPHiPrimitive",
    "Zero",
    "aval_method",
    "aval_property",
    "box_get",
    "box_set",
    "control_flow_allowed_effects",
    "cur_qdd",
    "instantiate_zeros",
    "is_undefined_primal",
    "new_box",
    "register_hitype",
]

show_only(globals(), __all__)
