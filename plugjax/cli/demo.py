"""``plugjax demo``: train a classifier of real handwritten digits, compare backends, export it, run it without Python."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

import plugjax
import plugjax.numpy as jnp
from plugjax import nn, random
from plugjax.cli import digits
from plugjax.export import read_iree, to_iree
from plugjax.extend import registry
from plugjax.extend.backend import default_backend, device, get_backend
from plugjax.extend.errors import UnknownBackendError
from plugjax.extend.execution import default_cache

BATCH = 64
SIZES = (64, 128, 64, 10)
RATE = 2e-3


def init(key: Any) -> list[tuple[Any, Any]]:
    """Weights ``[n_in, n_out]`` (He) and biases of a multilayer perceptron."""
    layers = []
    for n_in, n_out in pairwise(SIZES):
        key, subkey = random.split(key)
        weights = random.normal(subkey, (n_in, n_out)) * np.float32((2 / n_in) ** 0.5)
        layers.append((weights, jnp.zeros(n_out)))
    return layers


def logits(parameters: list[tuple[Any, Any]], images: Any) -> Any:
    """Scores ``[batch, 10]`` of images ``[batch, 64]``."""
    x = images
    for weights, bias in parameters[:-1]:
        x = nn.relu(x @ weights + bias)
    weights, bias = parameters[-1]
    return x @ weights + bias


def loss(parameters: list[tuple[Any, Any]], images: Any, labels: Any) -> Any:
    """Mean cross entropy, in nats."""
    scores = nn.log_softmax(logits(parameters, images))
    return -jnp.mean(jnp.sum(scores * nn.one_hot(labels, 10), axis=-1))


def train_step(state: Any, images: Any, labels: Any) -> tuple[Any, Any]:
    """One step of Adam; ``state`` is ``(parameters, first moments, second moments, step)``."""
    parameters, first, second, step = state
    value, gradient = plugjax.value_and_grad(loss)(parameters, images, labels)
    step = step + 1.0
    first = plugjax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, gradient)
    second = plugjax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, second, gradient)
    scale = RATE * jnp.sqrt(1 - 0.999**step) / (1 - 0.9**step)
    parameters = plugjax.tree.map(
        lambda p, m, v: p - scale * m / (jnp.sqrt(v) + 1e-8), parameters, first, second
    )
    return (parameters, first, second, step), value


def predict(parameters: list[tuple[Any, Any]], images: Any) -> Any:
    """Most likely digits ``int32[batch]``."""
    return jnp.argmax(logits(parameters, images), axis=-1).astype(jnp.int32)


class Result(NamedTuple):
    """Result of training on one backend."""

    parameters: Any
    accuracy: float
    step_time: float
    compile_time: float
    gradient: list[np.ndarray[Any, Any]]


def train(name: str, data: digits.Split, epochs: int, console: Console) -> Result:
    """Train on a device, or on a backend's first one, with a progress bar."""
    target = device(name)
    with plugjax.default_device(target):
        parameters = init(random.key(0))
        # Two trees of zeros: a donated array can be passed only once.
        moments = [plugjax.tree.map(jnp.zeros_like, parameters) for _ in range(2)]
        state = (parameters, *moments, jnp.zeros(()))
        gradient_of = plugjax.jit(plugjax.grad(loss))
        first = (data.train_images[:BATCH], data.train_labels[:BATCH])
        gradient = [np.asarray(g) for g in plugjax.tree.leaves(gradient_of(parameters, *first))]
        start = time.perf_counter()
        step = plugjax.jit(train_step, donate_argnums=0).lower(state, *first).compile()
        compile_time = time.perf_counter() - start
        batches = len(data.train_labels) // BATCH
        spent = 0.0
        columns = (
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
            TextColumn("loss {task.fields[loss]:.4f}"),
        )  # fmt: skip
        with Progress(*columns, console=console) as progress:
            task = progress.add_task(f"{target!s:>12}", total=epochs * batches, loss=float("nan"))
            for epoch in range(epochs):
                order = np.random.default_rng(epoch).permutation(len(data.train_labels))
                for i in range(batches):
                    chosen = order[i * BATCH : (i + 1) * BATCH]
                    batch = (data.train_images[chosen], data.train_labels[chosen])
                    start = time.perf_counter()
                    state, value = step(state, *batch)
                    value.block_until_ready()
                    spent += time.perf_counter() - start
                progress.update(task, advance=batches, loss=float(value))
        predicted = np.asarray(plugjax.jit(predict)(state[0], data.test_images))
    accuracy = float(np.mean(predicted == data.test_labels))
    return Result(
        plugjax.device_get(state[0]), accuracy, spent / (epochs * batches), compile_time, gradient
    )


def run(console: Console, chosen: str | None, epochs: int, output: Path | None) -> None:
    """The whole demonstration, on one backend or device if one was chosen."""
    data = digits.load()
    names = [chosen] if chosen else _installed(console)
    console.print(
        f"{len(data.train_labels)} training images, {len(data.test_labels)} test images; "
        f"perceptron {'-'.join(map(str, SIZES))}"
    )
    results = {name: train(name, data, epochs, console) for name in names}
    _print_table(console, results, data)
    best = results.get(chosen or default_backend()) or next(iter(results.values()))
    _export(console, best.parameters, data, output)
    cache = default_cache()
    if cache is not None:
        seen = cache.stats()
        console.print(
            f"compilation cache: {seen.hits} programs found, {seen.writes} written ({cache.directory})"
        )


def _installed(console: Console) -> list[str]:
    names: list[str] = []
    for name in ("numpy", "xla", "iree"):
        if name not in registry.active().backends():
            console.print(f"backend {name} is not installed: `plugjax doctor` says how to")
            continue
        try:
            get_backend(name)
        except UnknownBackendError as error:
            console.print(f"[yellow]{error}[/yellow]")
            continue
        names.append(name)
    return names


def _print_table(console: Console, results: dict[str, Result], data: digits.Split) -> None:
    if "numpy" in results:
        reference = results["numpy"].gradient
    else:
        with plugjax.default_device(device("numpy")):
            found = plugjax.grad(loss)(
                init(random.key(0)), data.train_images[:BATCH], data.train_labels[:BATCH]
            )
        reference = [np.asarray(g) for g in plugjax.tree.leaves(found)]
    table = Table(
        "backend", "test accuracy", "step", "compile", "gradient: largest difference from NumPy"
    )
    for name, result in results.items():
        difference = max(
            float(np.max(np.abs(a - b))) for a, b in zip(result.gradient, reference, strict=True)
        )
        table.add_row(
            name,
            f"{100 * result.accuracy:.2f} %",
            f"{1e3 * result.step_time:.2f} ms",
            f"{result.compile_time:.2f} s",
            f"{difference:.1e}",
        )
    console.print(table)


def run_module_tool() -> str | None:
    """Path of ``iree-run-module``, which comes with IREE's runtime."""
    beside = Path(sys.executable).parent / "iree-run-module"
    return str(beside) if beside.exists() else shutil.which("iree-run-module")


def _export(console: Console, parameters: Any, data: digits.Split, output: Path | None) -> None:
    tool = run_module_tool()
    if tool is None or "iree" not in registry.active().backends():
        console.print("the export needs the IREE backend: `plugjax doctor` says how to install it")
        return
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(output) if output is not None else Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        shape = plugjax.ShapeDtypeStruct(data.test_images.shape, np.float32)
        done = to_iree(
            {"predict": (predict, (shape,)), "logits": (logits, (shape,))},
            folder / "digits.vmfb",
            parameters=parameters,
            parameters_path=folder / "digits.irpa",
        )
        read_iree(done.path)
        np.save(folder / "images.npy", data.test_images)
        command = [
            tool, f"--module={done.path}", "--device=local-sync", "--function=predict",
            f"--parameters=model={done.parameters_path}", f"--input=@{folder / 'images.npy'}",
            f"--output=@{folder / 'predicted.npy'}",
        ]  # fmt: skip
        subprocess.run(command, check=True, capture_output=True, text=True)
        embedded = np.load(folder / "predicted.npy", allow_pickle=False)
        ours = np.asarray(predict(plugjax.device_put(parameters), data.test_images))
        same = int(np.sum(embedded == ours))
        console.print(
            f"exported {done.path.name} ({done.path.stat().st_size:,} bytes) and {Path(str(done.parameters_path)).name}; "
            f"iree-run-module, a process without Python, predicts the same digit for {same} of {len(ours)} test images "
            f"({100 * float(np.mean(embedded == data.test_labels)):.2f} % right)"
        )
        if output is not None:
            console.print(" ".join(command), soft_wrap=True, highlight=False)
        if same != len(ours):
            raise SystemExit("the exported module predicts something else")
