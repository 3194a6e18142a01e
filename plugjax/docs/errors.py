"""The reference page of the error types: what each says, an executed example that raises it, and the repair."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import plugjax.errors
import plugjax.extend.errors
from plugjax.docs import docstrings, package_errors
from plugjax.docs.error_examples import EXAMPLES, Example
from plugjax.docs.pages import Page, heading

_SETUP = """\
```{run}
import os

import numpy as np
import plugjax as jax
import plugjax.numpy as jnp
from plugjax import lax
from plugjax.experimental import checkify
from plugjax.extend import Primitive, RuleSet, abstract_eval, hookimpl, impl, lowering, registry, stage

jax.config.update("jax_num_cpu_devices", 2)
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


def _section(name: str, error: type[BaseException], example: Example | None, raises: str) -> str:
    bases = ", ".join(f"`{base.__name__}`" for base in error.__mro__[1:-3])
    parts = [
        heading(f"`{name}`", 2),
        docstrings.markdown(error),
        f"Also a {bases}." if bases else "",
    ]
    if example is not None and example.code:
        parts.append(f"```{{run}}\n{raises}{example.code}\n```")
    if example is not None:
        parts.append(f"**Repair.** {example.repair}")
    return "\n\n".join(part for part in parts if part)


def _raised(error: type[BaseException], example: Example | None) -> str:
    """The option of the block that raises the error; warnings and what is only printed are not raised."""
    printed = example is not None and "print(type(" in example.code
    return "" if issubclass(error, Warning) or printed else f":raises: {error.__name__}\n"


def pages() -> Iterator[Page]:
    """One page."""
    text = (
        "Types are JAX's, and plugjax's own. Each is also the builtin type that one would expect. `plugjax.errors` and "
        "`plugjax.extend.errors` have those of the first part; those of the second part belong to packages."
    )
    general = [
        _section(name, error, EXAMPLES.get(name), _raised(error, EXAMPLES.get(name)))
        for name, error in types().items()
    ]
    packages = [
        _section(path, error, listed.example, _raised(error, listed.example))
        for path, (listed, error) in package_errors.found().items()
    ]
    parts = [heading("Errors"), text, _SETUP, *general, heading("Errors of packages", 2), *packages]
    yield Page("reference/errors", "\n\n".join(parts) + "\n")
