"""What is exported runs on one device: programs over several are refused by name."""

from tests.meshes.scripts import run


def test_programs_over_several_devices():
    said = run(
        "xla",
        """
        from plugjax import export
        s = jax.NamedSharding(mesh, P("x"))
        x = jax.device_put(np.arange(8, dtype="f4"), s)
        struct = jax.ShapeDtypeStruct((8,), "float32", sharding=s)
        def doubled(x):
            return 2 * x
        def summed(x):
            return jax.shard_map(lambda a: lax.psum(a, "x"), mesh=mesh, in_specs=P("x"), out_specs=P())(x)
        def constrained(x):
            return lax.with_sharding_constraint(x, s) + 1
        cases = [(jax.jit(doubled, in_shardings=s), x), (jax.jit(doubled), struct), (jax.jit(summed), np.ones(8, "f4")), (jax.jit(constrained), np.ones(8, "f4"))]
        for f, argument in cases:
            for way in (lambda: export.export(f)(argument), lambda: export.to_stablehlo({"entry": (f, (argument,))})):
                try:
                    way()
                except NotImplementedError as error:
                    print(str(error).split(" over ")[0], "Mesh('x': 4, 'y': 2" in str(error))
        one = export.export(jax.jit(doubled))(np.ones(8, "f4"))
        print(one.nr_devices, one.call(np.ones(8, "f4")).tolist()[:2])
        """,
    )
    names = ("doubled", "doubled", "summed", "constrained")
    assert said.splitlines() == [
        *(line for name in names for line in (f"export: '{name}' runs True", "export: entry point 'entry' runs True")),
        "1 [2.0, 2.0]",
    ]  # fmt: skip


def test_lowering_for_platforms():
    said = run(
        "xla",
        """
        abstract = jax.sharding.AbstractMesh((64, 64), ("a", "b"), axis_types=(jax.sharding.AxisType.Auto,) * 2)
        struct = jax.ShapeDtypeStruct((128, 64), "float32", sharding=jax.NamedSharding(abstract, P("a", "b")))
        lowered = jax.jit(lambda x: x @ x.T).trace(struct).lower(lowering_platforms=("cpu",))
        print('sdy.mesh @mesh = <["a"=64, "b"=64]>' in lowered.as_text())
        try:
            jax.jit(lambda x: x).trace(struct).lower(lowering_platforms=("tpu",))
        except ValueError as error:
            print(str(error).split(",")[0])
        """,
    )
    assert said.splitlines() == ["True", "lower: the backend 'xla' lowers for cpu"]
