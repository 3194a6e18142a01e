"""Random numbers are compared bit by bit."""

import pytest

from tests.quick_oracle import optimised


@pytest.fixture(autouse=True, scope="module")
def _same_bits():
    with optimised():
        yield
