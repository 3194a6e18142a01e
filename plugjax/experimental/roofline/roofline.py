"""The names of ``jax.experimental.roofline.roofline``."""

from plugjax.experimental.estimates.reading import (
    ShapeDtypeStructTree,
    Specs,
    register_roofline,
    register_standard_roofline,
    roofline,
    roofline_and_grad,
)
from plugjax.experimental.estimates.results import (
    RooflineResult,
    RooflineRuleContext,
    RooflineShape,
    ValidRooflineDtype,
)

__all__ = [
    "RooflineResult",
    "RooflineRuleContext",
    "RooflineShape",
    "ShapeDtypeStructTree",
    "Specs",
    "ValidRooflineDtype",
    "register_roofline",
    "register_standard_roofline",
    "roofline",
    "roofline_and_grad",
]
