"""Applications of libraries: numbers of the real jax, recorded; and how they are run and compared."""

import importlib.util
import json
import subprocess
import sys

import pytest

from plugjax_as_jax.applications import records, running
from plugjax_as_jax.applications.__main__ import fault_of
from plugjax_as_jax.applications.running import Outcome


def imports_of(name):
    """The libraries that an application imports, by its source."""
    lines = (running.FOLDER / f"{name}.py").read_text().splitlines()
    words = [line.split()[1] for line in lines if line.startswith(("import ", "from "))]
    return sorted({w.partition(".")[0] for w in words} - {"__future__", "typing", "plugjax_as_jax"})


@pytest.mark.libraries
@pytest.mark.parametrize("backend", ["numpy", "xla"])
@pytest.mark.parametrize("name", running.NAMES)
def test_an_application_gives_the_numbers_of_the_real_jax(name, backend):
    absent = [m for m in imports_of(name) if importlib.util.find_spec(m) is None]
    if absent:
        pytest.skip(f"not installed: {', '.join(absent)}")
    assert fault_of(name, running.run(name, backend, 280.0)) == ""


def test_each_application_has_a_record_with_versions():
    assert sorted(p.stem for p in records.DATA.glob("*.json")) == running.NAMES
    for name in running.NAMES:
        record = records.read(name)
        assert record["versions"]["jax"] == "0.10.2"
        assert 0 < record["tolerance"] <= 0.2
        assert len(record["numbers"]) >= 3


def test_a_difference_is_named():
    wanted = records.read("chex_checks")["numbers"]
    assert records.difference("chex_checks", wanted) == ""
    assert records.difference("chex_checks", {**wanted, "value": 0.5}).startswith(
        "value[0]: 0.5, with the real jax -1.6"
    )
    assert (
        records.difference("chex_checks", {**wanted, "doubled": [1.0]})
        == "doubled: 1 numbers, not 4"
    )
    assert records.difference("chex_checks", {**wanted, "value": float("nan")}).startswith(
        "value[0]: nan"
    )
    assert "other names" in records.difference("chex_checks", {})


def test_how_an_application_ends(monkeypatch, tmp_path):
    (tmp_path / "plugjax_as_jax").mkdir()
    with pytest.raises(ValueError, match="no application no_such"):
        running.names_of(["no_such"])
    assert running.names_of(None) == running.NAMES

    def ending(code):
        monkeypatch.setattr(
            running.subprocess,
            "run",
            lambda *_, **options: run([sys.executable, "-c", code], **options),
        )
        return running.run("chex_checks", "numpy", 20.0)

    run = subprocess.run
    assert (
        fault_of("chex_checks", ending("import os; os.kill(os.getpid(), 11)"))
        == "killed by signal 11"
    )
    assert fault_of("chex_checks", ending("raise ValueError('no')")) == "ValueError: no"
    answer = json.dumps(
        {"numbers": records.read("chex_checks")["numbers"], "tolerance": 1, "times": {}}
    )
    found = ending(f"print('answer: ' + {answer!r})")
    assert fault_of("chex_checks", found) == ""
    assert isinstance(found, Outcome)


def test_times_are_compared_with_those_of_the_real_jax():
    from benchmarks.libraries import Times, best, markdown, rows_of

    rounds = [Times(2.0, 1.0, 0.2), Times(3.0, 0.5, 0.1)]
    assert best(rounds) == Times(2.0, 0.5, 0.1)
    nan = float("nan")
    results = {
        "a": {
            "jax": Times(2.0, 1.0, 0.002),
            "xla": Times(1.0, 0.5, 0.002),
            "numpy": Times(0.5, 0.5, 0.008),
        },
        "b": {
            "jax": Times(2.0, 1.0, 2e-5),
            "xla": Times(4.0, 2.0, 2e-5),
            "numpy": Times(nan, nan, nan),
        },
    }
    first, second, mean = rows_of(results)
    assert first == (
        "a",
        "2.00 s",
        "0.50",
        "0.25",
        "1.00 s",
        "0.50",
        "0.50",
        "2.00 ms",
        "1.00",
        "4.00",
    )
    assert second[1:4] == ("2.00 s", "2.00", "-")
    assert second[7] == "20 us"
    assert mean == ("geometric mean", "", "1.00", "0.25", "", "1.00", "0.50", "", "1.00", "4.00")
    assert markdown(results).count("\n") == 4
