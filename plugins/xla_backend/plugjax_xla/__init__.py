"""XLA as a plugin of plugjax; jaxlib loads on first use."""
