"""Arrays of NumPy that are spread over devices: copied once, part by part."""

from tests.meshes.scripts import run


def test_one_copy():
    said = run(
        "xla",
        """
        import tracemalloc
        a = np.arange(2**18, dtype="f4").reshape(512, 512)
        rows, columns, both, whole = (jax.NamedSharding(mesh, P(*s)) for s in ((("x", "y"),), (None, "x"), ("y", "x"), ()))
        jax.device_put(a, rows)
        tracemalloc.start()
        spread = [jax.device_put(a, s) for s in (rows, columns, both, whole)]
        print(tracemalloc.get_traced_memory()[1] < a.nbytes / 2)
        tracemalloc.stop()
        kept = a.copy()
        a[:] = 0
        print([bool(np.array_equal(x, kept)) for x in spread])
        print([bool(np.array_equal(s.data, kept[s.index])) for x in spread for s in x.addressable_shards].count(True))
        # Devices with the same part share its memory, which no program writes to.
        again = jax.device_put(kept, whole)
        parts = [np.asarray(s.data) for s in again.addressable_shards]
        print(len({p.ctypes.data for p in parts}))
        step = jax.jit(lambda x: x + 1, donate_argnums=0)
        print(bool(np.array_equal(step(again), kept + 1)), [np.array_equal(p, kept) for p in parts].count(True))
        narrow = jax.device_put(np.arange(8), rows)
        print(narrow.dtype, jax.device_put(np.arange(8, dtype="int8").view("bool"), rows).dtype)
        print(jax.device_put(np.arange(8, dtype=jnp.int4.dtype), jax.NamedSharding(mesh, P("x"))).tolist())
        print(jax.device_put(np.float32(3), whole).addressable_data(7), jax.device_put(np.zeros((8, 0)), rows).shape)
        try:
            jax.device_put({"w": np.ones(7)}, rows)
        except ValueError as error:
            print("argument x['w'] is float32[7]" in str(error))
        """,
    )
    assert said.splitlines() == [
        "True",
        "[True, True, True, True]",
        "32",
        "1",
        "True 8",
        "int32 bool",
        "[0, 1, 2, 3, 4, 5, 6, 7]",
        "3.0 (8, 0)",
        "True",
    ]


def test_live_arrays_over_several_devices(backend):
    script = """
    x = jax.device_put(np.ones(8), jax.NamedSharding(mesh, P("x")))
    print(any(y is x for y in jax.live_arrays()))
    x.delete()
    print(any(y is x for y in jax.live_arrays()))
    """
    assert run(backend, script).split() == ["True", "False"]
