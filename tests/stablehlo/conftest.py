import pytest

import plugjax_numpy.plugin
import plugjax_xla.plugin
from plugjax.calls import plugin as core_plugin
from plugjax.core import registry
from plugjax.core.registry import Registry
from plugjax.lax import plugin as lax_plugin
from plugjax.stablehlo import plugin as stablehlo_plugin

PLUGINS = (core_plugin, lax_plugin, plugjax_numpy.plugin, stablehlo_plugin, plugjax_xla.plugin)


@pytest.fixture(autouse=True)
def registered():
    with registry.use(Registry().load(*PLUGINS)) as found:
        yield found
