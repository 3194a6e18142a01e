"""Programs that differ from JAX on purpose, or for want of what other parts of the framework will bring: each with the reason."""

import sys

_PYTHON_NUMBERS = (
    "A transformed function gives arrays; JAX hands a Python number on that no primitive has met."
)
_COTANGENTS = "A cotangent is weakly typed if and only if its primal is; in JAX it is what the rules made of it."

ON_PURPOSE: dict[str, str] = {
    "checks.check_error_rethrows": _PYTHON_NUMBERS,
    "custom_rules.symbolic_zeros": _PYTHON_NUMBERS,
    "custom_rules.custom_gradient_of_a_function": _PYTHON_NUMBERS,
    "hijax.square_under_jvp": _PYTHON_NUMBERS,
    "errors.tracer_to_numpy": "NumPy's ufuncs of a tracer are those of plugjax.numpy, by NumPy's protocol.",
    "errors.reshape_total_size": "The message names the shape as the tuple (4,), JAX's as it was given, 4.",
    "errors.donated_twice": "A deleted array is a RuntimeError wherever it is used, as in JAX outside of jit.",
    "extending.multiply_add_primitive": "An eager result has the aval that the abstract evaluation states.",
    "extending.eqns_and_variables": "Products of matrices have no parameter out_sharding.",
    "jitting.concrete_value_errors": "A traced shape is a ConcretizationTypeError, which is a TypeError, as JAX raises.",
    "numerics.printing": "The class of arrays is called Array, not ArrayImpl.",
    "scientific.gradients_of_special_functions": _COTANGENTS,
    "series.gradient_through_odeint": _COTANGENTS,
    "series.jet_of_integers_is_refused": "Integers are accepted, as floating numbers.",
    "tools.print_of_a_device": "The kind of a device says what computes on it.",
    "trees.tree_functions": "Structures are optree's, and are printed as it prints them.",
}

if sys.version_info < (3, 12):
    ON_PURPOSE["array_methods.memory_view"] = (
        "Before Python 3.12, classes that are written in Python have no buffers."
    )

_PYTHON_TEXT = "A program for NumPy is lowered to Python, not to StableHLO."
_XLA_OPTIONS = "An option of XLA's compiler is none of another."

BY_BACKEND: dict[str, dict[str, str]] = {
    "numpy": {
        "exporting.static_argument_when_lowered": _PYTHON_TEXT,
        "small_names.named_scope_and_call": _PYTHON_TEXT,
        "tools.compiler_options": _XLA_OPTIONS,
        "tools.composite": _PYTHON_TEXT,
        "tools.scheduling_and_metadata": _PYTHON_TEXT,
    },
    "iree": {
        "tools.compiler_options": _XLA_OPTIONS,
        "tools.scheduling_and_metadata": "Hints for XLA are written for XLA alone.",
    },
}


def reason(program: str, backend: str) -> str | None:
    """Why a program differs from JAX on a backend; ``None`` if it should not."""
    return ON_PURPOSE.get(program) or BY_BACKEND.get(backend, {}).get(program)
