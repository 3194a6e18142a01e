"""Linear functions with a transpose of the user's own.

The user states f: r -> a -o b and t: r -> b -o a, both linear in their second argument. The transpose of the equation is the
same equation with f and t exchanged, so transposing twice gives the first. Forward mode applies f to tangents, since f is
its own derivative; ``vmap`` maps both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from plugjax.calls.python_calls import name_of
from plugjax.core import pytree
from plugjax.core.array import as_array, aval_of
from plugjax.core.aval import ShapedArray
from plugjax.core.jaxpr import ClosedJaxpr, eval_closed
from plugjax.core.primitive import Primitive
from plugjax.core.rules import RuleSet, abstract_eval
from plugjax.core.vocabulary import Zero, instantiate, zeros
from plugjax.meshes.types import with_axis
from plugjax.transforms.batching import Axis, batch_flat, batching_rule, materialize
from plugjax.transforms.expansion import expand_rule
from plugjax.transforms.flat_calls import Structure, flat_call
from plugjax.transforms.jvp import jvp_rule
from plugjax.transforms.staging import open_constants, stage
from plugjax.transforms.tracebacks import api_boundary
from plugjax.transforms.transpose import is_undefined_primal, transpose_rule
from plugjax.transforms.tree_differences import first_difference

rules = RuleSet(__name__)

linear_call_p = Primitive("linear_call", multiple_results=True, structured=True)


class Transposition:
    """The transpose of a linear call, traced when it is first asked for; compared by identity.

    Attributes:
        trace: gives its program, ``(constants, residuals, cotangents) -> cotangents``, and the constants.
    """

    __slots__ = ("_found", "_trace")

    def __init__(self, trace: Callable[[], tuple[ClosedJaxpr, Sequence[Any]]]) -> None:
        self._trace = trace
        self._found: tuple[ClosedJaxpr, Sequence[Any]] | None = None

    def __call__(self) -> tuple[ClosedJaxpr, Sequence[Any]]:
        """The program and its constants."""
        if self._found is None:
            self._found = self._trace()
        return self._found


@api_boundary
def linear_call(
    fun: Callable[[Any, Any], Any],
    fun_transpose: Callable[[Any, Any], Any],
    residual_args: Any,
    linear_args: Any,
) -> Any:
    """Call a linear function whose transpose is what ``fun_transpose`` says.

    Args:
        fun: ``(residuals, x) -> y``, linear in ``x``.
        fun_transpose: ``(residuals, y cotangent) -> x cotangent``, with the structure of ``linear_args``.
        residual_args: pytree in which both functions need not be linear; it is not differentiated.
        linear_args: pytree: ``x``.

    Raises:
        TypeError: ``fun_transpose`` gives another structure.
        ValueError: ``residual_args`` are differentiated.

    Differs from JAX:
        ``vmap`` is supported.

    Example:
        >>> import plugjax
        >>> from plugjax.custom_derivatives import linear_call
        >>> half = lambda x: linear_call(lambda r, x: x / r, lambda r, y: y / r, 2.0, x)
        >>> plugjax.linear_transpose(half, 1.0)(3.0)
        (Array(1.5, dtype=float32, weak_type=True),)
    """
    residuals, res_tree = pytree.flatten(residual_args)
    linear, lin_tree = pytree.flatten(linear_args)
    residuals = [as_array(x, "linear_call") for x in residuals]
    linear = [as_array(x, "linear_call") for x in linear]
    avals = [aval_of(x) for x in residuals]
    out, back = Structure(), Structure()
    in_tree = pytree.structure((residual_args, linear_args))
    traced = stage(
        flat_call(fun, in_tree, out, "linear_call"),
        [*avals, *(aval_of(x) for x in linear)],
        name_of(fun),
    )
    program, consts = open_constants(traced)
    out_avals = program.out_avals

    def transpose() -> tuple[ClosedJaxpr, Sequence[Any]]:
        marks = pytree.unflatten(res_tree, range(res_tree.num_leaves))
        bars = pytree.unflatten(out.tree, range(out.tree.num_leaves))
        found = stage(
            flat_call(fun_transpose, pytree.structure((marks, bars)), back, "linear_call"),
            [*avals, *out_avals],
            name_of(fun_transpose),
        )
        if back.tree != lin_tree:
            raise TypeError(
                "linear_call: the transpose needs to give the pytree structure of the linear inputs: "
                + first_difference(lin_tree, back.tree)
            )
        return open_constants(found)

    outs = linear_call_p.bind(
        *consts,
        *residuals,
        *linear,
        callee=program,
        transpose=Transposition(transpose),
        num_consts=len(consts),
        num_res=len(residuals),
    )
    return pytree.unflatten(out.tree, outs)


@rules.define(abstract_eval, linear_call_p)
def _avals(*avals: ShapedArray, callee: ClosedJaxpr, **_: Any) -> list[ShapedArray]:
    return callee.out_avals


@rules.define(expand_rule, linear_call_p)
def _expand(*, callee: ClosedJaxpr, **_: Any) -> ClosedJaxpr:
    return callee


@rules.define(jvp_rule, linear_call_p)
def _jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, num_consts: int, num_res: int, **params: Any
) -> tuple[list[Any], list[Any]]:
    fixed = num_consts + num_res
    if any(type(t) is not Zero for t in tangents[:fixed]):
        raise ValueError(
            "linear_call: the residual arguments, or what the function closes over, are differentiated, but only the "
            "derivative by the linear arguments is known. Use plugjax.lax.stop_gradient on them, or plugjax.custom_vjp."
        )
    params.update(num_consts=num_consts, num_res=num_res)
    outs = linear_call_p.bind(*primals, **params)
    dots = [instantiate(t) for t in tangents[fixed:]]
    return outs, linear_call_p.bind(*primals[:fixed], *dots, **params)


@rules.define(transpose_rule, linear_call_p)
def _transpose(
    cotangents: Sequence[Any],
    *operands: Any,
    callee: ClosedJaxpr,
    transpose: Transposition,
    num_consts: int,
    num_res: int,
) -> list[Any]:
    fixed = num_consts + num_res
    consts, residuals = operands[:num_consts], operands[num_consts:fixed]
    if any(is_undefined_primal(x) for x in operands[:fixed]):
        raise TypeError(
            "linear_call: the residual arguments are transposed; it is not linear in them."
        )
    program, t_consts = transpose()
    bars = [
        zeros(aval) if type(bar) is Zero else bar
        for bar, aval in zip(cotangents, callee.out_avals, strict=True)
    ]
    found = linear_call_p.bind(
        *t_consts,
        *residuals,
        *bars,
        callee=program,
        transpose=Transposition(lambda: (callee, consts)),
        num_consts=len(t_consts),
        num_res=num_res,
    )
    return [*(None,) * fixed, *found]


@rules.define(batching_rule, linear_call_p)
def _batching(
    axis: Axis,
    args: Sequence[Any],
    dims: Sequence[int | None],
    *,
    callee: ClosedJaxpr,
    transpose: Transposition,
    num_consts: int,
    num_res: int,
) -> tuple[list[Any], list[int | None]]:
    fixed = num_consts + num_res
    if any(d is not None for d in dims[:num_consts]):
        # The transpose's own constants would not be mapped with these: the call is only what it computes.
        return batch_flat(lambda *xs: eval_closed(callee, *xs), axis, args, dims)
    moved = [x if d is None else materialize(x, d, axis) for x, d in zip(args, dims, strict=True)]
    moved[fixed:] = [
        x if d is not None else materialize(x, None, axis)
        for x, d in zip(moved[fixed:], dims[fixed:], strict=True)
    ]
    res_dims = [None if d is None else 0 for d in dims[num_consts:fixed]]

    def mapped(program: ClosedJaxpr, count: int) -> ClosedJaxpr:
        """A program that takes and gives linear values with a batch axis in front."""
        own = [*(None,) * count, *res_dims]
        full = [*own, *(0,) * (len(program.in_avals) - len(own))]

        def call(*xs: Any) -> list[Any]:
            outs, found = batch_flat(lambda *ys: eval_closed(program, *ys), axis, xs, full)
            return [materialize(y, d, axis) for y, d in zip(outs, found, strict=True)]

        avals = [
            a if d is None else with_axis(a, 0, axis.size, axis.cut)
            for a, d in zip(program.in_avals, full, strict=True)
        ]
        return stage(call, avals, f"vmap({program.jaxpr.debug_name})")

    def transposed() -> tuple[ClosedJaxpr, Sequence[Any]]:
        program, t_consts = transpose()
        return mapped(program, len(t_consts)), t_consts

    outs = linear_call_p.bind(
        *moved,
        callee=mapped(callee, num_consts),
        transpose=Transposition(transposed),
        num_consts=num_consts,
        num_res=num_res,
    )
    return outs, [0] * len(outs)
