"""Options as a plugin: those that forbid tracing, running or transfers, choices that functions ask for, and those without effect."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from plugjax.extend.core import ClosedJaxpr, Option, boolean, config
from plugjax.extend.execution import CacheMiss
from plugjax.extend.rules import PluginInfo, hookimpl
from plugjax.options import captured_constants, transfers
from plugjax.options.without_effect import OPTIONS

plugjax_plugin = PluginInfo(
    "jax_options", provides=("jax_no_tracing", "jax_no_execution", "JAX's other options")
)


def _tiers(text: str) -> str:
    return {True: "on", False: "off"}[boolean(text)] if text != "auto" else text


@hookimpl
def plugjax_options() -> list[Option]:
    """What may be forbidden, and what has no effect."""
    return [
        Option(
            "no_tracing", False, boolean, help="raise where jit would trace a function",
            observes={True: "cache misses"},
        ),
        Option(
            "no_execution", False, boolean, in_key=True, help="raise where something would run",
            observes={True: "equations"},
        ),
        Option(
            "tiered", "auto", _tiers, choices=("off", "on", "auto"), in_key=True,
            help="NumPy computes what is not compiled yet; auto: programs for which a backend's compiler takes long",
        ),
        Option(
            "softmax_custom_jvp", False, boolean, in_key=True, help="a derivative of nn.softmax in terms of its result",
        ),
        Option(
            "allow_f16_reductions", True, boolean, in_key=True, help="whether reduce_sum takes float16 and bfloat16",
        ),
        Option(
            "enable_recoverability", False, boolean, help="whether processes go on when one that they were joined with has died",
        ),
        Option(
            "enable_preemption_service", True, boolean, help="whether reached_preemption_sync_point takes SIGTERM for a notice",
        ),
        *transfers.OPTIONS,
        *captured_constants.OPTIONS,
        *OPTIONS,
    ]  # fmt: skip


@hookimpl
def plugjax_cache_miss(miss: CacheMiss) -> None:
    """Refuse to trace."""
    if miss.placement is None and config.read("no_tracing"):
        raise RuntimeError(
            f"re-tracing function {miss.name} for `jit`, but 'no_tracing' is set. Call it before with arguments of these "
            "shapes and dtypes, or end the no_tracing block."
        )


@hookimpl
def plugjax_jaxpr_passes(platform: str) -> list[Callable[[ClosedJaxpr], ClosedJaxpr]]:
    """Warn of large constants."""
    return [captured_constants.check_constants]


plugjax_transfer = hookimpl(transfers.plugjax_transfer)


@hookimpl
def plugjax_instrument(program: Callable[[], ClosedJaxpr]) -> Callable[[Any], Any] | None:
    """Refuse to run."""
    return _refused if config.read("no_execution") else None


def _refused(call: Any) -> Callable[..., NoReturn]:
    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise RuntimeError(
            "tried to execute a program, but the no_execution config option is set. End the block that sets it."
        )

    return refuse
