"""JAX's module on the reuse of random keys, without public names: ``plugjax.debug_key_reuse`` switches the check on."""
