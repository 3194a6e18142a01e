"""The reference page of the hooks, from ``plugjax.core.hookspecs``."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

from plugjax.core import hookspecs
from plugjax.core.registry import active
from plugjax.docs import docstrings
from plugjax.docs.pages import Page, heading, table


def names() -> list[str]:
    """The hooks in the order of their file."""
    return [name for name in vars(hookspecs) if name.startswith("plugjax_")]


def _section(name: str) -> str:
    function = getattr(hookspecs, name)
    signature = inspect.signature(function)
    rows = [(f"`{p.name}`", f"`{p.annotation}`") for p in signature.parameters.values()]
    arguments = table(("argument", "type"), rows) if rows else "No arguments."
    first = bool(getattr(function, "plugjax_spec", {}).get("firstresult"))
    called = "The first answer that is not `None` counts." if first else "All answers count."
    users = [impl.plugin_name for impl in getattr(active().hook, name).get_hookimpls()]
    by = ", ".join(f"`{user}`" for user in users if user) or "none"
    return "\n\n".join(
        [
            f"({name})=\n{heading(f'`{name}`', 2)}",
            docstrings.markdown(function),
            arguments,
            f"Answer: `{signature.return_annotation}`. {called} Installed plugins that implement it: {by}.",
        ]
    )


def pages() -> Iterator[Page]:
    """One page."""
    text = docstrings.markdown(hookspecs).split("\n\n", 1)[1]
    example = (
        "```{run}\nfrom plugjax.extend import hookimpl, registry\n\n\nclass Loud:\n    @hookimpl\n    def plugjax_jaxpr_passes(self, platform):\n"
        '        return [lambda jaxpr: print(platform, len(jaxpr.jaxpr.eqns), "equations") or jaxpr]\n\n\n'
        "import plugjax as jax, plugjax.numpy as jnp\n\nwith registry.use(registry.active().extended(Loud())):\n"
        "    jax.jit(lambda x: jnp.sin(x) * 2)(1.0)\n```"
    )
    sections = "\n\n".join(_section(name) for name in names())
    yield Page("reference/hooks", f"{heading('Hooks')}\n\n{text}\n\n{example}\n\n{sections}\n")
