"""Derivatives of Python functions: the user's side of jvp, linearize and transpose.

``grad`` is the transpose of the derivative at a point, applied to one. ``jacfwd`` pushes a basis of the inputs forward,
``jacrev`` pulls a basis of the outputs back, both through ``vmap``.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar

from plugjax.core import dtypes, pytree
from plugjax.core.array import as_array, aval_of, from_host
from plugjax.core.jaxpr import ClosedJaxpr, eval_closed
from plugjax.core.primitive import Tracer
from plugjax.transforms.argument_names import function_place, positional_names
from plugjax.transforms.callables import check_callable
from plugjax.transforms.derivative_values import as_cotangent, as_tangent
from plugjax.transforms.discharge import is_reference
from plugjax.transforms.flat_calls import Structure, flat_call, function_name, named_after
from plugjax.transforms.high_values import HighType
from plugjax.transforms.jvp import jvp_flat
from plugjax.transforms.linear_maps import (
    VJP,
    Pushforward,
    Signature,
    linear_program,
    tangent_of,
)
from plugjax.transforms.linearize import Linearized, TapeTracer, linearize_flat
from plugjax.transforms.staging import stage
from plugjax.transforms.tracebacks import api_boundary
from plugjax.transforms.transpose import UndefinedPrimal, backward, transpose_flat
from plugjax.transforms.tree_differences import first_difference

_P = ParamSpec("_P")
_R = TypeVar("_R")


def _flatten_call(
    fun: Callable[..., Any], trees: tuple[Any, ...], who: str, has_aux: bool = False
) -> tuple[list[Any], Any, Callable[..., list[Any]], Structure]:
    """Leaves, their structure, the function on leaves, and what will be known of its result."""
    leaves, in_tree = pytree.flatten(trees)
    values = [as_array(x, who) for x in leaves]
    out = Structure()

    def flat(*xs: Any) -> list[Any]:
        result = fun(*pytree.unflatten(in_tree, xs))
        if has_aux:
            if not isinstance(result, tuple) or len(result) != 2:
                raise TypeError(
                    f"has_aux=True needs a function that gives a pair (output, aux), got {type(result)}"
                )
            result, out.aux = result
        outs, out.tree = pytree.flatten(result)
        return [as_array(y, who) for y in outs]

    return values, in_tree, flat, out


def _strip(aux: Any) -> Any:
    """Auxiliary outputs carry no tangents: tracers of the transformation give their primals."""

    def primal(x: Any) -> Any:
        while isinstance(x, Tracer) and not x._trace.alive and hasattr(x, "primal"):
            x = x.primal
        return x

    return pytree.tree_map(primal, aux)


def as_argnums(who: str, argnums: Any) -> tuple[bool, tuple[int, ...]]:
    """Whether one argument is meant, and the numbers of all that are.

    Raises:
        TypeError: no integer, and nothing to iterate over.
        ValueError: no number at all.
    """
    if hasattr(argnums, "__index__") and not getattr(argnums, "ndim", 0):
        return True, (operator.index(argnums),)
    nums = tuple(operator.index(n) for n in argnums)
    if not nums:
        raise ValueError(f"{who}: argnums names no argument. Give a number, or several.")
    return False, nums


def of_chosen(
    who: str,
    fun: Callable[..., Any],
    nums: Sequence[int],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """A call as a function of some of its arguments, and those arguments.

    Raises:
        TypeError: an argument comes twice.
        ValueError: there is no such argument.
    """
    count = len(args)
    for n in nums:
        if not -count <= n < count:
            raise ValueError(
                f"{who}: with {count} positional arguments a number in argnums is at least -{count} and below {count}, got {n}."
            )
    places = [n % count for n in nums]
    if len(set(places)) != len(places):
        raise TypeError(f"{who}: argnums={tuple(nums)} names an argument twice.")

    def partial(*chosen: Any) -> Any:
        full = list(args)
        for place, x in zip(places, chosen, strict=True):
            full[place] = x
        return fun(*full, **kwargs)

    return partial, tuple(args[place] for place in places)


@api_boundary
def jvp(
    fun: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False
) -> tuple[Any, ...]:
    """Value and directional derivative.

    Args:
        fun: function of ``len(primals)`` pytrees.
        primals: tuple or list: the point.
        tangents: tuple or list: the direction; same structure, shapes and tangent dtypes as ``primals``.
        has_aux: whether ``fun`` gives a pair of which only the first is differentiated.

    Returns:
        ``(out, out_tangent)``, with ``aux`` as third if ``has_aux``.

    Raises:
        TypeError: ``primals`` is no tuple or list, or structures, shapes or dtypes differ.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> plugjax.jvp(lambda x: x ** 2, (3.0,), (1.0,))
        (Array(9., dtype=float32, weak_type=True), Array(6., dtype=float32, weak_type=True))
    """
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise TypeError(
            f"jvp: primal and tangent arguments are tuples or lists, got {type(primals).__name__} and {type(tangents).__name__}."
        )
    if type(primals) is not type(tangents):
        raise TypeError(
            "jvp: primals and tangents need the same tree structure: tuples or lists, both."
        )
    values, in_tree, flat, known = _flatten_call(fun, tuple(primals), "jvp", has_aux)
    tangent_leaves, tangent_tree = pytree.flatten(tuple(tangents))
    if tangent_tree != in_tree:
        raise TypeError(
            "jvp: primal and tangent arguments need the same tree structure: "
            + first_difference(in_tree, tangent_tree)
        )
    directions = [
        tangent_of(aval_of(x), t, path)
        for x, t, path in zip(values, tangent_leaves, pytree.paths(tuple(primals)), strict=True)
    ]
    outs, outs_dot = jvp_flat(flat, values, directions)
    out = pytree.unflatten(known.tree, outs)
    out_dot = pytree.unflatten(known.tree, [as_tangent(t) for t in outs_dot])
    if has_aux:
        return out, out_dot, _strip(known.aux)
    return out, out_dot


@api_boundary
def vjp(
    fun: Callable[..., Any], *primals: Any, has_aux: bool = False, reduce_axes: Sequence[Any] = ()
) -> tuple[Any, ...]:
    """Value and pullback.

    Args:
        fun: function of ``len(primals)`` pytrees.
        *primals: the point.
        has_aux: whether ``fun`` gives a pair of which only the first is differentiated.
        reduce_axes: accepted as in JAX, must be empty.

    Returns:
        ``(out, vjp_fun)``, with ``aux`` as third if ``has_aux``; ``vjp_fun(cotangent)`` gives a tuple of cotangents. It
        is a pytree of the values that it keeps: ``args_res``, the arguments among them, and ``opaque_residuals``.

    Example:
        >>> import plugjax
        >>> y, pull = plugjax.vjp(lambda x, y: x * y, 2.0, 3.0)
        >>> pull(1.0)
        (Array(3., dtype=float32, weak_type=True), Array(2., dtype=float32, weak_type=True))
    """
    if reduce_axes:
        raise NotImplementedError("vjp takes no reduce_axes any more.")
    values, in_tree, flat, known = _flatten_call(fun, primals, "vjp", has_aux)
    found = linearize_flat(flat, values, [_differentiable(x) for x in values])
    _fill_inputs(found, values)
    out = pytree.unflatten(known.tree, found.outs)
    inputs = {id(x): i for i, x in enumerate(values)}
    pullback = VJP(_signature(in_tree, values, known.tree, found.outs), found, inputs=inputs)
    return (out, pullback, _strip(known.aux)) if has_aux else (out, pullback)


def _signature(
    in_tree: Any, values: Sequence[Any], out_tree: Any, outs: Sequence[Any]
) -> Signature:
    return Signature(in_tree, tuple(map(aval_of, values)), out_tree, tuple(map(aval_of, outs)))


def _differentiable(x: Any) -> bool:
    tangent = aval_of(x).to_tangent_aval()
    return isinstance(tangent, HighType) or tangent.dtype != dtypes.float0


def _fill_inputs(found: Linearized, values: Sequence[Any]) -> None:
    """Give inputs without tangents a tape tracer that nothing reads: their cotangents are zeros of float0."""
    found.inputs = [
        TapeTracer(found.tape, aval_of(x).to_tangent_aval()) if t is None else t
        for x, t in zip(values, found.inputs, strict=True)
    ]


@api_boundary
def linearize(fun: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """Value and derivative at a point, as a linear function that does not evaluate ``fun`` again.

    Returns:
        ``(out, jvp_fun)``, with ``aux`` as third if ``has_aux``; ``jvp_fun(*tangents)`` gives the tangent of the output.
        It is a pytree of the values that it keeps.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> y, push = plugjax.linearize(lambda x: x ** 2, 3.0)
        >>> push(1.0)
        Array(6., dtype=float32, weak_type=True)
    """
    values, in_tree, flat, known = _flatten_call(fun, primals, "linearize", has_aux)
    found = linearize_flat(flat, values, [_differentiable(x) for x in values])
    push = Pushforward(*linear_program(found, _signature(in_tree, values, known.tree, found.outs)))
    out = pytree.unflatten(known.tree, found.outs)
    return (out, push, _strip(known.aux)) if has_aux else (out, push)


def linear_transpose(
    fun: Callable[..., Any], *primals: Any, reduce_axes: Sequence[Any] = ()
) -> Callable[[Any], Any]:
    """The transpose of a linear function.

    Args:
        fun: a linear function of pytrees.
        *primals: arrays or ``ShapeDtypeStruct`` that give the shapes of its inputs.
        reduce_axes: accepted as in JAX, must be empty.

    Returns:
        ``cotangent of the output -> tuple of cotangents of the inputs``.

    Raises:
        TypeError: inputs and outputs are not of one inexact or integer kind, or ``fun`` is not linear.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> plugjax.linear_transpose(lambda x: 3.0 * x, 1.0)(2.0)
        (Array(6., dtype=float32, weak_type=True),)
    """
    if reduce_axes:
        raise NotImplementedError("linear_transpose takes no reduce_axes any more.")
    leaves, in_tree = pytree.flatten(primals)
    avals = [aval_of(x) for x in leaves]
    out = Structure()
    program: ClosedJaxpr = stage(
        flat_call(fun, in_tree, out, "linear_transpose"),
        avals,
        function_name(fun),
    )
    out_tree = out.tree

    @api_boundary
    def transposed(cotangent: Any) -> Any:
        bars, tree = pytree.flatten(cotangent)
        if tree != out_tree:
            raise TypeError(
                "linear_transpose: the cotangent is not arranged like the output: "
                + first_difference(out_tree, tree)
            )
        for bar, aval in zip(bars, program.out_avals, strict=True):
            found = aval_of(bar)
            if found.shape != aval.shape or (found.dtype != aval.dtype and not found.weak_type):
                raise TypeError(
                    f"linear_transpose: the cotangent of the output needs to be {aval.str_short()}, got {found.str_short()}."
                )
        operands = [UndefinedPrimal(aval) for aval in avals]
        found_bars = transpose_flat(
            lambda *xs: eval_closed(program, *xs), operands, [as_array(b, "vjp") for b in bars]
        )
        return pytree.unflatten(in_tree, [as_tangent(b) for b in found_bars])

    return transposed


def value_and_grad(
    fun: Callable[_P, _R],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Any] = (),
) -> Callable[_P, tuple[_R, Any]]:
    """A function that gives the value of ``fun`` and its gradient.

    Args:
        fun: function with a scalar result.
        argnums: positional argument, or arguments, to differentiate with respect to.
        has_aux: whether ``fun`` gives a pair ``(value, aux)``.
        holomorphic: whether ``fun`` is to be taken as complex-differentiable.
        allow_int: whether integer arguments are allowed; their gradients have dtype ``float0``.
        reduce_axes: accepted as in JAX, must be empty.

    Returns:
        A function with the arguments of ``fun`` that gives ``(value, gradient)``, or ``((value, aux), gradient)``; the
        gradient is a tuple if ``argnums`` is a sequence.

    Raises:
        TypeError: the result is no real scalar, or an argument is not floating.

    Example:
        >>> import plugjax
        >>> plugjax.value_and_grad(lambda x: x ** 2)(3.0)
        (Array(9., dtype=float32, weak_type=True), Array(6., dtype=float32, weak_type=True))
    """
    check_callable("grad", fun)
    if reduce_axes:
        raise NotImplementedError("grad takes no reduce_axes any more.")
    single, nums = as_argnums("grad", argnums)
    name = function_name(fun)

    @api_boundary
    def value_and_gradient(*args: Any, **kwargs: Any) -> Any:
        if nums and max(nums) >= len(args):
            raise TypeError(
                f"differentiating with respect to argnums={argnums} needs {max(nums) + 1} or more positional arguments of {name}, got {len(args)}."
            )
        partial, point = of_chosen("grad", fun, nums, args, kwargs)
        values, in_tree, flat, known = _flatten_call(partial, point, "grad", has_aux)
        for i, x in enumerate(values):
            name_of = functools.partial(_leaf_name, fun, nums, args, i)
            _check_input(x, holomorphic, allow_int, name_of)
        found = linearize_flat(flat, values, [_differentiable(x) for x in values])
        if allow_int:
            _fill_inputs(found, values)
        (value,) = found.outs if len(found.outs) == 1 else (None,)
        _check_output(found.outs, known.tree, holomorphic, name)
        aval = aval_of(value)
        one = from_host(aval.dtype.type(1), weak_type=aval.weak_type)
        bars = backward(found.tape, found.inputs, found.out_tangents, [one])
        found_bars = [as_cotangent(b, aval_of(x)) for b, x in zip(bars, values, strict=True)]
        gradient = pytree.unflatten(in_tree, found_bars)
        if single:
            (gradient,) = gradient
        result = pytree.unflatten(known.tree, found.outs)
        return ((result, _strip(known.aux)), gradient) if has_aux else (result, gradient)

    doc = f"Value of {name}, and its gradient by the argument(s) {argnums}."
    return named_after(fun, value_and_gradient, doc)


def _leaf_name(
    fun: Callable[..., Any], nums: Sequence[int], args: tuple[Any, ...], leaf: int
) -> str:
    """The name of a leaf of the chosen arguments, with the function's place."""
    places = [n % len(args) for n in nums]
    names = positional_names(fun, places, [pytree.structure(args[n]) for n in places])
    return f"argument `{names[leaf]}` of {function_place(fun)}"


def _check_input(x: Any, holomorphic: bool, allow_int: bool, name: Callable[[], str]) -> None:
    if is_reference(x):
        raise ValueError(
            f"grad: Expected cotangent type of an array, but an argument is a reference ({aval_of(x)}), which has no gradient "
            "that could be returned. Use plugjax.vjp and its with_refs."
        )
    if isinstance(aval_of(x), HighType):
        return
    dtype = aval_of(x).dtype
    if dtypes.tangent_dtype(dtype) == dtypes.float0:
        if not allow_int:
            raise TypeError(
                f"grad requires real- or complex-valued inputs, got {dtype.name} at {name()}. "
                "For booleans and integers there is allow_int=True, and vjp."
            )
    elif holomorphic and dtype.kind != "c":
        raise TypeError(
            f"grad with holomorphic=True requires inputs with complex dtype, got {dtype.name} at {name()}."
        )


def _check_output(outs: list[Any], out_tree: Any, holomorphic: bool, name: str) -> None:
    if len(outs) != 1 or not out_tree.is_leaf():
        raise TypeError(
            f"Gradient only defined for scalar-output functions, and {name} gives "
            f"{pytree.unflatten(out_tree, [aval_of(y).str_short() for y in outs])}."
        )
    aval = aval_of(outs[0])
    if aval.shape:
        raise TypeError(
            f"Gradient only defined for scalar-output functions, and {name} gives shape {aval.shape}. Reduce it, for example with .sum(), or "
            "use jacrev."
        )
    if holomorphic:
        if aval.dtype.kind != "c":
            raise TypeError(
                f"grad with holomorphic=True requires outputs with complex dtype, got {aval.dtype.name}."
            )
    elif not dtypes.is_float(aval.dtype):
        raise TypeError(
            f"grad requires real-valued outputs, got {aval.dtype.name} from {name}. If the function is holomorphic, pass holomorphic=True; if its "
            "output is an integer, use vjp."
        )


def grad(
    fun: Callable[_P, Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Any] = (),
) -> Callable[_P, Any]:
    """A function that gives the gradient of ``fun``; arguments as of :func:`value_and_grad`.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> plugjax.grad(lambda x: jnp.sum(x ** 2))(jnp.arange(3.0))
        Array([0., 2., 4.], dtype=float32)
    """
    both: Callable[..., Any] = value_and_grad(
        fun, argnums, has_aux, holomorphic, allow_int, reduce_axes
    )

    @api_boundary
    def gradient(*args: Any, **kwargs: Any) -> Any:
        value, result = both(*args, **kwargs)
        return (result, value[1]) if has_aux else result

    doc = f"Gradient of {function_name(fun)} by the argument(s) {argnums}."
    return named_after(fun, gradient, doc)
