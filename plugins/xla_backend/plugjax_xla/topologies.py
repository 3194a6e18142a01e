"""Devices that are not there, by their descriptions: the extension ``topologies`` of XLA."""

from __future__ import annotations

from typing import Any

from plugjax.extend.core import Device
from plugjax.extend.errors import UnknownBackendError
from plugjax_xla.ahead import AheadBackend
from plugjax_xla.cuda_plugin import load_cuda_plugin
from plugjax_xla.gpu_targets import target_config
from plugjax_xla.jaxlib_shim import ClientUnavailable, compile_only_devices
from plugjax_xla.tpu_plugin import load_tpu_plugin

BACKEND = "xla"
PLATFORMS = ("tpu", "cuda")


def described(platform: str, name: str, **settings: Any) -> list[Device]:
    """The devices of a topology, in XLA's order; programs are compiled for them and cannot run.

    Args:
        platform: ``"tpu"`` or ``"cuda"``.
        name: of the topology. For TPUs generation and layout, ``v5e:2x2``. For GPUs model and layout, ``a100`` or ``a100:1x1x4``: slices, hosts
            of a slice, GPUs of a host.
        **settings: XLA's own, of which ``target_config`` and ``topology`` of a GPU take the place of the name.

    Raises:
        UnknownBackendError: the library that compiles for the platform is not installed, or does not start.
        RuntimeError: it refuses the description.
        ValueError: there is no description of such a GPU.
    """
    try:
        if platform == "tpu":
            load_tpu_plugin()
            found = compile_only_devices(platform, name, settings)
        else:
            model, _, layout = name.partition(":")
            config = settings.pop("target_config", None) or target_config(model or "a100")
            load_cuda_plugin()
            settings = {"topology": layout or "1x1x1", "target_config": config, **settings}
            found = compile_only_devices(platform, "", settings)
    except ClientUnavailable as error:
        raise UnknownBackendError(f"{platform}: no topology {name!r}: {error}") from error
    except RuntimeError as error:
        # Of no class of XLA's or this plugin's, as in JAX.
        raise RuntimeError(f"{platform}: no topology {name!r}: {error}") from error
    return list(AheadBackend(platform, f"{platform}:{name}", found).devices())


__all__ = ["BACKEND", "PLATFORMS", "described"]
