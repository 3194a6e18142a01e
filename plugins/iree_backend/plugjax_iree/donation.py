"""Which result may be written into the memory of which donated argument.

IREE 3.13 writes a result where it is told to, whoever still reads the argument: ``(a, b) -> (b, a)`` gave ``b`` twice. So a result gets
the memory of an argument only if every reader of the argument is done by then, or reads the element that it writes: all readers lead to
the operation that gives the result, which is elementwise or an update; and none of them is fused with it, unless it and what stands
between them is elementwise, too.
"""

from __future__ import annotations

from collections.abc import Sequence

from plugjax.core import ClosedJaxpr, Literal
from plugjax.core.jaxpr import JaxprEqn, Var

# Element by element: what is fused of them reads an element before it writes it.
_LOCAL = frozenset(
    [
        "abs",
        "add",
        "add_any",
        "and",
        "atan2",
        "cbrt",
        "ceil",
        "clamp",
        "complex",
        "conj",
        "convert_element_type",
        "cos",
        "cosh",
        "div",
        "eq",
        "erf",
        "exp",
        "exp2",
        "expm1",
        "floor",
        "ge",
        "gt",
        "imag",
        "integer_pow",
        "is_finite",
        "le",
        "log",
        "log1p",
        "logistic",
        "lt",
        "max",
        "min",
        "mul",
        "multiply_add",
        "ne",
        "neg",
        "not",
        "or",
        "pow",
        "real",
        "rem",
        "round",
        "rsqrt",
        "select_n",
        "sign",
        "sin",
        "sinh",
        "sqrt",
        "square",
        "sub",
        "tan",
        "tanh",
        "xor",
    ]
)

# What writes a part of its first operand.
_UPDATES = frozenset(
    ("dynamic_update_slice", "scatter", "scatter-add", "scatter_add", "scatter_mul", "scatter-mul")
)

# What is computed as a whole before anybody reads it, and is fused with what comes before and after it, but not further.
_WHOLE = frozenset(
    [
        "argmax",
        "argmin",
        "conv_general_dilated",
        "cumlogsumexp",
        "cummax",
        "cummin",
        "cumprod",
        "cumsum",
        "dot_general",
        "reduce",
        "reduce_and",
        "reduce_max",
        "reduce_min",
        "reduce_or",
        "reduce_prod",
        "reduce_sum",
        "scan",
        "sort",
        "top_k",
        "while",
    ]
)


def reused_arguments(jaxpr: ClosedJaxpr, donated: Sequence[int]) -> dict[int, int]:
    """For donated arguments, the results that are written into their memory."""
    if not donated:
        return {}
    program = jaxpr.jaxpr
    producers = {v: eqn for eqn in program.eqns for v in eqn.outvars}
    taken: set[int] = set()
    found = {}
    for index in donated:
        argument = program.invars[index]
        if argument in program.outvars:
            continue
        for k, out in enumerate(program.outvars):
            if k in taken or isinstance(out, Literal) or program.outvars.count(out) > 1:
                continue
            same = out.aval.strip_weak_type() == argument.aval.strip_weak_type()
            eqn = producers.get(out)
            if same and eqn is not None and _may_replace(argument, eqn, program.eqns, producers):
                found[index] = k
                taken.add(k)
                break
    return found


def _may_replace(
    argument: Var, last: JaxprEqn, eqns: Sequence[JaxprEqn], producers: dict[Var, JaxprEqn]
) -> bool:
    """Whether the results of an equation may be written over an argument."""
    name = last.primitive.name
    update = name in _UPDATES and last.invars[0] is argument
    if not (name in _LOCAL or update):
        return False
    if update and any(v is argument for v in last.invars[1:]):
        return False
    before = _before(last, producers)
    readers = [eqn for eqn in eqns if any(v is argument for v in eqn.invars)]
    if any(eqn is not last and id(eqn) not in before for eqn in readers):
        return False
    return not _read_while_written(argument, last, producers)


def _before(last: JaxprEqn, producers: dict[Var, JaxprEqn]) -> set[int]:
    """The equations that an equation needs."""
    found: set[int] = set()
    pending = [last]
    while pending:
        for v in pending.pop().invars:
            eqn = None if isinstance(v, Literal) else producers.get(v)
            if eqn is not None and id(eqn) not in found:
                found.add(id(eqn))
                pending.append(eqn)
    return found


def _read_while_written(argument: Var, last: JaxprEqn, producers: dict[Var, JaxprEqn]) -> bool:
    """Whether something that may be fused with an equation reads other elements of an argument than it writes."""
    # An equation, whether only elementwise ones stand between, and how many that are computed as a whole.
    pending = [(last, True, 0)]
    seen = set()
    while pending:
        eqn, local, whole = pending.pop()
        if (id(eqn), local, whole) in seen:
            continue
        seen.add((id(eqn), local, whole))
        name = eqn.primitive.name
        if eqn is not last:
            if name in _WHOLE:
                whole, local = whole + 1, False
                if whole == 2:
                    continue
            elif name not in _LOCAL:
                local = False
        if not local and any(v is argument for v in eqn.invars):
            return True
        for v in eqn.invars:
            producer = None if isinstance(v, Literal) else producers.get(v)
            if producer is not None:
                pending.append((producer, local, whole))
    return False
