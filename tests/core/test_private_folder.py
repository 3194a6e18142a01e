"""The compilation cache in folders, and among files, that other users can write."""

import os
import signal
import stat
import subprocess
import sys
import warnings
from contextlib import contextmanager
from pathlib import Path

import pytest

from plugjax.execution import private_folder
from plugjax.execution.compilation_cache import CompilationCache

pytestmark = pytest.mark.skipif(os.name != "posix", reason="POSIX owners and permissions")

KEY, OTHER = CompilationCache.key("one"), CompilationCache.key("two")
SOMEBODY = 65533

as_root = pytest.mark.skipif(
    os.name == "posix" and os.geteuid() != 0, reason="only root gives files to other users"
)


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "cache"
    path.mkdir(mode=0o700)
    return path


def entry(folder, key=KEY):
    return folder / f"{key}.entry"


def filled(folder):
    CompilationCache(folder).put(KEY, b"code")
    return entry(folder)


@contextmanager
def within(seconds):
    """Time limit: a read that blocks ends the test, not the suite."""

    def late(*_):
        raise TimeoutError("blocked")

    previous = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, previous)


def assert_refused(folder, words):
    """One warning; nothing read, written or deleted; no error."""
    target = Path(folder)
    before = {p.name: p.lstat() for p in target.iterdir()} if target.is_dir() else None
    cache = CompilationCache(target)
    with pytest.warns(RuntimeWarning, match=words) as caught:
        assert cache.get(KEY) is None
    assert "PLUGJAX_CACHE_DIR" in str(caught[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cache.put(KEY, b"mine")
        cache.put(OTHER, b"mine")
        assert cache.get(KEY) is None
        assert cache.entries() == []
        cache.clear()
    assert cache.refusal() is not None
    after = {p.name: p.lstat() for p in target.iterdir()} if target.is_dir() else None
    assert after == before


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o720, 0o702, 0o1777])
def test_a_folder_that_others_may_write_is_not_used(folder, mode):
    filled(folder)
    folder.chmod(mode)
    assert_refused(folder, "others may write to it")
    folder.chmod(0o755)
    assert CompilationCache(folder).get(KEY) == b"code"


@as_root
def test_a_folder_of_another_user_is_not_used(folder):
    filled(folder)
    os.chown(folder, SOMEBODY, -1)
    assert_refused(folder, f"belongs to user {SOMEBODY}")


def test_a_folder_of_another_user_is_not_used_by_an_ordinary_user(folder, monkeypatch):
    """The folder and its files stay; the process changes its user id."""
    filled(folder)
    monkeypatch.setattr(private_folder.os, "geteuid", lambda: SOMEBODY)
    assert_refused(folder, "belongs to user ")


@pytest.mark.parametrize("mode", [0o777, 0o775])
def test_a_folder_in_a_place_that_others_may_write_is_not_used(tmp_path, mode):
    place = tmp_path / "shared"
    (place / "inner" / "cache").mkdir(parents=True, mode=0o700)
    place.chmod(mode)
    assert_refused(place / "inner" / "cache", "others may write to .*shared")


def test_nothing_is_made_in_a_place_that_others_may_write(tmp_path):
    tmp_path.chmod(0o777)
    cache = CompilationCache(tmp_path / "new" / "cache")
    with pytest.warns(RuntimeWarning, match="others may write"):
        cache.put(KEY, b"code")
    assert list(tmp_path.iterdir()) == []


def test_a_sticky_place_is_as_good_as_its_entries(tmp_path):
    tmp_path.chmod(0o1777)
    cache = CompilationCache(tmp_path / "mine")
    cache.put(KEY, b"code")
    assert cache.get(KEY) == b"code"


@as_root
def test_another_users_link_in_a_sticky_place_is_not_followed(tmp_path, folder):
    filled(folder)
    tmp_path.chmod(0o1777)
    link = tmp_path / "link"
    link.symlink_to(folder)
    assert CompilationCache(link).get(KEY) == b"code"
    os.chown(link, SOMEBODY, -1, follow_symlinks=False)
    assert_refused(link, "the link .*link belongs to")


def test_links_and_dots_of_ones_own_are_followed(tmp_path, folder, monkeypatch):
    filled(folder)
    (tmp_path / "first").symlink_to("second/../second")
    (tmp_path / "second").symlink_to(folder)
    monkeypatch.chdir(tmp_path)
    for path in ("first", "./first/../cache", tmp_path / "first"):
        assert CompilationCache(Path(path)).get(KEY) == b"code"


def test_a_link_through_a_place_of_others_is_not_used(tmp_path):
    shared = tmp_path / "shared"
    (shared / "cache").mkdir(parents=True, mode=0o700)
    shared.chmod(0o777)
    (tmp_path / "link").symlink_to(shared / "cache")
    assert_refused(tmp_path / "link", "others may write to .*shared")


def test_a_link_to_itself_is_an_ordinary_failure(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    cache = CompilationCache(tmp_path / "loop")
    assert cache.get(KEY) is None
    with pytest.warns(RuntimeWarning, match="cannot write"):
        cache.put(KEY, b"code")


def test_new_folders_are_closed_whatever_the_umask(tmp_path):
    previous = os.umask(0)
    try:
        CompilationCache(tmp_path / "a" / "b").put(KEY, b"code")
    finally:
        os.umask(previous)
    for path in (tmp_path / "a", tmp_path / "a" / "b"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
    assert stat.S_IMODE(entry(tmp_path / "a" / "b").stat().st_mode) == 0o600


def test_an_entry_renamed_to_another_key_is_no_entry(folder):
    filled(folder).rename(entry(folder, OTHER))
    cache = CompilationCache(folder)
    assert cache.get(OTHER) is None
    assert cache.stats().damaged == 1
    assert not entry(folder, OTHER).exists()


@as_root
def test_an_entry_of_another_user_is_no_entry_and_stays(folder):
    os.chown(filled(folder), SOMEBODY, -1)
    cache = CompilationCache(folder)
    assert cache.get(KEY) is None
    cache.clear()
    assert entry(folder).exists()


def test_an_entry_that_others_may_write_is_no_entry(folder):
    filled(folder).chmod(0o666)
    assert CompilationCache(folder).get(KEY) is None


def fifo(path):
    os.mkfifo(path)


def zero(path):
    path.symlink_to("/dev/zero")


def tty(path):
    path.symlink_to("/dev/tty")


def directory(path):
    path.mkdir()


def dangling(path):
    path.symlink_to("nowhere")


def link_to_an_entry(path):
    good = path.with_name("elsewhere")
    CompilationCache(path.parent).put(KEY, b"code")
    path.rename(good)
    path.symlink_to(good)


@pytest.mark.parametrize("make", [fifo, zero, tty, directory, dangling, link_to_an_entry])
def test_special_files_are_neither_opened_nor_followed(folder, make):
    make(entry(folder))
    cache = CompilationCache(folder)
    with within(20):
        assert cache.get(KEY) is None
        assert cache.entries() == []
        cache.clear()
    assert entry(folder).is_symlink() or entry(folder).exists()


@pytest.mark.parametrize("make", [fifo, zero, dangling, link_to_an_entry])
def test_a_write_takes_the_place_of_a_special_file(folder, make):
    make(entry(folder))
    cache = CompilationCache(folder)
    with within(20):
        cache.put(KEY, b"new")
        assert cache.get(KEY) == b"new"
    assert not entry(folder).is_symlink()


def test_a_file_longer_than_the_cache_is_not_read(folder):
    with entry(folder).open("wb") as file:
        file.truncate(1 << 40)
    cache = CompilationCache(folder, 1 << 20)
    with within(20):
        assert cache.get(KEY) is None
    assert not entry(folder).exists()


STRANGERS = (
    "notes.txt", "report.entry", "draft.tmp", f"{KEY}.entry.bak", f"{KEY[:-1]}.entry", f"{KEY.upper()}.entry",
    f"{KEY}.tmp", "evict.lock", f"x{KEY}.entry",
)  # fmt: skip


def test_clear_and_eviction_touch_only_files_of_the_cache(folder):
    for name in STRANGERS:
        (folder / name).write_bytes(b"x" * 500)
        os.utime(folder / name, (1, 1))
    (folder / "loose").symlink_to(folder / "notes.txt")
    cache = CompilationCache(folder, 3000)
    for i in range(20):
        cache.put(cache.key(str(i)), b"x" * 500)
    assert 0 < cache.size() <= 3000
    cache.clear()
    assert cache.entries() == []
    assert sorted(os.listdir(folder)) == sorted([*STRANGERS, "loose"])
    for name in STRANGERS:
        assert (folder / name).read_bytes() == b"x" * 500


def test_the_command_line_says_why_and_deletes_nothing(folder):
    filled(folder)
    folder.chmod(0o777)
    for command in ("list", "size", "clear"):
        done = subprocess.run(
            [sys.executable, "-m", "plugjax", "cache", command],
            env={**os.environ, "PLUGJAX_CACHE_DIR": str(folder), "COLUMNS": "500"},
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == 2
        assert "others may write to it" in done.stderr
        assert len(done.stderr.strip().splitlines()) == 1
    assert entry(folder).exists()


def test_a_program_goes_on_without_the_folder(folder):
    folder.chmod(0o777)
    code = (
        "import plugjax, plugjax.numpy as jnp\n"
        "for n in (2, 3):\n"
        "    print(float(plugjax.jit(lambda x: x * 3)(jnp.arange(n))[1]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PLUGJAX_CACHE_DIR": str(folder), "PLUGJAX_BACKEND": "xla"},
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    assert done.stdout.split() == ["3.0", "3.0"]
    assert done.stderr.count("is not used: others may write to it") == 1
    assert list(folder.iterdir()) == []
