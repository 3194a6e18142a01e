"""``plugjax launch``: a program in several processes on this machine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from typing import IO, Annotated

import typer
from rich.console import Console
from rich.text import Text

from plugjax.cli.completion import backends
from plugjax.cli.terminal import console
from plugjax.distributed import free_port

_COLOURS = ("cyan", "magenta", "green", "yellow", "blue", "red")
# Seconds that processes have to end by themselves.
_GRACE = 5.0


def command(
    context: typer.Context,
    program: Annotated[str, typer.Argument(help="The program, or -m and a module after --.")],
    processes: Annotated[int, typer.Option("-n", min=1, help="How many processes.")] = 2,
    devices: Annotated[
        int | None, typer.Option(min=1, help="Devices that each makes of the processor.")
    ] = None,
    backend: Annotated[str, typer.Option(help="Their backend.", autocompletion=backends)] = "xla",
) -> None:
    """Run a program in several processes on this machine; it calls plugjax.distributed.initialize()."""
    status = launch(console, [program, *context.args], processes, devices, backend)
    raise typer.Exit(status)


def launch(
    console: Console, program: Sequence[str], processes: int, devices: int | None, backend: str
) -> int:
    """Run a program in several processes, with the output of each marked by its index.

    When one ends with an error, the others are ended; an interrupt ends all.

    Args:
        console: where output goes.
        program: the arguments of Python.
        processes: how many.
        devices: devices that each makes of the processor; one, if ``None``.
        backend: their backend.

    Returns:
        The exit status of the first process that failed, else 0.
    """
    address = f"127.0.0.1:{free_port()}"
    started: list[subprocess.Popen[str]] = []
    readers = []
    for index in range(processes):
        environment = {
            **os.environ,
            "PLUGJAX_COORDINATOR_ADDRESS": address,
            "PLUGJAX_NUM_PROCESSES": str(processes),
            "PLUGJAX_PROCESS_ID": str(index),
            "PLUGJAX_BACKEND": backend,
            "PYTHONUNBUFFERED": "1",
        }
        if devices is not None:
            environment["PLUGJAX_NUM_CPU_DEVICES"] = str(devices)
        # A session of its own: an interrupt reaches it through this process, once.
        process = subprocess.Popen(
            [sys.executable, *program],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        started.append(process)
        reader = threading.Thread(target=_relay, args=(console, index, process.stdout), daemon=True)
        reader.start()
        readers.append(reader)
    status = 0
    try:
        status = _wait(console, started)
    except KeyboardInterrupt:
        console.print("interrupted: ending all processes")
        status = 128 + signal.SIGINT
        _end(started, signal.SIGINT)
    for reader in readers:
        reader.join(_GRACE)
    return status


def _relay(console: Console, index: int, stream: IO[str] | None) -> None:
    style = _COLOURS[index % len(_COLOURS)]
    for line in stream or ():
        console.print(Text(f"[{index}] ", style) + Text(line.rstrip("\n")), soft_wrap=True)


def _wait(console: Console, started: Sequence[subprocess.Popen[str]]) -> int:
    while True:
        codes = [process.poll() for process in started]
        failed = [(i, code) for i, code in enumerate(codes) if code]
        if failed:
            index, code = failed[0]
            how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"
            console.print(f"process {index} ended with {how}: ending the others")
            _end(started, signal.SIGTERM)
            return code if code > 0 else 128 - code
        if all(code == 0 for code in codes):
            return 0
        time.sleep(0.05)


def _end(started: Sequence[subprocess.Popen[str]], number: signal.Signals) -> None:
    for process in started:
        if process.poll() is None:
            process.send_signal(number)
    until = time.monotonic() + _GRACE
    for process in started:
        try:
            process.wait(max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
