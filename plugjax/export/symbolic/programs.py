"""Programs whose sizes are expressions, with values put in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from plugjax.export.symbolic.dimension import is_symbolic_dim
from plugjax.export.symbolic.values import dim_as_value_p
from plugjax.extend.core import (
    ClosedJaxpr,
    DropVar,
    Jaxpr,
    JaxprEqn,
    Literal,
    ShapedArray,
    Var,
    new_eqn,
)


def with_sizes(program: ClosedJaxpr, sizes: Mapping[str, int]) -> ClosedJaxpr:
    """A program for values of the variables of its sizes, which are numbers then."""
    return _Put(sizes).program(program)


def aval_with_sizes(aval: ShapedArray, sizes: Mapping[str, int]) -> ShapedArray:
    """An aval for values of the variables of its sizes."""
    if not any(is_symbolic_dim(d) for d in aval.shape):
        return aval
    shape = [d.evaluate(sizes) if is_symbolic_dim(d) else d for d in aval.shape]
    return aval.update(shape=tuple(shape))


class _Put:
    def __init__(self, sizes: Mapping[str, int]) -> None:
        self.sizes = sizes
        self.programs: dict[ClosedJaxpr, ClosedJaxpr] = {}

    def program(self, program: ClosedJaxpr) -> ClosedJaxpr:
        found = self.programs.get(program)
        if found is None:
            found = self.programs[program] = ClosedJaxpr(self.jaxpr(program.jaxpr), program.consts)
        return found

    def jaxpr(self, jaxpr: Jaxpr) -> Jaxpr:
        atoms: dict[Any, Any] = {}

        def variable(var: Any) -> Any:
            if isinstance(var, Literal):
                return var
            found = atoms.get(var)
            if found is None:
                made = DropVar if type(var) is DropVar else Var
                found = atoms[var] = made(aval_with_sizes(var.aval, self.sizes))
            return found

        constvars = [variable(v) for v in jaxpr.constvars]
        invars = [variable(v) for v in jaxpr.invars]
        eqns: list[JaxprEqn] = []
        for eqn in jaxpr.eqns:
            if eqn.primitive is dim_as_value_p:
                # A size is a number that the operations which read it hold.
                (out,) = eqn.outvars
                atoms[out] = Literal(
                    np.asarray(eqn.params["dim"].evaluate(self.sizes), out.aval.dtype)[()], out.aval
                )
                continue
            eqns.append(
                new_eqn(
                    [variable(v) for v in eqn.invars],
                    [variable(v) for v in eqn.outvars],
                    eqn.primitive,
                    {name: self.param(each) for name, each in eqn.params.items()},
                )
            )
        outvars = [variable(v) for v in jaxpr.outvars]
        return Jaxpr(constvars, invars, outvars, eqns, jaxpr.debug_name)

    def param(self, value: Any) -> Any:
        if is_symbolic_dim(value):
            return value.evaluate(self.sizes)
        if isinstance(value, ClosedJaxpr):
            return self.program(value)
        if isinstance(value, Jaxpr):
            return self.jaxpr(value)
        if isinstance(value, ShapedArray):
            return aval_with_sizes(value, self.sizes)
        if isinstance(value, (tuple, list)):
            items = [self.param(each) for each in value]
            return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
        if isinstance(value, dict):
            return {key: self.param(each) for key, each in value.items()}
        return value
