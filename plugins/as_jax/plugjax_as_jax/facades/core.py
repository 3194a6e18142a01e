"""``jax.core``: what JAX shows there. ``plugjax.core`` is a package of its own, whose parts are not shown."""

from __future__ import annotations

from typing import Any

import plugjax
from plugjax.extend.core import array_types, aval_of

_SHOWN = (
    "AbstractValue", "Atom", "ParamDict", "ShapedArray", "Trace", "Tracer", "Value", "ensure_compile_time_eval",
    "eval_context", "eval_jaxpr", "max_dim", "min_dim",
)  # fmt: skip

# By class, what gives the type of a value. A class that is added needs ``__jax_array__`` too, which
# ``jax.interpreters.xla.canonicalize_dtype_handlers`` gives it.
pytype_aval_mappings: dict[type, Any] = dict.fromkeys(array_types, aval_of)


def __getattr__(name: str) -> Any:
    # Names that JAX has moved away warn, and those that it has removed raise.
    if name in _SHOWN or name not in vars(plugjax.core):
        return getattr(plugjax.core, name)
    raise AttributeError(f"module 'jax.core' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(_SHOWN)
