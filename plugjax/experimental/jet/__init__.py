"""Derivatives of high order in one pass: the names of ``jax.experimental.jet``.

``jet`` pushes truncated Taylor series through a function. ``taylor`` is the rule kind that says how to push one through a primitive; a
primitive without such a rule is pushed through by its jvp rule.
"""

from plugjax.experimental.jet.tracing import taylor
from plugjax.experimental.jet.transform import jet
from plugjax.extend.transforms import show_only

__all__ = ["jet", "taylor"]

show_only(globals(), __all__)
