"""What lowering rules ask about the device that a program is for."""

from __future__ import annotations

from plugjax.stablehlo.context import EqnContext


def has_float64(ctx: EqnContext) -> bool:
    """Whether the compiler takes float64 for the device."""
    return not on_vulkan(ctx)


def on_vulkan(ctx: EqnContext) -> bool:
    """Whether the device is one of Vulkan."""
    return ctx.module.device_kind == "vulkan"


def on_processor(ctx: EqnContext) -> bool:
    """Whether kernels are threads of a processor."""
    return ctx.module.device_kind in ("", "cpu")
