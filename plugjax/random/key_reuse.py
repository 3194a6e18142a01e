"""Detection of keys that are used twice, while ``jax_debug_key_reuse`` is on.

Every primitive *uses* a key up (``random_bits``, ``split``), *makes* one (``split``, ``fold_in``, ``clone``), or
*passes* one on (``reshape``). The usage of a program's inputs follows from its equations; a program that uses one key
twice is refused before it runs. Between programs, and between single operations, used keys are recorded with their
arrays. Each element of an array of keys counts by itself.

The rule kind ``key_usage`` gives the usage of a primitive. Without a rule, a primitive uses up all its operands' keys
and makes the keys of its results. Raw keys (``uint32``) are not tracked.

Differs from JAX:
    Arrays that share keys share their record: after ``a, b = keys`` or ``k = keys.reshape(2, 1)``, using a or k uses
        ``keys[0]``. A result of an unknown primitive is a new key; JAX treats it as used.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from plugjax.extend import registry
from plugjax.extend.calls import checkpoint_p
from plugjax.extend.core import (
    Array,
    ClosedJaxpr,
    JaxprEqn,
    Literal,
    Source,
    broadcast_in_dim_p,
    config,
    convert_element_type_p,
    device_put_p,
    memoise,
    programs_in,
    reshape_p,
    user_source,
)
from plugjax.extend.errors import KeyReuseError
from plugjax.extend.rules import RuleKind, RuleSet, hookimpl
from plugjax.lax.comparison import eq_p, ne_p
from plugjax.lax.control_flow import cond_p, scan_p, while_p
from plugjax.lax.conversion import copy_p
from plugjax.lax.debug_callback import debug_callback_p
from plugjax.lax.gather_scatter import gather_p, scatter_p
from plugjax.lax.inspection import inspect_sharding_p
from plugjax.lax.joining import concatenate_p, slice_p
from plugjax.lax.shape import squeeze_p
from plugjax.lax.slicing import dynamic_slice_p, dynamic_update_slice_p
from plugjax.random.primitives import (
    KeyDType,
    random_clone_p,
    random_fold_in_p,
    random_seed_p,
    random_unwrap_p,
    random_wrap_p,
)

rules = RuleSet(__name__)

# Elements of an array of keys: all, or those where an array of its shape is true.
Mask = Any


@dataclass(frozen=True)
class Usage:
    """Usage of keys by an equation or a program.

    Attributes:
        used: for each input, which of its keys are used up.
        passed: for each output, the input whose keys it passes on.
    """

    used: dict[int, Mask] = field(default_factory=dict)
    passed: dict[int, int] = field(default_factory=dict)


key_usage: RuleKind[Callable[[JaxprEqn], Usage]] = RuleKind(
    "key_usage",
    "(eqn) -> Usage: which of the keys among the operands are used up, which are passed on",
)


def _is_key(aval: Any) -> bool:
    return isinstance(aval.dtype, KeyDType)


def _of_all(eqn: JaxprEqn, passed: dict[int, int] | None = None) -> Usage:
    """Every key that is not passed on is used up."""
    passed = passed or {}
    given = [i for i, v in enumerate(eqn.invars) if _is_key(v.aval)]
    return Usage({i: True for i in given if i not in passed.values()}, passed)


rules.define(
    key_usage, eq_p, ne_p, random_clone_p, random_fold_in_p, random_seed_p, random_unwrap_p, random_wrap_p,
    debug_callback_p, inspect_sharding_p,
)(lambda eqn: Usage())  # fmt: skip
rules.define(
    key_usage, broadcast_in_dim_p, convert_element_type_p, copy_p, dynamic_slice_p,
    dynamic_update_slice_p, gather_p, reshape_p, scatter_p, squeeze_p,
)(lambda eqn: _of_all(eqn, {0: 0}))  # fmt: skip
rules.define(key_usage, device_put_p)(
    lambda eqn: _of_all(eqn, {i: i for i in range(len(eqn.invars))})
)


@rules.define(key_usage, slice_p)
def _of_slice(eqn: JaxprEqn) -> Usage:
    """The selected elements are used up; the keys of the slice are new."""
    aval = eqn.invars[0].aval
    if not _is_key(aval):
        return Usage()
    starts, limits = eqn.params["start_indices"], eqn.params["limit_indices"]
    strides = eqn.params["strides"] or (1,) * len(starts)
    mask = np.zeros(aval.shape, bool)
    mask[tuple(slice(*each) for each in zip(starts, limits, strides, strict=True))] = True
    return Usage({0: mask})


@rules.define(key_usage, concatenate_p)
def _of_concatenate(eqn: JaxprEqn) -> Usage:
    return _of_all(eqn, {0: 0} if len(eqn.invars) == 1 else None)


@rules.define(key_usage, checkpoint_p)
def _of_checkpoint(eqn: JaxprEqn) -> Usage:
    """The second run, for the derivative, uses the keys of the first run on purpose."""
    return Usage() if eqn.params["differentiated"] else program_usage(eqn.params["jaxpr"])


@rules.define(key_usage, cond_p)
def _of_cond(eqn: JaxprEqn) -> Usage:
    """The union of what the branches use; the keys that all of them pass on."""
    usages = [program_usage(branch) for branch in eqn.params["branches"]]
    used: dict[int, Mask] = {}
    for usage in usages:
        for i, mask in usage.used.items():
            used[i + 1] = _either(used.get(i + 1, False), mask)
    first, *others = (usage.passed.items() for usage in usages)
    passed = {o: i + 1 for o, i in first if all((o, i) in other for other in others)}
    return Usage(used, passed)


@rules.define(key_usage, scan_p)
def _of_scan(eqn: JaxprEqn) -> Usage:
    """Constants are the same in every step; a step that uses a key of the carry must replace it."""
    constants, carried = eqn.params["num_consts"], eqn.params["num_carry"]
    usage = program_usage(eqn.params["jaxpr"])
    _check_repeated(eqn, usage, constants, carried, "scan: a step")
    kept = {o: i for o, i in usage.passed.items() if o >= carried or i - constants == o}
    # A slice of ``xs`` is another key in each step: all keys are used, or none.
    used = {i: m if i < constants + carried else True for i, m in usage.used.items()}
    return Usage(used, {o: i for o, i in kept.items() if i < constants + carried})


@rules.define(key_usage, while_p)
def _of_while(eqn: JaxprEqn) -> Usage:
    before, count = eqn.params["cond_nconsts"], eqn.params["body_nconsts"]
    carried = len(eqn.outvars)
    test, body = (program_usage(eqn.params[name]) for name in ("cond_jaxpr", "body_jaxpr"))
    _check_repeated(eqn, test, before, 0, "while_loop: the condition")
    _check_repeated(eqn, body, count, carried, "while_loop: the body")
    used = {i + before: mask for i, mask in body.used.items()}
    passed = {o: i + before for o, i in body.passed.items() if i - count == o}
    return Usage(used, passed)


def _check_repeated(eqn: JaxprEqn, usage: Usage, constants: int, carried: int, who: str) -> None:
    for i in usage.used:
        place = i - constants
        if 0 <= place < carried and place not in usage.passed:
            continue
        if place >= carried > 0:
            continue  # Another slice in each step.
        kind = "a constant" if place < 0 else f"element {place} of the carry, which it gives back"
        raise KeyReuseError(
            f"{who} uses a key that is {kind}, so every repetition uses it again.{_at(eqn.source)} "
            "Carry a key, and split it in each step."
        )


def _either(first: Mask, second: Mask) -> Mask:
    if first is True or second is True:
        return True
    return second if first is False else first | second


def _overlap(first: Mask, second: Mask) -> bool:
    if first is False or second is False:
        return False
    return bool(np.any(np.logical_and(first, second)))


def _at(source: Source | None) -> str:
    return f" At {source}." if source is not None else ""


def equation_usage(eqn: JaxprEqn) -> Usage:
    """Usage of its operands' keys by an equation."""
    rule = registry.table(key_usage).get(eqn.primitive)
    if rule is not None:
        return rule(eqn)
    # A call has the usage of its program.
    for program in programs_in(eqn.params):
        if len(program.in_avals) == len(eqn.invars) and len(program.out_avals) == len(eqn.outvars):
            return program_usage(program)
    return _of_all(eqn)


def program_usage(program: ClosedJaxpr) -> Usage:
    """Usage of its inputs' keys by a program; constants count as further inputs.

    Raises:
        KeyReuseError: it uses a key twice.
    """
    found: Usage = memoise(program, "key_usage", lambda: _program_usage(program))
    return found


def _program_usage(program: ClosedJaxpr) -> Usage:
    inner = program.jaxpr
    inputs = [*inner.invars, *inner.constvars]
    # By variable: the origin of its keys; which of them are used, and where.
    origins: dict[Any, Any] = {}
    used: dict[Any, Mask] = {}
    places: dict[Any, Source | None] = {}
    for eqn in inner.eqns:
        keys = [v for v in (*eqn.invars, *eqn.outvars) if _is_key(v.aval)]
        if not keys:
            continue
        usage = equation_usage(eqn)
        for i, mask in usage.used.items():
            var = eqn.invars[i] if i < len(eqn.invars) else None
            if var is None or type(var) is Literal:
                continue
            origin = origins.get(var, var)
            if origin is not var and mask is not True:
                mask = mask.reshape(origin.aval.shape) if mask.size == origin.aval.size else True
            if _overlap(used.get(origin, False), mask):
                raise KeyReuseError(_words(eqn.primitive.name, eqn.source, places[origin]))
            used[origin] = _either(used.get(origin, False), mask)
            places[origin] = eqn.source
        for o, i in usage.passed.items():
            var = eqn.invars[i]
            if type(var) is not Literal:
                origins[eqn.outvars[o]] = origins.get(var, var)
    position = {v: i for i, v in enumerate(inputs)}
    passed = {}
    for o, var in enumerate(inner.outvars):
        origin = None if type(var) is Literal else origins.get(var, var)
        if origin in position and _is_key(origin.aval):
            passed[o] = position[origin]
    return Usage({position[v]: mask for v, mask in used.items() if v in position}, passed)


def _words(name: str, again: Source | None, before: Source | None) -> str:
    where = "".join(
        f"\n  {when}: {source}"
        for when, source in (("used first at", before), ("again at", again))
        if source is not None
    )
    return (
        f"{name} gets a key that was used already, and would give the same numbers once more. Split it before "
        f"its first use, or say with random.clone that this is meant.{where}"
    )


class _Record:
    """The used elements of an array of keys, and the places of use."""

    __slots__ = ("mask", "source")

    def __init__(self) -> None:
        self.mask: Mask = False
        self.source: Source | None = None


class _Records:
    """Records by array identity, as long as the array lives; arrays of the same keys share one."""

    def __init__(self) -> None:
        self._found: dict[int, tuple[Any, _Record]] = {}

    def of(self, x: Array) -> _Record:
        """The record of an array."""
        _, record = self._found.get(id(x), (None, None))
        if record is None:
            record = _Record()
            self.share(x, record)
        return record

    def share(self, x: Array, record: _Record) -> None:
        """Let an array have the record of another one."""
        number = id(x)
        reference = weakref.ref(x, lambda _: self._found.pop(number, None))
        self._found[number] = (reference, record)


_records = _Records()


@hookimpl
def plugjax_instrument(program: Callable[[], ClosedJaxpr]) -> Callable[[Any], Any] | None:
    """Check the keys of each call of a program, while ``jax_debug_key_reuse`` is on."""
    if not config.read("debug_key_reuse"):
        return None
    traced = program()
    usage = program_usage(traced)
    if not (usage.used or usage.passed):
        return None
    name = traced.jaxpr.debug_name
    used = {i: mask if mask is True else mask.reshape(-1) for i, mask in usage.used.items()}

    def around(call: Callable[[Sequence[Array]], Any]) -> Callable[[Sequence[Array]], Any]:
        def run(arrays: Sequence[Array]) -> Any:
            given = [*arrays, *traced.consts]
            here = user_source()
            # One array may be several arguments.
            after: dict[_Record, Mask] = {}
            for i, mask in used.items():
                if type(given[i]) is not Array:
                    continue
                record = _records.of(given[i])
                if _overlap(after.get(record, record.mask), mask):
                    raise KeyReuseError(_words(name, here, record.source or here))
                after[record] = _either(after.get(record, record.mask), mask)
            outs = call(arrays)
            for record, mask in after.items():
                record.mask, record.source = mask, here
            results = outs if isinstance(outs, list) else [outs]
            for o, i in usage.passed.items():
                if type(given[i]) is Array and type(results[o]) is Array:
                    _pass_on(given[i], results[o])
            return outs

        return run

    return around


def _pass_on(x: Array, y: Array) -> None:
    record = _records.of(x)
    if x.size == y.size:
        _records.share(y, record)
    elif record.mask is not False:
        # Some of its keys, or some of them more than once.
        found = _records.of(y)
        found.mask, found.source = True, record.source
