"""``shard_map`` under ``disable_jit``: the program of one device, in Python, on real values."""

from tests.meshes.scripts import run


def test_each_device_has_real_values():
    out = run("numpy", """
        seen = []
        def f(x):
            i = lax.axis_index("x")
            seen.append((int(i), float(x[0]), x.tolist()))
            total = float(lax.psum(x, "x")[0])
            return x * 2 if i % 2 else x - total
        with jax.disable_jit():
            y = jax.shard_map(f, mesh=mesh, in_specs=P("x"), out_specs=P("x"))(jnp.arange(8.0))
        print(seen[0], len(seen), y.tolist(), y.sharding.spec)
    """)  # fmt: skip
    assert (
        out == "(0, 0.0, [0.0, 1.0]) 8 [-12.0, -11.0, 4.0, 6.0, -8.0, -7.0, 12.0, 14.0] P('x',)\n"
    )


def test_the_first_device_runs_in_the_calling_thread_and_devices_take_turns():
    out = run("numpy", """
        import threading
        order = []
        def f(x):
            order.append((int(lax.axis_index(("x", "y"))), threading.current_thread() is threading.main_thread()))
            x = lax.ppermute(x, "x", [(0, 1), (1, 2), (2, 3), (3, 0)])
            order.append(int(lax.axis_index(("x", "y"))))
            return x
        with jax.disable_jit():
            jax.shard_map(f, mesh=mesh, in_specs=P("x"), out_specs=P("x"))(jnp.arange(4))
        print(order[0], [o for o in order if type(o) is int], [main for _, main in order[:8]].count(True))
    """)  # fmt: skip
    assert out == "(0, True) [0, 1, 2, 3, 4, 5, 6, 7] 1\n"


def test_devices_take_branches_of_their_own():
    out = run("numpy", """
        def f(x, w):
            def loss(w):
                chosen = lax.cond(x[0] > 3, lambda w: w * lax.axis_index("x"), lambda w: jnp.sin(w * w), w)
                return lax.psum(lax.switch(lax.axis_index("x"), [jnp.sum, lambda v: (v * v).sum()], x * chosen), "x")
            return jax.grad(loss)(w)
        g = jax.shard_map(f, mesh=mesh, in_specs=(P("x"), P()), out_specs=P())
        args = jnp.arange(8.0), jnp.array([1.0, 2.0])
        expected = jax.jit(g)(*args)
        with jax.disable_jit():
            print(np.allclose(g(*args), expected), np.ptp(expected) > 1)
    """)  # fmt: skip
    assert out == "True True\n"


def test_summands_and_reduced_values():
    out = run("numpy", """
        from tests.meshes.programs import PROGRAMS
        from tests.meshes.programs.__main__ import environment, outcome
        e = environment("numpy")
        chosen = {name: f for name, f in PROGRAMS.items() if name.startswith("summands ")}
        for name, f in chosen.items():
            expected = outcome(e, f)
            with jax.disable_jit():
                found = outcome(e, f)
            if name == "summands a summand in one branch":
                # A branch is plain Python: the devices part at what they compute next.
                assert "All devices must come to the same collectives" in found["message"], found
            elif isinstance(expected, dict) or isinstance(found, dict):
                assert expected["error"] == found["error"], name
            else:
                assert np.allclose(expected[0]["value"], found[0]["value"], rtol=1e-5), name
        print(len(chosen) > 60)
    """)  # fmt: skip
    assert out == "True\n"


def test_an_error_of_one_device_ends_all():
    out = run("numpy", """
        import threading
        def f(x):
            if lax.axis_index("x") == 2:
                raise KeyError("device 2")
            return lax.psum(x, "x")
        with jax.disable_jit():
            try:
                jax.shard_map(f, mesh=mesh, in_specs=P("x"), out_specs=P())(jnp.arange(4))
            except KeyError as error:
                print(error, threading.active_count())
    """)  # fmt: skip
    assert out == "'device 2' 1\n"


def test_devices_that_come_to_different_collectives_are_named():
    out = run("numpy", """
        def f(x):
            return lax.psum(x, "x") if lax.axis_index("x") == 0 else lax.pmax(x, "x")
        def g(x):
            return lax.psum(x, "x") if lax.axis_index("x") == 0 else x
        with jax.disable_jit():
            for each in (f, g):
                try:
                    jax.shard_map(each, mesh=mesh, in_specs=P("x"), out_specs=P("x"), check_vma=False)(jnp.arange(4))
                except RuntimeError as error:
                    print(error)
    """)  # fmt: skip
    assert "device 0 is at 'psum'" in out
    assert "device 2 at 'pmax'" in out
    assert "has ended, and device 0 waits for it in 'psum'" in out


def test_derivatives_and_batches_inside():
    out = run("numpy", """
        def step(w, x):
            loss = lambda w: lax.pmean(((x @ w) ** 2).mean(), ("x", "y"))
            return w - 0.1 * jax.grad(loss)(w), jax.vmap(lambda r: r - lax.pmean(r, "x"))(x)
        f = jax.shard_map(step, mesh=mesh, in_specs=(P(), P(("x", "y"))), out_specs=(P(), P(("x", "y"))))
        args = jnp.arange(8.0).reshape(4, 2), jnp.arange(32.0).reshape(8, 4)
        compiled = f(*args)
        with jax.disable_jit():
            stepped = f(*args)
        print([bool(np.allclose(a, b)) for a, b in zip(compiled, stepped)], stepped[0].sharding.spec)
    """)  # fmt: skip
    assert out == "[True, True] P()\n"


def test_groups_of_devices():
    out = run("numpy", """
        groups = [[0, 3], [2, 1]]
        def f(x):
            return [
                lax.psum(x, "x", axis_index_groups=groups), lax.all_gather(x, "x", axis_index_groups=groups, tiled=True),
                lax.psum_scatter(x, "x", axis_index_groups=groups, tiled=True), lax.all_to_all(x, "x", 0, 0, axis_index_groups=groups, tiled=True),
            ]
        g = jax.shard_map(f, mesh=mesh, in_specs=P("x"), out_specs=P("x"), check_vma=False)
        whole = g(np.arange(8.0))
        with jax.disable_jit():
            stepped = g(np.arange(8.0))
        print(all(bool((a == b).all()) for a, b in zip(whole, stepped)), stepped[0].tolist())
    """)  # fmt: skip
    assert out == "True [6.0, 8.0, 6.0, 8.0, 6.0, 8.0, 6.0, 8.0]\n"
