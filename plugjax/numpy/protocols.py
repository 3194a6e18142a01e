"""NumPy's protocols: its functions on arrays and tracers give what the functions of ``plugjax.numpy`` give.

So a program written for NumPy can be differentiated, batched and compiled. What plugjax has no function for, or not with the
arguments that came (``out=``), NumPy computes itself on the values of arrays; a tracer has none, which is an error.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from plugjax.core.array import Array
from plugjax.core.errors import TracerArrayConversionError
from plugjax.core.trace import Tracer
from plugjax.numpy.ufuncs import ufunc as UniversalFunction  # noqa: N812  # a class

# Modules of NumPy, and of SciPy's universal functions, and where their functions are here.
_NAMESPACES = {
    "numpy": "plugjax.numpy",
    "numpy.linalg": "plugjax.numpy.linalg",
    "numpy.fft": "plugjax.numpy.fft",
    "scipy.special": "plugjax.scipy.special",
}
_MISSING = object()


def _own(module: str, name: str) -> Callable[..., Any] | None:
    namespace = _NAMESPACES.get(module)
    if namespace is None:
        return None
    found: Callable[..., Any] | None = getattr(importlib.import_module(namespace), name, None)
    return found


def _tracer(value: Any) -> Tracer | None:
    """The first tracer in nested lists and tuples."""
    if isinstance(value, (tuple, list)):
        return next((t for v in value if (t := _tracer(v)) is not None), None)
    return value if isinstance(value, Tracer) else None


def _to_numpy(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return type(value)(_to_numpy(v) for v in value)
    return np.asarray(value) if isinstance(value, Array) else value


def _by_numpy(
    function: Callable[..., Any], what: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    tracer = _tracer([*args, *kwargs.values()])
    if tracer is not None:
        error = TracerArrayConversionError(tracer)
        error.add_note(
            f"plugjax has no {what} with these arguments, so NumPy would have to compute it."
        )
        raise error
    return function(*_to_numpy(args), **{k: _to_numpy(v) for k, v in kwargs.items()})


def array_ufunc(ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """``__array_ufunc__``: operators between NumPy's arrays and ours arrive here too.

    Returns:
        What the function of the same name, or its method, gives. With ``out``, ``where``, ``dtype`` or other options that
        ours do not have, NumPy's result.
    """
    module = "numpy" if getattr(np, ufunc.__name__, None) is ufunc else "scipy.special"
    own = _own(module, ufunc.__name__)
    if own is not None:
        if method == "__call__" and not kwargs:
            return own(*inputs)
        if method != "__call__" and isinstance(own, UniversalFunction):
            out = kwargs.pop("out", None)
            if out is None and kwargs.get("where", True) is True:
                kwargs.pop("where", None)
                if kwargs.get("initial", _MISSING) is np._NoValue:
                    del kwargs["initial"]
                return getattr(own, method)(*inputs, **kwargs)
            kwargs["out"] = out
    run = ufunc if method == "__call__" else getattr(ufunc, method)
    return _by_numpy(run, f"{module}.{ufunc.__name__}", inputs, kwargs)


def array_function(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``__array_function__``: all other functions of NumPy.

    Returns:
        What the function of the same name in ``plugjax.numpy``, ``linalg`` or ``fft`` gives, else NumPy's result.
    """
    own = _own(function.__module__, function.__name__)
    if own not in (None, function) and kwargs.get("out") is None:
        given = {k: v for k, v in kwargs.items() if v is not np._NoValue}
        return own(*args, **given)
    return _by_numpy(function, f"{function.__module__}.{function.__name__}", args, kwargs)
