"""Arrays in pieces through memory that host and device see."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from plugjax_iree.runtime import available_devices, open_device, staging
from plugjax_iree.runtime.staging import Staging

SLOT = 4096
DEVICES = ["local-sync", *available_devices("vulkan")]


@pytest.fixture(params=DEVICES, ids=lambda uri: uri.partition("://")[0])
def device(request, monkeypatch):
    monkeypatch.setattr(staging, "SLOT", SLOT)
    return open_device(request.param)


@pytest.mark.parametrize("size", [SLOT + 1, 2 * SLOT, 5 * SLOT, 5 * SLOT + 17])
def test_there_and_back(device, size):
    way = Staging(device.hal)
    data = np.random.default_rng(size).integers(0, 256, size, dtype=np.uint8)
    target = device._allocator.allocate_buffer(device._memory_type, device._usage, size)
    way.put(data, target)
    np.testing.assert_array_equal(way.get(target), data)
    assert len(way._slots) == 2


def test_threads_share_the_slots(device):
    way = Staging(device.hal)

    def travel(seed):
        data = np.random.default_rng(seed).integers(0, 256, 6 * SLOT + seed, dtype=np.uint8)
        target = device._allocator.allocate_buffer(device._memory_type, device._usage, data.nbytes)
        way.put(data, target)
        return np.array_equal(way.get(target), data)

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(travel, range(8)))


@pytest.mark.skipif(len(DEVICES) < 2, reason="no Vulkan device: apt-get install mesa-vulkan-drivers libvulkan1")  # fmt: skip
def test_large_arrays_of_a_device():
    device = open_device(DEVICES[1])
    for x in (
        np.arange(2 * staging.SLOT // 4 + 5, dtype=np.float32).reshape(1, -1),
        np.zeros((staging.SLOT, 2), bool).T,
    ):
        found = device.get(device.put(x), x.dtype, x.shape)
        np.testing.assert_array_equal(found, x)
        assert not found.flags.writeable
