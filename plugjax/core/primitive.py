"""Primitives, and the traces that interpret them: the rows of the matrix of rules, and who looks them up.

One thread-local *current trace*. ``Primitive.bind`` asks it. A trace that gets no tracer of its own hands the primitive
to its parent, with the parent as the current trace; there are no levels to compare and no arguments to scan. The
outermost parent is the evaluator (``execution.eval``), which runs primitives on arrays.

Invariant: while a rule of a trace runs, the current trace is that trace's parent.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from plugjax.core import above
from plugjax.core.aval import AbstractReference, ShapedArray
from plugjax.core.config import config
from plugjax.core.errors import (
    AmbiguousTruthError,
    ConcretizationTypeError,
    TracerArrayConversionError,
    TracerBoolConversionError,
    TracerIntegerConversionError,
)
from plugjax.core.operators import ArrayOperators
from plugjax.core.source_info import Source

Function = TypeVar("Function", bound=Callable[..., Any])


class Trace:
    """An interpreter of primitives; subclasses say what their tracers mean."""

    __slots__ = ("alive", "origin")
    # Whether its tracers are values: they outlive every call, so programs that close over them may be kept.
    lasting = False
    main = property(lambda self: above.find(self, "main"))
    # Programs of operators, by name and operands. Only the evaluator fills it.
    programs: Mapping[Any, Callable[..., Any]] = {}

    def __init__(self, origin: str = "") -> None:
        self.alive = True
        self.origin = origin

    def process(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Interpret ``primitive`` on ``args``."""
        return above.find(self, "process")(primitive, args, params)

    def step(self, processing: Mapping[str, Any]) -> Any:
        """What errors say of this trace, given the local variables of a call of ``process``."""
        return self.origin

    def operate(self, key: Any, general: Callable[..., Any], *operands: Any) -> Any:
        """Run an operator of arrays that ``programs`` holds nothing for."""
        return general(*operands)

    def finish(self) -> None:
        """Mark the trace as over: its tracers have leaked if they are met again."""
        self.alive = False
        if config.observes("ended traces"):
            state.ended.append(self)


class Tracer(ArrayOperators):
    """A value under a transformation. Behaves as an array whose values are not to be seen."""

    __slots__ = ("_trace", "aval")

    def __init__(self, trace: Trace, aval: ShapedArray) -> None:
        self._trace, self.aval = trace, aval

    def _origin(self) -> str:
        """Where the tracer comes from, for messages."""
        return f"The tracer was made by {self._trace.origin or type(self._trace).__name__}."

    def _concrete(self) -> Any:
        """The array behind the tracer, if it is known, else ``None``."""
        return None

    # A reference has the items and methods that its type gives it.

    def __getattr__(self, name: str) -> Any:
        aval: Any = object.__getattribute__(self, "aval")
        if not isinstance(aval, ShapedArray):
            return aval.attribute(self, name)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.aval, AbstractReference):
            return self.aval.attribute(self, "__getitem__")(index)
        return super().__getitem__(index)

    @property
    def at(self) -> Any:
        """As in ``jax.Array.at``."""
        if isinstance(self.aval, AbstractReference):
            return self.aval.attribute(self, "at")
        return super().at

    def __setitem__(self, index: Any, value: Any) -> None:
        if isinstance(self.aval, AbstractReference):
            self.aval.attribute(self, "__setitem__")(index, value)
        else:
            super().__setitem__(index, value)

    def __bool__(self) -> bool:
        value = self._concrete()
        if value is None:
            if self.aval.size != 1:
                raise AmbiguousTruthError(self)
            raise TracerBoolConversionError(self)
        return bool(value)

    def __index__(self) -> int:
        value = self._concrete()
        if value is None:
            raise TracerIntegerConversionError(self)
        return value.__index__()  # type: ignore[no-any-return]  # of an Array

    def __int__(self) -> int:
        return int(self._known("int() asks for it."))

    # What would take a value out of a derivative, and its tangent with it, is refused even if the value is known.

    def __float__(self) -> float:
        raise ConcretizationTypeError(self, "float() asks for it.")

    def __complex__(self) -> complex:
        raise ConcretizationTypeError(self, "complex() asks for it.")

    def _known(self, context: str) -> Any:
        value = self._concrete()
        if value is None:
            raise ConcretizationTypeError(self, context)
        return value

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        raise TracerArrayConversionError(self)

    def item(self, *args: int) -> Any:
        """The value as a Python scalar; an error, since a tracer has none."""
        return self._known(".item() asks for it.").item(*args)

    def tolist(self) -> Any:
        """The values as nested lists; an error, since a tracer has none."""
        raise ConcretizationTypeError(self, ".tolist() asks for it.")

    def __deepcopy__(self, memo: Any = None) -> Tracer:
        return self

    __copy__ = __deepcopy__

    def __repr__(self) -> str:
        return f"{type(self).__name__}<{self.aval.str_short()}>"

    def __format__(self, spec: str) -> str:
        if spec:
            raise ConcretizationTypeError(self, "The problem arose with format().")
        return repr(self)


class _State(threading.local):
    """What a thread is tracing with; ``base`` makes the evaluator of a new thread."""

    base: Callable[[], Trace] = Trace

    def __init__(self) -> None:
        self.trace: Trace = _State.base()
        self.axes: tuple[Any, ...] = ()
        # The user's line that is being interpreted, while a program is: it goes on to what is derived from it.
        self.source: Source | None = None
        # Traces that are over, while an option observes them: see `ends_trace`.
        self.ended: list[Trace] = []


state = _State()


def set_base(factory: Callable[[], Trace]) -> None:
    """Install the evaluator: called once, by ``execution.eval``."""
    _State.base = staticmethod(factory)
    state.trace = factory()


# How a program defines a rule of a kind without a rule set; ``plugjax.calls`` fills it.
definitions: dict[str, Callable[[Any, Callable[..., Any]], None]] = {}


class Primitive(above.Extensible):
    """An operation that transformations and backends know by its rules only.

    Plugins give the rules in rule sets; a program may define them one by one (``def_impl``, ``plugjax.interpreters``).

    Args:
        name: name in jaxprs and in messages.
        multiple_results: whether ``bind`` gives a list; a subclass may say so by a class attribute.
        structured: whether parameters hold jaxprs; such a primitive is run by a backend as a whole program, and its
            abstract evaluation is not memoised.
        stateful: whether it makes, reads or writes references: transformations apply their rules also if no operand is theirs.

    Example:
        >>> from plugjax.extend.core import Primitive
        >>> Primitive("twice")
        twice
    """

    __slots__ = ("__weakref__", "multiple_results", "name", "stateful", "structured")

    def __init__(
        self,
        name: str,
        *,
        multiple_results: bool = False,
        structured: bool = False,
        stateful: bool = False,
    ) -> None:
        self.name = name
        self.multiple_results = multiple_results or getattr(type(self), "multiple_results", 0) is True  # fmt: skip
        self.structured = structured
        self.stateful = stateful

    def bind(self, *args: Any, **params: Any) -> Any:
        """Hand the operation to the current trace.

        Args:
            *args: arrays, tracers, NumPy arrays or Python scalars.
            **params: hashable parameters.

        Returns:
            An array or tracer; a list of them if ``multiple_results``.
        """
        return state.trace.process(self, args, params)

    def def_impl(self, function: Function) -> Function:
        """Evaluate the primitive by a function of arrays; decorator."""
        definitions["impl"](self, function)
        return function

    def def_abstract_eval(self, function: Function) -> Function:
        """Give the aval of the result, or a list of them, by a function of avals; decorator."""
        definitions["abstract_eval"](self, function)
        return function

    def __repr__(self) -> str:
        return self.name
