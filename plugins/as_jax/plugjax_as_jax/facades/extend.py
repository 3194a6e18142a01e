"""``jax.extend``: JAX shows modules there and no names; the table lists them."""

__all__: list[str] = []
