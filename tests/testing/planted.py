"""A plugin with faulty backends: NumPy with one wrong kernel each, in compiled programs only."""

import os
import time

import numpy as np

from plugjax.core import registry
from plugjax.extend.backend import BackendSpec
from plugjax.extend.rules import PluginInfo, hookimpl, impl
from plugjax.lax.shape import rev_p
from plugjax_numpy.backend import NumpyBackend

plugjax_plugin = PluginInfo("planted")


def _without_reversal(x, *, dimensions):
    return x


def _crashes(x, *, dimensions):
    os.abort()


def _hangs(x, *, dimensions):
    time.sleep(1000)


def _takes_all_memory(x, *, dimensions):
    return np.zeros(1 << 50, np.uint8)


def _writes_into_its_operand(x, *, dimensions):
    x[...] = x[tuple(slice(None, None, -1 if i in dimensions else 1) for i in range(x.ndim))].copy()
    return x


class Planted(NumpyBackend):
    def __init__(self, name, kernel):
        self.name, self._kernel = name, kernel
        super().__init__()

    def compile(self, jaxpr, device, options):
        kernels = registry.active().table(impl)
        right, kernels[rev_p] = kernels[rev_p], self._kernel
        try:
            return super().compile(jaxpr, device, options)
        finally:
            kernels[rev_p] = right


KERNELS = {
    "wrong": _without_reversal,
    "crash": _crashes,
    "hang": _hangs,
    "memory": _takes_all_memory,
    "overwriting": _writes_into_its_operand,
}


@hookimpl
def plugjax_backends():
    return [
        BackendSpec(name, lambda name=name, kernel=kernel: Planted(name, kernel), priority=-1)
        for name, kernel in KERNELS.items()
    ]
