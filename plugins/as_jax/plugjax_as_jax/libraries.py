"""Libraries that are written for JAX and run with plugjax: distributions, and the modules that a program imports."""

LIBRARIES: dict[str, tuple[str, ...]] = {
    "blackjax": ("blackjax",),
    "chex": ("chex",),
    "diffrax": ("diffrax",),
    "distrax": ("distrax",),
    "dm-haiku": ("haiku",),
    "e3nn-jax": ("e3nn_jax",),
    "einops": ("einops",),
    "equinox": ("equinox",),
    "flax": ("flax.linen", "flax.nnx", "flax.training.train_state"),
    "jax-md": ("jax_md",),
    "jaxopt": ("jaxopt",),
    "jaxtyping": ("jaxtyping",),
    "lineax": ("lineax",),
    "numpyro": ("numpyro", "numpyro.distributions", "numpyro.infer"),
    "optax": ("optax",),
    "optimistix": ("optimistix",),
    "orbax-checkpoint": ("orbax.checkpoint",),
    "penzai": ("penzai",),
    "treescope": ("treescope",),
}
