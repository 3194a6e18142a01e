"""From a jaxpr to a loaded program: workarounds on the jaxpr, lowering, compilation or the cache, loading.

Compiled modules are kept in the persistent cache, since a compilation takes 0.3 s to seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from plugjax.extend.backend import Executable
from plugjax.extend.core import ClosedJaxpr, config
from plugjax.extend.errors import JaxRuntimeError
from plugjax.extend.execution import default_cache, in_background, largest_value
from plugjax.guard import mode
from plugjax.stablehlo.host_call import HostCall
from plugjax.stablehlo.lower import LoweredModule, lower_module
from plugjax_iree import workarounds
from plugjax_iree.compile import linking
from plugjax_iree.compile.compiler import compile_stablehlo, compiler_fingerprint
from plugjax_iree.compile.host_call import emit_host_call, host_functions
from plugjax_iree.compile.pipeline import CompileError
from plugjax_iree.compile.process import background
from plugjax_iree.compile.target import CompileTarget
from plugjax_iree.compile.written import read_module, write_module
from plugjax_iree.lowering.guarded import GuardedRules
from plugjax_iree.lowering.reuse import results_of_one_type
from plugjax_iree.runtime import RuntimeDevice, is_opaque
from plugjax_iree.workarounds import Stage

if TYPE_CHECKING:
    from plugjax.extend.serialization import CompiledForm

# Other options are flags of the compiler.
_OWN_OPTIONS = (
    "name",
    "donated",
    "debug_info",
    "subprocess",
    "apart",
    "without",
    "compiled",
    "phase",
)


class IreeProgram(Executable):
    """A loaded module.

    Its text is what the compiler got, or what it made of that until a phase, which the option ``phase`` names.

    Attributes:
        cache_key: of its entry in the persistent cache; empty if it has none.
    """

    def __init__(
        self,
        function: Any,
        vmfb: bytes,
        donated: Sequence[int],
        cache_key: str,
        target: CompileTarget,
        calls: Sequence[HostCall],
        text: Callable[[], str],
    ) -> None:
        self._target, self._calls = target, calls
        self.as_text = text  # type: ignore[method-assign]  # written when it is asked for
        self.run = function  # type: ignore[method-assign]  # no layer between the hot path and the call
        self.vmfb = vmfb
        self.cache_key = cache_key
        self.donated = frozenset(donated)

    def serialize(self) -> bytes:
        """The compiled module, with what it depends on.

        Raises:
            ValueError: it calls Python objects of this process.
        """
        if self._calls:
            names = ", ".join(sorted({call.name for call in self._calls}))
            raise ValueError(
                f"IREE: a program that calls Python cannot be serialized; it calls {names}."
            )
        return write_module(self.vmfb, self._target)

    def memory_analysis(self) -> Any:
        """Size of the compiled module, in bytes."""
        return {"generated_code_size_in_bytes": len(self.vmfb)}


def compile_program(
    jaxpr: ClosedJaxpr,
    runtime: RuntimeDevice,
    driver: str,
    hardware: str,
    options: Mapping[str, Any],
    arch: str = "",
) -> IreeProgram:
    """Lower, compile or find in the cache, and load.

    Args:
        jaxpr: the program.
        runtime: the device to load it on.
        driver: the family of devices, as of `CompileTarget`.
        hardware: what the device is made of, for lowering rules.
        arch: the architecture, as of `CompileTarget`.
        options: ``name``, ``donated``, ``apart`` (fuse no operations), ``without`` (names of workarounds to leave out),
            ``subprocess``, ``compiled`` (load this), ``phase`` (the program's text is that after a phase of the compiler), and flags of IREE's compiler by name.

    Raises:
        JaxRuntimeError: IREE refuses the program or a flag.
    """
    for aval in (*jaxpr.in_avals, *jaxpr.out_avals):
        if is_opaque(aval.dtype):
            name = options.get("name")
            raise _refusal(f"IREE cannot run '{name}': it has no buffers of dtype {aval.dtype.name}.")  # fmt: skip
    with workarounds.without(_without(options)):
        target = CompileTarget(driver, arch, extra=_flags(options))
        form: CompiledForm | None = options.get("compiled")
        calls: Sequence[HostCall] = ()
        cache_key = ""
        if form is not None and form.jaxpr is jaxpr:
            vmfb = read_module(form.blob, target)
        else:
            lowered = _lowered(jaxpr, hardware, options)
            calls = lowered.host_calls
            # Otherwise the first results are compared with NumPy's.
            each_pass = mode("iree") == "off"
            # A user's own flags may say otherwise.
            here = target.is_this_processor and not target.extra
            vmfb, cache_key = _vmfb(lowered, target, options, each_pass=each_pass, here=here)
        loaded = runtime.load(vmfb, host_functions(calls))
        loaded.needs = partial(largest_value, jaxpr)
        function = loaded.function("main")
        donated = tuple(options.get("donated", ()))
        avals = jaxpr.out_avals

        def copy(buffer: Any, index: int) -> Any:
            aval = avals[index]
            return runtime.put(runtime.get(buffer, aval.dtype, aval.shape))

        for row in workarounds.active(Stage.RESULTS):
            function = row.function()(function, jaxpr, donated, copy)

    def text() -> str:
        if "phase" in options:
            return _text_after(str(options["phase"]), jaxpr, hardware, target, options)
        return str(lower_program(jaxpr, hardware, options).as_text())

    return IreeProgram(function, vmfb, donated, cache_key, target, calls, text)


def _refusal(message: str, *, is_refusal: bool = True) -> JaxRuntimeError:
    """An error that says whether it is about the program: the host may run it then."""
    error = JaxRuntimeError(message)
    error.is_refusal = is_refusal  # type: ignore[attr-defined]  # read by the guards
    return error


def _text_after(
    phase: str,
    jaxpr: ClosedJaxpr,
    hardware: str,
    target: CompileTarget,
    options: Mapping[str, Any],
) -> str:
    """The program after a phase of the compiler, with the equations that its operations come from."""
    lowered = lower_program(jaxpr, hardware, {**options, "debug_info": True})
    text = target.declared(lowered.as_text(generic=True, debug_info=True))
    apart = bool(options.get("apart", False))
    with workarounds.without(_without(options)):
        return compile_stablehlo(text, target, apart=apart, phase=phase).decode()


def compile_ahead(
    jaxpr: ClosedJaxpr, driver: str, hardware: str, arch: str, options: Mapping[str, Any]
) -> tuple[bytes, CompileTarget]:
    """The module of a program for a device that is not there, and what it is for; arguments as of `compile_program`.

    Raises:
        LoweringError: a primitive has no lowering and would call Python.
        JaxRuntimeError: IREE refuses the program or a flag.
    """
    with workarounds.without(_without(options)):
        target = CompileTarget(driver, arch, extra=_flags(options))
        lowered = _lowered(jaxpr, hardware, options, calls=False)
        vmfb, _ = _vmfb(lowered, target, options, each_pass=True, here=False)
    return vmfb, target


def lower_program(
    jaxpr: ClosedJaxpr, hardware: str, options: Mapping[str, Any], *, calls: bool = True
) -> LoweredModule:
    """The StableHLO module that the compiler gets.

    Args:
        jaxpr: the program.
        hardware: as of `compile_program`.
        options: likewise.
        calls: whether it may call Python.
    """
    with workarounds.without(_without(options)):
        return _lowered(jaxpr, hardware, options, calls=calls)


def _lowered(
    jaxpr: ClosedJaxpr, hardware: str, options: Mapping[str, Any], *, calls: bool = True
) -> LoweredModule:
    donated = tuple(options.get("donated", ()))
    reused = results_of_one_type(jaxpr, donated)
    for row in workarounds.active(Stage.DONATION):
        reused = row.function()(jaxpr, donated)
    for row in workarounds.active(Stage.PROGRAM):
        jaxpr = row.function()(jaxpr, donated)
    return lower_module(
        jaxpr,
        "iree",
        name=str(options.get("name", "program")),
        emit_host_call=emit_host_call if calls else None,
        reused=reused,
        device_kind=hardware,
        locations=bool(options.get("debug_info")),
        rules=GuardedRules(jaxpr),
    )


def _without(options: Mapping[str, Any]) -> tuple[str, ...]:
    try:
        return workarounds.checked(options.get("without", ()))
    except ValueError as error:
        raise JaxRuntimeError(f"INVALID_ARGUMENT: option 'without': {error}") from None


def _flags(options: Mapping[str, Any]) -> tuple[str, ...]:
    """The user's flags."""
    flags = {k: v for k, v in options.items() if k not in _OWN_OPTIONS}
    unknown = [k for k in flags if not k.startswith("iree-")]
    if unknown:
        raise JaxRuntimeError(
            f"INVALID_ARGUMENT: No such compile option: {', '.join(map(repr, unknown))}. IREE takes flags of its compiler "
            "by name ('iree-opt-level': 'O2'), and 'subprocess'."
        )
    return tuple(
        f"--{k}={str(v).lower() if isinstance(v, bool) else v}" for k, v in sorted(flags.items())
    )


def _vmfb(
    lowered: LoweredModule,
    target: CompileTarget,
    options: Mapping[str, Any],
    *,
    each_pass: bool,
    here: bool,
) -> tuple[bytes, str]:
    """The module, and its key in the cache; arguments as of `compile_stablehlo`."""
    text = target.declared(lowered.as_text(generic=True))
    extra = {
        k: str(v) for k, v in options.items() if k not in ("name", "donated", "without", "phase")
    }
    extra["each_pass"] = str(each_pass)
    extra["here"] = " ".join(linking.surroundings()) if here else "no"
    off = workarounds.switched_off()
    keep = config.read("enable_compilation_cache") and all(c.cacheable for c in lowered.host_calls)
    cache = default_cache() if keep else None
    key = ""
    if cache is not None:
        # Modules that call host kernels are cached as well: the text has the kernels' names and types, and the
        # functions are supplied when a module is loaded.
        parts = (text, *target.flags(), *compiler_fingerprint(), repr(sorted(extra.items())), *off)
        key = cache.key("iree", *parts)
        stored = cache.get(key)
        if stored is not None:
            return stored, key
    try:
        with background(in_background()):
            vmfb = compile_stablehlo(
                text,
                target,
                subprocess=bool(options.get("subprocess", True)),
                apart=bool(options.get("apart", False)),
                each_pass=each_pass,
                here=here,
            )
    except CompileError as error:
        message = f"IREE could not compile '{options.get('name')}': {error}"
        raise _refusal(message, is_refusal=error.stage != "flags") from error
    if key and cache is not None:
        cache.put(key, vmfb)
    return vmfb, key
