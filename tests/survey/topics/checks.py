"""Checks inside programs."""


def user_check(jax):
    jnp = jax.numpy
    checkify = jax.experimental.checkify

    def f(x, i):
        checkify.check(i >= 0, "index needs to be non-negative, got {i}", i=i)
        return x[i]

    checked = checkify.checkify(jax.jit(f))
    err, value = checked(jnp.arange(3.0), -1)
    ok, good = checked(jnp.arange(3.0), 1)
    return err.get(), value, ok.get(), good


def throw_raises(jax):
    checkify = jax.experimental.checkify

    def f(x):
        checkify.check(x > 0, "x must be positive")
        return x

    err, _ = checkify.checkify(f)(-1.0)
    err.throw()


def nan_checks(jax):
    jnp = jax.numpy
    checkify = jax.experimental.checkify
    f = checkify.checkify(lambda x: jnp.log(x) * 2, errors=checkify.float_checks)
    err, y = f(-1.0)
    return err.get() is not None, "log" in err.get(), y


def index_checks(jax):
    jnp = jax.numpy
    checkify = jax.experimental.checkify
    f = checkify.checkify(lambda x, i: x[i], errors=checkify.index_checks)
    err, _ = f(jnp.arange(4), 7)
    return "out-of-bounds" in err.get()


def division_by_zero(jax):
    jnp = jax.numpy
    checkify = jax.experimental.checkify
    f = checkify.checkify(lambda x, y: x / y, errors=checkify.div_checks)
    err, _ = f(jnp.float32(1), jnp.float32(0))
    return err.get().split("(")[0]


def check_in_scan(jax):
    jnp = jax.numpy
    checkify = jax.experimental.checkify

    def body(c, x):
        checkify.check(x < 3, "too large: {x}", x=x)
        return c + x, c

    err, (c, ys) = checkify.checkify(lambda xs: jax.lax.scan(body, 0, xs))(jnp.arange(5))
    return err.get(), c, ys


def check_under_vmap(jax):
    jnp = jax.numpy
    checkify = jax.experimental.checkify

    def f(x):
        checkify.check(x != 2, "two!")
        return x

    err, out = jax.vmap(checkify.checkify(f))(jnp.arange(4))
    return err.get().splitlines()[0], out


def unchecked_check_is_refused_in_jit(jax):
    checkify = jax.experimental.checkify

    @jax.jit
    def f(x):
        checkify.check(x > 0, "must be positive")
        return x

    return f(1.0)


def check_error_rethrows(jax):
    checkify = jax.experimental.checkify

    def inner(x):
        checkify.check(x > 0, "inner failed")
        return x

    def outer(x):
        err, y = checkify.checkify(inner)(x)
        checkify.check_error(err)
        return y + 1

    err, y = checkify.checkify(outer)(-2.0)
    return err.get(), y


def debug_check_vanishes_without_checkify(jax):
    checkify = jax.experimental.checkify

    @jax.jit
    def f(x):
        checkify.debug_check(x > 0, "negative")
        return x * 2

    return f(-1.0)
