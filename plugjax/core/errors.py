"""Error types: those of JAX, by name and by builtin base class, and the registry's own.

A message names the function, the input, the requirement and the remedy. Classes that carry a long explanation build it
themselves, so that the code around ``raise`` stays readable.
"""

from __future__ import annotations

from typing import Any, Protocol

_CONCRETE_ADVICE = (
    "Inside a transformation an array stands for many values at once. Use plugjax.lax.cond, lax.while_loop, "
    "lax.select or jnp.where instead of Python control flow, or mark the argument static "
    "(static_argnums, static_argnames)."
)


class _Tracer(Protocol):
    aval: Any
    _trace: Any

    def _origin(self) -> str: ...


class ShapeError(TypeError):
    """Shapes, ranks or axes of operands do not fit a primitive."""


class DtypeError(TypeError):
    """A dtype does not fit a primitive."""


class TypePromotionError(ValueError):
    """Dtypes have no common type under the rules in force."""


class NotArrayError(TypeError, ValueError):
    """Neither an array nor a scalar came where one was needed. JAX raises the one or the other, by the place that finds out."""


class ForeignDtypeError(DtypeError, TypePromotionError):
    """Values have a dtype that no array has. JAX raises the one or the other, by whether it looks at shapes first."""


class KeyDtypeError(DtypeError, TypePromotionError):
    """Random keys came together with numbers. JAX raises the one or the other, by the place that finds out."""


class JAXTypeError(TypeError):
    """What values that are traced cannot be used for."""


class JAXIndexError(IndexError):
    """What values that are traced cannot index."""


class ConcretizationTypeError(JAXTypeError):
    """A concrete value was needed where a tracer came."""

    def __init__(self, tracer: _Tracer | str, context: str = "") -> None:
        if isinstance(tracer, str):
            super().__init__(tracer)
        else:
            super().__init__(
                f"Abstract tracer value encountered where concrete value is expected: {tracer.aval.str_short()} has no value yet. "
                f"{context}\n{tracer._origin()}\n{_CONCRETE_ADVICE}"
            )


class TracerBoolConversionError(ConcretizationTypeError):
    """A tracer was used as a Python ``bool``, for example in ``if`` or ``while``."""

    _words = "Attempted boolean conversion of traced array"

    def __init__(self, tracer: _Tracer) -> None:
        TypeError.__init__(
            self,
            f"{self._words}: {tracer.aval.str_short()} has no value yet.\n"
            f"{tracer._origin()}\n{_CONCRETE_ADVICE}",
        )


class AmbiguousTruthError(TracerBoolConversionError, ValueError):
    """A tracer of more than one element, or of none, was used as a Python ``bool``, which would be ambiguous of any array."""

    _words = "The truth value of an array that is traced, and not of one element"


class TracerIntegerConversionError(JAXTypeError):
    """A tracer was used as a Python integer index or size."""

    def __init__(self, tracer: _Tracer) -> None:
        super().__init__(
            f"The __index__() method was called on traced array {tracer.aval.str_short()}, which has no value yet.\n"
            f"{tracer._origin()}\n{_CONCRETE_ADVICE}"
        )


class TracerArrayConversionError(JAXTypeError):
    """A tracer was given to NumPy, or to anything that needs the values of an array."""

    def __init__(self, tracer: _Tracer) -> None:
        super().__init__(
            f"The numpy.ndarray conversion method __array__() was called on traced array {tracer.aval.str_short()}.\n"
            f"{tracer._origin()}\nUse the function of plugjax.numpy with the same name, "
            "or move the NumPy call out of the transformed function."
        )


class InconclusiveDimensionOperation(Exception):  # noqa: N818  # JAX's name
    """A comparison of sizes has no answer that holds for all values of their variables."""


class NonConcreteBooleanIndexError(JAXIndexError):
    """A traced boolean mask was used as an index, which would make a shape depend on values."""

    def __init__(self, tracer: _Tracer) -> None:
        super().__init__(
            f"Array boolean indices must be concrete: the mask {tracer.aval.str_short()} is traced.\n{tracer._origin()}\n"
            "Use jnp.where(mask, x, fill), which keeps the shape."
        )


class UnexpectedTracerError(JAXTypeError):
    """A tracer was used after its transformation had finished, or where the transformation does not look."""

    def __init__(self, tracer: _Tracer, message: str = "") -> None:
        if not message and tracer._trace.alive:
            message = (
                f"{tracer!r} is used by a function that closes over it, and that its transformation does not look into: a "
                "rule of a custom derivative, for example, sees explicit arguments only. Pass the value as an argument."
            )
        super().__init__(
            f"{message}\n{tracer._origin()}"
            if message
            else f"Encountered an unexpected tracer: {tracer!r} has leaked from a transformation that is over, by a global or a closure.\n"
            f"{tracer._origin()}\nReturn the value instead of storing it."
        )


class CustomJVPException(Exception):  # noqa: N818  # JAX's name
    """A ``custom_jvp`` function was differentiated with respect to a value that it closes over."""

    def __init__(self, name: str = "") -> None:
        super().__init__(
            f"custom_jvp: {name or '<traced>'} is differentiated by a value that it closes over, and its rule knows explicit "
            "arguments only. Pass the value as one."
        )


class CustomVJPException(Exception):  # noqa: N818  # JAX's name
    """A ``custom_vjp`` function was differentiated with respect to a value that it closes over."""

    def __init__(self, name: str = "") -> None:
        super().__init__(
            f"custom_vjp: {name or '<traced>'} is differentiated by a value that it closes over, and its rule knows explicit "
            "arguments only. Pass the value as one, or use plugjax.closure_convert."
        )


class LeakedTracerError(Exception):
    """A tracer is still held when its transformation is over, and ``jax_check_tracer_leaks`` is on."""


class KeyReuseError(JAXTypeError):
    """A random key is used twice, and ``jax_debug_key_reuse`` is on."""


class JaxRuntimeError(RuntimeError):
    """A backend failed while it compiled or ran a program."""


class UnknownBackendError(RuntimeError, ValueError):
    """No installed plugin provides the backend that was asked for. JAX raises the one or the other, by whether a name stands for a device."""


class RuleConflictError(ValueError):
    """Two plugins provide a rule for the same cell, and neither is declared ``replace=True``."""


class MissingRuleError(NotImplementedError):
    """No installed plugin provides a rule that a transformation or a backend needs."""


class RuleAbsentError(NotImplementedError, TypeError):
    """A rule is declared absent for a mathematical reason, for example "integers have no tangent"."""


class LoweringError(JaxRuntimeError):
    """A program could not be lowered for a platform."""


class PluginWarning(UserWarning):
    """A plugin could not be loaded and was skipped."""


class FallbackWarning(UserWarning):
    """A primitive runs on the host because the backend has no lowering for it."""
