"""Options of JAX's configuration that no other plugin declares: those that forbid something, and those without effect."""
