"""Sparse arrays: the names of ``jax.experimental.sparse``.

``BCOO`` arrays hold values and coordinates, of batches and with dense axes if need be; ``BCSR`` arrays hold compressed rows. They are
pytrees and work under every transformation; values are differentiable, indices are not. ``sparsify(f)`` is ``f`` for sparse
arguments. Names are loaded on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from plugjax.extend.transforms import public

if TYPE_CHECKING:
    from plugjax.experimental.sparse import linalg as linalg
    from plugjax.experimental.sparse.ad import grad, jacfwd, jacobian, jacrev, value_and_grad
    from plugjax.experimental.sparse.api import empty, eye, todense
    from plugjax.experimental.sparse.arithmetic import (
        bcoo_conv_general_dilated,
        bcoo_multiply_dense,
        bcoo_multiply_sparse,
        bcoo_reduce_sum,
    )
    from plugjax.experimental.sparse.base import JAXSparse
    from plugjax.experimental.sparse.bcoo import BCOO
    from plugjax.experimental.sparse.bcsr import (
        BCSR,
        bcsr_broadcast_in_dim,
        bcsr_concatenate,
        bcsr_dot_general,
        bcsr_extract,
        bcsr_fromdense,
        bcsr_sum_duplicates,
        bcsr_todense,
    )
    from plugjax.experimental.sparse.coo import (
        COO,
        coo_fromdense,
        coo_matmat,
        coo_matvec,
        coo_todense,
    )
    from plugjax.experimental.sparse.csr import (
        CSC,
        CSR,
        csr_fromdense,
        csr_matmat,
        csr_matvec,
        csr_todense,
    )
    from plugjax.experimental.sparse.efficiency import (
        CuSparseEfficiencyWarning,
        SparseEfficiencyError,
        SparseEfficiencyWarning,
    )
    from plugjax.experimental.sparse.functions import (
        bcoo_dot_general,
        bcoo_dot_general_sampled,
        bcoo_eliminate_zeros as bcoo_eliminate_zeros,
        bcoo_extract,
        bcoo_fromdense,
        bcoo_sort_indices,
        bcoo_sum_duplicates,
        bcoo_todense,
        bcoo_transpose,
    )
    from plugjax.experimental.sparse.primitives import (
        bcoo_dot_general_p,
        bcoo_dot_general_sampled_p,
        bcoo_extract_p,
        bcoo_fromdense_p,
        bcoo_sort_indices_p,
        bcoo_spdot_general_p,
        bcoo_sum_duplicates_p,
        bcoo_todense_p,
        bcoo_transpose_p,
        bcsr_dot_general_p,
        bcsr_extract_p,
        bcsr_fromdense_p,
        bcsr_todense_p,
        coo_fromdense_p,
        coo_matmat_p,
        coo_matvec_p,
        coo_todense_p,
        csr_fromdense_p,
        csr_matmat_p,
        csr_matvec_p,
        csr_todense_p,
        todense_p,
    )
    from plugjax.experimental.sparse.random import random_bcoo
    from plugjax.experimental.sparse.reshaping import (
        bcoo_broadcast_in_dim,
        bcoo_reshape,
        bcoo_update_layout,
    )
    from plugjax.experimental.sparse.slicing import (
        bcoo_concatenate,
        bcoo_dynamic_slice,
        bcoo_gather,
        bcoo_rev,
        bcoo_slice,
        bcoo_squeeze,
    )
    from plugjax.experimental.sparse.transform import SparseTracer, sparsify

_NAMES = {
    "ad": "grad jacfwd jacobian jacrev value_and_grad",
    "api": "empty eye todense",
    "arithmetic": "bcoo_conv_general_dilated bcoo_multiply_dense bcoo_multiply_sparse bcoo_reduce_sum",
    "base": "JAXSparse",
    "bcoo": "BCOO",
    "bcsr": (
        "BCSR bcsr_broadcast_in_dim bcsr_concatenate bcsr_dot_general bcsr_extract bcsr_fromdense bcsr_sum_duplicates "
        "bcsr_todense"
    ),
    "coo": "COO coo_fromdense coo_matmat coo_matvec coo_todense",
    "csr": "CSC CSR csr_fromdense csr_matmat csr_matvec csr_todense",
    "efficiency": "CuSparseEfficiencyWarning SparseEfficiencyError SparseEfficiencyWarning",
    "functions": (
        "bcoo_dot_general bcoo_dot_general_sampled bcoo_eliminate_zeros bcoo_extract bcoo_fromdense bcoo_sort_indices "
        "bcoo_sum_duplicates bcoo_todense bcoo_transpose"
    ),
    "primitives": (
        "bcoo_dot_general_p bcoo_dot_general_sampled_p bcoo_extract_p bcoo_fromdense_p bcoo_sort_indices_p "
        "bcoo_spdot_general_p bcoo_sum_duplicates_p bcoo_todense_p bcoo_transpose_p bcsr_dot_general_p bcsr_extract_p "
        "bcsr_fromdense_p bcsr_todense_p coo_fromdense_p coo_matmat_p coo_matvec_p coo_todense_p csr_fromdense_p "
        "csr_matmat_p csr_matvec_p csr_todense_p todense_p"
    ),
    "random": "random_bcoo",
    "reshaping": "bcoo_broadcast_in_dim bcoo_reshape bcoo_update_layout",
    "slicing": "bcoo_concatenate bcoo_dynamic_slice bcoo_gather bcoo_rev bcoo_slice bcoo_squeeze",
    "transform": "SparseTracer sparsify",
}
_LATE = {name: module for module, names in _NAMES.items() for name in names.split()}
_SUBMODULES = ("linalg", "operators", "transform")
if TYPE_CHECKING:
    from plugjax.experimental.sparse import (
        linalg as linalg,
        operators as operators,
        transform as transform,
    )


if not TYPE_CHECKING:
    # Type checkers report names that do not exist.

    def __getattr__(name: str) -> Any:
        if name in _SUBMODULES:
            return importlib.import_module(f"{__name__}.{name}")
        if name not in _LATE:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = getattr(importlib.import_module(f"{__name__}.{_LATE[name]}"), name)
        globals()[name] = found = public(found, __name__, name)
        return found


def __dir__() -> list[str]:
    return sorted({*__all__, *_LATE, *_SUBMODULES})


__all__ = [
    "BCOO",
    "BCSR",
    "COO",
    "CSC",
    "CSR",
    "CuSparseEfficiencyWarning",
    "JAXSparse",
    "SparseEfficiencyError",
    "SparseEfficiencyWarning",
    "SparseTracer",
    "bcoo_broadcast_in_dim",
    "bcoo_concatenate",
    "bcoo_conv_general_dilated",
    "bcoo_dot_general",
    "bcoo_dot_general_p",
    "bcoo_dot_general_sampled",
    "bcoo_dot_general_sampled_p",
    "bcoo_dynamic_slice",
    "bcoo_extract",
    "bcoo_extract_p",
    "bcoo_fromdense",
    "bcoo_fromdense_p",
    "bcoo_gather",
    "bcoo_multiply_dense",
    "bcoo_multiply_sparse",
    "bcoo_reduce_sum",
    "bcoo_reshape",
    "bcoo_rev",
    "bcoo_slice",
    "bcoo_sort_indices",
    "bcoo_sort_indices_p",
    "bcoo_spdot_general_p",
    "bcoo_squeeze",
    "bcoo_sum_duplicates",
    "bcoo_sum_duplicates_p",
    "bcoo_todense",
    "bcoo_todense_p",
    "bcoo_transpose",
    "bcoo_transpose_p",
    "bcoo_update_layout",
    "bcsr_broadcast_in_dim",
    "bcsr_concatenate",
    "bcsr_dot_general",
    "bcsr_dot_general_p",
    "bcsr_extract",
    "bcsr_extract_p",
    "bcsr_fromdense",
    "bcsr_fromdense_p",
    "bcsr_sum_duplicates",
    "bcsr_todense",
    "bcsr_todense_p",
    "coo_fromdense",
    "coo_fromdense_p",
    "coo_matmat",
    "coo_matmat_p",
    "coo_matvec",
    "coo_matvec_p",
    "coo_todense",
    "coo_todense_p",
    "csr_fromdense",
    "csr_fromdense_p",
    "csr_matmat",
    "csr_matmat_p",
    "csr_matvec",
    "csr_matvec_p",
    "csr_todense",
    "csr_todense_p",
    "empty",
    "eye",
    "grad",
    "jacfwd",
    "jacobian",
    "jacrev",
    "linalg",
    "random_bcoo",
    "sparsify",
    "todense",
    "todense_p",
    "value_and_grad",
]
