"""``plugjax demo``: train a classifier of real handwritten digits, compare backends, export it, run it without Python."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

import plugjax
import plugjax.numpy as jnp
from plugjax import config, random
from plugjax.cli import demo_devices, digits, launch
from plugjax.cli.classifier import BATCH, SIZES, init, logits, loss, predict, train_step
from plugjax.cli.completion import backends
from plugjax.cli.demo_plot import picture
from plugjax.cli.terminal import console, working
from plugjax.export import read_iree, to_iree
from plugjax.export.files import check_outputs
from plugjax.extend import registry
from plugjax.extend.backend import default_backend, device, get_backend
from plugjax.extend.errors import UnknownBackendError
from plugjax.extend.execution import default_cache


def command(
    backend: Annotated[
        str | None,
        typer.Option(help="Train on this backend only.", autocompletion=backends),
    ] = None,
    device: Annotated[
        str | None, typer.Option(help="Train on this device only, as `iree:vulkan:0`.")
    ] = None,
    epochs: Annotated[int, typer.Option(min=1, help="Passes over the training images.")] = 30,
    output: Annotated[
        Path | None,
        typer.Option(help="Folder for the exported model; a temporary one if left out."),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            help="Write a picture (SVG) of digits, predictions and the loss to this file."
        ),
    ] = None,
    devices: Annotated[
        int | None, typer.Option(min=1, help="Train on a mesh of so many devices, in each process.")
    ] = None,
    processes: Annotated[
        int | None, typer.Option(min=1, help="Train in so many processes, which share the images.")
    ] = None,
) -> None:
    """Train a classifier of handwritten digits on every backend, export it, and run it without Python.

    With --devices or --processes: train it on a mesh instead, and draw the mesh.
    """
    if devices is None and processes is None:
        check_outputs([path for path in (plot,) if path is not None])
        run(console, device or backend, epochs, output, plot)
        return
    if device is not None:
        raise typer.BadParameter(
            "a mesh has several devices: leave out --device, or give --backend."
        )
    if output is not None:
        raise typer.BadParameter("what is trained on a mesh is not exported: leave out --output.")
    if plot is not None:
        raise typer.BadParameter("what is trained on a mesh is not drawn: leave out --plot.")
    try:
        demo_devices.check((devices or 1) * (processes or 1))
        if processes is None:
            config.update("jax_num_cpu_devices", devices)
            mesh = demo_devices.mesh_of(backend, devices)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    if processes is None:
        demo_devices.run(console, mesh, epochs)
        return
    program = ["-m", demo_devices.__name__, str(epochs)]
    status = launch.launch(console, program, processes, devices, backend or "xla")
    raise typer.Exit(status)


class Result(NamedTuple):
    """Result of training on one backend."""

    parameters: Any
    accuracy: float
    step_time: float
    compile_time: float
    cached: bool
    gradient: list[np.ndarray[Any, Any]]
    losses: list[float]
    predicted: np.ndarray[Any, Any]


def train(name: str, data: digits.Split, epochs: int, console: Console) -> Result:
    """Train on a device, or on a backend's first one, with a progress bar."""
    target = device(name)
    with plugjax.default_device(target):
        parameters = init(random.key(0))
        # Two trees of zeros: a donated array can be passed only once.
        moments = [plugjax.tree.map(jnp.zeros_like, parameters) for _ in range(2)]
        state = (parameters, *moments, jnp.zeros(()))
        gradient_of = plugjax.jit(plugjax.value_and_grad(loss))
        first = (data.train_images[:BATCH], data.train_labels[:BATCH])
        with working(f"compiling for {target}"):
            value, found = gradient_of(parameters, *first)
            gradient = [np.asarray(g) for g in plugjax.tree.leaves(found)]
            losses = [float(value)]
            hits = _hits()
            start = time.perf_counter()
            step = plugjax.jit(train_step, donate_argnums=0).lower(state, *first).compile()
            compile_time = time.perf_counter() - start
            cached = _hits() > hits
        batches = len(data.train_labels) // BATCH
        spent = 0.0
        columns = (
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
            TextColumn("loss {task.fields[loss]:.4f}"),
        )  # fmt: skip
        with Progress(*columns, console=console) as progress:
            task = progress.add_task(f"{target!s:>12}", total=epochs * batches, loss=losses[0])
            for epoch in range(epochs):
                order = np.random.default_rng(epoch).permutation(len(data.train_labels))
                for i in range(batches):
                    chosen = order[i * BATCH : (i + 1) * BATCH]
                    batch = (data.train_images[chosen], data.train_labels[chosen])
                    start = time.perf_counter()
                    state, value = step(state, *batch)
                    value.block_until_ready()
                    spent += time.perf_counter() - start
                losses.append(float(value))
                progress.update(task, advance=batches, loss=losses[-1])
        predicted = np.asarray(plugjax.jit(predict)(state[0], data.test_images))
    accuracy = float(np.mean(predicted == data.test_labels))
    step_time = spent / (epochs * batches)
    return Result(
        plugjax.device_get(state[0]), accuracy, step_time, compile_time, cached, gradient, losses, predicted
    )  # fmt: skip


def _hits() -> int:
    """How many programs this process found in the cache."""
    cache = default_cache()
    return 0 if cache is None else cache.stats().hits


def run(
    console: Console, chosen: str | None, epochs: int, output: Path | None, plot: Path | None
) -> None:
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
    if plot is not None:
        losses = {name: result.losses for name, result in results.items()}
        text = picture(data.test_images, data.test_labels, best.predicted, losses)
        plot.write_text(text, encoding="utf-8")
        console.print(f"wrote {plot}: digits, predictions and the loss", highlight=False)
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
            f"{result.compile_time:.2f} s" + (", from the cache" if result.cached else ""),
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
        with working("compiling the module"):
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
