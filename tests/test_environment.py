"""Processes, the version and the report of the environment."""

import jax
import pytest

import plugjax
import plugjax.version
from plugjax.extend.errors import UnknownBackendError

NEWER = {"host_id": "process_index", "host_count": "process_count", "host_ids": "process_indices"}


@pytest.mark.parametrize("name", NEWER.values())
def test_processes(name):
    ours = getattr(plugjax, name)
    assert ours() == getattr(jax, name)()
    assert ours("numpy") == ours()
    assert name in dir(plugjax)
    with pytest.raises(RuntimeError, match=r"[Uu]nknown backend"):
        ours("nothing")


@pytest.mark.parametrize("framework", [jax, plugjax], ids=["jax", "plugjax"])
@pytest.mark.parametrize("name", NEWER)
def test_older_names(name, framework):
    with pytest.warns(UserWarning, match="process_ind|process_count"):
        found = getattr(framework, name)()
    assert found == getattr(framework, NEWER[name])()


def test_version():
    assert plugjax.version.__version__ == plugjax.__version__
    assert plugjax.version.__version_info__ == plugjax.__version_info__


def test_environment_info(capsys):
    assert plugjax.print_environment_info() is None
    printed = capsys.readouterr().out
    assert printed.strip() == plugjax.print_environment_info(return_string=True)
    rows = dict(line.split(": ", 1) for line in printed.splitlines())
    assert rows["plugjax"] == plugjax.__version__
    assert {"numpy", "jaxlib", "python", "devices", "process_count", "platform"} <= set(rows)
    assert "numpy:0" in rows["devices"].split(", ")


def test_environment_info_of_a_backend_that_cannot_be_loaded(monkeypatch):
    def devices(name):
        if name == "xla":
            raise UnknownBackendError("no jaxlib.\nInstall it.")
        return plugjax.devices(name)

    monkeypatch.setattr("plugjax.environment.devices", devices)
    text = plugjax.print_environment_info(return_string=True)
    assert "xla: no jaxlib.\n" in text
    assert "numpy:0" in text


def test_default_prng_impl():
    for framework in (jax, plugjax):
        with framework.default_prng_impl("rbg"):
            assert str(framework.random.key(0).dtype) == "key<rbg>"
        assert str(framework.random.key(0).dtype) == "key<fry>"


def test_enable_checks():
    before = plugjax.config.read("enable_checks")
    with plugjax.enable_checks(not before):
        assert plugjax.config.read("enable_checks") is not before
    assert plugjax.config.read("enable_checks") is before
