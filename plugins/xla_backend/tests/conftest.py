import pytest

from plugjax_xla import pjrt


@pytest.fixture
def device():
    return pjrt.cpu_client().devices[0]
