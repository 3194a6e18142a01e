"""References to mutable arrays: the names of ``jax.ref``, as a plugin.

A reference is made by :func:`new_ref`, read and written by indexing, and may be closed over or passed to functions under every
transformation. In programs its reads and writes are equations in order; before a backend sees a program they are values
(``plugjax/transforms/discharge.py``). On the host a reference is written in place.
"""

from plugjax.state.aval import AbstractRef
from plugjax.state.operations import addupdate, empty_ref, free_ref, freeze, get, new_ref, set, swap
from plugjax.state.reference import Ref
from plugjax.state.slices import Slice, ds

__all__ = [
    "AbstractRef",
    "Ref",
    "Slice",
    "addupdate",
    "ds",
    "empty_ref",
    "free_ref",
    "freeze",
    "get",
    "new_ref",
    "set",
    "swap",
]
