"""Loops in loops, with branches, random numbers and derivatives in them: what optimizers and samplers are made of."""

import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax import lax, random

HISTORY = 5


def objective(x):
    return jnp.sum((x - 1.0) ** 2 * jnp.arange(1.0, 4.0)) + jnp.sum(x[1:] * x[:-1])


def quasi_newton(x):
    """L-BFGS: two recursions and a line search in a `while`."""
    gradient = plugjax.grad(objective)

    def direction(g, steps, changes, scales, count):
        def down(i, carry):
            q, alphas = carry
            j = HISTORY - 1 - i
            alpha = scales[j] * jnp.dot(steps[j], q)
            return q - alpha * changes[j], alphas.at[j].set(alpha)

        q, alphas = lax.fori_loop(0, HISTORY, down, (g, jnp.zeros(HISTORY)))
        curvature = jnp.dot(changes[-1], changes[-1])
        r = jnp.where(count > 0, jnp.dot(steps[-1], changes[-1]) / (curvature + 1e-10), 1.0) * q

        def up(i, r):
            return r + steps[i] * (alphas[i] - scales[i] * jnp.dot(changes[i], r))

        return -lax.fori_loop(0, HISTORY, up, r)

    def line_search(x, d, g):
        def too_far(carry):
            t, tries = carry
            return (objective(x + t * d) > objective(x) + 1e-4 * t * jnp.dot(g, d)) & (tries < 20)

        return lax.while_loop(too_far, lambda c: (c[0] * 0.5, c[1] + 1), (1.0, 0))[0]

    def step(carry):
        x, g, steps, changes, scales, count = carry
        d = direction(g, steps, changes, scales, count)
        new = x + line_search(x, d, g) * d
        change = gradient(new) - g
        kept = jnp.dot(new - x, change) > 1e-10

        def pushed(table, row):
            return jnp.where(kept, jnp.roll(table, -1, 0).at[-1].set(row), table)

        scale = 1 / (jnp.dot(new - x, change) + 1e-30)
        return (
            new, gradient(new), pushed(steps, new - x), pushed(changes, change), pushed(scales, scale), count + 1,
        )  # fmt: skip

    size = x.shape[0]
    tables = (jnp.zeros((HISTORY, size)), jnp.zeros((HISTORY, size)), jnp.zeros(HISTORY))
    start = (x, gradient(x), *tables, 0)
    return lax.while_loop(lambda c: (c[5] < 40) & (jnp.linalg.norm(c[1]) > 1e-4), step, start)[0]


def sampler(x):
    """A Hamiltonian sampler whose trajectories double until they turn back."""

    def log_density(q):
        return -0.5 * jnp.sum(q**2 * jnp.array([1.0, 4.0, 0.25]))

    def leap(q, p):
        p = p + 0.1 * plugjax.grad(log_density)(q)
        q = q + 0.2 * p
        return q, p + 0.1 * plugjax.grad(log_density)(q)

    def transition(q, key):
        momentum, level, rest = random.split(key, 3)
        p = random.normal(momentum, q.shape)
        height = log_density(q) - 0.5 * jnp.sum(p**2) + jnp.log(random.uniform(level))

        def grown(q, p, way, depth, key):
            def body(c):
                q, p, i, chosen, count, key = c
                q, p = leap(q, way * p)
                p = way * p
                key, draw = random.split(key)
                inside = height <= log_density(q) - 0.5 * jnp.sum(p**2)
                count = count + inside
                take = inside & (random.uniform(draw) < 1.0 / jnp.maximum(count, 1))
                return q, p, i + 1, jnp.where(take, q, chosen), count, key

            return lax.while_loop(lambda c: c[2] < 2**depth, body, (q, p, 0, q, 0, key))

        def step(c):
            left, left_p, right, right_p, chosen, count, goes_on, depth, key = c
            key, way, tree, accepted = random.split(key, 4)
            onwards = random.uniform(way) < 0.5
            q, p, _, new, more, _ = lax.cond(
                onwards,
                lambda: grown(right, right_p, 1.0, depth, tree),
                lambda: grown(left, left_p, -1.0, depth, tree),
            )
            left, left_p = jnp.where(onwards, left, q), jnp.where(onwards, left_p, p)
            right, right_p = jnp.where(onwards, q, right), jnp.where(onwards, p, right_p)
            take = random.uniform(accepted) < more / jnp.maximum(count, 1)
            chosen = jnp.where(take, new, chosen)
            apart = right - left
            goes_on = (jnp.dot(apart, left_p) >= 0) & (jnp.dot(apart, right_p) >= 0)
            return left, left_p, right, right_p, chosen, count + more, goes_on, depth + 1, key

        start = (q, p, q, p, q, 1, True, 0, rest)
        return (lax.while_loop(lambda c: c[6] & (c[7] < 4), step, start)[4],) * 2

    return lax.scan(transition, x, random.split(random.key(0), 5))[1]


def batch_of_roots(x):
    """Bisection, then Newton's method, for each element."""

    def solve(a):
        def f(x):
            return x**3 + a * x - 1

        def halved(c):
            low, high, i = c
            middle = 0.5 * (low + high)
            below = f(middle) < 0
            return jnp.where(below, middle, low), jnp.where(below, high, middle), i + 1

        low, high, _ = lax.while_loop(
            lambda c: (c[1] - c[0] > 1e-4) & (c[2] < 60), halved, (-2.0, 2.0, 0)
        )
        return lax.fori_loop(0, 3, lambda i, x: x - f(x) / plugjax.grad(f)(x), 0.5 * (low + high))

    return plugjax.vmap(solve)(jnp.abs(x) + 0.5)


def derivative_of_a_root(x):
    def solve(a):
        def newton(f, start):
            return lax.while_loop(
                lambda c: (jnp.abs(f(c[0])) > 1e-5) & (c[1] < 50),
                lambda c: (c[0] - f(c[0]) / plugjax.grad(f)(c[0]), c[1] + 1),
                (start, 0),
            )[0]

        return lax.custom_root(
            lambda x: jnp.cos(x) - a * x, jnp.float32(0.5), newton, lambda g, y: y / g(1.0)
        )

    return plugjax.vmap(plugjax.value_and_grad(solve))(jnp.abs(x) + 0.5)


@pytest.mark.spread(2)
@pytest.mark.parametrize(
    "program",
    [quasi_newton, sampler, batch_of_roots, derivative_of_a_root],
    ids=lambda f: f.__name__,
)
def test_values_are_those_of_numpy(program, agrees):
    agrees(program, np.float32([0.1, -0.2, 0.3]), rtol=1e-3, atol=1e-3)
