"""Functions with a forward derivative of the user's own.

For y = f(x) the user states the map (x, x_dot) -> (f(x), Df(x) x_dot), linear in x_dot. Forward mode calls it; reverse mode
calls it with tangents on the tape, which is then walked backwards, so one statement serves both, as for a primitive.
``vmap`` maps the function and its rule alike. All other interpreters see the function only.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

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
from plugjax.core import dtypes, pytree
from plugjax.core.array import as_array, aval_of
from plugjax.core.errors import CustomJVPException
from plugjax.core.jaxpr import JaxprEqn
from plugjax.core.primitive import Primitive
from plugjax.core.rules import RuleSet
from plugjax.core.vocabulary import Zero, add_any, instantiate, stop_gradient_p, zeros
from plugjax.meshes.types import with_axis, without_axis
from plugjax.transforms.batching import Axis, batch_flat, batching_rule, materialize
from plugjax.transforms.callables import check_callable
from plugjax.transforms.dce import dce_rule, prune_outputs
from plugjax.transforms.flat_calls import Structure, flat_call
from plugjax.transforms.jvp import jvp_rule
from plugjax.transforms.tracebacks import api_boundary
from plugjax.transforms.tree_differences import first_difference

rules = RuleSet(__name__)

custom_jvp_call_p = Primitive("custom_jvp_call", multiple_results=True, structured=True)


class custom_jvp(CustomFunction[P, R]):  # noqa: N801  # JAX's name
    """A function whose derivative is what :meth:`defjvp` says.

    Args:
        fun: the function, of positional pytrees.
        nondiff_argnums: positions of arguments that the rule is given as they are, first; they may be no arrays.
        nondiff_argnames: the same by name.

    Raises:
        AttributeError: when called without a rule.
        TypeError: when called with arguments that cannot be resolved to positions, or the rule's result does not fit.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> @plugjax.custom_jvp
        ... def f(x):
        ...     return jnp.sin(x)
        >>> @f.defjvp
        ... def f_jvp(primals, tangents):
        ...     (x,), (t,) = primals, tangents
        ...     return f(x), 10.0 * t
        >>> plugjax.grad(f)(1.0)
        Array(10., dtype=float32, weak_type=True)
    """

    def __init__(
        self,
        fun: Callable[P, R],
        nondiff_argnums: Sequence[int] = (),
        nondiff_argnames: str | Sequence[str] = (),
    ) -> None:
        super().__init__(fun, nondiff_argnums, nondiff_argnames)
        self.jvp: Callable[..., Any] | None = None
        self.symbolic_zeros = False

    def defjvp(self, jvp: Callable[..., Any], symbolic_zeros: bool = False) -> Callable[..., Any]:
        """State the derivative.

        Args:
            jvp: ``(*nondiff args, primals, tangents) -> (primal out, tangent out)``, tuples of one entry per argument.
            symbolic_zeros: whether tangents that are zero come as ``SymbolicZero`` instead of as arrays.

        Returns:
            ``jvp``, so that this can be a decorator.
        """
        self.jvp = jvp
        self.symbolic_zeros = symbolic_zeros
        return jvp

    def defjvps(self, *jvps: Callable[..., Any] | None) -> None:
        """State the derivative by each argument: ``(tangent, primal out, *primals) -> tangent out``, or ``None`` if zero.

        Raises:
            TypeError: the function has arguments that are not differentiated.
        """
        if self.nondiff_argnums:
            raise TypeError("custom_jvp: defjvps does not know nondiff_argnums. Use defjvp.")

        def jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
            function: Callable[..., Any] = self
            out = function(*primals)
            terms = [
                rule(t, out, *primals)
                for t, rule in zip(tangents, jvps, strict=True)
                if rule is not None
            ]
            if not terms:
                return out, pytree.tree_map(lambda y: zeros(aval_of(y).to_tangent_aval()), out)
            return out, functools.reduce(lambda a, b: pytree.tree_map(add_any, a, b), terms)

        self.defjvp(jvp)

    @api_boundary
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the function."""
        name = name_of(self.fun)
        if not self.jvp:
            raise AttributeError(
                f"No JVP defined for custom_jvp function {name}. Give it a rule with defjvp."
            )
        check_callable("custom_jvp", self.fun)
        values = self.by_position(args, kwargs, "custom_jvp")
        fixed = {
            i: pytree.tree_map(_stop_gradient, values[i])
            for i in self.nondiff_argnums
            if i < len(values)
        }
        split = SplitArguments(values, fixed, "custom_jvp")
        in_tree = split.in_tree
        out = Structure()

        def call(*dynamic: Any) -> Any:
            return self.fun(*split.joined(dynamic))

        def rule(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
            assert self.jvp is not None
            result = self.jvp(
                *fixed.values(),
                pytree.unflatten(in_tree, primals),
                pytree.unflatten(in_tree, tangents),
            )
            return _checked(result, name_of(self.jvp), name, out)

        outs = custom_jvp_call_p.bind(
            *split.leaves,
            call_jaxpr=PythonCall(flat_call(call, in_tree, out, "custom_jvp"), name),
            jvp_jaxpr_fun=UserRule(rule, name_of(self.jvp)),
            num_consts=0,
            symbolic_zeros=self.symbolic_zeros,
        )
        result: R = pytree.unflatten(out.tree, outs)
        return result


def _stop_gradient(x: Any) -> Any:
    aval = getattr(x, "aval", None)
    if aval is None or aval.to_tangent_aval().dtype == dtypes.float0:
        return x
    return stop_gradient_p.bind(x)


def _checked(result: Any, rule: str, name: str, out: Structure) -> tuple[list[Any], list[Any]]:
    """Leaves of what a user's rule gave."""
    if not isinstance(result, (tuple, list)) or len(result) != 2:
        raise TypeError(
            f"Custom JVP rule {rule} of {name} must produce a pair (primals_out, tangents_out), got {result}."
        )
    primals, tree = pytree.flatten(result[0])
    tangents, tangent_tree = pytree.flatten(result[1])
    if tree != tangent_tree:
        raise TypeError(
            f"custom_jvp: rule {rule} of {name} needs tangents of the tree of its outputs, {tree}, and gave {tangent_tree}."
        )
    if out.tree is not None and out.tree != tree:
        raise TypeError(
            f"custom_jvp: rule {rule} gave outputs that differ from those of {name}: "
            f"{first_difference(out.tree, tree)}."
        )
    out.tree = tree
    values = [as_array(y, rule) for y in primals]
    for y, t, path in zip(values, tangents, pytree.paths(result[0]), strict=True):
        expected = aval_of(y).to_tangent_aval()
        found = t.aval if type(t) is Zero else aval_of(t)
        if (found.shape, found.dtype) != (expected.shape, expected.dtype):
            raise TypeError(
                f"Custom JVP rule must produce primal and tangent outputs that agree: in {rule} of {name}{f', at output{path}' if path else ''} the tangent of "
                f"{aval_of(y).str_short()} needs to be {expected.str_short()}, got {found.str_short()}."
            )
    return values, list(tangents)


def as_tangents(tangents: Sequence[Any]) -> list[Any]:
    """What a rule gave for tangents, with those of no tangent space made symbolic zeros."""
    return [
        t if type(t) is Zero else Zero(a) if (a := aval_of(t)).dtype == dtypes.float0 else t
        for t in tangents
    ]


define_python_call(rules, custom_jvp_call_p)


@rules.define(jvp_rule, custom_jvp_call_p)
def _jvp(
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    jvp_jaxpr_fun: UserRule,
    num_consts: int,
    symbolic_zeros: bool,
    call_jaxpr: Callee,
) -> tuple[Sequence[Any], list[Any]]:
    if any(type(t) is not Zero for t in tangents[:num_consts]):
        raise CustomJVPException(repr(call_jaxpr) if isinstance(call_jaxpr, PythonCall) else "")
    directions = list(tangents[num_consts:])
    if not symbolic_zeros:
        directions = [instantiate(t) for t in directions]
    outs, dots = jvp_jaxpr_fun.run(primals[num_consts:], directions)
    return outs, as_tangents(dots)


@rules.define(batching_rule, custom_jvp_call_p)
def _batching(
    axis: Axis,
    args: Sequence[Any],
    dims: Sequence[int | None],
    *,
    call_jaxpr: Callee,
    jvp_jaxpr_fun: UserRule,
    num_consts: int,
    symbolic_zeros: bool,
) -> tuple[list[Any], list[int | None]]:
    box = OutputDims(axis, dims)

    def call(*values: Any) -> list[Any]:
        return box.place(*batch_flat(lambda *xs: run(call_jaxpr, xs), axis, values, dims))

    def rule(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        own = dims[num_consts:]
        count = len(primals)
        kept = [i for i, t in enumerate(tangents) if type(t) is not Zero]
        silent = [
            None if type(t) is not Zero else unbatched(t, d)
            for t, d in zip(tangents, own, strict=True)
        ]
        zero_out: list[Any] = []

        def both(*xs: Any) -> list[Any]:
            directions: list[Any] = list(silent)
            for i, t in zip(kept, xs[count:], strict=True):
                directions[i] = t
            outs, dots = jvp_jaxpr_fun.run(xs[:count], directions)
            zero_out[:] = [t if type(t) is Zero else None for t in as_tangents(dots)]
            return [*outs, *(t for t, z in zip(dots, zero_out, strict=True) if z is None)]

        values, found = batch_flat(
            both, axis, [*primals, *(tangents[i] for i in kept)], [*own, *(own[i] for i in kept)]
        )
        size = len(zero_out)
        outs = box.place(values[:size], found[:size], found[size:])
        given = iter(zip(values[size:], found[size:], strict=True))
        return outs, [
            batched_zero(z, axis, d) if z is not None else box.placed(*next(given), d)
            for z, d in zip(zero_out, box.dims, strict=True)
        ]

    outs = custom_jvp_call_p.bind(
        *args,
        call_jaxpr=PythonCall(call, f"vmap({name_of_callee(call_jaxpr)})"),
        jvp_jaxpr_fun=UserRule(rule, f"vmap({jvp_jaxpr_fun})"),
        num_consts=num_consts,
        symbolic_zeros=symbolic_zeros,
    )
    return outs, list(box.dims)


class OutputDims:
    """Where the batch axes of a call's results are: settled by whichever of its functions runs first.

    All results have one, unless neither an operand nor anything that the function closes over has.
    """

    __slots__ = ("_axis", "_settled", "_shared", "dims")

    def __init__(self, axis: Axis, operand_dims: Sequence[int | None]) -> None:
        self._axis = axis
        self._shared = all(d is None for d in operand_dims)
        self._settled = False
        self.dims: list[int | None] = []

    def place(
        self,
        values: Sequence[Any],
        dims: Sequence[int | None],
        further: Sequence[int | None] = (),
    ) -> list[Any]:
        """The values with their batch axes where they were settled to be.

        Args:
            values: results.
            dims: where their batch axes are.
            further: where those of their tangents are.
        """
        if not self._settled:
            self._settled = True
            none = self._shared and all(d is None for d in (*dims, *further))
            self.dims = [None if none else d or 0 for d in dims]
        return [self.placed(y, d, to) for y, d, to in zip(values, dims, self.dims, strict=True)]

    def placed(self, value: Any, dim: int | None, target: int | None) -> Any:
        """A value, or its tangent, with its batch axis at ``target``."""
        if target is not None:
            return materialize(value, dim, self._axis, target)
        if dim is None:
            return value
        raise ValueError(
            "a rule of a function with a custom derivative depends on a value with a batch axis that it closes over, and the "
            "function itself does not. Pass the value as an argument."
        )


def unbatched(zero: Zero, dim: int | None) -> Zero:
    """A symbolic zero of one instance."""
    if dim is None:
        return zero
    return Zero(without_axis(zero.aval, dim))


def batched_zero(zero: Zero, axis: Axis, dim: int | None) -> Zero:
    """A symbolic zero of all instances."""
    if dim is None:
        return zero
    return Zero(with_axis(zero.aval, dim, axis.size, axis.cut))


def name_of_callee(callee: Callee) -> str:
    """The name of the function that a call stands for."""
    return callee.name if isinstance(callee, PythonCall) else callee.jaxpr.debug_name


@rules.define(dce_rule, custom_jvp_call_p)
def _dce(used: Sequence[bool], eqn: JaxprEqn) -> tuple[Sequence[bool], JaxprEqn]:
    rule: UserRule = eqn.params["jvp_jaxpr_fun"]

    def pruned(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        outs, dots = rule.run(primals, tangents)
        return (
            [y for y, u in zip(outs, used, strict=True) if u],
            [t for t, u in zip(dots, used, strict=True) if u],
        )

    params = {
        **eqn.params,
        "call_jaxpr": prune_outputs(eqn.params["call_jaxpr"], tuple(used)),
        "jvp_jaxpr_fun": UserRule(pruned, rule.name),
    }
    outvars = [v for v, u in zip(eqn.outvars, used, strict=True) if u]
    return [True] * len(eqn.invars), eqn.replace(outvars=outvars, params=params)
