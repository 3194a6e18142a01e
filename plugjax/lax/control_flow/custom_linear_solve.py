"""Linear systems solved by a user's function: ``custom_linear_solve``.

With A x = b, differentiation gives A x_dot = b_dot - A_dot x: another system with the same A, solved by the same
solver, whose derivative is never needed. The transpose is a solve with A^T. The primitive holds four programs, of A,
A^T, the solver and the solver of A^T; transposition exchanges them by pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from plugjax.extend import pytree
from plugjax.extend.core import (
    ClosedJaxpr,
    Primitive,
    ShapedArray,
    Zero,
    add_any,
    as_array,
    aval_of,
    eval_closed,
    instantiate,
)
from plugjax.extend.rules import (
    RuleSet,
    abstract_eval,
    batching_rule,
    expand_rule,
    jvp_rule,
    linearize_rule,
    transpose_rule,
)
from plugjax.extend.transforms import (
    Axis,
    batch_jaxpr,
    is_undefined_primal,
    jvp_jaxpr,
    linearize_on_tape,
    materialize,
    transpose_jaxpr,
)
from plugjax.lax.arithmetic import neg
from plugjax.lax.control_flow.bodies import check_tree, trace_body

rules = RuleSet(__name__)

linear_solve_p = Primitive("custom_linear_solve", multiple_results=True, structured=True)

# Of matvec, vecmat, solve and transpose_solve; the second and the fourth may be missing.
Programs = tuple[ClosedJaxpr, ClosedJaxpr | None, ClosedJaxpr, ClosedJaxpr | None]
Lengths = tuple[int, int, int, int]
Differentiate = Callable[
    [ClosedJaxpr, Sequence[Any], Sequence[Any]],
    Sequence[Any],
]


def custom_linear_solve(
    matvec: Callable[[Any], Any],
    b: Any,
    solve: Callable[[Callable[[Any], Any], Any], Any],
    transpose_solve: Callable[[Callable[[Any], Any], Any], Any] | None = None,
    symmetric: bool = False,
    has_aux: bool = False,
) -> Any:
    """Solve ``matvec(x) = b`` by ``solve``, with the derivatives of the solution.

    Args:
        matvec: linear function of a pytree like ``b``.
        b: pytree of arrays: the right-hand side.
        solve: ``(matvec, b) -> x``; it need not be differentiable.
        transpose_solve: ``(vecmat, b) -> x`` for the transposed system; needed by reverse mode, unless ``symmetric``.
        symmetric: whether ``matvec`` is its own transpose.
        has_aux: whether the solvers give ``(x, aux)``; ``aux`` has no derivative.

    Returns: The result of ``solve``.

    Raises:
        TypeError: ``matvec`` or a solver gives another structure than that of ``b``.
        ValueError: the result has other shapes, or is not a pair with ``has_aux``.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> from plugjax import lax
        >>> def solution(a):
        ...     return lax.custom_linear_solve(lambda x: a * x, 6.0, lambda _, b: b / a, symmetric=True)
        >>> plugjax.value_and_grad(solution)(2.0)
        (Array(3., dtype=float32, weak_type=True), Array(-1.5, dtype=float32, weak_type=True))
    """
    if transpose_solve is None and symmetric:
        transpose_solve = solve
    leaves, tree = pytree.flatten(b)
    b_flat = [as_array(x, "custom_linear_solve") for x in leaves]
    avals = [x.aval for x in b_flat]
    in_tree = pytree.structure((b,))

    def trace(
        fun: Callable[[Any], Any], name: str, aux: bool
    ) -> tuple[ClosedJaxpr, list[Any], Any]:
        program, consts, out_tree = trace_body(fun, in_tree, avals, f"custom_linear_solve {name}")
        check_tree(name, "b", out_tree, tree, aux)
        _check_shapes(name, program.out_avals[: len(avals)], avals)
        return program, consts, out_tree

    operator, operator_consts, _ = trace(matvec, "matvec", False)
    solver, solver_consts, out_tree = trace(lambda x: solve(matvec, x), "solve", has_aux)
    transposed: ClosedJaxpr | None = None
    transposed_solver: ClosedJaxpr | None = None
    transposed_consts: list[Any] = []
    transposed_solver_consts: list[Any] = []
    if transpose_solve is not None:
        give = transpose_solve
        vecmat = matvec
        transposed, transposed_consts = operator, operator_consts
        if not symmetric:
            fixed = len(operator_consts)
            linear = [i >= fixed for i in range(fixed + len(avals))]
            program, _ = transpose_jaxpr(operator, linear, [True] * len(avals), True)
            transposed = program

            def vecmat(x: Any) -> Any:
                xs = pytree.leaves(x)
                return pytree.unflatten(tree, eval_closed(program, *operator_consts, *xs))

        transposed_solver, transposed_solver_consts, _ = trace(
            lambda x: give(vecmat, x), "transpose_solve", has_aux
        )
    consts = (operator_consts, transposed_consts, solver_consts, transposed_solver_consts)
    outs = linear_solve_p.bind(
        *(c for group in consts for c in group),
        *b_flat,
        const_lengths=tuple(len(group) for group in consts),
        jaxprs=(operator, transposed, solver, transposed_solver),
    )
    return pytree.unflatten(out_tree, outs)


def _check_shapes(name: str, found: Sequence[ShapedArray], expected: Sequence[ShapedArray]) -> None:
    shapes, wanted = [a.shape for a in found], [a.shape for a in expected]
    if shapes != wanted:
        raise ValueError(
            f"{name}() returns shapes {shapes}, but b has {wanted}. Return what has the shapes of b."
        )


def _groups(values: Sequence[Any], lengths: Lengths) -> list[Sequence[Any]]:
    """Constants of the four programs, and the right-hand side."""
    groups, start = [], 0
    for length in lengths:
        groups.append(values[start : start + length])
        start += length
    return [*groups, values[start:]]


@rules.define(abstract_eval, linear_solve_p)
def _solve_avals(*avals: ShapedArray, jaxprs: Programs, **_: Any) -> list[ShapedArray]:
    return jaxprs[2].out_avals


@rules.define(expand_rule, linear_solve_p)
def _solve_expand(*, const_lengths: Lengths, jaxprs: Programs) -> Callable[..., list[Any]]:
    """The solver, as a function of all operands of the equation."""

    def solve(*operands: Any) -> list[Any]:
        _, _, solver_consts, _, b = _groups(operands, const_lengths)
        return eval_closed(jaxprs[2], *solver_consts, *b)

    return solve


def _derivative(
    differentiate: Differentiate,
    primals: Sequence[Any],
    tangents: Sequence[Any],
    const_lengths: Lengths,
    jaxprs: Programs,
) -> tuple[list[Any], list[Any]]:
    outs = linear_solve_p.bind(*primals, const_lengths=const_lengths, jaxprs=jaxprs)
    *consts, b = _groups(primals, const_lengths)
    *consts_dot, right = _groups(tangents, const_lengths)
    count = len(b)
    right = list(right)
    if any(type(t) is not Zero for t in consts_dot[0]):
        zeros = [Zero(aval_of(x).to_tangent_aval()) for x in outs[:count]]
        applied = differentiate(jaxprs[0], [*consts[0], *outs[:count]], [*consts_dot[0], *zeros])
        right = [
            r if type(t) is Zero else add_any(r, neg(t))
            for r, t in zip(right, applied, strict=True)
        ]
    dots: list[Any] = [Zero(aval_of(y).to_tangent_aval()) for y in outs]
    if any(type(r) is not Zero for r in right):
        found = linear_solve_p.bind(
            *primals[: sum(const_lengths)],
            *(instantiate(r) for r in right),
            const_lengths=const_lengths,
            jaxprs=jaxprs,
        )
        dots[:count] = found[:count]
    return list(outs), dots


@rules.define(jvp_rule, linear_solve_p)
def _solve_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, const_lengths: Lengths, jaxprs: Programs
) -> tuple[list[Any], list[Any]]:
    def differentiate(
        program: ClosedJaxpr, xs: Sequence[Any], dots: Sequence[Any]
    ) -> Sequence[Any]:
        derivative, _ = jvp_jaxpr(
            program, [type(t) is not Zero for t in dots], [True] * len(program.out_avals)
        )
        found = eval_closed(derivative, *xs, *(t for t in dots if type(t) is not Zero))
        return found[len(program.out_avals) :]

    return _derivative(differentiate, primals, tangents, const_lengths, jaxprs)


@rules.define(linearize_rule, linear_solve_p)
def _solve_linearize(
    primals: Sequence[Any], tangents: Sequence[Any], *, const_lengths: Lengths, jaxprs: Programs
) -> tuple[list[Any], list[Any]]:
    def differentiate(
        program: ClosedJaxpr, xs: Sequence[Any], dots: Sequence[Any]
    ) -> Sequence[Any]:
        return linearize_on_tape(lambda *ys: eval_closed(program, *ys), xs, dots)[1]

    return _derivative(differentiate, primals, tangents, const_lengths, jaxprs)


@rules.define(transpose_rule, linear_solve_p)
def _solve_transpose(
    cotangents: Sequence[Any], *operands: Any, const_lengths: Lengths, jaxprs: Programs
) -> list[Any]:
    *consts, b = _groups(operands, const_lengths)
    if any(is_undefined_primal(x) for group in consts for x in group):
        raise TypeError(
            "custom_linear_solve is not linear in what its functions close over: it cannot be transposed in that."
        )
    if jaxprs[3] is None:
        raise TypeError(
            "custom_linear_solve: reverse mode needs transpose_solve. Pass it, or symmetric=True where matvec is "
            "its own transpose."
        )
    (mv, vm, sv, ts), (matvec, vecmat, solve, transpose_solve) = const_lengths, jaxprs
    found = linear_solve_p.bind(
        *(c for i in (1, 0, 3, 2) for c in consts[i]),
        *(instantiate(bar) for bar in cotangents[: len(b)]),
        const_lengths=(vm, mv, ts, sv),
        jaxprs=(vecmat, matvec, transpose_solve, solve),
    )
    bars = zip(b, found[: len(b)], strict=True)
    return [
        *(None for _ in range(sum(const_lengths))),
        *(bar if is_undefined_primal(x) else None for x, bar in bars),
    ]


@rules.define(batching_rule, linear_solve_p)
def _solve_batching(
    axis: Axis,
    args: Sequence[Any],
    dims: Sequence[int | None],
    *,
    const_lengths: Lengths,
    jaxprs: Programs,
) -> tuple[list[Any], list[int | None]]:
    # x and b have one structure, and each program maps one to the other. If any program makes them
    # batched, all batch axes are alike. Further results of the solvers are batched too.
    *consts_b, batched = _groups([d is not None for d in dims], const_lengths)
    batched = list(batched)
    count = len(batched)

    def mapped(flags: Sequence[bool]) -> tuple[list[Any], list[bool]]:
        programs: list[Any] = []
        grown = list(flags)
        for program, own in zip(jaxprs, consts_b, strict=True):
            if program is None:
                programs.append(None)
                continue
            forced = [*flags, *(True for _ in program.out_avals[count:])]
            made, found = batch_jaxpr(program, axis, [*own, *flags], forced)
            programs.append(made)
            grown = [a or b for a, b in zip(grown, found[:count], strict=True)]
        return programs, grown

    programs, grown = mapped(batched)
    while grown != batched:
        batched = grown
        programs, grown = mapped(batched)
    fixed = sum(const_lengths)
    moved = [
        x if d is None else materialize(x, d, axis)
        for x, d in zip(args[:fixed], dims[:fixed], strict=True)
    ]
    right = [
        materialize(x, d, axis) if flag else x
        for x, d, flag in zip(args[fixed:], dims[fixed:], batched, strict=True)
    ]
    outs = linear_solve_p.bind(*moved, *right, const_lengths=const_lengths, jaxprs=tuple(programs))
    return outs, [0 if i >= count or batched[i] else None for i in range(len(outs))]
