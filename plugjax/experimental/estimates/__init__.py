"""Estimates of work and memory traffic of programs, which ``plugjax.experimental.roofline`` gives out."""
