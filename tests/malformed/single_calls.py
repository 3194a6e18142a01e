"""One call, written as text, in both libraries: refused by both with one type of error, or accepted by both."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

import plugjax
from tests.malformed.survey import outcome, stumbles, verdict

# What a text may name besides the library, made with it.
ScopeOf = Callable[[Any], dict[str, Any]]


def outcomes(text: str, scope_of: ScopeOf) -> tuple[str, str]:
    """Our outcome and JAX's; the library is ``jax`` in the text."""
    # The last frame of a traceback shows who raised.
    jax.config.update("jax_traceback_filtering", "off")
    ours, theirs = (
        outcome(text, {"jax": library, "jnp": library.numpy, **scope_of(library)})
        for library in (plugjax, jax)
    )
    return ours, theirs


def check_refused(text: str, scope_of: ScopeOf) -> None:
    """Both refuse, and where JAX judges the call, with its type of error."""
    ours, theirs = outcomes(text, scope_of)
    assert theirs != "ok"
    assert ours != "ok"
    assert stumbles(theirs) or verdict(ours, theirs) is None, (ours, theirs)


def check_accepted(text: str, scope_of: ScopeOf) -> None:
    """Both accept."""
    assert outcomes(text, scope_of) == ("ok", "ok")
