"""Sparse arrays as a plugin: primitives, the linear solver, and the rules of ``sparsify``."""

from __future__ import annotations

from plugjax.experimental.sparse import matrix_product, primitives, solve
from plugjax.extend.core import Primitive
from plugjax.extend.rules import LazyRules, PluginInfo, RuleSet, hookimpl

plugjax_plugin = PluginInfo(
    "sparse", provides=("sparse arrays", "primitive spsolve", "transformation sparsify")
)


def _load_rules() -> list[RuleSet]:
    from plugjax.experimental.sparse.sparsify_rules import (  # noqa: PLC0415  # on first use
        elementwise,
        programs,
        structure,
    )

    return [module.rules for module in (elementwise, structure, programs)]


@hookimpl
def plugjax_rules() -> list[RuleSet | LazyRules]:
    """Rules of the primitives, and what ``sparsify`` does with those of ``plugjax.lax`` and with calls."""
    return [
        primitives.rules,
        solve.rules,
        matrix_product.rules,
        LazyRules(kinds=("sparse_bcoo", "sparse_bcsr"), load=_load_rules),
    ]


@hookimpl
def plugjax_fallback_policy(primitive: Primitive, platform: str) -> str | None:
    """``spsolve`` runs on the host on every backend, without a warning."""
    return "silent" if primitive is solve.spsolve_p else None
