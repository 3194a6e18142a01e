"""Calls, loops and branches: programs of buffers in place of programs of dense arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plugjax import lax
from plugjax.experimental.sparse.spvalues import (
    SparsifyEnv,
    SparsifyValue,
    arrays_to_spvalues,
    spvalues_to_arrays,
)
from plugjax.experimental.sparse.transform import sparse_bcoo_rule, sparse_bcsr_rule, sparsified
from plugjax.extend import pytree
from plugjax.extend.calls import jit_p
from plugjax.extend.core import ClosedJaxpr, aval_of
from plugjax.extend.rules import RuleSet

rules = RuleSet(__name__)


def _results(spenv: SparsifyEnv, tree: Any, outs: Sequence[Any]) -> list[SparsifyValue]:
    found: list[SparsifyValue] = arrays_to_spvalues(spenv, pytree.unflatten(tree, outs))
    return found


def _check_same(who: str, wanted: Any, avals: Sequence[Any], found: Any, others: Any) -> None:
    """Whether results have the layout that they must have."""
    if wanted != found:
        raise TypeError(
            f"{who} must have the same type structure, got {found} instead of {wanted}: sparse arrays keep their layout. Use "
            "sum_duplicates(nse=...) or update_layout."
        )
    for a, b in zip(avals, others, strict=True):
        if (a.shape, a.dtype) != (b.shape, b.dtype):
            raise TypeError(
                f"{who} must have identical types, got a buffer {b.str_short()} instead of {a.str_short()}: sparse arrays "
                "keep their number of stored elements. Use sum_duplicates(nse=...)."
            )


@rules.define(sparse_bcoo_rule, jit_p)
@rules.define(sparse_bcsr_rule, jit_p)
def _jit(
    spenv: SparsifyEnv, *spvalues: SparsifyValue, jaxpr: ClosedJaxpr, name: str
) -> Sequence[SparsifyValue]:
    program, leaves, tree = sparsified(jaxpr, spvalues_to_arrays(spenv, list(spvalues)))
    return _results(spenv, tree, jit_p.bind(*leaves, jaxpr=program, name=f"sparsify({name})"))


@rules.define(sparse_bcoo_rule, lax.cond_p)
@rules.define(sparse_bcsr_rule, lax.cond_p)
def _cond(
    spenv: SparsifyEnv,
    index: SparsifyValue,
    *operands: SparsifyValue,
    branches: tuple[ClosedJaxpr, ...],
    **params: Any,
) -> Sequence[SparsifyValue]:
    arrays = spvalues_to_arrays(spenv, list(operands))
    derived = [sparsified(branch, arrays) for branch in branches]
    program, leaves, tree = derived[0]
    for other, _, other_tree in derived[1:]:
        _check_same(
            "cond: sparsified outputs of branches",
            tree,
            program.out_avals,
            other_tree,
            other.out_avals,
        )
    programs = tuple(each[0] for each in derived)
    outs = lax.cond_p.bind(spenv.data(index), *leaves, branches=programs, **params)
    return _results(spenv, tree, outs)


@rules.define(sparse_bcoo_rule, lax.while_p)
@rules.define(sparse_bcsr_rule, lax.while_p)
def _while(
    spenv: SparsifyEnv,
    *spvalues: SparsifyValue,
    cond_jaxpr: ClosedJaxpr,
    body_jaxpr: ClosedJaxpr,
    cond_nconsts: int,
    body_nconsts: int,
    **params: Any,
) -> Sequence[SparsifyValue]:
    arrays = spvalues_to_arrays(spenv, list(spvalues))
    split = cond_nconsts + body_nconsts
    cond_consts, consts, init = arrays[:cond_nconsts], arrays[cond_nconsts:split], arrays[split:]
    test, _, _ = sparsified(cond_jaxpr, [*cond_consts, *init])
    body, _, tree = sparsified(body_jaxpr, [*consts, *init])
    first, wanted = pytree.flatten(list(init))
    _check_same(
        "while_loop: sparsified body and carry",
        wanted,
        [aval_of(x) for x in first],
        tree,
        body.out_avals,
    )
    given, constants = pytree.leaves(list(cond_consts)), pytree.leaves(list(consts))
    outs = lax.while_p.bind(
        *given,
        *constants,
        *first,
        cond_jaxpr=test,
        body_jaxpr=body,
        cond_nconsts=len(given),
        body_nconsts=len(constants),
        **params,
    )
    return _results(spenv, tree, outs)


@rules.define(sparse_bcoo_rule, lax.scan_p)
@rules.define(sparse_bcsr_rule, lax.scan_p)
def _scan(
    spenv: SparsifyEnv,
    *spvalues: SparsifyValue,
    jaxpr: ClosedJaxpr,
    num_consts: int,
    num_carry: int,
    **params: Any,
) -> Sequence[SparsifyValue]:
    stop = num_consts + num_carry
    if any(v.is_sparse() for v in spvalues[stop:]):
        raise NotImplementedError(
            "sparse rule for scan with x values that are sparse. Loop over their dense buffers instead."
        )
    arrays = spvalues_to_arrays(spenv, list(spvalues))
    consts, carry, xs = arrays[:num_consts], arrays[num_consts:stop], arrays[stop:]
    rows = [aval_of(x).update(shape=aval_of(x).shape[1:]) for x in xs]
    program, _, tree = sparsified(jaxpr, [*consts, *carry, *rows])
    before, wanted = pytree.flatten(list(carry))
    kinds = pytree.unflatten(tree, list(range(len(program.out_avals))))
    _check_same(
        "scan: sparsified carry",
        wanted,
        [aval_of(x) for x in before],
        pytree.structure(kinds[:num_carry]),
        program.out_avals[: len(before)],
    )
    if any(not isinstance(y, int) for y in kinds[num_carry:]):
        raise NotImplementedError(
            "sparse rule for scan with outputs that are sparse. Use sparse.todense() in the body."
        )
    constants = pytree.leaves(list(consts))
    outs = lax.scan_p.bind(
        *constants,
        *before,
        *xs,
        jaxpr=program,
        num_consts=len(constants),
        num_carry=len(before),
        **params,
    )
    return _results(spenv, tree, outs)
