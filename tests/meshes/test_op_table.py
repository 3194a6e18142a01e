"""The op table through ``shard_map``: values, tangents, cotangents; each backend in a process of its own, with four devices."""

import subprocess
import sys

import pytest

from plugjax.testing import OPS

# One row in so many; all with --wide.
EVERY = {"numpy": 4, "xla": 40, "iree": 70}


@pytest.mark.parametrize("name", EVERY)
def test_rows_of_the_op_table_on_a_mesh(name, wide):
    every = 1 if wide else EVERY[name]
    done = subprocess.run(
        [sys.executable, "-m", "tests.meshes.op_rows", name, str(every), "1"],
        capture_output=True,
        text=True,
        timeout=280 * (10 if wide else 1),
        check=True,
    )
    *differing, count = [line for line in done.stdout.splitlines() if line[:1] not in "[ "]
    assert not differing, "\n".join(differing)
    assert int(count) >= 0.9 * len(OPS[1::every])
