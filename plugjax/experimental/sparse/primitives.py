"""Primitives of sparse operations: each stands for a few operations of ``lax``, which give it derivatives, batching and code.

A transformation may have a rule for one, as :func:`~plugjax.experimental.sparse.sparsify` has for ``todense``, and a program
shows it as one equation. What a primitive stands for is in the module of its family, which is imported on first use. ``bind``
takes the buffers and gives a list of buffers.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Sequence
from typing import Any

from plugjax.extend.core import Primitive, ShapedArray, config, new_cache
from plugjax.extend.rules import RuleSet, abstract_eval
from plugjax.extend.transforms import stage
from plugjax.lax.compound import compound, new_compound

rules = RuleSet(__name__)

# Avals of results, by primitive, avals of operands, and parameters.
_avals = new_cache()


def _define(name: str, module: str, function: str) -> Primitive:
    """A primitive that stands for ``function(*buffers, **params) -> sequence of buffers``, which raises where they do not fit."""
    primitive = new_compound(name)

    @functools.cache
    def found() -> Any:
        return getattr(importlib.import_module(f"plugjax.experimental.sparse.{module}"), function)

    def program(*buffers: Any, **params: Any) -> Sequence[Any]:
        results: Sequence[Any] = found()(*buffers, **params)
        return results

    @rules.define(abstract_eval, primitive)
    def _abstract(*avals: ShapedArray, **params: Any) -> list[ShapedArray]:
        key = (primitive, config.fingerprint, *avals, *params.items())
        known = _avals.get(key)
        if known is None:
            staged = stage(lambda *xs: list(program(*xs, **params)), avals, name)
            known = _avals[key] = staged.out_avals
        return list(known)

    compound(rules, primitive, program)
    return primitive


bcoo_todense_p = _define("bcoo_todense", "dense", "todense_buffers")
bcoo_fromdense_p = _define("bcoo_fromdense", "dense", "fromdense_buffers")
bcoo_extract_p = _define("bcoo_extract", "dense", "extract_buffers")
bcoo_transpose_p = _define("bcoo_transpose", "transposition", "transpose_buffers")
bcoo_sort_indices_p = _define("bcoo_sort_indices", "order", "sort_buffers")
bcoo_sum_duplicates_p = _define("bcoo_sum_duplicates", "order", "sum_duplicates_buffers")
bcoo_dot_general_p = _define("bcoo_dot_general", "dot", "dot_general_buffers")
bcoo_dot_general_sampled_p = _define("bcoo_dot_general_sampled", "sampled", "sampled_buffers")
bcoo_spdot_general_p = _define("bcoo_spdot_general", "sparse_dot", "spdot_general_buffers")
bcsr_todense_p = _define("bcsr_todense", "bcsr_buffers", "todense_buffers")
bcsr_fromdense_p = _define("bcsr_fromdense", "bcsr_buffers", "fromdense_buffers")
bcsr_extract_p = _define("bcsr_extract", "bcsr_buffers", "extract_buffers")
bcsr_dot_general_p = _define("bcsr_dot_general", "bcsr_buffers", "dot_general_buffers")
coo_todense_p = _define("coo_todense", "matrices", "coo_todense_buffers")
coo_fromdense_p = _define("coo_fromdense", "matrices", "coo_fromdense_buffers")
coo_matvec_p = _define("coo_matvec", "matrices", "coo_product_buffers")
coo_matmat_p = _define("coo_matmat", "matrices", "coo_product_buffers")
csr_todense_p = _define("csr_todense", "matrices", "csr_todense_buffers")
csr_fromdense_p = _define("csr_fromdense", "matrices", "csr_fromdense_buffers")
csr_matvec_p = _define("csr_matvec", "matrices", "csr_product_buffers")
csr_matmat_p = _define("csr_matmat", "matrices", "csr_product_buffers")
todense_p = _define("todense", "api", "todense_buffers")
