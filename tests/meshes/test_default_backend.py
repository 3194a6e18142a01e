"""Programs over the devices of one backend while another is the default one."""

from tests.meshes.scripts import run


def test_requests_of_explicit_types_reach_the_backend_that_spreads_programs():
    said = run(
        "numpy",
        """
        explicit = (jax.sharding.AxisType.Explicit,)

        @jax.jit
        def f(x):
            return x.T + 1

        for backend in ("numpy", "xla", "numpy"):
            mesh = jax.make_mesh((8,), ("x",), explicit, devices=jax.devices(backend))
            x = jax.device_put(np.arange(64.0, dtype="float32").reshape(8, 8), jax.NamedSharding(mesh, P("x")))
            y = f(x)
            print(y.sharding.spec == P(None, "x"), y.sharding.mesh == mesh, np.asarray(y)[0].tolist() == [1 + 8.0 * i for i in range(8)])
            if backend == "xla":
                print("sdy.sharding_constraint" in f.lower(x).as_text("stablehlo"))
        """,
    )
    assert said.splitlines() == ["True True True"] * 2 + ["True", "True True True"]
