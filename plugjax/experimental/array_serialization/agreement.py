"""Processes that save or load one checkpoint together: each says how its part went, and all hear it."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Sequence
from typing import Any

from plugjax import distributed
from plugjax.environment import process_count, process_index

# Processes save and load in one order, so that this number is the same in each.
_numbers = itertools.count()
# Seconds between two looks at whether the other processes live.
_PATIENCE = 2.0


class Agreement:
    """One save or load of all processes. Made in the thread of the caller, in the same order in each process.

    Args:
        who: the function, for messages.
        where: the checkpoint, the same in each process.
    """

    def __init__(self, who: str, where: str) -> None:
        self.who = who
        self.where = where
        self._number = next(_numbers)
        self._steps = itertools.count()

    def all_same(self) -> None:
        """Check that the checkpoint is the same in each process.

        Raises:
            ValueError: it is not.
        """
        found = self.share(self.where)
        if len(set(found)) > 1:
            raise ValueError(
                f"{self.who}: Saving to different locations on different hosts is not supported; the processes gave {found}."
            )

    def share(self, value: Any, error: BaseException | None = None) -> list[Any]:
        """What each process gives here, in their order; it waits for all.

        Args:
            value: data for JSON.
            error: that of this process.

        Raises:
            RuntimeError: another process has failed or ended.
            BaseException: ``error``.
        """
        if process_count() == 1:
            if error is not None:
                raise error
            return [value]
        group = distributed.group()
        key = f"plugjax/checkpoints/{self._number}/{next(self._steps)}"
        said = {
            "value": value,
            "error": "" if error is None else f"{type(error).__name__}: {error}",
        }
        group.put(f"{key}/{process_index()}", json.dumps(said).encode())
        if error is not None:
            raise error
        heard = [json.loads(self._heard(group, f"{key}/{i}", i)) for i in range(process_count())]
        failed = [(i, each["error"]) for i, each in enumerate(heard) if each["error"]]
        if failed:
            raise RuntimeError(
                f"{self.who}: process {failed[0][0]} failed on {self.where}: {failed[0][1]}"
            )
        return [each["value"] for each in heard]

    def _heard(self, group: Any, key: str, other: int) -> bytes:
        while True:
            began = time.monotonic()
            try:
                found: bytes = group.get(key, _PATIENCE)
            except RuntimeError as error:
                if other in group.ended():
                    raise RuntimeError(
                        f"{self.who}: process {other} has ended, while process {process_index()} waited for its part of {self.where}."
                    ) from error
                if time.monotonic() - began < _PATIENCE / 2:
                    raise
            else:
                return found


def in_all(agreement: Agreement, function: Any, *args: Any) -> Sequence[Any]:
    """What a function gives in each process; all wait for all.

    Raises:
        RuntimeError: it failed in another process.
    """
    try:
        value = function(*args)
    except Exception as error:
        return agreement.share(None, error)
    return agreement.share(value)


__all__ = ["Agreement", "in_all"]
