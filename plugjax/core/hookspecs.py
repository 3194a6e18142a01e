"""THE map of extension points: everything that a plugin can add, one pluggy hook each.

A plugin is a module, or any object, with some of these functions decorated by :data:`hookimpl`, named by an entry point
in the group ``plugjax``. A module may say ``plugjax_plugin = PluginInfo(...)`` to describe itself.

pluggy runs when plugins load, when a rule is missing, once per compilation, and once when the calls of a program or of an
eager primitive are made ready (``plugjax_instrument``); never in ``bind``, per equation or per execution. What a plugin
instruments runs at every call. Hooks that observe run as often as what they are told of happens, while an option wants it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pluggy

if TYPE_CHECKING:
    from plugjax.core.array import Array
    from plugjax.core.backend import BackendSpec
    from plugjax.core.config import Config, Option
    from plugjax.core.device import Executable, Placement
    from plugjax.core.jaxpr import ClosedJaxpr
    from plugjax.core.primitive import Primitive, Trace
    from plugjax.core.registry import Registry
    from plugjax.core.rules import LazyRules, RuleKind, RuleSet
    from plugjax.execution.exporter import Exporter
    from plugjax.execution.jit.misses import CacheMiss
    from plugjax.execution.transfers import Transfer

API_VERSION = 1
SPECIFICATION = "a hook specification is not called; pluggy calls its implementations"

hookspec = pluggy.HookspecMarker("plugjax")
hookimpl = pluggy.HookimplMarker("plugjax")


@dataclass(frozen=True)
class PluginInfo:
    """What a plugin says of itself.

    Attributes:
        name: the name that ``PLUGJAX_PLUGINS`` and ``PLUGJAX_NO_PLUGINS`` use.
        api_version: the plugin interface that it was written for; another than ours, and it is skipped.
        provides: what it brings, in words, for ``plugjax plugins``.
    """

    name: str
    api_version: int = API_VERSION
    provides: Sequence[str] = ()


@hookspec
def plugjax_rules() -> Sequence[RuleSet | LazyRules]:
    """Rule sets that the plugin fills cells with; ``LazyRules`` for those in modules that are costly to import."""
    raise NotImplementedError(SPECIFICATION)


@hookspec
def plugjax_backends() -> Sequence[BackendSpec]:
    """Backends, as descriptions that load the real thing on first use."""
    raise NotImplementedError(SPECIFICATION)


@hookspec
def plugjax_array_methods() -> Mapping[str, Callable[..., Any]]:
    """Functions behind operators and methods of arrays and tracers, by name (``add``, ``sum``, ``reshape`` ...)."""
    raise NotImplementedError(SPECIFICATION)


@hookspec(firstresult=True)
def plugjax_missing_rule(
    registry: Registry, kind: RuleKind[Any], primitive: Primitive, platform: str | None
) -> Callable[..., Any] | None:
    """Derive a rule for an empty cell from others, or return ``None``. The answer is memoised."""


@hookspec(firstresult=True)
def plugjax_host_program(
    jaxpr: ClosedJaxpr,
    placement: Placement,
    conversions: Mapping[int, Callable[[Any], Any]],
    otherwise: Callable[..., Any],
) -> Callable[..., Any] | None:
    """A function of Arrays at ``placement`` that runs a line of primitives by their host kernels, and gives an Array.

    The operands at the positions of ``conversions`` are numbers; where these raise OverflowError, it calls ``otherwise``.
    """


@hookspec
def plugjax_jaxpr_passes(
    platform: str, hardware: str | None
) -> Sequence[Callable[[ClosedJaxpr], ClosedJaxpr]]:
    """Passes over a whole program before it is compiled for ``platform`` and hardware (``None``: for several kinds), in order."""
    raise NotImplementedError(SPECIFICATION)


@hookspec(firstresult=True)
def plugjax_compile(
    jaxpr: ClosedJaxpr, device: Any, options: Mapping[str, Any]
) -> Executable | None:
    """Compile a program. Wrap it (``hookimpl(wrapper=True)``) to dump, time or replace compilations."""


@hookspec(firstresult=True)
def plugjax_fallback_policy(primitive: Primitive, platform: str) -> str | None:
    """``"error"``, ``"warn"`` or ``"silent"`` for a primitive that ``platform`` cannot lower; ``None`` leaves it to the config."""


@hookspec
def plugjax_instrument(
    program: Callable[[], ClosedJaxpr],
) -> Callable[[Callable[[Sequence[Array]], Any]], Callable[[Sequence[Array]], Any]] | None:
    """Put something around the calls of a program: of a jitted function, or of one primitive that is evaluated eagerly.

    Asked when the call is made ready, under the configuration in force. ``program()`` is what runs, as it was traced. The answer
    takes the call, from a sequence of arrays to an array or a list of them, and gives another one; ``None`` leaves it.
    """


@hookspec
def plugjax_traces_ended(traces: list[Trace]) -> None:
    """Look at traces that are over, before the function that made them returns.

    Called only while an option is set that observes ``"ended traces"``. The list is the only reference that the framework keeps.
    """


@hookspec
def plugjax_cache_miss(miss: CacheMiss) -> None:
    """Learn why ``jit`` traces or compiles; called only while an option is set that observes ``"cache misses"``."""


@hookspec
def plugjax_transfer(transfer: Transfer) -> None:
    """Look at a transfer before it happens; called only while an option is set that observes ``"transfers"``."""


@hookspec
def plugjax_exporters() -> Mapping[str, Callable[[], Exporter]]:
    """What writes programs for runtimes without Python, by the runtime's name, as functions that load the real thing."""
    raise NotImplementedError(SPECIFICATION)


@hookspec
def plugjax_numpy_namespaces() -> Mapping[str, Callable[[], ModuleType]]:
    """Modules with the functions of NumPy-like modules, by the names of those: ``numpy.fft`` called on an array is found there."""
    raise NotImplementedError(SPECIFICATION)


@hookspec
def plugjax_extensions() -> Mapping[str, Callable[[], ModuleType]]:
    """Modules whose public names modules of ``plugjax.extend`` show, by the names of those: ``random`` of keys is there."""
    raise NotImplementedError(SPECIFICATION)


@hookspec
def plugjax_options() -> Sequence[Option]:
    """Options of the configuration; read once, when the plugin is loaded."""
    raise NotImplementedError(SPECIFICATION)


@hookspec
def plugjax_configure(config: Config, registry: Registry) -> None:
    """Called once, after all plugins are loaded into ``registry``: set options, check the environment and the rules."""
