"""Groups of operations for XLA's scheduler: the names of ``jax.experimental.scheduling_groups``."""

import importlib
from collections.abc import Sequence
from typing import Any

from plugjax.experimental.annotations.calls import (
    scheduling_group,
    xla_metadata_call,
    xla_metadata_call_p,
)
from plugjax.extend.core import JaxprEqn
from plugjax.extend.transforms import prune_closed


def attr_get(x: Any) -> Any:
    """A text as an attribute of MLIR, while a program is lowered.

    Raises:
        NotImplementedError: it is no text.

    Example:
        >>> from plugjax.experimental.scheduling_groups import attr_get
        >>> attr_get(1)
        Traceback (most recent call last):
        NotImplementedError: metadata of a call is text, got 1 of <class 'int'>
    """
    # MLIR needs jaxlib.
    return importlib.import_module("plugjax.experimental.annotations.lowering").text_attribute(x)


def dce_jaxpr_xla_metadata_rule(
    used_outputs: Sequence[bool], eqn: JaxprEqn
) -> tuple[list[bool], JaxprEqn | None]:
    """The part of a call that some of its results need; a rule for ``interpreters.partial_eval.dce_rules``.

    Args:
        used_outputs: which results are read.
        eqn: an equation with a closed program in its parameter ``jaxpr``.

    Returns:
        Which operands are needed, and the equation of them; ``None`` if nothing is left of it.

    Example:
        >>> import plugjax
        >>> from plugjax.experimental.scheduling_groups import dce_jaxpr_xla_metadata_rule, xla_metadata_call
        >>> f = xla_metadata_call(lambda x, y: (-x, x * y))
        >>> (eqn,) = plugjax.make_jaxpr(f)(1.0, 2.0).eqns
        >>> dce_jaxpr_xla_metadata_rule([True, False], eqn)[0]
        [True, False]
    """
    if not any(used_outputs) and not eqn.effects:
        return [False] * len(eqn.invars), None
    program, needed = prune_closed(eqn.params["jaxpr"], tuple(used_outputs))
    return list(needed), eqn.replace(
        invars=[v for v, n in zip(eqn.invars, needed, strict=True) if n],
        outvars=[v for v, u in zip(eqn.outvars, used_outputs, strict=True) if u],
        params={**eqn.params, "jaxpr": program},
    )


__all__ = [
    "attr_get",
    "dce_jaxpr_xla_metadata_rule",
    "scheduling_group",
    "xla_metadata_call",
    "xla_metadata_call_p",
]
