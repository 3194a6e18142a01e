"""The command line, as a user types it."""

import os
import re
import subprocess
import sys
from xml.etree import ElementTree

import numpy as np
import pytest
from rich.console import Console

from plugjax.cli import digits, doctor
from plugjax.cli.signatures import parse_shapes


def test_devices_of_all_backends(plugjax):
    out = plugjax("devices")
    for name in ("numpy:0", "xla:cpu:0", "iree:local:0", "iree:task:0"):
        assert name in out


def test_the_version_is_an_option_and_a_command(plugjax):
    assert plugjax("--version") == plugjax("version") == "0.1.0\n"


def test_completion_for_a_shell(plugjax):
    assert "_completion" in plugjax(
        "--show-completion", "bash", _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1"
    )


def test_plugins_and_their_state(plugjax):
    out = plugjax("plugins", PLUGJAX_NO_PLUGINS="iree")
    assert "plugjax-numpy 0.1.0" in out
    assert "blocked by the environment" in out
    assert "primitives of jax.lax" in out


def test_doctor_is_content(plugjax):
    out = plugjax("doctor")
    assert "all is well" in out
    assert "jaxlib" in out


def test_doctor_names_what_is_missing_and_the_command(plugjax):
    out = plugjax("doctor", code=1, PLUGJAX_BACKEND="abacus", PLUGJAX_NO_PLUGINS="xla,iree")
    assert "Unknown backend 'abacus'" in out


def test_doctor_without_compiling_backends(plugjax):
    out = plugjax("doctor", PLUGJAX_NO_PLUGINS="xla,iree", PLUGJAX_BACKEND="numpy")
    assert "verification: only NumPy is installed, which it compares with" in out


def test_doctor_lists_workarounds_and_their_state(plugjax):
    out = plugjax("doctor", "--workarounds", PLUGJAX_IREE_WITHOUT="sorts")
    rows = {
        cells[1].strip(): cells
        for cells in (line.split("│") for line in out.splitlines())
        if len(cells) > 6
    }
    assert rows["sorts"][-2].strip() == "off"
    assert rows["paired_reductions"][-2].strip() == "on"
    assert rows["paired_reductions"][-3].strip().startswith("3.")


def test_doctor_refuses_to_switch_off_what_is_no_workaround(plugjax):
    out = plugjax("doctor", "--workarounds", code=2, PLUGJAX_IREE_WITHOUT="nothing")
    assert "no workaround is named 'nothing'" in out


def test_doctor_gives_the_command_for_a_missing_distribution(monkeypatch):
    wanted = (*doctor._WANTED, ("plugjax-abacus", "counting", "pip install plugjax-abacus"))
    monkeypatch.setattr(doctor, "_WANTED", wanted)
    monkeypatch.setattr(doctor, "probe", lambda device: "")
    console = Console(record=True, width=160)
    assert not doctor.run(console)
    text = console.export_text()
    assert "missing" in text
    assert "to repair: pip install plugjax-abacus" in text


@pytest.fixture
def mute(tmp_path, monkeypatch):
    """A distribution with a backend whose devices hang, crash, compute wrongly, and raise."""
    tmp_path.joinpath("mute.py").write_text(MUTE)
    info = tmp_path / "mute-1.0.dist-info"
    info.mkdir()
    info.joinpath("METADATA").write_text("Metadata-Version: 2.1\nName: mute\nVersion: 1.0\n")
    info.joinpath("entry_points.txt").write_text("[plugjax]\nmute = mute\n")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    monkeypatch.setenv("PYTHONPATH", path)


MUTE = """
import os, signal, time
import numpy as np
from plugjax.extend import Backend, BackendSpec, Device, Executable, hookimpl

class Program(Executable):
    host = True

    def __init__(self, device, avals):
        self.device, self.avals = device, avals

    def run(self, values):
        if self.device.id == 0:
            time.sleep(1000)
        if self.device.id == 1:
            os.kill(os.getpid(), signal.SIGSEGV)
        if self.device.id == 3:
            raise RuntimeError('the [driver] is gone')
        return [np.zeros(a.shape, a.dtype) for a in self.avals]

class Mute(Backend):
    name = 'mute'

    def devices(self):
        return [Device(self, '', i, 'a mute') for i in range(4)]

    def put(self, value, device):
        return value

    def get(self, buffer, aval, device):
        return buffer

    def compile(self, jaxpr, device, options):
        return Program(device, jaxpr.out_avals)

@hookimpl
def plugjax_backends():
    return [BackendSpec('mute', Mute)]
"""


def test_doctor_lets_every_device_answer(mute):
    code = "import plugjax.cli.probe as probe; probe.SECONDS = probe.probe.__defaults__ = (12,)\n"
    code += "from plugjax.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "doctor"],
        env={**os.environ, "COLUMNS": "200", "TERM": "dumb"},
        capture_output=True, text=True, timeout=280, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    answers = dict(re.findall(r"([\w:]+:\d) +[│|] *([^│|]*?) *[│|]", done.stdout))
    assert answers.pop("mute:0") == "no answer within 12 s"
    assert answers.pop("mute:1") == "the process was ended by signal 11"
    assert answers.pop("mute:2").startswith("a wrong result: [0.0")
    assert "the [driver] is gone" in answers.pop("mute:3")
    assert set(answers) >= {"numpy:0", "xla:cpu:0", "iree:local:0"}
    assert set(answers.values()) == {"right"}
    assert "all is well" not in done.stdout


def test_doctor_tells_what_is_wrong_with_the_cache(plugjax, tmp_path):
    tmp_path.chmod(0o777)
    out = plugjax("doctor", code=1, PLUGJAX_CACHE_DIR=str(tmp_path), PLUGJAX_NO_PLUGINS="iree")
    assert "is not used: others may write to it" in out


def test_an_error_is_one_line(plugjax):
    out = plugjax("export", "nowhere.py", "--entry", "f:f32[1]", "-o", "x.vmfb", code=2)
    assert "nowhere.py does not exist" in out
    assert "Traceback" not in out


def test_check_reports_before_compiling(plugjax, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import plugjax.numpy as jnp\n"
        "from plugjax.extend import Primitive, RuleSet, abstract_eval, hookimpl, impl, registry\n"
        "odd_p, rules = Primitive('odd'), RuleSet('program')\n"
        "rules.define(impl, odd_p)(lambda x: x)\n"
        "rules.define(abstract_eval, odd_p)(lambda x: x)\n"
        "plugin = type('P', (), {'plugjax_rules': staticmethod(hookimpl(lambda: [rules]))})\n"
        "registry.active().load(plugin)\n"
        "def fine(x): return jnp.sin(x)\n"
        "def lacking(x): return odd_p.bind(jnp.sin(x))\n"
    )
    out = plugjax("check", str(program), "--entry", "fine:f32[3]")
    assert "every primitive has a lowering" in out
    out = plugjax("check", str(program), "--entry", "lacking:f32[3]", "--backend", "xla", code=1)
    assert re.search(r"lacking.*odd.*1", out)


def test_cache_list_size_clear(plugjax, tmp_path):
    environment = {"PLUGJAX_CACHE_DIR": str(tmp_path / "cache"), "PLUGJAX_BACKEND": "xla"}
    code = "import plugjax, plugjax.numpy as jnp; plugjax.jit(lambda x: jnp.sin(x) * 3)(jnp.arange(5.0))"
    subprocess.run([sys.executable, "-c", code], env={**os.environ, **environment}, check=True)
    assert re.search(r"[1-9]\d* entries", plugjax("cache", "size", **environment))
    assert re.search(r"[0-9a-f]{16}", plugjax("cache", "list", **environment))
    plugjax("cache", "clear", **environment)
    assert "0 entries" in plugjax("cache", "size", **environment)
    assert "off" in plugjax("cache", "size", PLUGJAX_CACHE_DIR="off")


def test_cache_fill_compiles_what_eager_calls_then_find(plugjax, tmp_path):
    environment = {
        "PLUGJAX_CACHE_DIR": str(tmp_path / "cache"),
        "PLUGJAX_EAGER": "compile",
    }
    command = ["cache", "fill", "--device", "xla", "--arrays", "f32[3,4],f32[4],i32[4]"]
    first = plugjax(*command, "outer", "matmul", "invert", **environment)
    # Of outer 9 pairs and 4 of integers, of matmul the 3 that fit; invert takes integers alone, scalars among them.
    assert "18 operations are ready on xla" in first, first
    assert re.search(r"[1-9]\d* entries are new", first)
    assert " 0 entries are new" in plugjax(*command, "outer", **environment)
    program = tmp_path / "program.py"
    program.write_text(
        "import numpy as np\nimport plugjax\nimport plugjax.numpy as jnp\n"
        "x = plugjax.device_put(np.ones((3, 4), 'float32'), plugjax.devices('xla')[0])\n"
        "print(jnp.outer(x, x).shape)\n"
    )
    before = plugjax("cache", "size", **environment)
    plugjax("run", str(program), **environment)
    assert plugjax("cache", "size", **environment) == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--arrays", "f32[4]", "nope"], "no operation on the fast path"),
        (["--arrays", "f32[*]"], "a size that is not known"),
    ],
)
def test_cache_fill_names_what_it_cannot_take(plugjax, tmp_path, arguments, message):
    environment = {"PLUGJAX_CACHE_DIR": str(tmp_path / "cache")}
    assert message in plugjax("cache", "fill", "--device", "xla", *arguments, code=2, **environment)


def test_demo_twice_trains_compares_exports_and_finds_its_programs_in_the_cache(plugjax, tmp_path):
    environment = {"PLUGJAX_CACHE_DIR": str(tmp_path / "cache")}
    first = plugjax("demo", "--epochs", "12", "--output", str(tmp_path / "out"), **environment)
    accuracies = [float(a) for a in re.findall(r"(\d+\.\d+) %", first)]
    assert len(accuracies) == 4
    assert min(accuracies) > 95
    differences = [float(d) for d in re.findall(r"\d\.\de[+-]\d\d", first)]
    assert len(differences) == 3
    assert max(differences) < 1e-6
    assert "360 of 360 test images" in first
    assert re.search(r"0 programs found, [1-9]\d* written", first)
    assert (tmp_path / "out" / "digits.vmfb").exists()
    assert "from the cache" not in first
    plot = tmp_path / "digits.svg"
    second = plugjax("demo", "--epochs", "1", "--plot", str(plot), **environment)
    assert re.search(r"xla .*from the cache", second)
    drawn = ElementTree.fromstring(plot.read_text())
    texts = [each.text for each in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert {"xla", "numpy", "iree", "loss in nats, by epoch"} <= set(texts)
    assert sum(text[0].isdigit() and len(text) < 10 for text in texts) >= 30
    assert re.search(r"[1-9]\d* programs found, 0 written", second)


@pytest.mark.parametrize(
    ("arguments", "devices"),
    [
        (["--devices", "8", "--backend", "numpy"], "numpy:7"),
        (["--devices", "4", "--backend", "iree"], "iree:"),
        (["--processes", "2", "--devices", "2"], "xla:cpu:2048"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_demo_on_a_mesh(plugjax, arguments, devices):
    said = plugjax("demo", "--epochs", "4", *arguments)
    assert devices in said
    assert "CPU 0" in said
    accuracies = {float(a) for a in re.findall(r"(\d+\.\d+) %", said)}
    # Processes have the same weights.
    assert len(accuracies) == 1
    assert min(accuracies) > 94


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--devices", "3"], "divisor of 64"),
        (["--devices", "2", "--output", "folder"], "leave out"),
        (["--devices", "2", "--plot", "x.svg"], "leave out"),
    ],
)
def test_demo_refuses_meshes(plugjax, arguments, words):
    assert words in plugjax("demo", *arguments, code=2)


def test_digits_are_real_and_split():
    data = digits.load()
    assert data.train_images.shape == (1437, 64)
    assert data.test_images.shape == (360, 64)
    assert set(np.unique(data.test_labels)) == set(range(10))
    assert data.train_images.max() == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("f32[1,64]", [((1, 64), "float32")]),
        ("i32[], bf16[3]", [((), "int32"), ((3,), "bfloat16")]),
    ],
)
def test_shapes_on_the_command_line(text, expected):
    assert [(s.shape, s.dtype.name) for s in parse_shapes(text)] == expected


@pytest.mark.parametrize("text", ["f33[1]", "f32", "f32[1]x", "f32[_]", "f32[-1]", "f32[a+]"])
def test_unreadable_shapes_say_where(text):
    with pytest.raises(ValueError, match=r"cannot read|comma|syntax|size"):
        parse_shapes(text)
