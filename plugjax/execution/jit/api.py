"""What users call: ``jit``, ``make_jaxpr``, ``eval_shape``, ``clear_caches``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ParamSpec, TypeVar, Unpack, overload

from plugjax.core import caches, pytree
from plugjax.core.backend import DeviceLike, get_backend
from plugjax.execution.jit.function import JitFunction
from plugjax.execution.jit.mutable import results_of
from plugjax.execution.jit.parameters import JitOptions
from plugjax.execution.jit.shardings import only_device
from plugjax.execution.jit.stages import Wrapped
from plugjax.transforms.flat_calls import named_after
from plugjax.transforms.mutable_values import MutableValueError, is_mutable
from plugjax.transforms.named_axes import Axis, bound_axes
from plugjax.transforms.tracebacks import api_boundary

_P = ParamSpec("_P")
_R = TypeVar("_R")


class _NotSpecified:
    """Tells ``jit(static_argnums=0)`` from ``jit(None)``."""


_not_specified = _NotSpecified()


@overload
def jit(fun: Callable[_P, _R], /, **options: Unpack[JitOptions]) -> Wrapped[_P, _R]: ...


@overload
def jit(
    **options: Unpack[JitOptions],
) -> Callable[[Callable[_P, _R]], Wrapped[_P, _R]]: ...


def jit(
    fun: Any = _not_specified,
    /,
    *,
    in_shardings: Any = None,
    out_shardings: Any = None,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    donate_argnums: int | Sequence[int] | None = None,
    donate_argnames: str | Iterable[str] | None = None,
    keep_unused: bool = False,
    device: DeviceLike | None = None,
    backend: str | None = None,
    inline: bool = False,
    compiler_options: dict[str, Any] | None = None,
    tiered: bool | None = None,
) -> Any:
    """Compile a function on first use of each signature.

    Args:
        fun: the function, of pytrees of arrays. Left out, a decorator is returned.
        in_shardings: how the arguments are spread over devices: a pytree prefix of them, of shardings, formats, partition specs
            of the mesh in force, and ``None``, which leaves it open. Arguments that are not committed are moved.
        out_shardings: how the results are spread, likewise.
        static_argnums: positions of arguments that are part of the signature by value; they must be hashable.
        static_argnames: names of such arguments.
        donate_argnums: positions of arguments whose memory may be taken over; they are deleted by the call.
        donate_argnames: names of such arguments.
        keep_unused: whether the compiled program takes arguments that nothing reads.
        device: where to run: a Device or a name such as ``"iree:local:0"``. Results are committed there.
        backend: name of the backend whose first device to run on.
        inline: under another transformation, put the equations in place of the call.
        compiler_options: the backend's own options.
        tiered: whether NumPy computes the function until it is compiled. Results of the first calls agree with those of later ones
            within tolerance. Never so for functions with effects or donated arguments. ``None`` leaves it to the option ``tiered``.

    Raises:
        TypeError: ``fun`` is not callable, or gives something that is not an array.
        ValueError: a static argument is not hashable, or is to be donated; shardings name several devices without a mesh, or
            cannot divide an array.
        RuntimeError: an array is donated and passed once more in the same call.

    Warns:
        UserWarning: a donated argument has the shape and dtype of no result; it is left alone.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> plugjax.jit(lambda x: x + 1)(jnp.arange(3))
        Array([1, 2, 3], dtype=int32)
    """
    if not isinstance(backend, (str, type(None))):
        raise ValueError(f"jit: backend is a name, got {backend!r}.")
    options: dict[str, Any] = {
        "static_argnums": static_argnums,
        "static_argnames": static_argnames,
        "donate_argnums": donate_argnums,
        "donate_argnames": donate_argnames,
        "keep_unused": keep_unused,
        "device": device,
        "inline": inline,
        "compiler_options": compiler_options,
        "tiered": tiered,
        "in_shardings": in_shardings,
        "out_shardings": out_shardings,
    }
    if device is None and backend:
        options["device"] = get_backend(backend).devices()[0]
    elif device is None and (only := only_device([in_shardings, out_shardings])) is not None:
        options |= {"device": only, "in_shardings": None, "out_shardings": None}
    if isinstance(fun, _NotSpecified):
        return lambda function: JitFunction(function, **options)
    return JitFunction(fun, **options)


def make_jaxpr(
    fun: Callable[..., Any],
    static_argnums: int | Sequence[int] = (),
    axis_env: Sequence[tuple[Any, int]] | None = None,
    return_shape: bool = False,
) -> Callable[..., Any]:
    """A function that gives the jaxpr of ``fun`` for its arguments.

    Args:
        fun: the function.
        static_argnums: positions of arguments that are part of the signature by value.
        axis_env: pairs of name and size: axes that ``fun`` may use as under ``vmap(axis_name=...)``.
        return_shape: whether to give shapes and dtypes of the results too.

    Example:
        >>> import plugjax
        >>> plugjax.make_jaxpr(lambda x: x * 2.0)(3.0)
        { lambda ; a:f32[]. let b:f32[] = mul a 2.0:f32[] in (b,) }
    """
    traced = JitFunction(fun, static_argnums=static_argnums, keep_unused=True, gives_structs=True)
    axes = [Axis(size, axis) for axis, size in axis_env or ()]

    @api_boundary
    def jaxpr_of(*args: Any, **kwargs: Any) -> Any:
        with bound_axes(axes):
            found = traced.trace(*args, **kwargs)
        return (found.jaxpr, found.out_info) if return_shape else found.jaxpr

    name = f"make_jaxpr({traced.__name__})"
    found = named_after(fun, jaxpr_of, getattr(fun, "__doc__", None), name)
    found.__qualname__, found.__module__ = name, "plugjax"
    return found


def eval_shape(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Shapes and dtypes of ``fun(*args, **kwargs)``, computing nothing.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> plugjax.eval_shape(jnp.sin, plugjax.ShapeDtypeStruct((2,), "float32"))
        ShapeDtypeStruct(shape=(2,), dtype=float32)
    """
    leaves, tree = pytree.flatten((args, kwargs))
    if not any(map(is_mutable, leaves)):
        try:
            return _shapes(fun, *args, **kwargs)
        except MutableValueError:
            pass  # The function closes over a mutable value.

    def rebuilt(found: Sequence[Any]) -> Any:
        args, kwargs = pytree.unflatten(tree, found)
        return fun(*args, **kwargs)

    return results_of(leaves, rebuilt, _shapes, getattr(fun, "__name__", type(fun).__name__))


def _shapes(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return make_jaxpr(fun, return_shape=True)(*args, **kwargs)[1]


def clear_caches() -> None:
    """Drop all traces and compiled programs of this process; those on disk stay.

    Example:
        >>> import plugjax
        >>> import plugjax.numpy as jnp
        >>> plugjax.clear_caches()
    """
    caches.clear_all()
