"""Functions with a batching rule of the user's own.

``vmap`` asks the rule, which is given all instances at once. Forward mode differentiates the rule along with the function,
so the rule counts under ``vmap(jvp)`` too; where tangents have a batch axis that their primals lack (or the other way
round), the derivative of the rule is itself mapped over it. Reverse mode differentiates the function, whose operations
are then batched as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from plugjax.calls.custom_jvp import as_tangents, name_of_callee
from plugjax.calls.python_calls import (
    Callee,
    CustomFunction,
    P,
    PythonCall,
    R,
    UserRule,
    define_python_call,
    name_of,
    run,
)
from plugjax.core import pytree
from plugjax.core.array import as_array, aval_of
from plugjax.core.aval import ShapedArray
from plugjax.core.errors import CustomJVPException
from plugjax.core.primitive import Primitive
from plugjax.core.rules import RuleSet
from plugjax.core.vocabulary import Zero, instantiate
from plugjax.meshes.types import without_axis
from plugjax.transforms.batching import Axis, batch_flat, batching_rule, materialize
from plugjax.transforms.flat_calls import Structure, flat_call
from plugjax.transforms.jvp import jvp_flat, jvp_rule, zero_tangent
from plugjax.transforms.linearize import linearize_on_tape, linearize_rule
from plugjax.transforms.staging import stage
from plugjax.transforms.tracebacks import api_boundary
from plugjax.transforms.tree_differences import first_difference

rules = RuleSet(__name__)

custom_vmap_call_p = Primitive("custom_vmap_call", multiple_results=True, structured=True)

# On flat sequences, a rule is (axis size, batched, values) -> (outs, batched), with batch axes in front.
Flags = Sequence[bool]


class custom_vmap(CustomFunction[P, R]):  # noqa: N801  # JAX's name
    """A function whose ``vmap`` is what :meth:`def_vmap` says.

    Args:
        fun: the function, of positional pytrees.

    Raises:
        AttributeError: when called without a rule.
        TypeError: when called with arguments that cannot be resolved to positions.
        ValueError: the rule's result does not fit.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> from plugjax.custom_batching import custom_vmap
        >>> @custom_vmap
        ... def f(x):
        ...     return x + 1
        >>> @f.def_vmap
        ... def f_rule(axis_size, in_batched, xs):
        ...     return xs * 100, in_batched[0]
        >>> plugjax.vmap(f)(jnp.arange(3))
        Array([  0, 100, 200], dtype=int32)
    """

    def __init__(self, fun: Callable[P, R]) -> None:
        super().__init__(fun)
        self.vmap_rule: Callable[..., tuple[Any, Any]] | None = None

    def def_vmap(self, vmap_rule: Callable[..., tuple[Any, Any]]) -> Callable[..., tuple[Any, Any]]:
        """State how the function is mapped.

        Args:
            vmap_rule: ``(axis size, list of pytrees of flags, *args) -> (out, pytree of flags)``: the flags say which
                arrays have a batch axis, which is axis 0.

        Returns:
            ``vmap_rule``, so that this can be a decorator.
        """
        self.vmap_rule = vmap_rule
        return vmap_rule

    @api_boundary
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the function."""
        name = name_of(self.fun)
        values = self.by_position(args, kwargs, "custom_vmap")
        if self.vmap_rule is None:
            raise AttributeError(f"custom_vmap: {name} has no rule. Give it one with def_vmap.")
        leaves, in_tree = pytree.flatten(values)
        out = Structure()

        def rule(size: int, batched: Flags, xs: Sequence[Any]) -> tuple[list[Any], list[bool]]:
            assert self.vmap_rule is not None
            flags = list(pytree.unflatten(in_tree, batched))
            result = self.vmap_rule(size, flags, *pytree.unflatten(in_tree, xs))
            return _checked(result, name_of(self.vmap_rule), name, out)

        outs = custom_vmap_call_p.bind(
            *[as_array(x, "custom_vmap") for x in leaves],
            call_jaxpr=PythonCall(flat_call(self.fun, in_tree, out, "custom_vmap"), name),
            rule=UserRule(rule, name_of(self.vmap_rule)),
            num_consts=0,
        )
        result: R = pytree.unflatten(out.tree, outs)
        return result


def _checked(result: Any, rule: str, name: str, out: Structure) -> tuple[list[Any], list[bool]]:
    """Leaves of what a user's rule gave."""
    if not isinstance(result, tuple) or len(result) != 2:
        raise TypeError(
            f"custom_vmap: rule {rule} needs to give a pair (outputs, whether each is batched), got {result!r}."
        )
    outs, tree = pytree.flatten(result[0])
    flags, flags_tree = pytree.flatten(result[1])
    if tree != flags_tree:
        raise ValueError(
            f"custom_vmap: rule {rule} needs to say of each output whether it is batched, in a tree like theirs.\n"
            f"Outputs: {tree}\nBatched: {flags_tree}"
        )
    if out.tree is not None and out.tree != tree:
        raise ValueError(
            f"custom_vmap: rule {rule} gave outputs that differ from those of {name}: "
            f"{first_difference(out.tree, tree)}."
        )
    out.tree = tree
    return [as_array(y, rule) for y in outs], [bool(f) for f in flags]


define_python_call(rules, custom_vmap_call_p)


@rules.define(batching_rule, custom_vmap_call_p)
def _batching(
    axis: Axis,
    args: Sequence[Any],
    dims: Sequence[int | None],
    *,
    call_jaxpr: Callee,
    rule: UserRule,
    num_consts: int,
) -> tuple[list[Any], list[int | None]]:
    if all(d is None for d in dims):
        outs = custom_vmap_call_p.bind(
            *args, call_jaxpr=call_jaxpr, rule=rule, num_consts=num_consts
        )
        return outs, [None] * len(outs)
    if any(d is not None for d in dims[:num_consts]):
        raise ValueError(
            f"custom_vmap function {name_of_callee(call_jaxpr)} closes over a value with a batch axis: its rule sees "
            "arguments only, so pass the value as one."
        )
    own, places = args[num_consts:], dims[num_consts:]
    if isinstance(call_jaxpr, PythonCall):
        # Tracing the function tells the structure that the rule's result must have.
        stage(call_jaxpr.run, [_instance(x, d) for x, d in zip(args, dims, strict=True)])
    values = [x if d is None else materialize(x, d, axis) for x, d in zip(own, places, strict=True)]
    outs, flags = rule.run(axis.size, [d is not None for d in places], values)
    return outs, [0 if f else None for f in flags]


def _instance(x: Any, dim: int | None) -> ShapedArray:
    """The aval of one instance."""
    aval = aval_of(x)
    if dim is None:
        return aval
    return without_axis(aval, dim)


@rules.define(linearize_rule, custom_vmap_call_p)
def _linearize(
    primals: Sequence[Any], tangents: Sequence[Any], *, call_jaxpr: Callee, **_: Any
) -> tuple[list[Any], list[Any]]:
    return linearize_on_tape(lambda *xs: run(call_jaxpr, xs), primals, tangents)


@rules.define(jvp_rule, custom_vmap_call_p)
def _jvp(
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    call_jaxpr: Callee,
    rule: UserRule,
    num_consts: int,
) -> tuple[list[Any], list[Any]]:
    count = len(primals)
    kept = [i for i, t in enumerate(tangents) if type(t) is not Zero]
    if kept and kept[0] < num_consts:
        raise CustomJVPException(name_of_callee(call_jaxpr))

    def derivative(*args: Any) -> list[Any]:
        directions: list[Any] = [zero_tangent(x) for x in args[:count]]
        for i, t in zip(kept, args[count:], strict=True):
            directions[i] = t
        outs, dots = jvp_flat(lambda *xs: run(call_jaxpr, xs), args[:count], directions)
        return [*outs, *map(instantiate, dots)]

    def derived(size: int, batched: Flags, values: Sequence[Any]) -> tuple[list[Any], list[bool]]:
        places = [i - num_consts for i in kept]
        return _derivative_of_rule(rule, Axis(size), batched, values, places, count - num_consts)

    results = custom_vmap_call_p.bind(
        *primals,
        *(tangents[i] for i in kept),
        call_jaxpr=PythonCall(derivative, f"jvp({name_of_callee(call_jaxpr)})"),
        rule=UserRule(derived, f"jvp({rule})"),
        num_consts=num_consts,
    )
    half = len(results) // 2
    return results[:half], as_tangents(results[half:])


def _derivative_of_rule(
    rule: UserRule,
    axis: Axis,
    batched: Flags,
    values: Sequence[Any],
    kept: Sequence[int],
    count: int,
) -> tuple[list[Any], list[bool]]:
    """Values and tangents of a rule at primals ``values[:count]``, with tangents for the arguments ``kept``.

    The rule is told of the batch axes that a primal and its tangent share; over all others its derivative is mapped.
    """
    shared = list(batched[:count])
    for i, flag in zip(kept, batched[count:], strict=True):
        shared[i] = shared[i] and flag
    extra = [f and not s for f, s in zip(batched[:count], shared, strict=True)]
    extra += [f and not shared[i] for i, f in zip(kept, batched[count:], strict=True)]
    rule_flags: list[bool] = []

    def ruled(*primals: Any) -> list[Any]:
        outs, flags = rule.run(axis.size, shared, primals)
        rule_flags[:] = flags
        return list(outs)

    def both(*xs: Any) -> list[Any]:
        directions: list[Any] = [zero_tangent(x) for x in xs[:count]]
        for i, t in zip(kept, xs[count:], strict=True):
            directions[i] = t
        outs, dots = jvp_flat(ruled, xs[:count], directions)
        return [*outs, *map(instantiate, dots)]

    found, dims = batch_flat(both, axis, values, [0 if e else None for e in extra])
    moved = [y if d is None else materialize(y, d, axis) for y, d in zip(found, dims, strict=True)]
    flags = [f or d is not None for f, d in zip(rule_flags * 2, dims, strict=True)]
    return moved, flags
