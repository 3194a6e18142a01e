"""The wheels and sdists that are released: the same bytes twice, complete, and enough for an empty environment."""

import importlib.util
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
spec = importlib.util.spec_from_file_location("release", ROOT / ".ci" / "release.py")
release = importlib.util.module_from_spec(spec)
spec.loader.exec_module(release)
NAMES = {"plugjax", "plugjax_numpy", "plugjax_xla", "plugjax_iree", "plugjax_as_jax"}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """All files, built from a copy of what git has or would add, and those of two distributions built again."""
    pytest.importorskip("build")
    source = tmp_path_factory.mktemp("source")
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True
    )
    if listed.returncode:
        pytest.skip("not a checkout of git")
    for name in listed.stdout.splitlines():
        if not name.startswith(("tests/", "docs/", "benchmarks/")) and (ROOT / name).is_file():
            target = source / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes((ROOT / name).read_bytes())
    # What must not come along.
    for folder in (source, source / "plugins" / "as_jax"):
        (folder / "tests").mkdir(exist_ok=True)
        (folder / "tests" / "test_it.py").touch()
    folders = [tmp_path_factory.mktemp(name) for name in ("first", "second")]
    for folder, which in zip(folders, ([], ["numpy_backend", "as_jax"]), strict=True):
        chosen = which and f", tuple(release.ROOT / 'plugins' / n for n in {which})"
        subprocess.run(
            [sys.executable, "-c", "import sys, pathlib; sys.path.insert(0, '.ci'); import release; "
             f"release.main(pathlib.Path({str(folder)!r}){chosen or ''})"],
            cwd=source, env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}, check=True,
        )  # fmt: skip
    return folders


def test_all_are_built(built):
    found = sorted(p.name for p in built[0].iterdir())
    version = release.versions()["plugjax/__init__.py"]
    wheels = [f"{name}-{version}-py3-none-any.whl" for name in NAMES]
    assert found == sorted([*wheels, *(f"{name}-{version}.tar.gz" for name in NAMES)])


def test_the_same_bytes_come_out_twice(built):
    first, second = built
    for file in second.iterdir():
        assert file.read_bytes() == (first / file.name).read_bytes(), file.name
    assert len(list(second.iterdir())) == 4


def test_wheels_have_a_licence_and_types_and_no_tests(built):
    for wheel in built[0].glob("*.whl"):
        package = wheel.name.partition("-")[0]
        with zipfile.ZipFile(wheel) as file:
            names = file.namelist()
        assert f"{package}/py.typed" in names
        assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)
        assert {name.partition("/")[0].partition("-")[0] for name in names} <= {
            package, f"{package}.pth"
        }  # fmt: skip
        assert not [n for n in names if re.search(r"(^|/)tests/.*\.py$", n)]


def test_sdists_have_no_tests(built):
    for sdist in built[0].glob("*.tar.gz"):
        with tarfile.open(sdist) as file:
            names = file.getnames()
        assert not [n for n in names if re.match(r"[^/]+/(tests|benchmarks|examples|plugins)/", n)]
        assert any(name.endswith("/LICENSE") for name in names)


def test_an_empty_environment_needs_nothing_but_the_built_files(built, tmp_path):
    folder = tmp_path / "venv"
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-deps", "--no-index",
         "--disable-pip-version-check", *sorted(built[0].glob("*.whl"))],
        check=True,
    )  # fmt: skip
    # Libraries of others; a plain line reads no .pth files there, so editable installations stay unseen.
    site = Path(sysconfig.get_path("purelib", vars={"base": str(folder)}))
    (site / "outer.pth").write_text(sysconfig.get_path("purelib") + "\n")
    program = (
        "import plugjax, plugjax.numpy as jnp\n"
        "print(plugjax.__file__)\n"
        "for name in ('numpy', 'xla', 'iree'):\n"
        "    with plugjax.default_device(name):\n"
        "        print(name, float(plugjax.jit(jnp.sum)(jnp.arange(4.0))))\n"
    )
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    out = subprocess.run(
        [python, "-c", program], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert out.returncode == 0, out.stderr
    assert out.stdout.splitlines() == [
        str(site / "plugjax" / "__init__.py"), "numpy 6.0", "xla 6.0", "iree 6.0"
    ]  # fmt: skip
    subprocess.run(
        [folder / "bin" / "plugjax", "new", "backend", "abacus"],
        cwd=tmp_path, env=environment, check=True, capture_output=True,
    )  # fmt: skip
    assert (tmp_path / "plugjax-abacus" / "pyproject.toml").exists()


def test_the_version_comes_from_one_place():
    assert len(set(release.versions().values())) == 1, release.versions()
    for folder in release.DISTRIBUTIONS:
        project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
        assert project["dynamic"] == ["version"]
        assert "version" not in project


def test_licences_are_the_same_and_extras_name_the_distributions():
    licence = (ROOT / "LICENSE").read_text()
    projects = {}
    for folder in release.DISTRIBUTIONS:
        assert (folder / "LICENSE").read_text() == licence
        found = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
        projects[found["name"]] = found.get("optional-dependencies", {})
    extras = projects["plugjax"]
    assert {"all", "numpy", "xla", "iree", "cuda", "docs"} <= set(extras)
    for each in ("numpy", "xla", "iree"):
        assert extras[each] == [f"plugjax-{each}"]
        assert f"plugjax-{each}" in projects
    assert extras["cuda"] == ["plugjax-xla[cuda]"]
    assert extras["tpu"] == ["plugjax-xla[tpu]"]
    assert {"cuda", "tpu"} <= set(projects["plugjax-xla"])
