"""Each row of the table of workarounds: its program is right with it, and shows the defect without it."""

import ast
import os
import re
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
import plugjax.scipy.special
import plugjax.scipy.stats
from plugjax import lax
from plugjax.core.backend import get_backend
from plugjax.errors import JaxRuntimeError
from plugjax_iree import lowering
from plugjax_iree.compile import CompileError
from plugjax_iree.workarounds import WORKAROUNDS, Effect, Stage, listing

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
RNG = np.random.default_rng(0)
VALUES = [RNG.normal(size=(4, 4)).astype(np.float32) for _ in range(2)]
# How many times slower a program is without a workaround, at least; each is by ten and more.
SLOWER = 3
# Programs that would take the machine's memory and hours run in a process of their own, which ends after so many seconds.
ENDLESS, LIMIT = ("constant_chains",), 10

ROWS = [pytest.param(row, id=row.name) for row in WORKAROUNDS]
SEEN = [param for param in ROWS if param.values[0].without is not Effect.UNSEEN]


def program_of(row):
    scope = {"np": np, "jnp": jnp, "lax": lax, "plugjax": plugjax}
    exec(textwrap.dedent(row.program), scope)
    return scope["program"]


def expected_of(row):
    with plugjax.default_device("numpy"):
        results = program_of(row)(*map(jnp.asarray, VALUES[: row.arguments]))
        return [np.array(y) for y in plugjax.tree.leaves(results)]


def run(row, *, off):
    """Results and the arguments that were not donated, after the program ran; and how long it took to compile and to run."""
    beside = ("one_by_one",) if row.without in (Effect.REFUSED, Effect.CRASH) else ()
    options = {**dict(row.options), "without": (*row.beside, *(set(beside) - {row.name}), *off)}
    with plugjax.default_device("iree"):
        # In memory of the device, where the program finds them.
        own = plugjax.jit(lambda *xs: [x + x - x for x in xs])(*VALUES[: row.arguments])
        times = [time.perf_counter()]
        compiled = (
            plugjax.jit(program_of(row), donate_argnums=row.donated, compiler_options=options)
            .lower(*own)
            .compile()
        )
        times.append(time.perf_counter())
        results = plugjax.tree.leaves(compiled(*own))
        last = np.array(results[-1])
        times.append(time.perf_counter())
        if row.stage is Stage.RESULTS:
            plugjax.jit(lambda y: y * 0 + 5, donate_argnums=0)(results.pop(0))
        kept = [np.array(x) for i, x in enumerate(own) if i not in row.donated]
    return [*(np.array(y) for y in results[:-1]), last], kept, np.diff(times)


def is_right(row, results, kept):
    expected = expected_of(row)[-len(results) :]
    arguments = [VALUES[i] for i in range(row.arguments) if i not in row.donated]
    close = [
        x.shape == y.shape and np.allclose(np.asarray(x, complex), y, 1e-3, 1e-3, equal_nan=True)
        for x, y in zip(results, expected, strict=True)
    ]
    return all(close) and all(map(np.array_equal, kept, arguments))


@pytest.fixture(autouse=True)
def strict():
    plugjax.config.update("enable_compilation_cache", False)
    # Results that differ are to be seen, and what a pass of the compiler makes malformed is to be refused.
    with plugjax.config.override("fallback", "error"), plugjax.config.override("verify", "off"):
        yield
    plugjax.config.update("enable_compilation_cache", True)


@pytest.mark.spread(8)
@pytest.mark.parametrize("row", ROWS)
def test_right_with_it(row):
    results, kept, _ = run(row, off=())
    if row.name != "hidden_random_state":
        assert is_right(row, results, kept)


@pytest.mark.spread(12)
@pytest.mark.parametrize("row", SEEN)
def test_the_defect_is_there_without_it(row):
    """If this fails for a row, the defect is gone, and the workaround can go."""
    if row.name in ENDLESS:
        assert not ends_in_time(row)
    elif row.without in (Effect.REFUSED, Effect.CRASH):
        with pytest.raises(JaxRuntimeError) as caught:
            run(row, off=(row.name,))
        compiling = caught.value.__cause__
        crashed = isinstance(compiling, CompileError) and compiling.stage == "crash"
        # A compiler that reads freed memory does not crash each time.
        assert row.without is Effect.CRASH or not crashed
    elif row.without is Effect.SLOW:
        *_, with_it = run(row, off=())
        *_, without = run(row, off=(row.name,))
        assert (without > SLOWER * with_it).any()
    else:
        results, kept, _ = run(row, off=(row.name,))
        assert not is_right(row, results, kept)


def ends_in_time(row):
    source = f"""
import numpy as np, plugjax, plugjax.numpy as jnp
from plugjax import lax
{textwrap.dedent(row.program)}
with plugjax.default_device("iree"):
    plugjax.jit(program)(np.ones((4, 4), np.float32))
"""
    switched = {"PLUGJAX_IREE_WITHOUT": row.name, "PLUGJAX_CACHE_DIR": "off"}
    try:
        subprocess.run(
            [sys.executable, "-c", source],
            timeout=LIMIT,
            env={**os.environ, **switched},
            capture_output=True,
            check=True,
        )
    except subprocess.TimeoutExpired:
        return False
    return True


@pytest.mark.parametrize("row", ROWS)
def test_a_row_says_what_it_needs_to(row):
    file, function = row.test.split("::")
    folder = ROOT if "/" in file else HERE
    named = {
        node.name
        for node in ast.walk(ast.parse((folder / file).read_text()))
        if isinstance(node, ast.FunctionDef)
    }
    assert function in named
    assert bool(row.because) == (row.without is Effect.UNSEEN)
    assert (HERE.parent / "plugjax_iree" / row.where).exists()
    if row.stage is not Stage.LOWERING and not row.passes:
        assert callable(row.function())


def test_names_are_distinct_and_in_the_order_of_the_stages():
    names = [row.name for row in WORKAROUNDS]
    assert len(set(names)) == len(names)
    stages = [list(Stage).index(row.stage) for row in WORKAROUNDS]
    assert stages == sorted(stages)


def test_every_file_of_a_workaround_belongs_to_a_row():
    folder = HERE.parent / "plugjax_iree" / "workarounds"
    shared = {"__init__", "copies", "foreign", "listing", "row", "switch", "table"}
    files = {path.stem for path in folder.glob("*.py")} - shared
    files = {name for name in files if not name.startswith("table_")}
    assert files <= {row.name for row in WORKAROUNDS}


def test_the_documentation_has_the_table():
    """If this fails: python -m plugjax_iree.workarounds.listing docs/traps.md."""
    text = (ROOT / "docs" / "traps.md").read_text()
    assert listing.written_into(text) == text


def test_an_unknown_name_is_an_error_that_lists_the_names(monkeypatch):
    monkeypatch.setenv("PLUGJAX_IREE_WITHOUT", "sorts, constant_reduction")
    with (
        plugjax.default_device("iree"),
        pytest.raises(ValueError, match=r"'constant_reduction'; there are: .*constant_reductions"),
    ):
        plugjax.jit(lambda x: x + 1)(VALUES[0])
    monkeypatch.delenv("PLUGJAX_IREE_WITHOUT")
    with (
        plugjax.default_device("iree"),
        pytest.raises(JaxRuntimeError, match=r"'without': no workaround is named 'sort'"),
    ):
        plugjax.jit(lambda x: x + 1, compiler_options={"without": "sort"})(VALUES[0])


def test_the_environment_switches_workarounds_off_and_no_module_of_another_state_is_used(
    tmp_path, monkeypatch
):
    """The cache has a module for each state."""
    plugjax.config.update("enable_compilation_cache", True)
    monkeypatch.setenv("PLUGJAX_CACHE_DIR", str(tmp_path))

    def total():
        plugjax.clear_caches()
        with plugjax.default_device("iree"):
            return float(plugjax.jit(lambda: jnp.sum(jnp.ones(4) / 4))())

    found = []
    for value in ("", "constant_reductions", "", "constant_reductions,sorts"):
        monkeypatch.setenv("PLUGJAX_IREE_WITHOUT", value)
        found.append(total())
    assert found == [1.0, 0.25, 1.0, 0.25]


def test_the_backend_lists_its_workarounds(monkeypatch):
    monkeypatch.setenv("PLUGJAX_IREE_WITHOUT", "sorts")
    rows = get_backend("iree").workarounds()
    assert [row[0] for row in rows] == [row.name for row in WORKAROUNDS]
    assert [row[0] for row in rows if row[-1] == "off"] == ["sorts"]


SOURCES = HERE.parent / "plugjax_iree"
ASKED = re.compile(r'is_on\(\s*"(\w+)"')


def test_every_workaround_in_lowerings_can_be_switched_and_no_other_name_is_asked_for():
    asked = {name for path in SOURCES.rglob("*.py") for name in ASKED.findall(path.read_text())}
    rows = {row.name for row in WORKAROUNDS if row.stage is Stage.LOWERING}
    assert asked | {*lowering._SWITCHED} == rows


def test_nothing_calls_a_workaround_past_the_table():
    """Those of the other stages are found by their rows alone."""
    called = {row.name for row in WORKAROUNDS if row.stage is not Stage.LOWERING}
    imported = re.compile(r"(?:from|import) plugjax_iree\.workarounds\.(\w+)")
    for path in SOURCES.rglob("*.py"):
        if path.parent.name != "workarounds":
            assert called.isdisjoint(imported.findall(path.read_text())), path
