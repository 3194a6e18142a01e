"""``plugjax demo --devices`` and ``--processes``: the classifier trained on a mesh, and the mesh drawn."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import plugjax
import plugjax.numpy as jnp
from plugjax import debug, distributed, random
from plugjax.cli import digits
from plugjax.cli.classifier import BATCH, SIZES, init, predict, train_step
from plugjax.extend.backend import get_backend
from plugjax.extend.meshes import Mesh, NamedSharding, PartitionSpec as P

__all__ = ["check", "mesh_of", "run", "train"]


def check(devices: int) -> None:
    """Whether batches can be cut for so many devices.

    Raises:
        ValueError: they cannot.
    """
    if BATCH % devices:
        raise ValueError(
            f"demo: {devices} devices cannot share batches of {BATCH} images evenly. Take a divisor of {BATCH}."
        )


def train(mesh: Mesh, data: digits.Split, epochs: int) -> tuple[Any, float]:
    """Train on a mesh with one axis, ``data``.

    Args:
        mesh: the devices.
        data: the images; in each process, all.
        epochs: passes over the training images.

    Returns:
        The parameters, and the share of the test images that they recognise.
    """
    whole, shared = NamedSharding(mesh, P()), NamedSharding(mesh, P("data"))
    parameters = init(random.key(0))
    moments = [plugjax.tree.map(jnp.zeros_like, parameters) for _ in range(2)]
    # As host values: each process puts its own devices' parts.
    host = plugjax.tree.map(np.asarray, (parameters, *moments, jnp.zeros(())))
    state = plugjax.device_put(host, whole)
    step = plugjax.jit(train_step, donate_argnums=0)
    for epoch in range(epochs):
        order = np.random.default_rng(epoch).permutation(len(data.train_labels))
        for first in range(0, len(order) - BATCH + 1, BATCH):
            chosen = order[first : first + BATCH]
            batch = (data.train_images[chosen], data.train_labels[chosen])
            state, _ = step(state, *plugjax.device_put(batch, shared))
    predicted = plugjax.jit(predict, out_shardings=whole)(
        state[0], plugjax.device_put(data.test_images, whole)
    )
    return state[0], float(np.mean(np.asarray(predicted) == data.test_labels))


def mesh_of(backend: str | None, count: int | None) -> Mesh:
    """A mesh with one axis, ``data``.

    Args:
        backend: the name of the backend; the default one, if ``None``.
        count: how many of its devices; all, if ``None``.

    Raises:
        ValueError: there are fewer, or they cannot share a batch evenly.
    """
    devices = plugjax.devices() if backend is None else get_backend(backend).devices()
    if count is not None and count > len(devices):
        raise ValueError(f"demo: {count} devices are needed, and there are {len(devices)}.")
    chosen = devices[:count]
    check(len(chosen))
    return Mesh(np.array(chosen, dtype=object), ("data",))


def run(console: Console, mesh: Mesh, epochs: int) -> None:
    """Train on a mesh, and say how the arrays lie on it."""
    if plugjax.process_index() == 0:
        _draw(console, mesh)
    _, accuracy = train(mesh, digits.load(), epochs)
    console.print(f"test accuracy on {mesh.size} devices: {100 * accuracy:.2f} %")


def _draw(console: Console, mesh: Mesh) -> None:
    table = Table("device", "process", "along axis data", title=f"mesh of {mesh.size} devices")
    for place, device in enumerate(mesh.devices.flat):
        table.add_row(str(device), str(device.process_index), str(place))
    console.print(table)
    console.print(f"a batch of images, {BATCH} x {SIZES[0]}, is cut:")
    debug.visualize_sharding((BATCH, SIZES[0]), NamedSharding(mesh, P("data")))
    console.print(f"the first weights, {SIZES[0]} x {SIZES[1]}, are whole on each:")
    debug.visualize_sharding(SIZES[:2], NamedSharding(mesh, P()))


def main() -> None:
    """One process of several: ``python -m plugjax.cli.demo_devices EPOCHS``."""
    distributed.initialize()
    run(Console(), mesh_of(None, None), int(sys.argv[1]))
    distributed.shutdown()


if __name__ == "__main__":
    main()
