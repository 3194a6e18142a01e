"""The script that runs a program whose results were found to be wrong, beside the program and its inputs."""

from __future__ import annotations

SCRIPT = '''"""Runs the module and shows where its results differ from those expected."""

import json
from pathlib import Path

import numpy as np
from plugjax_iree.compile import CompileTarget, compile_stablehlo
from plugjax_iree.runtime import open_device

folder = Path(__file__).parent
told = json.loads((folder / "program.json").read_text())
text = (folder / "program.mlir").read_text()
inputs = [np.load(folder / f"input{i}.npy") for i in range(told["inputs"])]
vmfb = compile_stablehlo(text, CompileTarget())
device = open_device("local-sync")
results = device.load(vmfb).function("main")([device.put(x) for x in inputs])
for i, result in enumerate(results):
    expected = np.load(folder / f"expected{i}.npy")
    found = device.get(result, np.dtype(told["dtypes"][i]), expected.shape)
    print(i, "equal" if np.allclose(found, expected, equal_nan=True) else f"{found} expected {expected}")
'''
