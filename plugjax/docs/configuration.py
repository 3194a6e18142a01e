"""Reference pages of the configuration: options, and environment variables."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterator

from plugjax.core import registry
from plugjax.core.config import Option, config
from plugjax.docs.docstrings import inline
from plugjax.docs.pages import Page, heading, table

# Variables that belong to no option: name, what values mean, what it does.
VARIABLES = (
    ("PLUGJAX_PLUGINS", "names, by commas", "only these plugins from outside are loaded, and what every program needs"),
    ("PLUGJAX_NO_PLUGINS", "names, by commas", "these plugins are not loaded"),
    ("PLUGJAX_TRACE_PLUGINS", "1", "each plugin is reported when it is found"),
    ("PLUGJAX_CACHE_DIR", "a folder, or off", "where compiled programs are kept; comes before the option compilation_cache_dir"),
    ("PLUGJAX_CACHE_MAX_BYTES", "a number", "above this size the least recently used programs are deleted"),
    ("PLUGJAX_REPORT_DIR", "a folder", "where verification writes programs that a compiler computed wrongly"),
    ("PLUGJAX_TRACEBACK", "1", "commands show the whole traceback of an error"),
    ("PLUGJAX_IREE_WITHOUT", "names, by commas", "these workarounds of the IREE backend are off; `plugjax doctor --workarounds` lists them"),
    ("PLUGJAX_AS_JAX", "1", "`import jax` gives plugjax, in this process and those it starts (distribution plugjax-as-jax)"),
    ("PLUGJAX_COORDINATOR_ADDRESS", "host:port", "where the processes of a program meet; `plugjax launch` sets it"),
    ("PLUGJAX_NUM_PROCESSES", "a number", "how many processes a program has; `plugjax launch` sets it"),
    ("PLUGJAX_PROCESS_ID", "a number", "which of them this is; `plugjax launch` sets it"),
)  # fmt: skip

# Variables of other programs that are read, or set.
OTHERS = (
    ("JAX_...", "as of JAX", "the first value of the option of that name, where `PLUGJAX_...` is not set"),
    ("XLA_FLAGS", "flags of XLA, by spaces", "XLA reads them when it starts; `--xla_force_host_platform_device_count=n` makes n devices of a processor on every backend"),
    ("TPU_LIBRARY_PATH", "a path", "libtpu, in place of the installed package's"),
    ("TF_CPP_MIN_LOG_LEVEL", "0 to 3", "the least severe message of XLA and MLIR that is shown; plugjax sets 1 if it is not set"),
    ("TMPDIR", "a folder", "IREE writes the libraries there that it loads, and removes them; `/tmp` if it is not set"),
    ("TEST_UNDECLARED_OUTPUTS_DIR", "a folder", "where dumps go if their folder is given as `sponge`"),
    ("JAX_COORDINATOR_ADDRESS", "host:port", "as PLUGJAX_COORDINATOR_ADDRESS, where that is not set"),
    ("SLURM_JOB_ID", "set by Slurm", "`distributed.initialize` derives the port where the processes meet"),
    ("SLURM_STEP_NODELIST", "set by Slurm", "its first host is where the processes meet"),
    ("SLURM_NTASKS", "set by Slurm", "the number of processes"),
    ("SLURM_PROCID", "set by Slurm", "which of them this is"),
    ("OMPI_MCA_orte_hnp_uri", "set by Open MPI", "the host where the processes meet"),
    ("OMPI_COMM_WORLD_SIZE", "set by Open MPI", "the number of processes"),
    ("OMPI_COMM_WORLD_RANK", "set by Open MPI", "which of them this is"),
    ("KUBERNETES_SERVICE_HOST", "set by Kubernetes", "the cluster is asked for the job's pods"),
    ("HOSTNAME", "set by Kubernetes", "the name of this process's pod, from which those of the others follow"),
    ("JOB_COMPLETION_INDEX", "set by Kubernetes", "which of the job's processes this is"),
)  # fmt: skip


def variable(option: Option) -> str:
    """The environment variable of an option."""
    return f"PLUGJAX_{option.name.upper()}"


def options() -> dict[str, Option]:
    """All options by name, those of installed plugins included."""
    registry.active()
    return dict(sorted(config.options.items()))


def _values(option: Option) -> str:
    if option.choices:
        return ", ".join(f"`{choice!r}`" for choice in option.choices)
    return "`True`, `False`" if isinstance(option.default, bool) else "any value"


def _row(option: Option) -> tuple[str, ...]:
    effect = inline(option.help) or "without effect here: kept so that programs which set it run"
    key = "yes" if option.in_key else ""
    values = f"`{option.default!r}`<br>of {_values(option)}"
    return f"`jax_{option.name}`<br>`{variable(option)}`", effect, values, key


def _options_page() -> Page:
    rows = [_row(option) for option in options().values()]
    head = ("option, environment variable", "effect", "default, and values", "recompiles")
    text = (
        'Set an option with `plugjax.config.update("jax_enable_x64", True)`, or for a block with `plugjax.config.override(...)`. '
        "Names work with and without `jax_`. An environment variable gives the first value; JAX's own variable (`JAX_...`) "
        "counts where plugjax's is not set. *Recompiles* says that programs depend on the option, so that a change compiles them again."
    )
    return Page("reference/options", f"{heading('Options')}\n\n{text}\n\n{table(head, rows)}\n")


def _environment_page() -> Page:
    rows = [(f"`{name}`", inline(values), inline(text)) for name, values, text in sorted(VARIABLES)]
    more = [
        (f"`{variable(o)}`", _values(o), f"the option `jax_{o.name}`") for o in options().values()
    ]
    others = [(f"`{name}`", inline(values), inline(text)) for name, values, text in OTHERS]
    version = importlib.metadata.version("plugjax")
    return Page(
        "reference/environment",
        f"{heading('Environment variables')}\n\nAll variables that plugjax {version} reads. They are read once, when the framework or the plugin loads.\n\n"
        f"{heading('Variables without an option', 2)}\n\n{table(('variable', 'value', 'effect'), rows)}\n\n"
        f"{heading('Variables of options', 2)}\n\n{table(('variable', 'value', 'sets'), more)}\n\n"
        f"{heading('Variables of other programs', 2)}\n\n{table(('variable', 'value', 'effect'), others)}\n",
    )


def pages() -> Iterator[Page]:
    """The pages of options and of variables."""
    yield _options_page()
    yield _environment_page()
