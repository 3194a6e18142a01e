"""The reference page of the error types: what each says, an executed example that raises it, and the repair."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import plugjax.errors
import plugjax.extend.errors
from plugjax.docs import docstrings
from plugjax.docs.error_examples import EXAMPLES
from plugjax.docs.pages import Page, heading

_SETUP = """\
```{run}
import numpy as np
import plugjax as jax
import plugjax.numpy as jnp
from plugjax import lax
from plugjax.extend import Primitive, RuleSet, abstract_eval, hookimpl, impl, registry
```
"""


def types() -> dict[str, type[BaseException]]:
    """The public error and warning types by name."""
    modules = (plugjax.errors, plugjax.extend.errors)
    found = {name: getattr(module, name) for module in modules for name in module.__all__}
    return {
        name: value
        for name, value in sorted(found.items())
        if inspect.isclass(value) and issubclass(value, BaseException)
    }


def _section(name: str, error: type[BaseException]) -> str:
    bases = ", ".join(f"`{base.__name__}`" for base in error.__mro__[1:-3])
    parts = [
        heading(f"`{name}`", 2),
        docstrings.markdown(error),
        f"Also a {bases}." if bases else "",
    ]
    example = EXAMPLES.get(name)
    if example is not None:
        raises = "" if issubclass(error, Warning) else f":raises: {name}\n"
        parts += [f"```{{run}}\n{raises}{example.code}\n```", f"**Repair.** {example.repair}"]
    return "\n\n".join(part for part in parts if part)


def pages() -> Iterator[Page]:
    """One page."""
    text = (
        "Types are JAX's, and plugjax's own. Each is also the builtin type that one would expect. `plugjax.errors` and "
        "`plugjax.extend.errors` have them."
    )
    sections = "\n\n".join(_section(name, error) for name, error in types().items())
    yield Page("reference/errors", f"{heading('Errors')}\n\n{text}\n\n{_SETUP}\n{sections}\n")
