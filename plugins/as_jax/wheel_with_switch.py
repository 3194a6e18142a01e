"""Builds wheels by setuptools and adds the file that reads ``PLUGJAX_AS_JAX`` when Python starts.

A ``.pth`` file has to lie beside the package in ``site-packages``, also in an editable installation, where setuptools
puts nothing but its own.
"""

import base64
import hashlib
import zipfile
from pathlib import Path
from typing import Any

from setuptools import build_meta
from setuptools.build_meta import (
    build_sdist as build_sdist,
    get_requires_for_build_editable as get_requires_for_build_editable,
    get_requires_for_build_sdist as get_requires_for_build_sdist,
    get_requires_for_build_wheel as get_requires_for_build_wheel,
    prepare_metadata_for_build_editable as prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel as prepare_metadata_for_build_wheel,
)

SWITCH = Path(__file__).with_name("plugjax_as_jax.pth")


def build_wheel(directory: str, settings: Any = None, metadata: str | None = None) -> str:
    """The wheel, with the switch."""
    return add_switch(directory, build_meta.build_wheel(directory, settings, metadata))


def build_editable(directory: str, settings: Any = None, metadata: str | None = None) -> str:
    """The wheel of an editable installation, with the switch."""
    return add_switch(directory, build_meta.build_editable(directory, settings, metadata))


def add_switch(directory: str, wheel: str) -> str:
    """Put the file into a wheel, and into its record."""
    path = Path(directory) / wheel
    with zipfile.ZipFile(path) as archive:
        files = {item: archive.read(item) for item in archive.infolist()}
    line = SWITCH.read_bytes()
    digest = base64.urlsafe_b64encode(hashlib.sha256(line).digest()).rstrip(b"=").decode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for item, content in files.items():
            if item.filename.endswith(".dist-info/RECORD"):
                content += f"{SWITCH.name},sha256={digest},{len(line)}\n".encode()
            archive.writestr(item, content)
        # The time of the others, so that the same bytes come out again.
        when = next(iter(files)).date_time
        archive.writestr(zipfile.ZipInfo(SWITCH.name, when), line, zipfile.ZIP_DEFLATED)
    return wheel
