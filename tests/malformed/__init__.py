"""Malformed calls over the public API, held against JAX: who accepts, who refuses, and with which error."""
