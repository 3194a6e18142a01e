"""Checks inside programs: the names of ``jax.experimental.checkify``.

``checkify(f)`` is a pure function that returns an error beside the result of ``f``. ``error_check`` is the rule kind that says how
to check a primitive: a plugin gives rules for its own primitives, with exceptions of its own
(:class:`~plugjax.experimental.checkify.exceptions.JaxException`).
"""

from plugjax.experimental.checkify.checks import check, check_error, debug_check
from plugjax.experimental.checkify.error import Error, init_error
from plugjax.experimental.checkify.exceptions import (
    ErrorCategory,
    JaxRuntimeError,
    all_checks,
    automatic_checks,
    div_checks,
    float_checks,
    index_checks,
    nan_checks,
    user_checks,
)
from plugjax.experimental.checkify.tracing import error_check
from plugjax.experimental.checkify.transform import checkify
from plugjax.extend.transforms import show_only

__all__ = [
    "Error",
    "ErrorCategory",
    "JaxRuntimeError",
    "all_checks",
    "automatic_checks",
    "check",
    "check_error",
    "checkify",
    "debug_check",
    "div_checks",
    "error_check",
    "float_checks",
    "index_checks",
    "init_error",
    "nan_checks",
    "user_checks",
]

show_only(globals(), __all__)
