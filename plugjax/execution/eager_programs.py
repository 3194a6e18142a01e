"""What an operator, or a function of arrays, does with operands of given avals at a placement, as one program.

The callable is staged once. If its program is a line of primitives that all run on the host, a plugin writes a function over their
kernels. If none of them may, the backend compiles the program as a whole: one kernel where primitives are several. Anything else (a
constant, primitives of both kinds) leaves the callable to the evaluator.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from plugjax.core import registry
from plugjax.core.array import Array, aval_of, constant, default_placement
from plugjax.core.aval import ShapedArray
from plugjax.core.config import config
from plugjax.core.device import Placement
from plugjax.core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var, new_eqn
from plugjax.core.vocabulary import convert_element_type_p
from plugjax.execution.compile import Compiled
from plugjax.execution.host_kernels import host_kernel
from plugjax.execution.instruments import instrumented
from plugjax.execution.number_types import NUMBERS, Conversion, conversion
from plugjax.meshes.context import mesh_in_force
from plugjax.meshes.kinds import usual
from plugjax.transforms.staging import stage


def eager_program(
    function: Callable[..., Any], operands: Sequence[Any]
) -> Callable[..., Any] | None:
    """The function as one program, for operands like these; ``None`` if it is none.

    Args:
        function: of Arrays and numbers; it gives one array.
        operands: an Array, then Arrays or numbers.
    """
    placement: Placement = operands[0]._placement
    # What is spread over devices goes to their backend.
    if placement.whole is not placement or placement.several or mesh_in_force() is not None:
        return None
    if usual(placement) is not placement or not (
        placement.committed or placement is default_placement()
    ):
        return None
    if not all(_same_placement(x, placement) for x in operands):
        return None
    avals = [aval_of(x) for x in operands]
    try:
        jaxpr = stage(lambda *tracers: [function(*tracers)], avals, "an operator")
    except Exception:
        # The function raises it again, with arrays in place of tracers.
        return None
    # A constant may be another one at the next call.
    if jaxpr.consts or any(isinstance(v, Literal) for eqn in jaxpr.eqns for v in eqn.invars):
        return None
    on_host = all(_runs_on_host(eqn, placement) for eqn in jaxpr.eqns)
    if not (on_host or _is_compiled(placement)):
        return None
    numbers = {i: type(x) for i, x in enumerate(operands) if type(x) is not Array}
    program, conversions = _converted(jaxpr, numbers)
    if not any(program.jaxpr.outvars[0] in eqn.outvars for eqn in program.eqns):
        return None
    if not on_host:
        return _compiled(program, placement, conversions, function)
    found: Callable[..., Any] | None = registry.active().hook.plugjax_host_program(
        jaxpr=program, placement=placement, conversions=conversions, otherwise=function
    )
    return found


def _is_compiled(placement: Placement) -> bool:
    """Whether the backend compiles all eager operations at a placement."""
    mode = config.read("eager")
    return mode == "compile" or (mode == "auto" and not placement.host_visible)


def _compiled(
    program: ClosedJaxpr,
    placement: Placement,
    conversions: Mapping[int, Conversion],
    otherwise: Callable[..., Any],
) -> Callable[..., Any] | None:
    """The program as the backend compiles it; ``None`` for one equation, which the evaluator compiles for all who bind it."""
    if len(program.eqns) < 2 or any(eqn.effects for eqn in program.eqns):
        return None
    compiled = Compiled(program, placement, {"name": otherwise.__name__.strip("_")})
    if compiled.single is None:
        return None
    run = instrumented(compiled.single, lambda: program)
    if not conversions:
        return lambda *operands: run(operands)

    def call(*operands: Any) -> Any:
        arrays = list(operands)
        try:
            for i, convert in conversions.items():
                arrays[i] = constant(convert(arrays[i]), placement)
        except OverflowError:
            return otherwise(*operands)
        return run(arrays)

    return call


def _same_placement(x: Any, placement: Placement) -> bool:
    return x._placement is placement if type(x) is Array else type(x) in NUMBERS


def _runs_on_host(eqn: JaxprEqn, placement: Placement) -> bool:
    if eqn.primitive.multiple_results or eqn.effects:
        return False
    avals, out_avals = [v.aval for v in eqn.invars], [v.aval for v in eqn.outvars]
    return host_kernel(eqn.primitive, avals, out_avals, eqn.params, placement) is not None


def _converted(
    jaxpr: ClosedJaxpr, numbers: dict[int, type]
) -> tuple[ClosedJaxpr, dict[int, Conversion]]:
    """The program with numbers of the dtypes that it converts them to, and how they are made."""
    inner = jaxpr.jaxpr
    invars, eqns = list(inner.invars), list(inner.eqns)
    conversions: dict[int, Conversion] = {}
    for i, kind in numbers.items():
        var: Var = invars[i]
        users = [eqn for eqn in eqns if var in eqn.invars]
        if len(users) == 1 and users[0].primitive is convert_element_type_p:
            eqns.remove(users[0])
            invars[i] = users[0].outvars[0]
        conversions[i] = conversion(kind, var.aval, invars[i].aval.dtype)
    program = Jaxpr([], invars, inner.outvars, eqns, inner.debug_name)
    return ClosedJaxpr(program, []), conversions


def single_equation(
    primitive: Any,
    avals: Sequence[ShapedArray],
    params: dict[str, Any],
    out_avals: Sequence[ShapedArray],
) -> ClosedJaxpr:
    """The program that consists of one equation."""
    invars = [Var(aval) for aval in avals]
    outvars = [Var(aval) for aval in out_avals]
    eqn = new_eqn(list(invars), outvars, primitive, params)
    return ClosedJaxpr(Jaxpr([], invars, outvars, [eqn], primitive.name))
