"""Inner modules of ``jax.experimental.colocated_python``, which libraries import: nothing is written to bytes here."""

from __future__ import annotations

from typing import Any

DeviceList = tuple[Any, ...]
