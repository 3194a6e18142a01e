"""A warning of programs that hold many bytes of constants: arrays that a function closes over, which each compilation keeps."""

from __future__ import annotations

import warnings

from plugjax.extend.core import ClosedJaxpr, Option, Var, config

OPTIONS = [
    Option(
        "captured_constants_warn_bytes", 2 * 10**9, int,
        help="warn of a program whose constants take as many bytes; -1 for never",
    ),
    Option(
        "captured_constants_report_frames", 0, int,
        help="the warning names the lines that use the largest constants; 0 for no",
    ),
]  # fmt: skip

_LARGEST = 5


def check_constants(jaxpr: ClosedJaxpr) -> ClosedJaxpr:
    """A pass that changes nothing, and warns of constants."""
    limit = config.read("captured_constants_warn_bytes")
    sizes = [getattr(value, "nbytes", 0) for value in jaxpr.consts]
    if limit != -1 and sizes and sum(sizes) >= limit:
        message = (
            f"A large amount of constants were captured during lowering ({_bytes(sum(sizes))} total). Pass such arrays as arguments, or "
            "disable this warning by JAX_CAPTURED_CONSTANTS_WARN_BYTES=-1. "
        )
        if config.read("captured_constants_report_frames"):
            order = sorted(range(len(sizes)), key=lambda i: -sizes[i])[:_LARGEST]
            message += "The largest:\n" + "\n".join(
                f"  {jaxpr.jaxpr.constvars[i].aval.str_short()}, {_bytes(sizes[i])}, used at {_uses(jaxpr, jaxpr.jaxpr.constvars[i])}"
                for i in order
            )
        else:
            message += "JAX_CAPTURED_CONSTANTS_REPORT_FRAMES=-1 shows the lines that use them."
        warnings.warn(message, stacklevel=2)
    return jaxpr


def _uses(jaxpr: ClosedJaxpr, var: Var) -> str:
    places = dict.fromkeys(str(eqn.source) for eqn in jaxpr.jaxpr.eqns if var in eqn.invars)
    return ", ".join(places) or "the results"


def _bytes(size: float) -> str:
    for unit in ("B", "KB", "MB"):
        if size < 1000:
            return f"{size:.2f}{unit}"
        size /= 1000
    return f"{size:.2f}GB"
