"""Malformed calls of the public API, compared with JAX: accepted, or refused with which error."""
