"""Products, sums, and operations that change shapes or select parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from plugjax import lax
from plugjax.experimental.sparse.arithmetic import bcoo_conv_general_dilated, bcoo_reduce_sum
from plugjax.experimental.sparse.bcsr import (
    bcsr_broadcast_in_dim,
    bcsr_concatenate,
    bcsr_dot_general,
)
from plugjax.experimental.sparse.functions import bcoo_dot_general, bcoo_transpose
from plugjax.experimental.sparse.reshaping import bcoo_broadcast_in_dim, bcoo_reshape
from plugjax.experimental.sparse.slicing import (
    bcoo_concatenate,
    bcoo_dynamic_slice,
    bcoo_gather,
    bcoo_rev,
    bcoo_slice,
    bcoo_squeeze,
)
from plugjax.experimental.sparse.spvalues import (
    SparsifyEnv,
    SparsifyValue,
    arrays_to_spvalues,
    spvalues_to_arrays,
)
from plugjax.experimental.sparse.transform import (
    SparseRule,
    sparse_bcoo_rule,
    sparse_bcsr_rule,
)
from plugjax.extend.core import aval_of
from plugjax.extend.rules import RuleKind, RuleSet

rules = RuleSet(__name__)


def _on_arrays(
    kind: RuleKind[SparseRule], primitive: Any, operation: Callable[..., Any], *names: str
) -> None:
    """A rule that applies a function of arrays; ``names`` are the parameters that it takes, where the equation has them."""

    @rules.define(kind, primitive)
    def _rule(
        spenv: SparsifyEnv, *spvalues: SparsifyValue, **params: Any
    ) -> Sequence[SparsifyValue]:
        arrays = spvalues_to_arrays(spenv, list(spvalues))
        result = operation(*arrays, **{name: params[name] for name in names if name in params})
        return [arrays_to_spvalues(spenv, result)]


_DOT = ("dimension_numbers", "preferred_element_type")
_BROADCAST = ("shape", "broadcast_dimensions")
_CONVOLUTION = (
    "window_strides", "padding", "lhs_dilation", "rhs_dilation", "dimension_numbers", "feature_group_count",
    "batch_group_count", "precision", "preferred_element_type",
)  # fmt: skip

_on_arrays(sparse_bcoo_rule, lax.dot_general_p, bcoo_dot_general, *_DOT)
_on_arrays(sparse_bcsr_rule, lax.dot_general_p, bcsr_dot_general, *_DOT)
_on_arrays(sparse_bcoo_rule, lax.broadcast_in_dim_p, bcoo_broadcast_in_dim, *_BROADCAST)
_on_arrays(sparse_bcsr_rule, lax.broadcast_in_dim_p, bcsr_broadcast_in_dim, *_BROADCAST)
_on_arrays(
    sparse_bcoo_rule, lax.concatenate_p, lambda *xs, **p: bcoo_concatenate(xs, **p), "dimension"
)
_on_arrays(
    sparse_bcsr_rule, lax.concatenate_p, lambda *xs, **p: bcsr_concatenate(xs, **p), "dimension"
)
_on_arrays(sparse_bcoo_rule, lax.conv_general_dilated_p, bcoo_conv_general_dilated, *_CONVOLUTION)
_on_arrays(
    sparse_bcoo_rule,
    lax.dynamic_slice_p,
    lambda x, *starts, **p: bcoo_dynamic_slice(x, starts, **p),
    "slice_sizes",
)
_on_arrays(sparse_bcoo_rule, lax.reshape_p, bcoo_reshape, "new_sizes", "dimensions")
_on_arrays(sparse_bcoo_rule, lax.rev_p, bcoo_rev, "dimensions")
_on_arrays(sparse_bcoo_rule, lax.slice_p, bcoo_slice, "start_indices", "limit_indices", "strides")
_on_arrays(sparse_bcoo_rule, lax.squeeze_p, bcoo_squeeze, "dimensions")
_on_arrays(
    sparse_bcoo_rule,
    lax.gather_p,
    bcoo_gather,
    *(
        "dimension_numbers",
        "slice_sizes",
        "unique_indices",
        "indices_are_sorted",
        "mode",
        "fill_value",
    ),
)


@rules.define(sparse_bcoo_rule, lax.transpose_p)
def _transpose(
    spenv: SparsifyEnv, x: SparsifyValue, *, permutation: Sequence[int], **_: Any
) -> Sequence[SparsifyValue]:
    """Indices whose axes stay in place are shared."""
    mat = spvalues_to_arrays(spenv, x)
    found = bcoo_transpose(mat, permutation=tuple(permutation))
    stop = mat.n_batch + mat.n_sparse
    same = tuple(permutation[:stop]) == tuple(range(stop))
    where: Any = {"indices_ref": x.indices_ref} if same else {"indices": found.indices}
    return [spenv.sparse(found.shape, found.data, unique_indices=found.unique_indices, **where)]


@rules.define(sparse_bcoo_rule, lax.reduce_sum_p)
def _reduce_sum(
    spenv: SparsifyEnv, x: SparsifyValue, *, axes: Sequence[int], **_: Any
) -> Sequence[SparsifyValue]:
    mat = bcoo_reduce_sum(spvalues_to_arrays(spenv, x), axes=axes)
    if mat.shape:
        return [spenv.sparse(mat.shape, mat.data, mat.indices)]
    total = lax.reduce_sum(mat.data, tuple(range(aval_of(mat.data).ndim)))
    return [spenv.dense(total)]
