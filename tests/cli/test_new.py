"""``plugjax new`` writes packages that install and pass their tests as they are."""

import subprocess
import sys
import sysconfig
import venv

import pytest

from plugjax.cli import new


def python_with_the_same_packages(folder):
    """An environment of its own, which sees the packages of this one."""
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    site = sysconfig.get_path("purelib", vars={"base": str(folder)})
    outer = sysconfig.get_path("purelib")
    # `addsitedir` reads the .pth files of editable installations too.
    with open(f"{site}/outer.pth", "w") as file:
        file.write(f"import site; site.addsitedir({outer!r})\n")
    return python


@pytest.mark.spread(3)
@pytest.mark.parametrize("kind", list(new.Kind))
def test_a_new_package_passes_its_tests_at_once(plugjax, stopwatch, kind, tmp_path):
    folder = tmp_path / "package"
    with stopwatch(f"from nothing to a {kind} that passes its tests"):
        out = plugjax("new", kind, "soft_sign", "-o", str(folder))
        python = python_with_the_same_packages(tmp_path / "venv")
        subprocess.run(
            [sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-build-isolation", "--no-deps",
             "--disable-pip-version-check", "-e", folder],
            check=True,
        )  # fmt: skip
        done = subprocess.run(
            [python, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
            cwd=folder, capture_output=True, text=True,
        )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "pyproject.toml" in out
    listed = subprocess.run(
        [python, "-m", "plugjax", "plugins"], capture_output=True, text=True, check=True
    ).stdout
    assert "plugjax-soft-sign" in listed


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["primitive", "Soft-Sign"], "is no name of a primitive"),
        (["primitive", "lambda"], "is no name of a primitive"),
        (["backend", "xla"], "'xla' is installed"),
        (["metaclass", "x"], "'metaclass' is not one of"),
        (["primitive", "soft_sign", "-o", "full"], "is there already"),
    ],
)
def test_refusals(plugjax, arguments, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    assert words in plugjax("new", *arguments, code=2)
    assert [p.name for p in tmp_path.iterdir()] == ["full"]
