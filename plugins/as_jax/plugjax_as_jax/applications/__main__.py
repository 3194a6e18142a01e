"""``python -m plugjax_as_jax.applications [names] --backend numpy|xla|iree``: applications, compared with the real jax."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from plugjax_as_jax.applications import records
from plugjax_as_jax.applications.running import Outcome, names_of, run

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
console = Console()


@app.command()
def main(
    names: Annotated[list[str] | None, typer.Argument(help="All, if none is named.")] = None,
    backend: Annotated[
        list[str] | None, typer.Option(help="Repeatable; numpy if left out.")
    ] = None,
    timeout: Annotated[float, typer.Option(help="Seconds that one may take.")] = 600.0,
    record: Annotated[
        bool, typer.Option("--record", help="Run them with the real jax and record their numbers.")
    ] = False,
) -> None:
    """Run each application in a process of its own, and print which ones agree with the real jax."""
    chosen = names_of(names)
    if record:
        for name in chosen:
            found = run(name, "jax", timeout)
            if found.answer is None:
                raise typer.BadParameter(f"{name} does not run with the real jax: {found.fault}")
            records.write(name, found.answer)
            console.print(f"{name}: recorded in {found.seconds:.1f} s")
        return
    table = Table("application", "backend", "agrees", "seconds", "why not")
    agree = True
    for name in chosen:
        for place in backend or ["numpy"]:
            outcome = run(name, place, timeout)
            fault = fault_of(name, outcome)
            agree &= not fault
            table.add_row(
                name, place, "[red]no[/red]" if fault else "yes", f"{outcome.seconds:.1f}", fault
            )
    console.print(table)
    raise typer.Exit(0 if agree else 1)


def fault_of(name: str, outcome: Outcome) -> str:
    """Why an outcome is not that of the real jax; empty if it is."""
    if outcome.answer is None:
        return outcome.fault
    return records.difference(name, outcome.answer["numbers"])


if __name__ == "__main__":
    app()
