"""Vectorization: one program for a whole axis of inputs.

Every value is an array and the place of its batch axis, or an array without one. A primitive's rule computes all
instances at once and says where the batch axis of the result is. Invariant: a tracer of this trace has a batch axis; a
value without one is no tracer, and operations on such values alone are done by the parent, once, unless they work along
the axis by its name, or run a function of the user's, which may close over tracers.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, ParamSpec, Protocol, TypeVar

import numpy as np

from plugjax.core import pytree, registry
from plugjax.core.array import Array, as_array, aval_of
from plugjax.core.aval import ShapedArray
from plugjax.core.jaxpr import ClosedJaxpr, eval_closed, memoise
from plugjax.core.primitive import Primitive, Trace, Tracer, state
from plugjax.core.rules import RuleKind
from plugjax.meshes.types import (
    cut_along,
    kept_types,
    result_types,
    retyped,
    spreads_among,
    with_axis,
    without_axis,
)
from plugjax.transforms.argument_names import argument_names, function_place, positional_names
from plugjax.transforms.axes import broadcast_axis, moveaxis
from plugjax.transforms.batch_steps import BatchStep
from plugjax.transforms.callables import check_callable
from plugjax.transforms.discharge import has_pure_form, is_reference, with_values
from plugjax.transforms.ending import ends_trace
from plugjax.transforms.flat_calls import Structure, named_after
from plugjax.transforms.high_values import HighType, MappingSpec
from plugjax.transforms.mapped_classes import instances, joined, mapped_classes
from plugjax.transforms.named_axes import Axis as Axis, uses_axis
from plugjax.transforms.prefixes import broadcast_prefix
from plugjax.transforms.staging import stage
from plugjax.transforms.tracebacks import api_boundary
from plugjax.transforms.tree_differences import prefix_difference
from plugjax.transforms.vmappable import (
    is_spec,
    is_vmappable,
    mappings,
    numbers_of,
    part_of,
    sizes_of,
    taken_out,
    whole_of,
)

_P = ParamSpec("_P")
_R = TypeVar("_R")


class BatchingRule(Protocol):
    """A primitive on all instances along an axis at once."""

    def __call__(
        self,
        axis: Axis,
        args: Sequence[Any],
        dims: Sequence[Any],
        /,
        *rest: Any,
        **params: Any,
    ) -> tuple[Any, Any]:
        """The result and the place of its batch axis, ``None`` without one; a list each if there are several.

        ``dims`` holds the place of the batch axis of each operand, ``None`` for one without; one operand always has it.
        """


batching_rule: RuleKind[BatchingRule] = RuleKind(
    "batching",
    "(axis, args, dims, **params) -> (out, out_dim); axis.size and axis.name describe the batch axis, a dim is None for "
    "an operand without one",
)


class BatchTracer(Tracer):
    """An array with a batch axis, which the user does not see."""

    __slots__ = ("bdim", "val")

    _trace: BatchTrace

    def __init__(self, trace: BatchTrace, val: Any, bdim: int) -> None:
        self._trace = trace
        self.val = val
        self.bdim = bdim
        full = aval_of(val)
        if isinstance(full, HighType):
            self.aval = full.dec_rank(trace.axis.size, bdim)
            return
        if isinstance(full, ShapedArray):
            self.aval = without_axis(full, bdim)
        else:
            shape = full.shape
            self.aval = full.update(shape=shape[:bdim] + shape[bdim + 1 :])

    def __repr__(self) -> str:
        trace = self._trace
        axis = trace.axis if isinstance(trace, BatchTrace) else None
        words = f" of size {axis.size}" if axis is not None else ""
        if axis is not None and axis.name is not None:
            words += f", name {axis.name!r}"
        return f"BatchTracer<{self.aval.str_short()}, batch axis {self.bdim}{words}>: {self.val!r}"


class BatchTrace(Trace):
    """Computes all instances at once.

    Tracers over the same axis object are its own: a rule that runs a function of the user's under a trace of its own meets
    values that the function closes over.
    """

    __slots__ = ("axis", "parent", "rules")

    def __init__(self, parent: Trace, axis: Axis) -> None:
        super().__init__("vmap")
        self.parent = parent
        self.axis = axis
        self.rules = registry.table(batching_rule)

    def process(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Apply the primitive's batching rule, in the parent."""
        values: list[Any] = []
        dims: list[int | None] = []
        batched = False
        for x in args:
            if type(x) is BatchTracer and x._trace.axis is self.axis:
                values.append(x.val)
                dims.append(x.bdim)
                batched = True
            else:
                values.append(x)
                dims.append(None)
        previous = state.trace
        state.trace = self.parent
        try:
            if not batched and not primitive.stateful:
                name = self.axis.name
                plain = name is None and not primitive.structured
                if plain or not uses_axis(name, primitive, params):
                    return self.parent.process(primitive, values, params)
            if primitive.structured and not primitive.stateful:
                marked = [
                    d is not None and is_reference(x) for x, d in zip(values, dims, strict=True)
                ]
                if any(marked) and has_pure_form(primitive):
                    state.trace = self
                    return with_values(primitive, args, params, marked)
            rule = self.rules[primitive]
            if ShapedArray.spreading and not primitive.structured and spreads_among(values):
                out, out_dim = self._typed(rule, primitive, args, values, dims, params)
            else:
                out, out_dim = rule(self.axis, values, dims, **params)
        finally:
            state.trace = previous
        if primitive.multiple_results:
            return [self.wrap(y, d) for y, d in zip(out, out_dim, strict=True)]
        return self.wrap(out, out_dim)

    def _typed(
        self,
        rule: BatchingRule,
        primitive: Primitive,
        args: Sequence[Any],
        values: Sequence[Any],
        dims: Sequence[int | None],
        params: dict[str, Any],
    ) -> tuple[Any, Any]:
        """What a rule gives; instances are spread as one alone, and along the axis as the axis is cut."""
        types = result_types(primitive, [aval_of(x) for x in args], params)
        out, out_dim = kept_types(lambda xs: rule(self.axis, xs, dims, **params), values)
        if not primitive.multiple_results:
            return self._as_type(out, out_dim, types), out_dim
        triples = zip(out, out_dim, types, strict=True)
        return [self._as_type(y, d, aval) for y, d, aval in triples], out_dim

    def _as_type(self, y: Any, bdim: int | None, aval: ShapedArray) -> Any:
        axis = self.axis
        return retyped(y, aval if bdim is None else with_axis(aval, bdim, axis.size, axis.cut))

    def step(self, processing: Mapping[str, Any]) -> BatchStep:
        """The primitive that is being batched, for errors."""
        avals = [aval_of(x) for x in processing["values"]]
        return BatchStep(
            batching_rule,
            self.axis,
            processing["primitive"],
            avals,
            list(processing["dims"]),
            processing["params"],
        )

    def wrap(self, value: Any, bdim: Any) -> Any:
        """A tracer, or the value itself if it has no batch axis."""
        return value if bdim is None else BatchTracer(self, value, bdim)

    def unwrap(self, x: Any) -> tuple[Any, int | None]:
        """Value and batch axis."""
        if type(x) is BatchTracer and x._trace.axis is self.axis:
            return x.val, x.bdim
        return x, None


def materialize(x: Any, bdim: int | None, axis: Axis, destination: int = 0) -> Any:
    """``x`` with its batch axis at ``destination``, repeated along it if it has none."""
    if bdim is None:
        found = broadcast_axis(x, axis.size, destination, aval_of(x).shape)
        if ShapedArray.spreading:
            return retyped(found, with_axis(aval_of(x), destination, axis.size, axis.cut))
        return found
    return moveaxis(x if hasattr(x, "ndim") else as_array(x), bdim, destination)


@ends_trace
def batch_flat(
    function: Callable[..., Sequence[Any]],
    axis: Axis,
    values: Sequence[Any],
    dims: Sequence[int | None],
) -> tuple[list[Any], list[int | None]]:
    """Run a function of flat sequences with batch axes at ``dims``."""
    trace = BatchTrace(state.trace, axis)
    args = [trace.wrap(x, d) for x, d in zip(values, dims, strict=True)]
    previous, axes = state.trace, state.axes
    state.trace = trace
    if axis.name is not None:
        state.axes = (*axes, axis)
    try:
        pairs = [trace.unwrap(y) for y in function(*args)]
    finally:
        state.trace = previous
        state.axes = axes
        trace.finish()
    return [v for v, _ in pairs], [d for _, d in pairs]


def batch_jaxpr(
    jaxpr: ClosedJaxpr,
    axis: Axis,
    in_batched: Sequence[Any],
    force_out: bool | Sequence[bool] = False,
) -> tuple[ClosedJaxpr, list[Any]]:
    """A program for a whole axis, batch axes in front; memoised.

    Args:
        jaxpr: the program.
        axis: the batch axis.
        in_batched: which inputs have it, as axis 0; for a value of a program's own type, how it is spread.
        force_out: which outputs must have it.

    Returns:
        The program and which outputs have the axis, as axis 0 or as it is spread.
    """
    forced = (
        (force_out,) * len(jaxpr.out_avals) if isinstance(force_out, bool) else tuple(force_out)
    )

    def make() -> tuple[ClosedJaxpr, list[Any]]:
        batched_out: list[Any] = []

        def batched(*args: Any) -> list[Any]:
            dims = [leading_dim(b) for b in in_batched]
            outs, out_dims = batch_flat(lambda *xs: eval_closed(jaxpr, *xs), axis, args, dims)
            batched_out[:] = [
                d if isinstance(d, MappingSpec) else f or d is not None
                for f, d in zip(forced, out_dims, strict=True)
            ]
            return [
                materialize(y, d, axis) if b is True else y
                for y, d, b in zip(outs, out_dims, batched_out, strict=True)
            ]

        avals = [
            a.inc_rank(axis.size, b)
            if isinstance(a, HighType) and b
            else (
                with_axis(a, 0, axis.size, axis.cut)
                if isinstance(a, ShapedArray)
                else a.update(shape=(axis.size, *a.shape))
            )
            if b
            else a
            for a, b in zip(jaxpr.in_avals, in_batched, strict=True)
        ]
        return stage(batched, avals, f"vmap({jaxpr.jaxpr.debug_name})"), batched_out

    key = ("batch", axis, tuple(in_batched), forced)
    found: tuple[ClosedJaxpr, list[Any]] = memoise(jaxpr, key, make)
    return found


def leading_dim(batched: Any) -> Any:
    """Where the axis is in a value of a program from :func:`batch_jaxpr`: in front, nowhere, or as it is spread."""
    return batched if isinstance(batched, MappingSpec) else 0 if batched else None


def vmap(
    fun: Callable[_P, _R],
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_name: Hashable = None,
    axis_size: int | None = None,
    spmd_axis_name: Hashable = None,
) -> Callable[_P, _R]:
    """Map a function over an axis of its arguments, all instances at once.

    Args:
        fun: the function of one instance.
        in_axes: which axis of each positional argument to map over: an int, ``None`` for all instances sharing the
            argument (it reaches ``fun`` as it is, and may be no array), or a tuple of them, or of pytree prefixes of the
            arguments. Keyword arguments map over axis 0.
        out_axes: where the axis goes in each output: an int, or a pytree prefix of the output.
        axis_name: name of the axis, for collectives.
        axis_size: size of the axis, needed only if no argument has it.
        spmd_axis_name: axis of a mesh, or a tuple of them, along which the instances are spread where the function says how its
            values are spread.

    Returns:
        The vectorized function.

    Raises:
        TypeError: ``in_axes`` has another type than int, None, tuple or list.
        ValueError: sizes differ between arguments, an axis is out of range, or nothing is mapped.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> plugjax.vmap(lambda x, y: x * y, in_axes=(0, None))(jnp.arange(3), 2)
        Array([0, 2, 4], dtype=int32)
    """
    check_callable("vmap", fun)
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)
    if not (in_axes is None or isinstance(in_axes, tuple) or _is_axis(in_axes)):
        raise TypeError(
            f"vmap: in_axes must be an int, None, or a tuple with one entry for each positional argument; got {in_axes}."
        )
    if not all(_is_axis(leaf) for leaf in pytree.leaves(in_axes, is_leaf=lambda x: x is None)):
        raise TypeError(
            f"vmap: an entry of in_axes holds nothing but ints and None, got {in_axes}."
        )
    if not all(_is_axis(leaf) for leaf in pytree.leaves(out_axes, is_leaf=lambda x: x is None)):
        raise TypeError(f"vmap: out_axes holds nothing but ints and None, got {out_axes}.")
    try:
        hash(axis_name)
    except TypeError:
        raise TypeError(
            f"vmap: axis_name needs a hash, to be found by; got {axis_name!r} of type {type(axis_name)}. Use a string."
        ) from None
    name = getattr(fun, "__name__", repr(fun))
    spread = spmd_axis_name if isinstance(spmd_axis_name, tuple) else (spmd_axis_name,)
    if spmd_axis_name is None:
        spread = ()

    @api_boundary
    def vectorized(*args: Any, **kwargs: Any) -> Any:
        if isinstance(in_axes, tuple) and len(in_axes) != len(args):
            raise ValueError(
                f"vmap of {name}: in_axes must be an int, None, or a tuple of one entry for each positional argument, got {len(in_axes)=}, {len(args)=}."
            )
        is_leaf = is_vmappable if mappings else None
        leaves, in_tree = pytree.flatten((args, kwargs), is_leaf)
        words = _Words(fun, in_tree)
        axes = _flat_axes(fun, in_axes, args, kwargs, is_leaf)
        specs = taken_out(leaves, axes) if mappings else {}
        if mapped_classes:
            in_tree = pytree.structure(instances((args, kwargs), axes), is_leaf)
        # What is not mapped reaches the function as it is: it may be a static argument of an inner jit, or no array at all.
        values = [
            x if d is None or type(x) is Array else as_array(x, "vmap")
            for x, d in zip(leaves, axes, strict=True)
        ]
        dims: list[Any] = [
            d if d is None or isinstance(d, MappingSpec) else _in_range(d, aval_of(x), words, i)
            for i, (x, d) in enumerate(zip(values, axes, strict=True))
        ]
        numbers = numbers_of(axis_size)
        given = axis_size if numbers is None else aval_of(numbers).shape[0]
        size = _axis_size(words, values, dims, given, sizes_of(leaves, specs))
        axis = Axis(size, axis_name, spread, cut=_cut(values, dims))
        out = Structure()

        def targets() -> list[Any]:
            result_tree = pytree.unflatten(out.tree, [0] * out.tree.num_leaves)
            try:
                return broadcast_prefix(out_axes, result_tree, is_leaf=lambda x: x is None)
            except ValueError:
                raise ValueError(
                    f"vmap: out_axes must be a tree prefix of the result of {name}, {prefix_difference(out_axes, out.tree)}. Give "
                    "an int or None for each leaf, or for a part of the tree."
                ) from None

        def flat(*xs: Any) -> list[Any]:
            if specs:
                xs = _opened(xs, specs, axis, numbers)
            flat_args, flat_kwargs = pytree.unflatten(in_tree, xs)
            outs, out.tree = pytree.flatten(fun(*flat_args, **flat_kwargs), is_leaf)
            if is_leaf is not None and any(map(is_leaf, outs)):
                whole = whole_of(lambda y, target: _to_out_axis(*_unwrapped(y), target, axis))
                asked = size if axis_size is None else axis_size
                return [
                    whole(asked, y, d) if is_vmappable(y) else y
                    for y, d in zip(outs, targets(), strict=True)
                ]
            return outs

        outs, out_dims = batch_flat(flat, axis, values, dims)
        wanted = targets()
        moved = [
            _to_out_axis(y, d, target, axis)
            for y, d, target in zip(outs, out_dims, wanted, strict=True)
        ]
        result = pytree.unflatten(out.tree, moved)
        return joined(result, wanted, axis.size) if mapped_classes else result

    return named_after(fun, vectorized, getattr(fun, "__doc__", None), name)


def _cut(values: Sequence[Any], dims: Sequence[Any]) -> Any:
    """How types say that the mapped axis is cut; arguments that say nothing follow the others."""
    if not ShapedArray.spreading:
        return None
    cuts = [cut_along(x.aval, d) for x, d in zip(values, dims, strict=True) if type(d) is int]
    found = {cut for cut in cuts if cut is not None}
    if len(found) > 1:
        raise ValueError(
            f"vmap: mapped axes are sharded differently: {', '.join(str(cut.spec[0]) for cut in found)}. Reshard an argument."
        )
    return found.pop() if found else None


def _is_axis(leaf: Any) -> bool:
    return (
        leaf is None
        or isinstance(leaf, MappingSpec)
        or (isinstance(leaf, int) and not isinstance(leaf, bool))
        or is_spec(leaf)
    )


def _unwrapped(x: Any) -> tuple[Any, Any]:
    """Value and batch axis of what a function under the current trace gives."""
    trace = state.trace
    assert isinstance(trace, BatchTrace)
    return trace.unwrap(x)


def _opened(
    xs: Sequence[Any], specs: Mapping[int, Any], axis: Axis, numbers: Any
) -> tuple[Any, ...]:
    """Arguments as one instance sees them, with those at ``specs`` mapped as their classes say."""
    trace = state.trace
    assert isinstance(trace, BatchTrace)

    def mapped(x: Any, spec: Any) -> Any:
        if spec is None:
            return x
        array = as_array(x, "vmap")
        ndim = aval_of(array).ndim
        if not isinstance(spec, MappingSpec) and not -ndim <= spec < ndim:
            raise ValueError(f"vmap: an array of rank {ndim} has no axis {spec} to map.")
        if isinstance(spec, MappingSpec):
            return trace.wrap(array, spec)
        if (size := aval_of(array).shape[spec]) != axis.size:
            raise ValueError(
                f"vmap: a part of an argument has size {size} along axis {spec}, the mapped axis has {axis.size}."
            )
        return trace.wrap(array, spec % ndim)

    def index() -> Any:
        found = np.arange(axis.size, dtype=np.int32) if numbers is None else numbers
        return trace.wrap(as_array(found, "vmap"), 0)

    part = part_of(mapped, index)
    state.trace = trace.parent
    try:
        return tuple(part(x, specs[i]) if i in specs else x for i, x in enumerate(xs))
    finally:
        state.trace = trace


class _Words:
    """A function and the names of its arguments, for messages."""

    __slots__ = ("fun", "in_tree")

    def __init__(self, fun: Callable[..., Any], in_tree: Any) -> None:
        self.fun = fun
        self.in_tree = in_tree

    def place(self) -> str:
        return function_place(self.fun)

    def names(self) -> list[str]:
        return argument_names(self.fun, self.in_tree)


def _flat_axes(
    fun: Callable[..., Any],
    in_axes: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    is_leaf: Callable[[Any], bool] | None,
) -> list[Any]:
    if _is_axis(in_axes):
        axes: list[Any] = [in_axes] * len(pytree.leaves(args, is_leaf))
    else:
        axes = []
        for i, (spec, arg) in enumerate(zip(in_axes, args, strict=True)):
            if _is_axis(spec):
                axes.extend([spec] * len(pytree.leaves(arg, is_leaf)))
                continue
            if is_leaf is not None:
                arg = pytree.tree_map(lambda _: 0, arg, is_leaf=is_leaf)
            try:
                axes.extend(broadcast_prefix(spec, arg, is_leaf=lambda x: x is None))
            except ValueError:
                (name,) = positional_names(fun, [i], [pytree.structure(0)])
                raise ValueError(
                    f"vmap: in_axes[{i}] must be a tree prefix of argument `{name}` of {function_place(fun)}, "
                    f"{prefix_difference(spec, pytree.structure(arg))}. Give an int or None for each leaf, or for a part of "
                    "the tree."
                ) from None
    axes.extend([0] * len(pytree.leaves(kwargs, is_leaf)))
    return axes


def _in_range(axis: int, aval: ShapedArray, words: _Words, leaf: int) -> int:
    ndim = aval.ndim
    if not -ndim <= axis < ndim:
        raise ValueError(
            f"vmap was requested to map its argument `{words.names()[leaf]}` along axis {axis}, which needs rank {axis + 1 if axis >= 0 else -axis} or more; "
            f"got rank {ndim} (shape {aval.shape}) in {words.place()}."
        )
    return axis % ndim


def _axis_size(
    words: _Words,
    values: list[Any],
    dims: list[int | None],
    given: int | None,
    others: Sequence[int],
) -> int:
    sizes = [
        v.aval.shape[d] if isinstance(d, int) else None for v, d in zip(values, dims, strict=True)
    ]
    found: set[int] = {s for s in sizes if s is not None} | set(others)
    if given is not None:
        if not isinstance(given, (int, np.integer)):
            raise ValueError(f"vmap of {words.place()}: axis_size is an integer, got {given!r}.")
        found.add(int(given))
    if len(found) == 1:
        return found.pop()
    if not found:
        raise ValueError(
            f"vmap of {words.place()} has nothing to map: there must be at least one argument with a non-None value in in_axes, or axis_size must be specified."
        )
    described = "\n".join(
        f"  * axis {d} of argument `{path}`, {v.aval.str_short()}, has size {s}"
        for path, v, d, s in zip(words.names(), values, dims, sizes, strict=True)
        if s is not None
    )
    raise ValueError(
        f"vmap got inconsistent sizes for the mapped axes of {words.place()}:\n{described}"
        + "".join(f"\n  * another argument has size {s}" for s in others)
        + (f"\n  * axis_size is {given}" if given is not None else "")
    )


def _to_out_axis(y: Any, bdim: Any, target: Any, axis: Axis) -> Any:
    if is_vmappable(y):
        return y  # All instances already.
    if isinstance(bdim, MappingSpec) or isinstance(target, MappingSpec):
        if bdim != target:
            raise ValueError(
                f"vmap: out_axes is {target} for a result that is mapped by {bdim}. Give {bdim}."
            )
        return y
    ndim = aval_of(y).ndim + (bdim is None)
    if target is None:
        if bdim is not None:
            raise ValueError(
                "vmap: out_axes is None, but output was batched: it depends on a mapped argument. Give the place of its batch axis."
            )
        return y
    if not -ndim <= target < ndim:
        raise ValueError(
            f"vmap: a result of rank {ndim} has no place for axis {target} of out_axes."
        )
    return materialize(y, bdim, axis, target % ndim)
