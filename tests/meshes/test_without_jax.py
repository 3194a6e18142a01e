"""Parts of results are read where jax is not installed: jaxlib's arrays then lack what jax adds to them."""

from tests.meshes.scripts import run


def test_parts_of_results():
    said = run(
        "xla",
        """
        import sys
        sys.modules["jax"] = None
        x = jax.device_put(np.arange(16.0, dtype="float32").reshape(8, 2), jax.NamedSharding(mesh, P("x")))
        whole = jax.device_put(np.ones(3, "float32"), jax.NamedSharding(mesh, P()))
        y, s = jax.jit(lambda x, w: (2 * x, 3 * w))(x, whole)
        print(y.addressable_shards[2].data.tolist(), np.asarray(s).tolist(), np.asarray(y)[7].tolist())
        step = jax.jit(lambda w: w + 1, donate_argnums=0)
        print(np.asarray(step(step(s))).tolist())
        """,
    )
    assert said.splitlines() == [
        "[[8.0, 10.0], [12.0, 14.0]] [3.0, 3.0, 3.0] [28.0, 30.0]",
        "[5.0, 5.0, 5.0]",
    ]
