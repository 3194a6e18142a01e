"""Drawn programs over a mesh of eight devices: descriptions as data, which plugjax and JAX run in processes of their own."""
