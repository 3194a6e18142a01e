"""Error types: those of JAX, by name and by builtin base class, and the registry's own.

A message says who complains, what came, what was needed and what to do. Classes that carry a long explanation build it
themselves, so that the code around ``raise`` stays readable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from plugjax.core.trace import Tracer

_CONCRETE_ADVICE = (
    "Inside a transformation an array stands for many values at once. Use plugjax.lax.cond, lax.while_loop, "
    "lax.select or jnp.where instead of Python control flow, or mark the argument static "
    "(static_argnums, static_argnames)."
)


class ShapeError(TypeError):
    """Shapes, ranks or axes of operands do not fit a primitive."""


class DtypeError(TypeError):
    """A dtype does not fit a primitive."""


class ConcretizationTypeError(TypeError):
    """A concrete value was needed where a tracer came."""

    def __init__(self, tracer: Tracer | str, context: str = "") -> None:
        if isinstance(tracer, str):
            super().__init__(tracer)
        else:
            super().__init__(
                f"Abstract tracer value encountered where a concrete value is expected: {tracer!r}. "
                f"{context}\n{tracer._origin()}\n{_CONCRETE_ADVICE}"
            )


class TracerBoolConversionError(ConcretizationTypeError):
    """A tracer was used as a Python ``bool``, for example in ``if`` or ``while``."""

    def __init__(self, tracer: Tracer) -> None:
        TypeError.__init__(
            self,
            f"Attempted boolean conversion of traced array with shape {tracer.aval.str_short()}.\n"
            f"{tracer._origin()}\n{_CONCRETE_ADVICE}",
        )


class TracerIntegerConversionError(TypeError):
    """A tracer was used as a Python integer index or size."""

    def __init__(self, tracer: Tracer) -> None:
        super().__init__(
            f"The __index__() method was called on traced array with shape {tracer.aval.str_short()}: "
            f"a Python integer was needed.\n{tracer._origin()}\n{_CONCRETE_ADVICE}"
        )


class TracerArrayConversionError(TypeError):
    """A tracer was given to NumPy, or to anything that needs the values of an array."""

    def __init__(self, tracer: Tracer) -> None:
        super().__init__(
            f"The numpy.ndarray conversion method __array__() was called on traced array with shape "
            f"{tracer.aval.str_short()}.\n{tracer._origin()}\nUse the function of plugjax.numpy with the same name, "
            "or move the NumPy call out of the transformed function."
        )


class NonConcreteBooleanIndexError(IndexError):
    """A traced boolean mask was used as an index, which would make a shape depend on values."""

    def __init__(self, tracer: Tracer) -> None:
        super().__init__(
            f"Array boolean indices must be concrete; got {tracer.aval.str_short()}.\n{tracer._origin()}\n"
            "Use jnp.where(mask, x, fill), which keeps the shape."
        )


class UnexpectedTracerError(TypeError):
    """A tracer was used after its transformation had finished."""

    def __init__(self, tracer: Tracer, message: str = "") -> None:
        super().__init__(
            f"{message}\n{tracer._origin()}"
            if message
            else f"Encountered an unexpected tracer: {tracer!r} has leaked from a transformation that is over, "
            f"through a global, an attribute or a closure.\n{tracer._origin()}\n"
            "Return the value from the transformed function instead of storing it."
        )


class CustomJVPException(Exception):  # noqa: N818  # JAX's name
    """A ``custom_jvp`` function was differentiated with respect to a value that it closes over."""

    def __init__(self, name: str = "") -> None:
        super().__init__(
            f"Detected differentiation of the custom_jvp function {name or '<traced>'} with respect to a closed-over value. "
            "The custom rule says how to differentiate with respect to explicit arguments only: pass the value as one."
        )


class CustomVJPException(Exception):  # noqa: N818  # JAX's name
    """A ``custom_vjp`` function was differentiated with respect to a value that it closes over."""

    def __init__(self, name: str = "") -> None:
        super().__init__(
            f"Detected differentiation of the custom_vjp function {name or '<traced>'} with respect to a closed-over value. "
            "The custom rule says how to differentiate with respect to explicit arguments only: pass the value as one, or "
            "use plugjax.closure_convert."
        )


class LeakedTracerError(Exception):
    """A tracer is still held when its transformation is over, and ``jax_check_tracer_leaks`` is on."""


class JaxRuntimeError(RuntimeError):
    """A backend failed while it compiled or ran a program."""


class UnknownBackendError(RuntimeError):
    """No installed plugin provides the backend that was asked for."""


class RuleConflictError(ValueError):
    """Two plugins provide a rule for the same cell, and neither is declared ``replace=True``."""


class MissingRuleError(NotImplementedError):
    """No installed plugin provides a rule that a transformation or a backend needs."""


class RuleAbsentError(TypeError):
    """A rule is declared absent for a mathematical reason, for example "integers have no tangent"."""


class LoweringError(JaxRuntimeError):
    """A program could not be lowered for a platform."""


class PluginWarning(UserWarning):
    """A plugin could not be loaded and was skipped."""


class FallbackWarning(UserWarning):
    """A primitive runs on the host because the backend has no lowering for it."""


class TypePromotionError(ValueError):
    """Dtypes have no common type under the rules in force."""
