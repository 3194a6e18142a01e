"""Estimated cost and memory of programs, for backends whose compilers tell neither: each operation is taken to run by itself."""

from __future__ import annotations

from collections import Counter
from typing import Any

from plugjax.core import registry
from plugjax.core.aval import physical_aval
from plugjax.core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Var, programs_in
from plugjax.transforms.work import Work, work_rule


def program_costs(program: ClosedJaxpr) -> dict[str, float]:
    """Arithmetic operations, transcendental functions and bytes read and written, by XLA's names.

    A loop whose steps only the values tell counts as one step, as XLA counts it; of branches the dearest one counts.
    """
    found = _costs(program.jaxpr)
    return {name: float(found[name]) for name in ("flops", "transcendentals", "bytes accessed")}


def _costs(jaxpr: Jaxpr) -> Counter[str]:
    total: Counter[str] = Counter()
    for eqn in jaxpr.eqns:
        total.update(_equation_costs(eqn))
    return total


def _equation_costs(eqn: JaxprEqn) -> Counter[str]:
    rule = registry.table(work_rule).get(eqn.primitive)
    work = Work() if rule is None else rule(eqn)
    inner = [_costs(program.jaxpr) for program in programs_in(eqn.params)]
    if inner:
        if work.one_program:
            return max(inner, key=lambda costs: costs["bytes accessed"])
        steps = 1 if work.steps is None else work.steps
        return Counter({name: steps * n for costs in inner for name, n in costs.items()})
    bytes_moved = sum(map(_bytes, (*eqn.invars, *eqn.outvars)))
    products = work.products + work.convolved
    if products:
        return Counter({"flops": 2 * products, "bytes accessed": bytes_moved})
    done = work.operations
    if done is None:
        done = sum(v.aval.size for v in eqn.outvars)
    kind = "transcendentals" if work.transcendental else "flops"
    return Counter({kind: done, "bytes accessed": bytes_moved})


def _bytes(atom: Any) -> int:
    aval = atom.aval
    if not hasattr(aval, "shape"):
        return 0
    stored = physical_aval(aval)
    return int(stored.size * stored.dtype.itemsize)


def program_memory(program: ClosedJaxpr) -> dict[str, int]:
    """Bytes of arguments, results, and of the temporaries that live at one time, by the names of XLA."""
    jaxpr = program.jaxpr
    results = {v for v in jaxpr.outvars if isinstance(v, Var)}
    last_use = {v: i for i, eqn in enumerate(jaxpr.eqns) for v in eqn.invars if isinstance(v, Var)}
    live = peak = 0
    held: dict[int, list[Var]] = {}
    for i, eqn in enumerate(jaxpr.eqns):
        made = [v for v in eqn.outvars if v not in results]
        live += sum(map(_bytes, made))
        within = [program_memory(inner) for inner in programs_in(eqn.params)]
        peak = max(peak, live + max((m["temp_size_in_bytes"] for m in within), default=0))
        for v in made:
            held.setdefault(last_use.get(v, i), []).append(v)
        live -= sum(map(_bytes, held.pop(i, ())))
    return {
        "alias_size_in_bytes": 0,
        "argument_size_in_bytes": sum(map(_bytes, jaxpr.invars)),
        "generated_code_size_in_bytes": 0,
        "output_size_in_bytes": sum(map(_bytes, jaxpr.outvars)),
        "temp_size_in_bytes": peak,
    }
