"""The files of an export: all or none, and checked when they are read."""

import os
import re
import shutil
import stat
import subprocess
import sys

import numpy as np
import pytest

import plugjax.numpy as jnp
from plugjax.export import files, read_iree, to_iree

X = np.ones((2, 3), np.float32)
PARAMETERS = {"w": np.arange(3, dtype=np.float32)}


def scale(p, x):
    return x * p["w"]


def svd(x):
    return jnp.linalg.svd(x)[1]


@pytest.fixture
def artifact(tmp_path):
    return to_iree(
        {"scale": (scale, (X,))},
        tmp_path / "m.vmfb",
        parameters=PARAMETERS,
        parameters_path=tmp_path / "data" / "m.irpa",
    )


@pytest.mark.spread(6)
@pytest.mark.parametrize(
    "name", ["_", "_a", "p0", "parameter", "svd", "main", "exported", "a" * 200]
)
def test_any_name_of_c_is_an_entry_point(tmp_path, name):
    done = to_iree({name: (lambda p, x: svd(x) * p, (X,))}, tmp_path / "m.vmfb", parameters=2.0)
    from plugjax_iree.runtime import open_device

    device = open_device("local-sync")
    (found,) = device.load(read_iree(done.path)).function(name)([device.put(X)])
    np.testing.assert_allclose(
        device.get(found, np.dtype("f4"), (2,)), np.linalg.svd(X)[1] * 2, atol=1e-5
    )


def test_entry_points_are_not_taken_for_each_others_parts(tmp_path):
    names = ["a", "a__body", "a__body_1", "a_1", "p0", "svd", "svd_1"]
    entries = {name: (lambda p, x, i=i: svd(x) * p + i, (X,)) for i, name in enumerate(names)}
    done = to_iree(entries, tmp_path / "m.vmfb", parameters=2.0)
    from plugjax_iree.runtime import open_device

    device = open_device("local-sync")
    module = device.load(read_iree(done.path))
    for i, name in enumerate(names):
        (found,) = module.function(name)([device.put(X)])
        np.testing.assert_allclose(
            device.get(found, np.dtype("f4"), (2,)), np.linalg.svd(X)[1] * 2 + i, atol=1e-5
        )


@pytest.mark.parametrize(
    "name", ["é", "", "a b", "1a", "a-b", "a.b", "__init", "a" * 201, "a" * 3000, "ﬁ"]
)
def test_other_names_are_refused_in_a_short_line(tmp_path, name):
    with pytest.raises(ValueError, match="entry point") as caught:
        to_iree({name: (jnp.sin, (X,))}, tmp_path / "m.vmfb")
    assert len(str(caught.value)) < 200
    assert list(tmp_path.iterdir()) == []


def test_the_checksum_is_that_of_sha256sum(artifact):
    tool = shutil.which("sha256sum")
    if tool is None:
        pytest.skip("needs sha256sum")
    done = subprocess.run(
        [tool, "--strict", "-c", "m.vmfb.sha256"],
        cwd=artifact.path.parent,
        capture_output=True,
        check=True,
    )
    assert done.stdout.count(b"OK") == 2


def test_an_artifact_is_read_from_anywhere(artifact, monkeypatch):
    monkeypatch.chdir(artifact.path.parent / "data")
    assert read_iree("../m.vmfb") == artifact.path.read_bytes()


@pytest.mark.spread(3)
@pytest.mark.parametrize("part", ["m.vmfb", "data/m.irpa", "m.vmfb.sha256"])
@pytest.mark.parametrize("damage", ["flip", "cut", "longer", "empty"])
def test_damage_is_found_on_reading(artifact, part, damage):
    path = artifact.path.parent / part
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 1
    changed = {"flip": bytes(content), "cut": path.read_bytes()[:-2], "empty": b""}
    path.write_bytes(changed.get(damage, path.read_bytes() + b"\n\n"))
    words = r"not the file that was exported|damaged|has no checksum|No such file"
    with pytest.raises((ValueError, FileNotFoundError), match=words):
        read_iree(artifact.path)


def test_a_missing_checksum_is_told(artifact):
    files.checksum_path(artifact.path).unlink()
    with pytest.raises(ValueError, match=r"m\.vmfb\.sha256 should lie beside it"):
        read_iree(artifact.path)


def test_the_checksum_of_another_file_does_not_count(artifact):
    artifact.path.rename(artifact.path.with_name("n.vmfb"))
    files.checksum_path(artifact.path).rename(artifact.path.with_name("n.vmfb.sha256"))
    with pytest.raises(ValueError, match=r"no checksum of n\.vmfb"):
        read_iree(artifact.path.with_name("n.vmfb"))


@pytest.mark.parametrize("which", ["m.vmfb", "m.vmfb.sha256"])
def test_a_pipe_is_not_waited_for(artifact, which):
    path = artifact.path.parent / which
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(ValueError, match="not a regular file"):
        read_iree(artifact.path)


def content_of(folder):
    return {
        path.relative_to(folder): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.mark.parametrize("broken", ["write_bytes", "write_archive", "checksums"])
def test_a_failure_replaces_nothing(artifact, monkeypatch, broken):
    def fails(*_, **__):
        raise OSError(28, "No space left on device")

    import plugjax.export.iree as exporting
    from plugjax_iree import exporter

    folder = artifact.path.parent
    before = content_of(folder)
    if broken == "write_bytes":
        monkeypatch.setattr("pathlib.Path.write_bytes", fails)
    else:
        monkeypatch.setattr(exporter if broken == "write_archive" else exporting, broken, fails)
    with pytest.raises(OSError, match="No space left"):
        to_iree(
            {"other": (scale, (X,))},
            artifact.path,
            parameters={"w": np.zeros(3, np.float32)},
            parameters_path=artifact.parameters_path,
        )
    monkeypatch.undo()
    assert content_of(folder) == before


def test_a_link_is_written_through(artifact):
    link = artifact.path.with_name("link.vmfb")
    link.symlink_to(artifact.path)
    to_iree({"f": (jnp.sin, (X,))}, link)
    assert link.is_symlink()
    assert read_iree(link) == artifact.path.read_bytes()


PROGRAM = """
import numpy as np
import plugjax
import plugjax.numpy as jnp

weights = {"w": jnp.ones((3, 2))}
def f(x): return jnp.sin(x)
def cb(x): return plugjax.pure_callback(lambda v: np.asarray(v) * 2, plugjax.ShapeDtypeStruct(x.shape, x.dtype), x)
def inner(x): return plugjax.lax.fori_loop(0, 3, lambda i, c: cb(c), x)
def shown(x):
    plugjax.debug.print("{}", x)
    return x
def svd(x): return jnp.linalg.svd(x)[1]
def wrong(x): return x @ jnp.ones(7)
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "exits.py").write_text("raise SystemExit(3)")
    (tmp_path / "lacks.py").write_text("import no_such_module")
    (tmp_path / "unreadable.py").write_text("def (")
    (tmp_path / "m.vmfb").write_text("precious")
    (tmp_path / "m.irpa").write_text("precious")
    (tmp_path / "sub").mkdir()
    os.mkfifo(tmp_path / "pipe")
    return tmp_path


def command(folder, *arguments):
    done = subprocess.run(
        [sys.executable, "-m", "plugjax", *arguments],
        cwd=folder, env={**os.environ, "COLUMNS": "60"}, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


OUT = ("-o", "m.vmfb")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("program.py", "--entry", "é=f:f32[3]", *OUT), "identifier of C"),
        (("program.py", "--entry", "a" * 3000 + "=f:f32[3]", *OUT), "3000 characters"),
        (("program.py", "--entry", "f:f32[3]", "--entry", "f:f32[4]", *OUT), "two entry points are called 'f'"),
        (("program.py", "--entry", "f:f32[3]", "-o", "pipe"), "special file"),
        (("program.py", "--entry", "f:f32[3]", "-o", "/dev/null"), "special file"),
        (("program.py", "--entry", "f:f32[3]", "-o", "sub"), "is a folder"),
        (("program.py", "--entry", "f:f32[3]", "-o", "program.py"), "is the program itself"),
        (("program.py", "--entry", "f:f32[3]", "-o", "program.py/m.vmfb"), "Not a directory"),
        (("program.py", "--entry", "f:f32[3]", "-o", "x" * 300), "name too long"),
        (("program.py", "--entry", "f:f32[3]", *OUT, "--parameters", "weights", "--irpa", "pipe"), "special file"),
        (("program.py", "--entry", "f:f32[3]", *OUT, "--parameters", "weights", "--irpa", "m.vmfb"), "two outputs"),
        (("program.py", "--entry", "f:f32[3]", *OUT, "--compile-for", "nosuch"), "IREE knows no target 'nosuch'"),
        (("program.py", "--entry", "f:f32[3]", *OUT, "--compile-for", "no such"), "not the name of an architecture"),
        (("program.py", "--entry", "nosuch:f32[3]", *OUT), "has no 'nosuch'"),
        (("program.py", "--entry", "weights:f32[3]", *OUT), "needs a function"),
        (("program.py", "--entry", "f:f99[3]", *OUT), "cannot read a shape at 'f99[3]'"),
        (("program.py", "--entry", "wrong:f32[3]", *OUT), "7"),
        (("program.py", "--entry", "cb:f32[3]", *OUT), "pure_callback"),
        (("program.py", "--entry", "inner:f32[3]", *OUT), "pure_callback"),
        (("program.py", "--entry", "shown:f32[3]", *OUT), "debug_print"),
        (("no_such_module", "--entry", "f:f32[3]", *OUT), "No module named 'no_such_module'"),
        (("nowhere.py", "--entry", "f:f32[3]", *OUT), "nowhere.py does not exist"),
        (("sub/", "--entry", "f:f32[3]", *OUT), "sub/"),
        (("exits.py", "--entry", "f:f32[3]", *OUT), "SystemExit: 3"),
        (("lacks.py", "--entry", "f:f32[3]", *OUT), "no_such_module"),
        (("unreadable.py", "--entry", "f:f32[3]", *OUT), "SyntaxError"),
    ],
)  # fmt: skip
@pytest.mark.spread(8)
def test_what_cannot_be_exported_is_one_line_and_replaces_nothing(folder, arguments, words):
    before = content_of(folder)
    code, out, err = command(folder, "export", *arguments)
    assert code == 2
    assert out == ""
    assert len(err.strip().splitlines()) == 1, err
    assert re.match("plugjax: ", err)
    assert words in err
    after = {k: v for k, v in content_of(folder).items() if "__pycache__" not in k.parts}
    assert after == before
    assert stat.S_ISFIFO((folder / "pipe").stat().st_mode)


@pytest.mark.parametrize("name", ["cb", "inner", "shown"])
def test_check_reports_what_an_export_refuses(folder, name):
    code, out, _ = command(folder, "check", "program.py", "--entry", f"{name}:f32[3]")
    assert code == 1
    assert ("debug_print" if name == "shown" else "pure_callback") in out


@pytest.mark.parametrize("name", ["f", "svd"])
def test_check_passes_what_an_export_takes(folder, name):
    shape = "f32[3,3]"
    code, _, err = command(folder, "check", "program.py", "--entry", f"{name}:{shape}")
    assert (code, err) == (0, "")
    code, _, err = command(folder, "export", "program.py", "--entry", f"{name}:{shape}", *OUT)
    assert (code, err) == (0, "")
    read_iree(folder / "m.vmfb")


@pytest.mark.parametrize(("machine", "because"), [("tpu", "pip install libtpu"), ("xla:cpu", "topology not implemented for xla:cpu")])  # fmt: skip
def test_check_says_that_it_lowers_where_nothing_compiles(folder, machine, because, monkeypatch):
    monkeypatch.setenv("TPU_LIBRARY_PATH", "/nowhere/libtpu.so")
    code, out, err = command(
        folder, "check", "program.py", "--entry", "f:f32[3]", "--backend", machine
    )
    assert (code, err) == (0, "")
    assert "nothing is compiled, only lowered" in out
    assert because in out
    assert f"every primitive has a lowering for {machine}" in out


def test_check_refuses_hardware_that_nothing_lowers_for(folder):
    code, out, err = command(
        folder, "check", "program.py", "--entry", "f:f32[3]", "--backend", "nosuch"
    )
    assert code == 2
    assert out == ""
    assert "no installed backend lowers for ('nosuch',)" in err
    assert "xla for cpu, cuda, rocm, tpu" in err
