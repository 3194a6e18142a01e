"""Functions with a reverse derivative of the user's own.

For y = f(x) the user states ``fwd``: x -> (y, residuals), and ``bwd``: (residuals, y_bar) -> x_bar, the transpose of the
derivative. Reverse mode runs ``fwd`` for the values, and writes one operation on the tape, ``custom_lin``, whose transpose
is ``bwd``. The derivative itself is not known, so forward mode is an error; both functions may be differentiated further,
so derivatives of any order exist in reverse mode. ``vmap`` maps all three functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from plugjax.calls.custom_jvp import OutputDims, batched_zero, name_of_callee, unbatched
from plugjax.calls.python_calls import (
    Callee,
    CustomFunction,
    P,
    PythonCall,
    R,
    SplitArguments,
    UserRule,
    define_python_call,
    name_of,
    run,
)
from plugjax.calls.remat_opt import optimized_forward
from plugjax.core import dtypes, pytree
from plugjax.core.array import as_array, aval_of
from plugjax.core.aval import ShapedArray
from plugjax.core.dtypes import DType
from plugjax.core.errors import CustomVJPException, UnexpectedTracerError
from plugjax.core.jaxpr import JaxprEqn
from plugjax.core.primitive import Primitive, Tracer
from plugjax.core.rules import RuleKind, RuleSet, abstract_eval, impl, lowering
from plugjax.core.vocabulary import (
    Zero,
    convert_element_type_p,
    instantiate,
    reduce_sum_p,
)
from plugjax.transforms.batching import Axis, batch_flat, batching_rule, materialize
from plugjax.transforms.callables import check_callable
from plugjax.transforms.dce import dce_rule, prune_outputs
from plugjax.transforms.flat_calls import Structure, flat_call
from plugjax.transforms.jvp import jvp_rule, with_zeros
from plugjax.transforms.linearize import linearize_rule
from plugjax.transforms.prefixes import broadcast_prefix
from plugjax.transforms.tracebacks import api_boundary
from plugjax.transforms.transpose import is_undefined_primal, transpose_rule
from plugjax.transforms.tree_differences import first_difference

rules = RuleSet(__name__)

custom_vjp_call_p = Primitive("custom_vjp_call", multiple_results=True, structured=True)
custom_lin_p = Primitive("custom_lin", multiple_results=True, structured=True)

# On flat sequences, ``fwd`` is (primals, perturbed) -> (outs, residuals, description of the residuals), and ``bwd`` is
# (description, residuals, cotangents) -> cotangents, which may be symbolic zeros.


class CustomVJPPrimal:
    """An argument of ``fwd`` under symbolic zeros: its value, and whether it is differentiated."""

    __slots__ = ("perturbed", "value")

    def __init__(self, value: Any, perturbed: bool) -> None:
        self.value = value
        self.perturbed = perturbed


_PYTHON_SCALARS = (bool, int, float, complex)


class Residuals(NamedTuple):
    """The structure of what ``fwd`` keeps. Python scalars in it stay what they are, so that ``bwd`` can branch on them.

    Attributes:
        tree: the structure, with a leaf for each scalar.
        scalars: position, type and value of each scalar; the type tells ``True`` from ``1``.
    """

    tree: Any
    scalars: tuple[tuple[int, type, Any], ...]

    def joined(self, arrays: Sequence[Any]) -> list[Any]:
        """All leaves, given those that are arrays."""
        leaves = list(arrays)
        for position, _, value in self.scalars:
            leaves.insert(position, value)
        return leaves


class custom_vjp(CustomFunction[P, R]):  # noqa: N801  # JAX's name
    """A function whose reverse derivative is what :meth:`defvjp` says.

    Args:
        fun: the function, of positional pytrees.
        nondiff_argnums: positions of arguments that are not differentiated: ``fwd`` gets them in place, ``bwd`` first.
        nondiff_argnames: the same by name.

    Raises:
        AttributeError: when called without a rule.
        TypeError: when called with arguments that cannot be resolved to positions, the rule's results do not fit, or the
            function is differentiated in forward mode.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> @plugjax.custom_vjp
        ... def clip_gradient(x):
        ...     return x
        >>> clip_gradient.defvjp(lambda x: (x, None), lambda _, g: (jnp.clip(g, -1, 1),))
        >>> plugjax.grad(lambda x: 100 * clip_gradient(x))(1.0)
        Array(1., dtype=float32, weak_type=True)
    """

    def __init__(
        self,
        fun: Callable[P, R],
        nondiff_argnums: Sequence[int] = (),
        nondiff_argnames: str | Sequence[str] = (),
    ) -> None:
        super().__init__(fun, nondiff_argnums, nondiff_argnames)
        self.fwd: Callable[..., Any] | None = None
        self.bwd: Callable[..., Any] | None = None
        self.symbolic_zeros = False
        self.optimize_remat = False

    def defvjp(
        self,
        fwd: Callable[..., Any],
        bwd: Callable[..., Any],
        symbolic_zeros: bool = False,
        optimize_remat: bool = False,
    ) -> None:
        """State the derivative.

        Args:
            fwd: takes the function's arguments, gives ``(out, residuals)``, residuals being any pytree.
            bwd: ``(*nondiff args, residuals, cotangent of out) -> tuple of cotangents``, one per differentiated argument;
                ``None`` for zero.
            symbolic_zeros: whether ``fwd`` gets :class:`CustomVJPPrimal` objects, and ``bwd`` ``SymbolicZero`` objects.
            optimize_remat: whether in compiled functions the function itself takes the place of ``fwd`` where nothing reads
                the residuals. Worth it if ``fwd`` is one operation, such as a foreign call: of others, what is not read is
                dropped anyway.

        Raises:
            NotImplementedError: ``symbolic_zeros`` and ``optimize_remat`` are given together.
        """
        if symbolic_zeros and optimize_remat:
            raise NotImplementedError(
                "custom_vjp: remat optimization for custom_vjp does not support symbolic zeros. Leave out optimize_remat or "
                "symbolic_zeros."
            )
        self.fwd = fwd
        self.bwd = bwd
        self.symbolic_zeros = symbolic_zeros
        self.optimize_remat = optimize_remat

    @api_boundary
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the function."""
        name = name_of(self.fun)
        if not (self.fwd and self.bwd):
            raise AttributeError(
                f"No VJP defined for custom_vjp function {name}. Give it a rule with defvjp."
            )
        check_callable("custom_vjp", self.fun)
        values = self.by_position(args, kwargs, "custom_vjp")
        fixed = {i: values[i] for i in self.nondiff_argnums if i < len(values)}
        for x in pytree.leaves(list(fixed.values())):
            if isinstance(x, Tracer):
                raise UnexpectedTracerError(
                    x,
                    "custom_vjp: an argument that nondiff_argnums names is a tracer. Make it a differentiated argument, and "
                    "give None for its cotangent.",
                )
        split = SplitArguments(values, fixed, "custom_vjp")
        in_tree = split.in_tree
        avals = [aval_of(x) for x in split.leaves]
        out = Structure()

        def fun(*xs: Any) -> Any:
            return self.fun(*split.joined(xs))

        flat_fun = flat_call(fun, in_tree, out, "custom_vjp")

        def plain_fwd(primals: Sequence[Any]) -> tuple[Any, Any, Residuals]:
            assert self.fwd is not None
            result = self.fwd(*split.joined(pytree.unflatten(in_tree, primals)))
            return _checked_forward(result, name_of(self.fwd), name, out)

        def fwd(primals: Sequence[Any], perturbed: Sequence[bool]) -> tuple[Any, Any, Residuals]:
            if self.optimize_remat:
                return optimized_forward(plain_fwd, flat_fun, primals, name)
            if self.symbolic_zeros:
                primals = [CustomVJPPrimal(x, p) for x, p in zip(primals, perturbed, strict=True)]
            return plain_fwd(primals)

        def bwd(
            res_tree: Residuals, residuals: Sequence[Any], cotangents: Sequence[Any]
        ) -> list[Any]:
            assert self.bwd is not None
            bars = cotangents if self.symbolic_zeros else [instantiate(c) for c in cotangents]
            result = self.bwd(
                *fixed.values(),
                pytree.unflatten(res_tree.tree, res_tree.joined(residuals)),
                pytree.unflatten(out.tree, bars),
            )
            return _checked_backward(result, in_tree, avals, name_of(self.bwd))

        outs = custom_vjp_call_p.bind(
            *split.leaves,
            call_jaxpr=PythonCall(flat_fun, name),
            fwd_jaxpr_thunk=UserRule(fwd, name_of(self.fwd)),
            bwd=UserRule(bwd, name_of(self.bwd)),
            num_consts=0,
            symbolic_zeros=self.symbolic_zeros,
        )
        result: R = pytree.unflatten(out.tree, outs)
        return result


def _checked_forward(result: Any, rule: str, name: str, out: Structure) -> tuple[Any, Any, Any]:
    """Leaves of what a user's ``fwd`` gave."""
    if not isinstance(result, (tuple, list)) or len(result) != 2:
        raise TypeError(
            f"Custom VJP fwd rule {rule} of {name} must produce a pair (primal_out, residuals), got {result}."
        )
    outs, tree = pytree.flatten(result[0])
    if out.tree is not None and out.tree != tree:
        raise TypeError(
            f"custom_vjp: rule {rule} (fwd) gave outputs that differ from those of {name}: "
            f"{first_difference(out.tree, tree)}."
        )
    out.tree = tree
    residuals, res_tree = pytree.flatten(result[1])
    return (
        [as_array(y, rule) for y in outs],
        [as_array(r, rule) for r in residuals if type(r) not in _PYTHON_SCALARS],
        Residuals(
            res_tree,
            tuple((i, type(r), r) for i, r in enumerate(residuals) if type(r) in _PYTHON_SCALARS),
        ),
    )


def _checked_backward(
    result: Any, in_tree: Any, avals: Sequence[ShapedArray], rule: str
) -> list[Any]:
    """Leaves of what a user's ``bwd`` gave, ``None`` and ``float0`` made symbolic zeros."""
    arguments = in_tree.children()
    if isinstance(result, list) and len(result) == len(arguments):
        result = tuple(result)

    def wrong() -> TypeError:
        return TypeError(
            f"Custom VJP bwd rule {rule} must produce an output that is a tuple with a cotangent for each argument, each of its argument's "
            f"tree. It gave {pytree.structure(result)} for {in_tree}."
        )

    if not isinstance(result, tuple) or len(result) != len(arguments):
        raise wrong()
    marks = pytree.unflatten(in_tree, range(in_tree.num_leaves))
    try:
        bars = broadcast_prefix(result, marks, is_leaf=lambda x: x is None)
    except ValueError:
        raise wrong() from None
    found: list[Any] = []
    for bar, aval, path in zip(bars, avals, pytree.paths(marks), strict=True):
        expected = aval.to_tangent_aval()
        if bar is None or expected.dtype == dtypes.float0:
            found.append(Zero(expected))
            continue
        given = bar.aval if type(bar) is Zero else aval_of(bar)
        # As in JAX a number of another dtype will do, as long as it is one of the input's.
        if given.shape != expected.shape or not (
            given.dtype == expected.dtype or _is_among(given.dtype, expected.dtype)
        ):
            raise ValueError(
                f"Custom VJP bwd rule {rule} gave {given.str_short()} at output{path}, for an input of type "
                f"{aval.str_short()}. A cotangent needs the shape and dtype of its input."
            )
        if type(bar) is not Zero and given.dtype != expected.dtype:
            bar = convert_element_type_p.bind(bar, new_dtype=expected.dtype, weak_type=False)
        found.append(bar if type(bar) is Zero else as_array(bar, rule))
    return found


def _is_among(dtype: DType, others: DType) -> bool:
    """Whether the numbers of one dtype, rounded, are numbers of the other."""
    return dtype != dtypes.float0 and (dtype.kind in "biufV" or others.kind == "c")


def _no_forward_mode(*_: Any, **__: Any) -> Any:
    raise TypeError(
        "can't apply forward-mode autodiff (jvp) to custom_vjp functions. Use reverse mode (grad, vjp, jacrev), or state the derivative by "
        "plugjax.custom_jvp."
    )


rules.define(jvp_rule, custom_vjp_call_p, custom_lin_p)(_no_forward_mode)
define_python_call(rules, custom_vjp_call_p)


@rules.define(linearize_rule, custom_vjp_call_p)
def _linearize(
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    call_jaxpr: Callee,
    fwd_jaxpr_thunk: UserRule,
    bwd: UserRule,
    num_consts: int,
    symbolic_zeros: bool,
) -> tuple[list[Any], list[Any]]:
    if any(type(t) is not Zero for t in tangents[:num_consts]):
        raise CustomVJPException(repr(call_jaxpr) if isinstance(call_jaxpr, PythonCall) else "")
    own = tangents[num_consts:]
    perturbed = tuple(type(t) is not Zero for t in own)
    outs, residuals, description = fwd_jaxpr_thunk.run(primals[num_consts:], perturbed)
    out_avals = tuple(aval_of(y).to_tangent_aval() for y in outs)
    dots = custom_lin_p.bind(
        *residuals,
        *(t for t in own if type(t) is not Zero),
        bwd=bwd,
        description=description,
        num_residuals=len(residuals),
        perturbed=perturbed,
        out_avals=out_avals,
    )
    return outs, [
        Zero(a) if a.dtype == dtypes.float0 else t for a, t in zip(out_avals, dots, strict=True)
    ]


@rules.define(abstract_eval, custom_lin_p)
def _lin_avals(
    *avals: ShapedArray, out_avals: tuple[ShapedArray, ...], **_: Any
) -> list[ShapedArray]:
    return list(out_avals)


_FORWARD: tuple[RuleKind[Any], ...] = (batching_rule, impl, lowering)
for _kind in _FORWARD:
    rules.define(_kind, custom_lin_p)(_no_forward_mode)


@rules.define(transpose_rule, custom_lin_p)
def _lin_transpose(
    cotangents: Sequence[Any],
    *operands: Any,
    bwd: UserRule,
    description: Any,
    num_residuals: int,
    perturbed: tuple[bool, ...],
    out_avals: tuple[ShapedArray, ...],
) -> list[Any]:
    assert all(is_undefined_primal(x) for x in operands[num_residuals:])
    bars = bwd.run(description, operands[:num_residuals], cotangents)
    wanted = [bar for bar, p in zip(bars, perturbed, strict=True) if p]
    return [*(None,) * num_residuals, *wanted]


@rules.define(batching_rule, custom_vjp_call_p)
def _batching(
    axis: Axis,
    args: Sequence[Any],
    dims: Sequence[int | None],
    *,
    call_jaxpr: Callee,
    fwd_jaxpr_thunk: UserRule,
    bwd: UserRule,
    num_consts: int,
    symbolic_zeros: bool,
) -> tuple[list[Any], list[int | None]]:
    box = OutputDims(axis, dims)
    own = dims[num_consts:]

    def call(*values: Any) -> list[Any]:
        return box.place(*batch_flat(lambda *xs: run(call_jaxpr, xs), axis, values, dims))

    def forward(primals: Sequence[Any], perturbed: Sequence[bool]) -> tuple[Any, Any, Any]:
        inner: list[Any] = []

        def both(*xs: Any) -> list[Any]:
            outs, residuals, description = fwd_jaxpr_thunk.run(xs, perturbed)
            inner[:] = [description, len(outs)]
            return [*outs, *residuals]

        values, found = batch_flat(both, axis, primals, own)
        description, count = inner
        outs = box.place(values[:count], found[:count])
        return outs, values[count:], (description, tuple(found[count:]))

    def backward(description: Any, residuals: Sequence[Any], bars: Sequence[Any]) -> list[Any]:
        inner_description, residual_dims = description
        kept = [i for i, c in enumerate(bars) if type(c) is not Zero]
        out_dims = box.dims
        silent = [
            unbatched(c, d) if type(c) is Zero else None
            for c, d in zip(bars, out_dims, strict=True)
        ]
        zero_in: list[Any] = []

        def pull(*xs: Any) -> list[Any]:
            cotangents: list[Any] = list(silent)
            for i, c in zip(kept, xs[len(residuals) :], strict=True):
                cotangents[i] = c
            results = bwd.run(inner_description, xs[: len(residuals)], cotangents)
            zero_in[:] = [r if type(r) is Zero else None for r in results]
            return [r for r in results if type(r) is not Zero]

        values, found = batch_flat(
            pull,
            axis,
            [*residuals, *(bars[i] for i in kept)],
            [*residual_dims, *(out_dims[i] for i in kept)],
        )
        given = iter(zip(values, found, strict=True))
        if all(d is None for d in (*out_dims, *found)):
            return [next(given)[0] if z is None else z for z in zero_in]
        return [
            _of_operand(*next(given), axis, d)
            if z is None
            else (z if d is None else batched_zero(z, axis, d))
            for z, d in zip(zero_in, own, strict=True)
        ]

    outs = custom_vjp_call_p.bind(
        *args,
        call_jaxpr=PythonCall(call, f"vmap({name_of_callee(call_jaxpr)})"),
        fwd_jaxpr_thunk=UserRule(forward, f"vmap({fwd_jaxpr_thunk})"),
        bwd=UserRule(backward, f"vmap({bwd})"),
        num_consts=num_consts,
        symbolic_zeros=symbolic_zeros,
    )
    return outs, list(box.dims)


def _of_operand(bar: Any, found: int | None, axis: Axis, dim: int | None) -> Any:
    """A cotangent with the batch axis of its operand; summed over instances that share the operand."""
    if dim is not None:
        return materialize(bar, found, axis, dim)
    if found is None:
        # Every instance contributes the same.
        bar, found = materialize(bar, None, axis), 0
    return reduce_sum_p.bind(bar, axes=(found,))


@rules.define(dce_rule, custom_vjp_call_p)
def _dce(used: Sequence[bool], eqn: JaxprEqn) -> tuple[Sequence[bool], JaxprEqn]:
    fwd: UserRule = eqn.params["fwd_jaxpr_thunk"]
    bwd: UserRule = eqn.params["bwd"]
    avals = [v.aval for v in eqn.outvars]

    def forward(primals: Sequence[Any], perturbed: Sequence[bool]) -> tuple[Any, Any, Any]:
        outs, residuals, description = fwd.run(primals, perturbed)
        return [y for y, u in zip(outs, used, strict=True) if u], residuals, description

    def backward(description: Any, residuals: Sequence[Any], bars: Sequence[Any]) -> list[Any]:
        return list(bwd.run(description, residuals, with_zeros(bars, used, avals)))

    params = {
        **eqn.params,
        "call_jaxpr": prune_outputs(eqn.params["call_jaxpr"], tuple(used)),
        "fwd_jaxpr_thunk": UserRule(forward, fwd.name),
        "bwd": UserRule(backward, bwd.name),
    }
    outvars = [v for v, u in zip(eqn.outvars, used, strict=True) if u]
    return [True] * len(eqn.invars), eqn.replace(outvars=outvars, params=params)
