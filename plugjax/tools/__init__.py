"""JAX's package of tools, which has no public names in 0.10.2; the tools of plugjax are commands: ``plugjax --help``."""
