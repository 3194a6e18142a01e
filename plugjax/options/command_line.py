"""The options as flags of absl, for programs that read their command line by it: ``config.config_with_absl`` and its like."""

from __future__ import annotations

import itertools
import sys
from types import ModuleType
from typing import Any

from plugjax.extend.core import Option, config


def _absl() -> tuple[ModuleType, ModuleType]:
    try:
        from absl import app, flags  # noqa: PLC0415  # an optional dependency
    except ImportError:
        raise ImportError(
            "plugjax.config: flags of the command line need absl. Install it: pip install absl-py."
        ) from None
    return app, flags


def config_with_absl() -> None:
    """Define a flag ``--jax_<option>`` for each option; ``absl.app.run`` sets the options that are given.

    Flags that are defined already stay as they are.

    Raises:
        ImportError: absl is not installed.
    """
    app, flags = _absl()
    config.load_plugins()
    for option in config.options.values():
        name = f"jax_{option.name}"
        if name not in flags.FLAGS:
            _define(flags, name, option)
    app.call_after_init(lambda: complete_absl_config(flags))


def _define(flags: ModuleType, name: str, option: Option) -> None:
    value, words = config.read(option.name), option.help or option.name
    if isinstance(value, bool):
        flags.DEFINE_bool(name, value, words)
    elif option.choices and all(isinstance(choice, str) for choice in option.choices):
        flags.DEFINE_enum(name, value, list(option.choices), words)
    else:
        flags.DEFINE_string(name, None if value is None else str(value), words)


def complete_absl_config(absl_flags: Any) -> None:
    """Set the options whose flags the command line had.

    Args:
        absl_flags: the module ``absl.flags``.

    Raises:
        ValueError: a flag has a value that its option does not accept.
    """
    for option in list(config.options.values()):
        name = f"jax_{option.name}"
        if name in absl_flags.FLAGS and absl_flags.FLAGS[name].present:
            value = absl_flags.FLAGS[name].value
            config.update(name, option.parse(value) if isinstance(value, str) else value)


def parse_flags_with_absl() -> None:
    """Define the flags, and set the options whose flags are on the command line before ``--``; other arguments are left alone.

    Raises:
        ImportError: absl is not installed.
        ValueError: a flag has a value that its option does not accept.
    """
    _, flags = _absl()
    config_with_absl()
    given = itertools.takewhile(lambda word: word != "--", sys.argv)
    flags.FLAGS(["", *(word for word in given if word.startswith("--jax"))], known_only=True)
    complete_absl_config(flags)
