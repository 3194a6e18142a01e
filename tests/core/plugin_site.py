"""A folder with distributions that declare plugins, and processes that import from it."""

import os
import subprocess
import sys

import pytest


class Site:
    """Entry points, by installing a fake distribution into a folder."""

    @pytest.fixture
    def site(self, tmp_path):
        def write(name, source, entry=None):
            tmp_path.joinpath(f"{name}.py").write_text(source)
            info = tmp_path / f"{name}-1.2.dist-info"
            info.mkdir()
            info.joinpath("METADATA").write_text(
                f"Metadata-Version: 2.1\nName: dist-{name}\nVersion: 1.2\n"
            )
            info.joinpath("entry_points.txt").write_text(f"[plugjax]\n{entry or name} = {name}\n")
            return tmp_path

        return write

    @staticmethod
    def run(site, code, **environment):
        path = os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")])
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONPATH": path, **environment},
            capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout, done.stderr
