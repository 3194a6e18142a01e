"""The CUDA runtime of XLA, found and started without jax.

The wheels ``jax-cuda13-pjrt`` and ``jax-cuda12-pjrt`` hold the PJRT plugin as a shared object.
Their own Python package imports jax, so only the path is taken from them; NVIDIA's libraries come
as ``nvidia-*`` wheels, which the plugin expects to be loaded already.
"""

import ctypes
import dataclasses
import functools
import importlib
import importlib.metadata
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from plugjax_xla.jaxlib_shim import ClientUnavailable, jaxlib

_CUDA_MAJORS = (13, 12)

_NVIDIA_LIBRARIES = (
    ("cudart", ("cu13", "cuda_runtime")),
    ("nvrtc", ("cu13", "cuda_nvrtc")),
    ("cublasLt", ("cu13", "cublas")),
    ("cublas", ("cu13", "cublas")),
    ("nccl", ("nccl",)),
    ("cupti", ("cu13", "cuda_cupti")),
    ("nvJitLink", ("cu13", "nvjitlink")),
    ("cusparse", ("cu13", "cusparse")),
    ("cusolver", ("cu13", "cusolver")),
    ("cufft", ("cu13", "cufft")),
    ("nvshmem_host", ("nvshmem",)),
    ("cudnn", ("cudnn",)),
)


@dataclasses.dataclass(frozen=True)
class CudaPlugin:
    """An installed PJRT plugin for CUDA."""

    library: Path
    version: str
    extension_module: str


def make_cuda_client() -> Any:
    """A new client for the GPUs of this machine.

    Raises:
        ClientUnavailable: a package is missing or of another version, or there is no GPU.
    """
    load_cuda_plugin()
    client = jaxlib().xla_client
    options = {"preallocate": False, **client.generate_pjrt_gpu_plugin_options()}
    try:
        return client.make_c_api_client("cuda", options)
    except RuntimeError as error:
        raise ClientUnavailable(f"the CUDA runtime did not start: {error}") from error


def load_cuda_plugin() -> None:
    """Load the plugin into the process, unless it is there already. It compiles without a GPU.

    Raises:
        ClientUnavailable: a package is missing or of another version.
    """
    library = jaxlib()
    plugin = find_cuda_plugin()
    if plugin is None:
        raise ClientUnavailable(
            "CUDA needs a PJRT plugin, which is not installed. "
            f"pip install 'jax-cuda13-plugin[with-cuda]=={library.version}'"
        )
    if plugin.version != library.version:
        raise ClientUnavailable(
            f"found the CUDA plugin {plugin.version} beside jaxlib {library.version}; with "
            f"different versions XLA miscompiles. pip install both as =={library.version}"
        )
    load_nvidia_libraries()
    xla_client = library.xla_client
    extension = _import_cuda_extension(plugin)
    try:
        # jax may have loaded the plugin in the same process; loading it twice is an error.
        if not xla_client.pjrt_plugin_loaded("cuda"):
            c_api = xla_client.load_pjrt_plugin_dynamically("cuda", str(plugin.library))
            _register_cuda_targets(extension, xla_client, c_api)
        if not xla_client.pjrt_plugin_initialized("cuda"):
            xla_client.initialize_pjrt_plugin("cuda")
    except RuntimeError as error:
        raise ClientUnavailable(f"the CUDA plugin did not start: {error}") from error


def _import_cuda_extension(plugin: CudaPlugin) -> ModuleType:
    try:
        return importlib.import_module(plugin.extension_module)
    except ImportError as error:
        raise ClientUnavailable(
            f"CUDA needs {plugin.extension_module}, which cannot be imported: {error}. "
            f"pip install the plugin package of version {plugin.version}"
        ) from error


def _register_cuda_targets(extension: ModuleType, xla_client: ModuleType, c_api: Any) -> None:
    """Register the plugin's custom calls: Python callbacks, cuSOLVER and others."""
    xla_client.register_custom_type_handler(
        "CUDA", functools.partial(extension.register_custom_type, c_api)
    )
    xla_client.register_custom_call_handler(
        "CUDA", functools.partial(extension.register_custom_call_target, c_api)
    )
    for name, type_id in extension.ffi_types().items():
        xla_client.register_custom_type(name, type_id, platform="CUDA")
    for name, handler in extension.ffi_handlers().items():
        xla_client.register_custom_call_target(name, handler, platform="CUDA", api_version=1)


def find_cuda_plugin() -> CudaPlugin | None:
    """The plugin of the newest installed CUDA, or ``None``."""
    for major in _CUDA_MAJORS:
        try:
            distribution = importlib.metadata.distribution(f"jax-cuda{major}-pjrt")
        except importlib.metadata.PackageNotFoundError:
            continue
        relative = f"jax_plugins/xla_cuda{major}/xla_cuda_plugin.so"
        library = Path(str(distribution.locate_file(relative)))
        if library.is_file():
            return CudaPlugin(
                library, distribution.version, f"jax_cuda{major}_plugin.cuda_plugin_extension"
            )
    return None


def load_nvidia_libraries() -> None:
    """Load NVIDIA's libraries from their wheels; the system's loader finds the absent ones."""
    for stem, folders in _NVIDIA_LIBRARIES:
        for library in _candidates(stem, folders):
            try:
                ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
            except OSError:
                continue
            break


def cuda_data_folder() -> Path | None:
    """The folder with ``nvvm/libdevice``, which the compiler links against."""
    for folder in _nvidia_folders(("cu13", "cuda_nvcc")):
        if (folder / "nvvm" / "libdevice").is_dir():
            return folder
    return None


def _candidates(stem: str, folders: tuple[str, ...]) -> list[Path]:
    return [
        library
        for folder in _nvidia_folders(folders)
        for library in sorted((folder / "lib").glob(f"lib{stem}.so.*"))
    ]


def _nvidia_folders(names: tuple[str, ...]) -> list[Path]:
    roots = [Path(entry) / "nvidia" for entry in sys.path if entry]
    return [root / name for root in roots for name in names if (root / name).is_dir()]
