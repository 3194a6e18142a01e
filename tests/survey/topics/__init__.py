"""A module for each topic; each public function is a program, which takes ``jax`` or ``plugjax``."""
