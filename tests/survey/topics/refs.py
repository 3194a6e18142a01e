"""Mutable arrays."""


def counter_in_jit(jax):
    jnp = jax.numpy
    count = jax.new_ref(0)

    @jax.jit
    def f(x):
        count[...] += 1
        return x * 2

    for i in range(3):
        f(jnp.float32(i))
    return count[...]


def freeze_after_updates(jax):
    jnp = jax.numpy

    @jax.jit
    def f(x):
        ref = jax.new_ref(jnp.zeros(4))
        ref[1] = x
        ref[2:] += 2 * x
        return jax.freeze(ref)

    return f(3.0)


def running_sum_by_scan(jax):
    jnp = jax.numpy
    total = jax.new_ref(jnp.zeros(()))

    def body(carry, x):
        total[...] += x
        return carry + 1, total[...]

    n, seen = jax.lax.scan(body, 0, jnp.arange(5.0))
    return n, seen, total[...]


def gradient_through_a_plumbed_ref(jax):
    jnp = jax.numpy

    def f(x):
        ref = jax.new_ref(x)
        ref[...] = jnp.sin(ref[...])
        ref[0] *= 2
        return ref[...].sum()

    return jax.grad(f)(jnp.array([0.1, 0.2, 0.3]))


def stashed_gradients(jax):
    jnp = jax.numpy
    stash = jax.new_ref(jnp.zeros(3))

    @jax.custom_vjp
    def tap(x, ref):
        return x

    def fwd(x, ref):
        return x, ref

    def bwd(ref, g):
        ref[...] = g
        return g, None

    tap.defvjp(fwd, bwd)

    def loss(x):
        y = tap(jnp.sin(x), stash)
        return (y**2).sum()

    return jax.grad(loss)(jnp.arange(3.0)), stash[...]


def swap_returns_the_old_value(jax):
    jnp = jax.numpy
    ref = jax.new_ref(jnp.arange(4))
    old = jax.ref.swap(ref, slice(0, 2), jnp.array([9, 8]))
    jax.ref.addupdate(ref, 3, 10)
    return old, jax.ref.get(ref, slice(None)), ref.shape, ref.dtype


def vmap_over_refs(jax):
    jnp = jax.numpy
    refs = jax.new_ref(jnp.zeros(3))

    def f(ref, x):
        ref[...] = x * x

    jax.vmap(f)(refs, jnp.arange(3.0))
    return refs[...]


def jaxpr_of_an_update(jax):
    jnp = jax.numpy

    def f(x):
        ref = jax.new_ref(x)
        ref[0] = 1.0
        return ref[...]

    return str(jax.make_jaxpr(f)(jnp.zeros(2)))


def same_ref_twice_is_refused(jax):
    jnp = jax.numpy
    ref = jax.new_ref(jnp.zeros(2))
    return jax.jit(lambda a, b: a[...] + b[...])(ref, ref)


def returning_a_ref_is_refused(jax):
    jnp = jax.numpy
    return jax.jit(lambda x: jax.new_ref(x))(jnp.zeros(2))


def while_loop_writes_a_ref(jax):
    jnp = jax.numpy
    log = jax.new_ref(jnp.zeros(6, jnp.int32))

    def cond(n):
        return n != 1

    def body(n):
        log[n % 6] = n
        return jnp.where(n % 2 == 0, n // 2, 3 * n + 1)

    return jax.lax.while_loop(cond, body, 6), log[...]
