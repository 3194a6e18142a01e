"""Meshes as a plugin: the options that hold the mesh in force, and the parts of arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from plugjax.core.config import Option
from plugjax.core.hookspecs import PluginInfo, hookimpl
from plugjax.meshes.shards import addressable_shards, global_shards

plugjax_plugin = PluginInfo("meshes", provides=("the mesh in force", "shards of arrays"))


@hookimpl
def plugjax_options() -> list[Option]:
    """The mesh in force, by ``set_mesh``, ``with mesh`` and ``use_abstract_mesh``."""
    return [
        Option("mesh", None, in_key=True, help="the mesh that set_mesh put in force"),
        Option("physical_mesh", None, in_key=True, help="the mesh whose block was entered"),
        Option(
            "check_vma", False, in_key=True, help="types say which values differ between devices"
        ),
        Option("abstract_mesh", None, in_key=True, help="the mesh that programs are traced for"),
    ]


@hookimpl
def plugjax_array_methods() -> dict[str, Callable[..., Any]]:
    """Parts of arrays on devices."""
    return {"addressable_shards": addressable_shards, "global_shards": global_shards}
