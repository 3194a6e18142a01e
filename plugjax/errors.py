"""Errors: the names of ``jax.errors``, and plugjax's own."""

from plugjax.core.errors import (
    ConcretizationTypeError,
    CustomJVPException,
    CustomVJPException,
    DtypeError,
    FallbackWarning,
    InconclusiveDimensionOperation,
    JAXIndexError,
    JaxRuntimeError,
    JAXTypeError,
    KeyReuseError,
    LeakedTracerError,
    LoweringError,
    MissingRuleError,
    NonConcreteBooleanIndexError,
    PluginWarning,
    RuleAbsentError,
    RuleConflictError,
    ShapeError,
    TracerArrayConversionError,
    TracerBoolConversionError,
    TracerIntegerConversionError,
    TypePromotionError,
    UnexpectedTracerError,
    UnknownBackendError,
)
from plugjax.transforms.jaxpr_check import JaxprTypeError
from plugjax.transforms.namespaces import show_only

__all__ = [
    "ConcretizationTypeError", "CustomJVPException", "CustomVJPException", "DtypeError", "FallbackWarning",
    "InconclusiveDimensionOperation", "JAXIndexError", "JAXTypeError", "JaxRuntimeError", "JaxprTypeError", "KeyReuseError", "LeakedTracerError", "LoweringError", "MissingRuleError",
    "NonConcreteBooleanIndexError", "PluginWarning", "RuleAbsentError", "RuleConflictError", "ShapeError", "TracerArrayConversionError",
    "TracerBoolConversionError", "TracerIntegerConversionError", "TypePromotionError", "UnexpectedTracerError",
    "UnknownBackendError",
]  # fmt: skip

show_only(globals(), __all__)
