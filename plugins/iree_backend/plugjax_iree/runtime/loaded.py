"""A compiled module in memory, and its functions as callables on buffers."""

import re
import sys
import threading
import weakref
from collections.abc import Callable, Sequence
from types import CodeType
from typing import TYPE_CHECKING, Any, NoReturn

from plugjax.extend.errors import JaxRuntimeError
from plugjax_iree import native
from plugjax_iree.runtime.host_module import take_exception

if TYPE_CHECKING:
    from iree.runtime import HalBufferView, VmModule

BufferFunction = Callable[[Sequence["HalBufferView"]], list["HalBufferView"]]
"""An exported function: buffers in, buffers out, complete on return.

Raises:
    JaxRuntimeError: wrong number, shape or dtype of arguments (dynamic dimensions are not checked), or the
        device failed, for example for want of memory.
    RuntimeError: the module was closed.
    BaseException: whatever a host function raised, the very object.
"""

_Refuse = Callable[..., NoReturn]
# The status in a message of IREE, between the position in its source and the text: "module.c:12: NOT_FOUND; no such file".
_STATUS = re.compile(r": ([A-Z][A-Z_]+); ")


class LoadedModule:
    """A compiled module in a context of its own; `RuntimeDevice.load` makes it.

    Attributes:
        name: the module's.
        function_names: what `function` accepts.
        needs: says what the module needs memory for, where a call finds none.
    """

    def __init__(self, context: Any, module: "VmModule") -> None:
        self._context = context
        self._module: Any = module
        # Functions keep their module, not the other way: dropping the last of them frees both.
        self._functions: weakref.WeakValueDictionary[str, BufferFunction]
        self._functions = weakref.WeakValueDictionary()
        self._off_switches: weakref.WeakKeyDictionary[BufferFunction, Callable[[_Refuse], None]]
        self._off_switches = weakref.WeakKeyDictionary()
        self.name: str = module.name
        self.needs: Callable[[], str] = str
        self.function_names = tuple(n for n in module.function_names if not n.startswith("__"))

    def function(self, name: str) -> BufferFunction:
        """The exported function `name`; it keeps the module loaded.

        Raises:
            KeyError: the module exports no such function.
        """
        known = self._functions.get(name)
        if known is not None:
            return known
        if name not in self.function_names:
            names = ", ".join(self.function_names)
            raise KeyError(f"module {self.name!r} has no function {name!r}; it has: {names}")
        native_function = self._module.lookup_function(name)
        call, retire = _bind(self, self._context.invoke, native_function)
        call.__name__ = call.__qualname__ = name
        self._functions[name] = call
        self._off_switches[call] = retire
        return call

    def close(self, refuse: _Refuse | None = None) -> None:
        """Release the module; its functions then raise, or call `refuse`. Buffers that they returned stay valid."""
        self.retire(refuse or _refuse_closed)
        self._off_switches.clear()
        self._functions.clear()
        self._context = self._module = None
        self.function_names = ()

    def retire(self, refuse: _Refuse) -> None:
        """Make every function call `refuse` instead."""
        for retire in list(self._off_switches.values()):
            retire(refuse)

    def raise_original(self, error: Exception) -> NoReturn:
        """Raise the exception of the host function that caused `error`, if one did; else a `JaxRuntimeError`."""
        original = take_exception()
        if original is not None:
            raise original from error
        status = _STATUS.search(str(error))
        if status is None:  # Not an error of IREE.
            raise error
        if status[1] == "RESOURCE_EXHAUSTED" and (needs := self.needs()):
            raise JaxRuntimeError(
                f"RESOURCE_EXHAUSTED: Out of memory. {needs} IREE says: {error}"
            ) from error
        if "DEVICE_LOST" in str(error):
            raise JaxRuntimeError(
                f"DATA_LOSS: The driver has lost the device, and the arrays on it. Start the process again. IREE says: {error}"
            ) from error
        raise JaxRuntimeError(f"{status[1]}: {error}") from error


def _bind(
    module: LoadedModule, invoke: Callable[..., None], function: Any
) -> tuple[BufferFunction, Callable[[_Refuse], None]]:
    """The function as a closure, half a microsecond faster than an object, and its off switch."""
    library = native.runtime()
    variant_list, view = library.VmVariantList, library.HalBufferView

    def call(arguments: "Sequence[HalBufferView]") -> "list[HalBufferView]":
        operands = variant_list(len(arguments))
        push = operands.push_ref
        for argument in arguments:
            push(argument)
        results = variant_list(1)
        try:
            invoke(function, operands, results)
        except Exception as error:
            module.raise_original(error)
        count = len(results)
        if count == 1:
            return [results.get_as_object(0, view)]
        get = results.get_as_object
        return [get(index, view) for index in range(count)]

    def retire(refuse: _Refuse) -> None:
        nonlocal invoke
        invoke = refuse

    _codes.add(call.__code__)
    return call, retire


# The code of all functions of modules: a thread that runs it is within a call.
_codes: set[CodeType] = set()


def other_threads_call() -> bool:
    """Whether a function of a module runs in another thread than this one."""
    for ident, top in sys._current_frames().items():
        frame = None if ident == threading.get_ident() else top
        while frame is not None:
            if frame.f_code in _codes:
                return True
            frame = frame.f_back
    return False


def _refuse_closed(*_: object) -> NoReturn:
    raise RuntimeError("the compiled module of this function was closed.")
