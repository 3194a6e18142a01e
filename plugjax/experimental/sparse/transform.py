"""``sparsify``: a function of dense arrays becomes one of sparse ones.

A sparse value is a tracer of its dense shape; dense values are no tracers. A primitive with a sparse operand is applied by its
rule of the kind ``sparse_bcoo``, or ``sparse_bcsr`` if an operand is a BCSR array, in the parent. Programs inside equations become
programs of the buffers. A primitive without a rule that stands for a program is applied as that program.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from plugjax.experimental.sparse.spvalues import (
    SparsifyEnv,
    SparsifyValue,
    arrays_to_spvalues,
    is_sparse,
    spvalues_to_arrays,
    spvalues_to_avals,
)
from plugjax.extend import pytree, registry
from plugjax.extend.calls import Definitions
from plugjax.extend.core import (
    ClosedJaxpr,
    Primitive,
    Trace,
    Tracer,
    as_array,
    aval_of,
    jaxpr_as_fun,
    memoise,
    state,
)
from plugjax.extend.errors import check_callable
from plugjax.extend.rules import RuleKind, abstract_eval, expand_rule
from plugjax.extend.transforms import Kept, api_boundary, computed, stage
from plugjax.lax import (
    acos_p,
    acosh_p,
    bessel_i0e_p,
    cos_p,
    cosh_p,
    eq_p,
    exp_p,
    ge_p,
    gt_p,
    le_p,
    log_p,
    lt_p,
    ne_p,
    xor_p,
)  # fmt: skip

SparseRule = Callable[..., Sequence[SparsifyValue]]

_FORM = "(spenv, *spvalues, **params) -> sequence of spvalues, one for each result"
sparse_bcoo_rule: RuleKind[SparseRule] = RuleKind("sparse_bcoo", _FORM)
sparse_bcsr_rule: RuleKind[SparseRule] = RuleKind("sparse_bcsr", _FORM)

# JAX's tables of rules by primitive, for programs that define primitives without a plugin.
sparse_rules_bcoo = Definitions(sparse_bcoo_rule)
sparse_rules_bcsr = Definitions(sparse_bcsr_rule)

_DENSIFYING = frozenset({
    acos_p, acosh_p, bessel_i0e_p, cos_p, cosh_p, eq_p, exp_p, ge_p, gt_p, le_p, log_p, lt_p, ne_p, xor_p,
})  # fmt: skip


class SparseTracer(Tracer):
    """A sparse array where a function expects a dense one."""

    __slots__ = ("spvalue",)

    _trace: SparseTrace

    def __init__(self, trace: SparseTrace, spvalue: SparsifyValue) -> None:
        self._trace = trace
        self.aval = spvalues_to_avals(trace.spenv, spvalue)
        self.spvalue = spvalue

    def __repr__(self) -> str:
        return f"SparseTracer({self._trace.array(self)!r})"


class SparseTrace(Trace):
    """Applies primitives to sparse arrays.

    Attributes:
        spenv: the buffers.
    """

    __slots__ = ("avals", "bcoo", "bcsr", "expansions", "parent", "spenv")

    def __init__(self, parent: Trace) -> None:
        super().__init__("sparsify")
        self.parent = parent
        self.spenv = SparsifyEnv()
        self.avals = registry.table(abstract_eval)
        self.bcoo = registry.table(sparse_bcoo_rule)
        self.bcsr = registry.table(sparse_bcsr_rule)
        self.expansions = registry.table(expand_rule)

    def process(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Apply the primitive's rule, in the parent; hand it on if no operand is sparse."""
        own = [x.spvalue if self._owns(x) else None for x in args]
        if not any(own):
            return self._in_parent(lambda: self.parent.process(primitive, args, params))
        # What is wrong with the operands is said of dense arrays first.
        if primitive not in self.expansions:
            self.avals[primitive](*map(aval_of, args), **params)
        table = self.bcsr if any(v is not None and v.is_bcsr() for v in own) else self.bcoo
        rule = table.find(primitive)
        if rule is None and primitive in self.expansions:
            found = self.expansions[primitive](**params)
            outs = computed(found.callee if isinstance(found, Kept) else found, args)
            return outs if primitive.multiple_results else outs[0]
        if rule is None:
            raise NotImplementedError(_missing(primitive))

        def apply() -> list[Any]:
            spvalues = [
                self.spenv.dense(x) if v is None else v for x, v in zip(args, own, strict=True)
            ]
            return [self.wrap(v) for v in rule(self.spenv, *spvalues, **params)]

        outs = self._in_parent(apply)
        return outs if primitive.multiple_results else outs[0]

    def _owns(self, x: Any) -> bool:
        return type(x) is SparseTracer and x._trace is self

    def _in_parent(self, function: Callable[[], Any]) -> Any:
        previous = state.trace
        state.trace = self.parent
        try:
            return function()
        finally:
            state.trace = previous

    def wrap(self, spvalue: SparsifyValue) -> Any:
        """A tracer of a sparse array; a dense one itself."""
        return SparseTracer(self, spvalue) if spvalue.is_sparse() else self.spenv.data(spvalue)

    def array(self, x: Any) -> Any:
        """The sparse array of a tracer; another value itself."""
        return spvalues_to_arrays(self.spenv, x.spvalue) if self._owns(x) else x


def _missing(primitive: Primitive) -> str:
    if primitive in _DENSIFYING:
        return (
            f"sparse rule for {primitive} is not implemented because it would result in dense output. If this is your "
            "intent, use sparse.todense() to convert your arguments to dense arrays."
        )
    return (
        f"sparse rule for {primitive} is not implemented. Use sparse.todense() to convert arguments to dense arrays, or give "
        "the primitive a rule in a plugin."
    )


def sparsify_flat(function: Callable[..., Sequence[Any]], values: Sequence[Any]) -> list[Any]:
    """Run a function of flat sequences on sparse and dense arrays; returns sparse and dense arrays."""
    trace = SparseTrace(state.trace)
    args = [trace.wrap(arrays_to_spvalues(trace.spenv, x)) if is_sparse(x) else x for x in values]
    previous = state.trace
    state.trace = trace
    try:
        outs = function(*args)
    finally:
        state.trace = previous
        trace.finish()
    return [trace.array(y) for y in outs]


def sparsified(
    program: ClosedJaxpr, arrays: Sequence[Any]
) -> tuple[ClosedJaxpr, list[Any], pytree.PyTreeDef]:
    """A program on the buffers of sparse arrays; memoised.

    Args:
        program: the program.
        arrays: its operands, sparse and dense.

    Returns:
        The program, its operands, and the tree of its results: sparse and dense arrays.
    """
    leaves, in_tree = pytree.flatten(list(arrays))
    avals = [aval_of(x) for x in leaves]

    def make() -> tuple[ClosedJaxpr, pytree.PyTreeDef]:
        trees: list[pytree.PyTreeDef] = []

        def run(*buffers: Any) -> list[Any]:
            given = pytree.unflatten(in_tree, buffers)
            outs, tree = pytree.flatten(sparsify_flat(jaxpr_as_fun(program), given))
            trees.append(tree)
            return outs

        derived = stage(run, avals, f"sparsify({program.jaxpr.debug_name})")
        return derived, trees[0]

    key = ("sparsify", in_tree, tuple(avals))
    found: tuple[ClosedJaxpr, pytree.PyTreeDef] = memoise(program, key, make)
    return found[0], leaves, found[1]


def sparsify(f: Callable[..., Any], use_tracer: bool = False) -> Callable[..., Any]:
    """A function of dense arrays as one of sparse arrays too.

    Args:
        f: function of pytrees of arrays; keyword arguments are handed on as they are.
        use_tracer: not used: there is one implementation.

    Returns:
        A function that takes BCOO and BCSR arrays in place of dense ones, and returns them where results are sparse.

    Raises:
        NotImplementedError: a primitive has no rule, since its result would be dense, or for an operand of this layout.

    Differs from JAX:
        Outside of ``jit`` dense values are known: ``if x > 0`` is allowed.
        ``scan`` takes dense ``xs``, and a function with a custom derivative is differentiated as what it computes.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.experimental import sparse
        >>> M = sparse.BCOO.fromdense(jnp.array([[0.0, 2.0], [3.0, 0.0]]))
        >>> sparse.sparsify(lambda m, v: -(jnp.sqrt(m * 8) @ v))(M, jnp.ones(2))
        Array([-4.       , -4.8989797], dtype=float32)
    """
    del use_tracer
    check_callable("sparsify", f)

    @functools.wraps(f)
    @api_boundary
    def wrapped(*args: Any, **params: Any) -> Any:
        leaves, in_tree = pytree.flatten(args, is_sparse)
        values = [x if is_sparse(x) else as_array(x, "sparsify") for x in leaves]
        trees: list[pytree.PyTreeDef] = []

        def flat(*xs: Any) -> list[Any]:
            outs, tree = pytree.flatten(f(*pytree.unflatten(in_tree, xs), **params))
            trees.append(tree)
            return [as_array(y, "sparsify") for y in outs]

        outs = sparsify_flat(flat, values)
        return pytree.unflatten(trees[0], outs)

    return wrapped


__all__ = [
    "SparseTrace",
    "SparseTracer",
    "SparsifyEnv",
    "SparsifyValue",
    "arrays_to_spvalues",
    "sparse_bcoo_rule",
    "sparse_bcsr_rule",
    "sparse_rules_bcoo",
    "sparse_rules_bcsr",
    "sparsify",
    "spvalues_to_arrays",
    "spvalues_to_avals",
]
