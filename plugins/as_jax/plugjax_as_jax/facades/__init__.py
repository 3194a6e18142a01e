"""Modules that stand for modules of JAX which plugjax has none for, or another one of the same name."""
