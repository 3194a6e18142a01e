"""``checkify``: from a function that may raise to one that returns its error."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from plugjax.experimental.checkify.error import Error
from plugjax.experimental.checkify.exceptions import ErrorCategory, user_checks
from plugjax.experimental.checkify.tracing import discharge
from plugjax.extend import pytree
from plugjax.extend.core import as_array
from plugjax.extend.transforms import api_boundary

Out = TypeVar("Out")


def checkify(
    f: Callable[..., Out], errors: frozenset[ErrorCategory] = user_checks
) -> Callable[..., tuple[Error, Out]]:
    """Make the errors of a function a value that it returns.

    The result is pure: it can be jitted, mapped and differentiated, and ``f`` may be any of these itself. Checks whose category
    is not in ``errors`` are dropped.

    Args:
        f: function of pytrees of arrays.
        errors: categories of checks, a union of ``user_checks`` (:func:`check`), ``nan_checks`` (nan in a result),
            ``div_checks`` (a divisor that is zero) and ``index_checks`` (an index out of bounds). ``float_checks``,
            ``automatic_checks`` and ``all_checks`` are unions.

    Returns:
        A function of the same arguments that returns ``(error, result)``. ``error.get()`` is the message of the first failed
        check or ``None``, and ``error.throw()`` raises it.

    Differs from JAX:
        Outside of ``jit`` Python sees values: ``if x > 0`` is allowed.
        A primitive without a rule is checked for nan that its operands do not have; among JAX's these are ``cholesky``,
            ``eigh`` and the like.
        A function with a custom derivative gives its errors also where it is differentiated.
        Under ``checkify(vmap(...))`` a ``while_loop`` whose condition is batched is accepted: a check may fail in an
            instance that waits for others.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> from plugjax.experimental import checkify
        >>> f = checkify.checkify(lambda x, i: jnp.sin(x)[i], errors=checkify.automatic_checks)
        >>> err, out = plugjax.jit(f)(jnp.arange(3.0), 5)
        >>> err.get()
        'out-of-bounds indexing for array of shape (3,): index 5 is out of bounds for axis 0 with size 3.'
        >>> plugjax.jit(f)(jnp.arange(3.0), 0)[0].get() is None
        True
    """
    enabled = frozenset(errors)

    @functools.wraps(f)
    @api_boundary
    def checked(*args: Any, **kwargs: Any) -> tuple[Error, Out]:
        def run() -> Any:
            return pytree.tree_map(lambda y: as_array(y, "checkify"), f(*args, **kwargs))

        trace, out = discharge(run, (), enabled)
        return trace.error, out

    return checked
