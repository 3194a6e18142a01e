"""Errors: the names of ``jax.errors``, and plugjax's own."""

from plugjax.core.errors import (
    ConcretizationTypeError,
    CustomJVPException,
    CustomVJPException,
    DtypeError,
    FallbackWarning,
    InconclusiveDimensionOperation,
    JaxRuntimeError,
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

__all__ = [
    "ConcretizationTypeError", "CustomJVPException", "CustomVJPException", "DtypeError", "FallbackWarning",
    "InconclusiveDimensionOperation", "JaxRuntimeError", "KeyReuseError", "LeakedTracerError", "LoweringError", "MissingRuleError",
    "NonConcreteBooleanIndexError", "PluginWarning", "RuleAbsentError", "RuleConflictError", "ShapeError", "TracerArrayConversionError",
    "TracerBoolConversionError", "TracerIntegerConversionError", "TypePromotionError", "UnexpectedTracerError",
    "UnknownBackendError",
]  # fmt: skip
