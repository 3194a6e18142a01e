"""NumPy's protocols: NumPy's functions on arrays and tracers call those of ``plugjax.numpy``.

So a program written for NumPy can be differentiated, batched and compiled. If plugjax lacks the function or an argument
of it (``out=``), NumPy computes on the values of arrays; for a tracer, which has no value, that is an error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from plugjax.extend import registry
from plugjax.extend.core import Array, Tracer, config, new_cache
from plugjax.extend.errors import TracerArrayConversionError
from plugjax.numpy.ufuncs import ufunc as UniversalFunction  # noqa: N812  # a class

_MISSING = object()
# Modules here by the names of NumPy-like modules, under the rules in force.
_namespaces = new_cache()


def _own(module: str, name: str) -> Callable[..., Any] | None:
    key = config.fingerprint
    known = _namespaces.get(key)
    if known is None:
        known = _namespaces[key] = {}
        for loaders in reversed(registry.active().hook.plugjax_numpy_namespaces()):
            known.update(loaders)
    load = known.get(module)
    found: Callable[..., Any] | None = None if load is None else getattr(load(), name, None)
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


_REFLECTED = {
    np.add: "__radd__",
    np.subtract: "__rsub__",
    np.multiply: "__rmul__",
    np.true_divide: "__rtruediv__",
}


def array_ufunc(ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """``__array_ufunc__``: also called for operators between NumPy's arrays and ours.

    Returns:
        The result of the function of the same name, or of its method. With ``out``, ``where``, ``dtype`` or other
        options that ours do not have, NumPy's result.
    """
    reflected = _REFLECTED.get(ufunc)
    if reflected is not None and method == "__call__" and not kwargs:
        x, y = inputs
        if isinstance(x, np.generic):
            # `np.float32(2) * x`: operators have a fast path.
            return getattr(y, reflected)(x)
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
        The result of the function of the same name in ``plugjax.numpy``, ``linalg`` or ``fft``, else NumPy's result.
    """
    own = _own(function.__module__, function.__name__)
    if own not in (None, function) and kwargs.get("out") is None:
        given = {k: v for k, v in kwargs.items() if v is not np._NoValue}
        return own(*args, **given)
    return _by_numpy(function, f"{function.__module__}.{function.__name__}", args, kwargs)
