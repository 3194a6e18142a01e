"""The guards as a plugin around every compilation."""

from __future__ import annotations

import importlib
import time
import warnings
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any

from plugjax.extend import registry
from plugjax.extend.backend import Executable
from plugjax.extend.core import ClosedJaxpr, Option, Primitive, config
from plugjax.extend.errors import FallbackWarning, JaxRuntimeError
from plugjax.extend.rules import PluginInfo, RuleSet, hookimpl
from plugjax.guard import noise, on_host
from plugjax.guard.on_host import on_host_p, with_host
from plugjax.guard.reports import Verification, new_number, record, stored


def _module(name: str) -> Any:
    """A module of this package, loaded when the first program is verified."""
    return importlib.import_module(f"plugjax.guard.{name}")


plugjax_plugin = PluginInfo(
    "guard", provides=("verification of first calls", "host as last resort")
)


@hookimpl
def plugjax_rules() -> list[RuleSet]:
    """Rules of noise, and of equations on the host."""
    return [noise.rules, on_host.rules]


@hookimpl
def plugjax_options() -> list[Option]:
    """When results are verified."""
    return [
        Option(
            "verify", None, choices=(None, "off", "first", "always"), in_key=True,
            help="compare results of compiled programs with NumPy's",
        )
    ]  # fmt: skip


@hookimpl
def plugjax_fallback_policy(primitive: Primitive, platform: str) -> str | None:
    """Equations that are meant to run on the host give no warning."""
    return "silent" if primitive is on_host_p else None


def mode(platform: str) -> str:
    """How programs of a backend are verified: ``"off"``, ``"first"`` or ``"always"``."""
    backends = registry.active().backends()
    if platform == "numpy" or platform not in backends or "numpy" not in backends:
        return "off"
    return str(config.read("verify") or backends[platform].verify)


@hookimpl
def plugjax_jaxpr_passes(platform: str) -> Sequence[Callable[[ClosedJaxpr], ClosedJaxpr]]:
    """Put recorders around callbacks if programs run twice."""
    return [_module("callbacks").recorded] if mode(platform) != "off" else []


@hookimpl(wrapper=True)
def plugjax_compile(
    jaxpr: ClosedJaxpr, device: Any, options: Mapping[str, Any]
) -> Generator[None, Executable, Executable]:
    """Verify compiled programs; run on the host those that do not compile."""
    backend = device.backend
    if backend.name == "numpy" or backend.compiles_only:
        return (yield)
    start = time.perf_counter()
    try:
        executable = yield
    except JaxRuntimeError as error:
        return _on_host(error, jaxpr, device, options)
    seconds = time.perf_counter() - start
    chosen = mode(backend.name)
    if chosen == "off" or not jaxpr.eqns:
        return executable
    known = stored(executable.cache_key) if chosen == "first" else None
    if known is not None:
        return _as_known(executable, known, jaxpr, device, options)
    return _module("verify").VerifiedExecutable(  # type: ignore[no-any-return]  # loaded late
        executable, jaxpr, device, options, seconds=seconds, always=chosen == "always"
    )


class _Known(Executable):
    """An executable that an earlier process verified or repaired."""

    def __init__(self, inner: Executable, run: Any, verification: Verification) -> None:
        self.inner, self.verification = inner, verification
        self.run = run  # type: ignore[method-assign]  # an attribute is called at less cost
        record(new_number(), verification)
        self.donated = inner.donated

    def as_text(self) -> str:
        """As the backend's compiler wrote it."""
        return self.inner.as_text()

    def memory_analysis(self) -> Any:
        """As the backend reports it."""
        return self.inner.memory_analysis()


def _as_known(
    executable: Executable,
    known: Verification,
    jaxpr: ClosedJaxpr,
    device: Any,
    options: Mapping[str, Any],
) -> Executable:
    backend = device.backend
    if known.all_on_host:
        executable = _module("verify").host_program(jaxpr, options)
    elif known.apart or known.on_host:
        careful = {**options, **(backend.careful_options if known.apart else {}), "donated": ()}
        program = with_host(jaxpr, known.on_host) if known.on_host else jaxpr
        executable = backend.compile(program, device, careful)
    run = _module("verify").on_buffers(executable, jaxpr, device, host=False)
    return _Known(executable, run, known)


def _on_host(
    error: JaxRuntimeError, jaxpr: ClosedJaxpr, device: Any, options: Mapping[str, Any]
) -> Executable:
    """Run on the host a program that the backend cannot compile, unless ``fallback`` is ``"error"``."""
    policy = config.read("fallback")
    refused = getattr(error, "is_refusal", False)
    if policy == "error" or not refused or "numpy" not in registry.active().backends():
        raise error
    if policy == "warn":
        first = str(error).splitlines()
        warnings.warn(
            f"{device.backend.name} cannot compile '{options.get('name', 'program')}', so NumPy runs it: {' '.join(first[:2])} "
            'Raise an error instead with plugjax.config.update("fallback", "error").',
            FallbackWarning,
            stacklevel=2,
        )
    found = _module("verify").host_program(jaxpr, options)
    name = str(options.get("name", "program"))
    known = Verification(
        name, device.backend.name, "not verified", "not compiled", all_on_host=True
    )
    return _Known(found, _module("verify").on_buffers(found, jaxpr, device, host=False), known)
