"""Exported functions: a program with its signature and its StableHLO module."""

from __future__ import annotations

from typing import Any

from plugjax.export.artifact import Artifact
from plugjax.export.calling import call_exported
from plugjax.export.spreading import over_mesh
from plugjax.extend.meshes import AbstractMesh, Mesh, NamedSharding


class Exported(Artifact):
    """A function as a StableHLO module, with its signature; :func:`export` and :func:`deserialize` make it.

    Attributes:
        fun_name: name of the function, for messages.
        in_tree: structure of ``(args, kwargs)``.
        in_avals: avals of the leaves of the arguments.
        out_tree: structure of the result.
        out_avals: avals of the leaves of the result.
        in_shardings_hlo: one ``None`` per argument; :meth:`in_shardings_jax` says how arguments are spread.
        out_shardings_hlo: one ``None`` per result, likewise.
        nr_devices: number of devices that the module is for. It may be called on any devices of that number; a function
            that was exported for one device may be called on several.
        platforms: what it runs on, such as ``("cpu", "cuda")``.
        ordered_effects: effects whose order is kept.
        unordered_effects: other effects.
        disabled_safety_checks: checks that were not and will not be made.
        mlir_module_serialized: the module, as a StableHLO portable artifact.
        calling_convention_version: of the module.
        module_kept_var_idx: indices of the arguments that the module takes; it does not read the others.
        uses_global_constants: whether the module takes an index of the platform, or sizes that are not known.

    Differs from JAX:
        An exported function of this process holds its program, and so does one that was serialised with ``jaxpr=True``. It
        can be differentiated any number of times in either mode, mapped by ``vmap``, and runs on every backend. One for
        several devices is differentiated in reverse mode, any number of times, and not mapped. In JAX ``in_shardings_hlo``
        and ``out_shardings_hlo`` hold XLA's own shardings after an artifact was loaded.

    Example:
        >>> import plugjax
        >>> import plugjax.numpy as jnp
        >>> from plugjax import export
        >>> exported = export.export(plugjax.jit(jnp.sin))(plugjax.ShapeDtypeStruct((4,), "float32"))
        >>> exported.in_avals
        (ShapedArray(float32[4]),)
    """

    def __str__(self) -> str:
        return f"Exported(fun_name={self.fun_name}, ...)"

    def mlir_module(self, serialized: bool = True) -> Any:
        """The module as StableHLO text.

        Args:
            serialized: ``False`` for the ``ir.Module`` of jaxlib's bindings.

        Raises:
            ValueError: the bytes are no module that this jaxlib reads.
        """
        from plugjax.stablehlo.artifacts import artifact_module  # noqa: PLC0415  # it loads jaxlib

        module = artifact_module(self.mlir_module_serialized)
        return str(module) if serialized else module

    def in_shardings_jax(
        self, mesh: Mesh | AbstractMesh | None
    ) -> tuple[NamedSharding | None, ...]:
        """For each argument how it is spread over a mesh; ``None`` where nothing is said of it.

        Args:
            mesh: a mesh whose axes have the names, sizes and types of those of the mesh used for export, over any devices;
                ``None`` for abstract meshes.

        Raises:
            ValueError: the mesh has other axes.
        """
        return over_mesh("Exported.in_shardings_jax", self._in_named_shardings, mesh)

    def out_shardings_jax(
        self, mesh: Mesh | AbstractMesh | None
    ) -> tuple[NamedSharding | None, ...]:
        """For each result how it is spread over a mesh; ``None`` where the compiler decides it.

        Args:
            mesh: as for :meth:`in_shardings_jax`.

        Raises:
            ValueError: the mesh has other axes.
        """
        return over_mesh("Exported.out_shardings_jax", self._out_named_shardings, mesh)

    def serialize(self, vjp_order: int = 0, *, jaxpr: bool = False) -> bytearray:
        """The bytes of an artifact, which :func:`deserialize` of plugjax and of JAX reads.

        Args:
            vjp_order: how often the loaded function can be differentiated.
            jaxpr: whether to add the program itself, which JAX's reader passes over. The loaded function then runs on every
                backend and can be transformed like any other.

        Raises:
            ValueError: a derivative of that order is not known, a container is of a class that is not registered, an axis of
                a mesh has a name that is no string, or ``jaxpr`` is asked for and the program holds Python, such as a custom
                derivative.
            NotImplementedError: ``jaxpr`` is asked for and the program has sizes that are not known.
            ImportError: the package ``flatbuffers`` is not installed.
        """
        from plugjax.export.writing import serialize  # noqa: PLC0415  # on first use

        return serialize(self, vjp_order, jaxpr)

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Run the function; this may be transformed and staged.

        Args:
            *args: of the structure, shapes and dtypes that it was exported for.
            **kwargs: likewise.

        Raises:
            ValueError: the structure, a shape or a dtype differs, it was exported for other platforms than the one in use, or
                for several devices and the call runs on another number.
        """
        return call_exported(self, args, kwargs)
