"""The primitives of all plugins in force, as ``<name>_p``; looked up when they are asked for."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from plugjax.core import registry
from plugjax.core.primitive import Primitive
from plugjax.core.rules import abstract_eval
from plugjax.extend.core.call_primitives import call_p, closed_call_p

# JAX's names of primitives that are called otherwise in programs.
_OTHER_NAMES = {
    "add_jaxvals_p": "add_any_p",
    "linear_solve_p": "custom_linear_solve_p",
    "remat_p": "checkpoint_p",
}


@lru_cache(maxsize=1)
def _by_name(generation: int) -> dict[str, Primitive]:
    active = registry.active()
    # Loads the rules of primitives that are seldom used.
    active.table(abstract_eval)
    primitives = {rule.primitive for rule in active.rules()}
    found = {f"{p.name.replace('-', '_')}_p": p for p in primitives}
    return found | {name: found[own] for name, own in _OTHER_NAMES.items() if own in found}


# Primitives of calls that no plugin has rules for: their rules are given as a program gives its own.
_CALLS = {"call_p": call_p, "closed_call_p": closed_call_p}


def __getattr__(name: str) -> Any:
    if name in _CALLS:
        return _CALLS[name]
    if not name.endswith("_p"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    active = registry.active()
    found = _by_name(active.generation).get(name)
    if found is None:
        raise AttributeError(f"no plugin in force has a primitive {name[:-2]!r}.{active.asleep()}")
    return found


def __dir__() -> list[str]:
    return sorted({*_by_name(registry.active().generation), *_CALLS})
