"""Short programs over JAX's public modules, with what JAX gives for them as data."""
