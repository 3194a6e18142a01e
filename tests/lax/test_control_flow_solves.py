"""custom_linear_solve and custom_root: values, derivatives and batches against JAX."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import plugjax
import plugjax.numpy as pnp

MATRIX = np.array([[4.0, 1.0, 0.5], [0.3, 3.0, -0.2], [0.1, 0.7, 5.0]], np.float32)
RIGHT = np.array([1.0, -2.0, 0.5], np.float32)


def richardson(j, np_, steps=60):
    """A solver without matrix operations: x <- x + (b - A x) / 6, in a loop that has no reverse mode."""

    def solve(apply, b):
        def body(state):
            i, x = state
            return i + 1, j.tree.map(lambda x, b, a: x + (b - a) / 6, x, b, apply(x))

        zero = j.tree.map(np_.zeros_like, b)
        return j.lax.while_loop(lambda state: state[0] < steps, body, (0, zero))[1]

    return solve


def solution(j, np_, *, transpose=True, symmetric=False, aux=False):
    def run(a, b):
        solve = richardson(j, np_)
        if aux:
            plain = solve

            def solve(f, b):
                return (plain(f, b), {"norm": np_.sum(b * b)})

        matrix = (a + a.T) / 2 if symmetric else a
        return j.lax.custom_linear_solve(
            lambda x: np_.dot(matrix, x),
            b,
            solve,
            solve if transpose and not symmetric else None,
            symmetric=symmetric,
            has_aux=aux,
        )

    return run


def pytree_solution(j, np_):
    """A system of two blocks, one of which is a scalar."""

    def run(a, b):
        solve = richardson(j, np_)

        def system(x):
            return {"u": np_.dot(a, x["u"]), "v": 3 * x["v"] + x["u"][0]}

        return j.lax.custom_linear_solve(system, {"u": b, "v": b[0]}, solve, solve)

    return run


def total(f):
    return lambda a, b: sum((x * x * x).sum() for x in leaves(f(a, b)))


def leaves(tree):
    return jax.tree.leaves(tree) if not isinstance(tree, dict) else [tree[k] for k in sorted(tree)]


def transforms(j, make):
    """Functions of a matrix and a vector."""
    f = make(j, jnp if j is jax else pnp)
    g = total(f)
    return {
        "value": f,
        "jit": j.jit(f),
        "jvp": lambda a, b: j.jvp(f, (a, b), (a * 0.1, b + 1)),
        "grad": j.grad(g, (0, 1)),
        "jit of grad": j.jit(j.grad(g, (0, 1))),
        "hessian": j.hessian(g, 1),
        "mixed": j.jacfwd(j.grad(g, 0), 1),
        "vmap of b": lambda a, b: j.vmap(f, (None, 0))(a, b * np.ones((2, 1), np.float32)),
        "vmap of a": lambda a, b: j.vmap(f, (0, None))(a * np.ones((2, 1, 1), np.float32), b),
        "grad of vmap": lambda a, b: j.grad(
            lambda a, b: j.vmap(g, (0, None))(a * np.ones((2, 1, 1), np.float32), b).sum(), (0, 1)
        )(a, b),
        "vmap of grad": lambda a, b: j.vmap(j.grad(g, 1), (None, 0))(
            a, b * np.ones((2, 1), np.float32)
        ),
    }


SOLUTIONS = {"plain": solution, "pytree": pytree_solution,
          "symmetric": lambda j, np_: solution(j, np_, symmetric=True)}  # fmt: skip


CASES = [("plain", name) for name in transforms(plugjax, solution)]
CASES += [(make, name) for make in ("pytree", "symmetric") for name in ("jvp", "grad", "vmap of a")]


@pytest.mark.spread(8)
@pytest.mark.parametrize(("make", "name"), CASES)
def test_linear_solve_as_in_jax(make, name):
    found = transforms(plugjax, SOLUTIONS[make])[name](MATRIX, RIGHT)
    expected = transforms(jax, SOLUTIONS[make])[name](MATRIX, RIGHT)
    assert_trees(found, expected)


def assert_trees(found, expected):
    a, b = plugjax.tree.leaves(found), jax.tree.leaves(expected)
    assert len(a) == len(b)
    for x, y in zip(a, b, strict=True):
        assert x.shape == y.shape
        np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("name", ["jvp", "vmap of b"])
def test_linear_solve_with_aux(name):
    def make(j, np_):
        return solution(j, np_, aux=True)

    assert_trees(
        transforms(plugjax, make)[name](MATRIX, RIGHT), transforms(jax, make)[name](MATRIX, RIGHT)
    )


def test_reverse_mode_through_aux():
    def loss(j, np_):
        return lambda a, b: solution(j, np_, aux=True)(a, b)[0].sum()

    assert_trees(
        plugjax.grad(loss(plugjax, pnp), (0, 1))(MATRIX, RIGHT),
        jax.grad(loss(jax, jnp), (0, 1))(MATRIX, RIGHT),
    )


@pytest.mark.spread(6)
@pytest.mark.parametrize("name", ["jit of grad", "vmap of a"])
def test_linear_solve_on_backends(on_backend, name):
    found = transforms(plugjax, solution)[name](MATRIX, RIGHT)
    assert_trees(found, transforms(jax, solution)[name](MATRIX, RIGHT))


def test_the_solver_is_not_differentiated():
    program = str(plugjax.make_jaxpr(plugjax.grad(total(solution(plugjax, pnp))))(MATRIX, RIGHT))
    assert program.count("custom_linear_solve[") == 2


def cubic(j, np_, aux=False):
    """The root of x^3 + p x - q, found by steps of Newton's method in a loop without a reverse mode."""

    def run(p, q):
        def f(x):
            return x**3 + p * x - q

        def solve(f, x):
            def step(x):
                return x - f(x) / j.grad(lambda y: f(y).sum())(x)

            last = j.lax.while_loop(lambda s: s[0] < 30, lambda s: (s[0] + 1, step(s[1])), (0, x))
            return (last[1], {"steps": 1.0 * last[0]}) if aux else last[1]

        return j.lax.custom_root(f, 1.0 + 0 * q, solve, lambda g, y: y / g(1.0), has_aux=aux)

    return run


def root_results(j, np_, aux):
    f = cubic(j, np_, aux)

    def value(p, q):
        return f(p, q)[0] if aux else f(p, q)

    p, q = np.float32(2.0), np.float32(3.0)
    return [
        f(p, q),
        j.jvp(value, (p, q), (np.float32(1.0), np.float32(-1.0))),
        j.jit(j.grad(value, (0, 1)))(p, q),
        j.grad(j.grad(value))(p, q),
        j.vmap(j.grad(value), (0, None))(np.float32([1.0, 2.0]), q),
    ]


@pytest.mark.parametrize("aux", [False, True])
def test_root_as_in_jax(aux):
    assert_trees(root_results(plugjax, pnp, aux), root_results(jax, jnp, aux))


def test_root_of_a_pytree_by_a_linear_solve():
    def roots(j, np_):
        def run(a):
            def f(x):
                return {
                    "u": np_.tanh(np_.dot(a, x["u"])) - 0.3 + x["v"],
                    "v": x["v"] * 2 - a[0, 0],
                }

            def solve(f, x):
                def body(_, x):
                    return j.tree.map(lambda x, y: x - 0.2 * y, x, f(x))

                return j.lax.fori_loop(0, 200, body, x)

            guess = {"u": np_.zeros(3), "v": np_.float32(0)}
            return j.lax.custom_root(
                f,
                guess,
                solve,
                lambda g, y: j.lax.custom_linear_solve(
                    g, y, richardson(j, np_, 300), richardson(j, np_, 300)
                ),
            )

        return lambda a: (run(a)["u"] ** 2).sum()

    a = MATRIX / 4
    assert_trees(plugjax.grad(roots(plugjax, pnp))(a), jax.grad(roots(jax, jnp))(a))


one = np.float32(1)
BAD = {
    "matvec structure": lambda j: j.lax.custom_linear_solve(lambda x: (x,), one, lambda f, b: b),
    "matvec shape": lambda j: j.lax.custom_linear_solve(
        lambda x: x * np.ones(2, np.float32), one, lambda f, b: b
    ),
    "solve structure": lambda j: j.lax.custom_linear_solve(lambda x: x, one, lambda f, b: [b]),
    "transpose structure": lambda j: j.lax.custom_linear_solve(
        lambda x: x, one, lambda f, b: b, lambda f, b: [b]
    ),
    "no transpose_solve": lambda j: j.grad(
        lambda b: j.lax.custom_linear_solve(lambda x: 2 * x, b, lambda f, b: b / 2)
    )(one),
    "no aux": lambda j: j.lax.custom_linear_solve(
        lambda x: x, {"a": one}, lambda f, b: b, has_aux=True
    ),
    "root f structure": lambda j: j.lax.custom_root(
        lambda x: (x,), one, lambda f, x: x, lambda g, y: y
    ),
    "root solve structure": lambda j: j.lax.custom_root(
        lambda x: x, one, lambda f, x: (x,), lambda g, y: y
    ),
    "root tangent structure": lambda j: j.lax.custom_root(
        lambda x: x, one, lambda f, x: x, lambda g, y: (y,)
    ),
    "root no aux": lambda j: j.lax.custom_root(
        lambda x: x, {"a": one}, lambda f, x: x, lambda g, y: y, has_aux=True
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_inputs_raise_as_in_jax(name):
    with pytest.raises(Exception) as expected:
        BAD[name](jax)
    with pytest.raises(expected.type):
        BAD[name](plugjax)
