"""Passes of the user's own over HLO, within XLA's compiler: names of ``plugjax.extend.xla``.

What is compiled with such a pass is not kept in the persistent cache, whose keys know nothing of them.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence

from plugjax_xla.jaxlib_shim import clear_hlo_pass, register_hlo_pass


class PipelineStage(enum.Enum):
    """When a pass runs: before or after the order of operations is settled.

    Example:
        >>> from plugjax.extend.xla import PipelineStage
        >>> PipelineStage.PRE_SCHEDULER.value
        0
    """

    PRE_SCHEDULER = 0
    POST_SCHEDULER = 1


_registered: set[tuple[str, PipelineStage]] = set()


def any_registered() -> bool:
    """Whether programs that are compiled now go through such a pass."""
    return bool(_registered)


def _names_cpu(platforms: Sequence[str] | str | None) -> bool:
    if platforms is None:
        return True
    return "cpu" in ([platforms] if isinstance(platforms, str) else platforms)


def _check(who: str, stage: PipelineStage, platforms: Sequence[str] | str | None) -> None:
    if not isinstance(stage, PipelineStage):
        raise TypeError(f"{who}: stage must be a PipelineStage enum, got {type(stage)}.")
    if not _names_cpu(platforms):
        raise NotImplementedError(
            f"{who}: a pass runs in programs for the processor, got platforms={platforms!r}. Name 'cpu', or leave it out."
        )


def register_hlo_module_transformation(
    callback: Callable[[bytes], bytes | None],
    *,
    name: str,
    stage: PipelineStage = PipelineStage.PRE_SCHEDULER,
    platforms: Sequence[str] | str | None = None,
) -> None:
    """Add a pass to XLA's compiler.

    Args:
        callback: takes a serialized ``HloModuleProto``, and gives another one, or ``None`` to leave it.
        name: of the pass.
        stage: when it runs.
        platforms: the hardware, ``"cpu"`` among it.

    Raises:
        TypeError: ``stage`` is no :class:`PipelineStage`.
        NotImplementedError: ``platforms`` lacks the processor.

    Example:
        >>> import plugjax
        >>> from plugjax.extend import xla
        >>> sizes = []
        >>> xla.register_hlo_module_transformation(lambda module: sizes.append(len(module)), name="look")
        >>> y = plugjax.jit(lambda x: x + 1, device="xla")(1.5)
        >>> xla.clear_hlo_module_transformation("look"), len(sizes)
        (True, 1)
    """
    _check("register_hlo_module_transformation", stage, platforms)
    register_hlo_pass(name, stage.value, callback)
    _registered.add((name, stage))


def clear_hlo_module_transformation(
    name: str,
    stage: PipelineStage = PipelineStage.PRE_SCHEDULER,
    platforms: Sequence[str] | str | None = None,
) -> bool:
    """Take a pass out; returns whether there was one.

    Args:
        name: of the pass.
        stage: when it runs.
        platforms: the hardware, ``"cpu"`` among it.

    Raises:
        TypeError: ``stage`` is no :class:`PipelineStage`.
        NotImplementedError: ``platforms`` lacks the processor.

    Example:
        >>> from plugjax.extend import xla
        >>> xla.clear_hlo_module_transformation("not there")
        False
    """
    _check("clear_hlo_module_transformation", stage, platforms)
    _registered.discard((name, stage))
    return clear_hlo_pass(name, stage.value)


__all__ = [
    "PipelineStage",
    "clear_hlo_module_transformation",
    "register_hlo_module_transformation",
]
