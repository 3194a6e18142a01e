"""Verification of the first call of a compiled program against NumPy.

If both agree, later calls run the program alone. If they differ, the caller gets NumPy's result and one warning, and
the program is compiled again, more carefully each time, until it agrees: each operation on its own; then the wrong
operations by their host kernels; then all of it on the host.
"""

from __future__ import annotations

import ctypes
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import numpy as np

from plugjax.extend.backend import Executable, get_backend
from plugjax.extend.core import ClosedJaxpr, Device
from plugjax.extend.errors import JaxRuntimeError
from plugjax.extend.transforms import prune_outputs
from plugjax.guard.agreement import disagreements, explained
from plugjax.guard.blame import (
    Intermediates,
    described,
    first_alone,
    first_wrong,
    on_values,
    write_reproduction,
    wrong_by_themselves,
)
from plugjax.guard.callbacks import ReplayError, recorders, without_side_effects
from plugjax.guard.cost import affordable, longest_sum
from plugjax.guard.noise import Noise
from plugjax.guard.on_host import with_host
from plugjax.guard.reference import TooLongError, computed
from plugjax.guard.reports import (
    Verification,
    VerificationWarning,
    new_number,
    record,
    store,
)

Run = Callable[[Sequence[Any]], Sequence[Any]]
Arrays = list[np.ndarray[Any, Any]]

_NOISY_RUNS = 3
# Budget of verification: the time of the compilation, but at least this.
_LEAST_SECONDS = 0.05
# Budget of the search for the wrong equation.
_SECONDS_FOR_BLAME = 30.0


class VerifiedExecutable(Executable):
    """An executable whose first call, or each one, is verified.

    Attributes:
        verification: result of the verification.
    """

    def __init__(
        self,
        inner: Executable,
        jaxpr: ClosedJaxpr,
        device: Device,
        options: Mapping[str, Any],
        *,
        seconds: float,
        always: bool = False,
    ) -> None:
        self.inner = inner
        self.host, self.donated = inner.host, inner.donated
        self.cache_key = inner.cache_key
        name = str(options.get("name", "program"))
        self._program = without_side_effects(jaxpr)
        self._jaxpr, self._device, self._options = jaxpr, device, options
        self._seconds, self._always = max(seconds, _LEAST_SECONDS), always
        self._number = new_number()
        self._lock = threading.Lock()
        self._settled: Run | None = None
        current: Run = self._verified_call

        def run(buffers: Sequence[Any]) -> Sequence[Any]:
            return current(buffers)

        def settle(found: Run) -> None:
            nonlocal current
            if not always:
                current = self._settled = found

        self.run = run  # type: ignore[method-assign]  # no layer between the hot path and the call
        self._settle = settle
        self._set(Verification(name, device.backend.name))

    def as_text(self) -> str:
        """As the backend's compiler wrote it."""
        return self.inner.as_text()

    def cost_analysis(self) -> Mapping[str, float]:
        """As the backend reports it."""
        return self.inner.cost_analysis()

    def memory_analysis(self) -> Any:
        """As the backend reports it."""
        return self.inner.memory_analysis()

    def _set(self, verification: Verification) -> None:
        self.verification = verification
        record(self._number, verification)

    def _conclude(self, **changes: Any) -> None:
        self._set(replace(self.verification, **changes))
        if not self._always:
            store(self.cache_key, self.verification)

    def _verified_call(self, buffers: Sequence[Any]) -> Sequence[Any]:
        with self._lock:
            if self._settled is not None:
                return self._settled(buffers)
            return self._verify(buffers)

    def _verify(self, buffers: Sequence[Any]) -> Sequence[Any]:
        # Copy: the program may overwrite or donate their memory.
        values = [np.array(x) for x in self._views(buffers, self._jaxpr.in_avals)]
        calls = recorders(self._jaxpr)
        results: Sequence[Any] = ()
        fault = ""
        with ExitStack() as stack:
            for each in calls:
                stack.enter_context(each.recording())
            try:
                results = self.inner.run(buffers)
            except JaxRuntimeError as error:
                if calls or self._jaxpr.effects or "RESOURCE_EXHAUSTED" in str(error):
                    raise
                fault = f"it failed: {str(error).splitlines()[0]}"
        if not fault:
            fault = self._restore_arguments(buffers, values)
        found = self._views(results, self._jaxpr.out_avals) if results else []
        with ExitStack() as stack:
            for each in calls:
                stack.enter_context(each.replaying())
            chosen, expected = self._expected(values)
        if not any(chosen) and not fault:
            self._settle(self.inner.run)
            return results
        longest = longest_sum(self._program.jaxpr)
        of_found = [x for x, c in zip(found, chosen, strict=False) if c]
        masks = disagreements(of_found, expected, longest) if found else {}
        if not fault and (not masks or self._is_noise(masks, values, of_found, expected, chosen)):
            missing = tuple(i for i, c in enumerate(chosen) if not c)
            state = "partly verified" if missing else "verified"
            because = "NumPy would take longer than the compilation did" if missing else ""
            self._conclude(state=state, because=because, outputs=missing)
            self._settle(self.inner.run)
            return results
        if not all(chosen):
            chosen, expected = self._expected(values, _SECONDS_FOR_BLAME)
            if not all(chosen):
                expected = [y if c else x for x, c, y in _merged(found, chosen, expected)]
        return self._repair(values, found, expected, fault, longest)

    def _views(self, buffers: Sequence[Any], avals: Sequence[Any]) -> Arrays:
        """Buffers as host arrays."""
        if self.host:
            return [np.asarray(x) for x in buffers]
        get = self._device.backend.get
        return [np.asarray(get(b, a, self._device)) for b, a in zip(buffers, avals, strict=True)]

    def _restore_arguments(self, buffers: Sequence[Any], values: Arrays) -> str:
        """Undo writes into arguments that are not donated; returns the fault as a sentence, or ""."""
        if self.host or not self._device.host_visible:
            return ""
        for i, (buffer, value, aval) in enumerate(
            zip(buffers, values, self._jaxpr.in_avals, strict=True)
        ):
            if i in self.donated:
                continue
            now = self._device.backend.get(buffer, aval, self._device)
            if not np.array_equal(_bytes(now), _bytes(value)):
                ctypes.memmove(now.ctypes.data, value.ctypes.data, value.nbytes)
                return f"it wrote into its argument {i}, which is the caller's"
        return ""

    def _expected(self, values: Arrays, seconds: float = 0.0) -> tuple[list[bool], Arrays]:
        """Which results NumPy computes within the time limit, and these results."""
        limit = seconds or self._seconds
        chosen = affordable(self._program, limit)
        none = [False] * len(chosen)
        if not any(chosen):
            self._conclude(
                state="not verified", because="NumPy would take longer than the compilation did"
            )
            return none, []
        try:
            return chosen, computed(self._chosen(chosen), values, limit)
        except TooLongError:
            self._conclude(
                state="not verified", because="NumPy takes longer than the compilation did"
            )
        except ReplayError as error:
            self._conclude(state="not verified", because=f"{error} is called in another order")
        except Exception as error:
            self._conclude(
                state="not verified", because=f"NumPy raised {type(error).__name__}: {error}"
            )
        return none, []

    def _chosen(self, chosen: Sequence[bool]) -> ClosedJaxpr:
        if all(chosen):
            return self._program
        return prune_outputs(self._program, tuple(chosen))

    def _is_noise(
        self,
        masks: dict[int, Any],
        values: Arrays,
        found: Arrays,
        expected: Arrays,
        chosen: Sequence[bool],
    ) -> bool:
        """Whether rounding errors explain the differences."""
        noise = Noise(self._chosen(chosen))
        moved: list[Arrays] = []
        for seed in range(_NOISY_RUNS):
            noise.seed(seed)
            with ExitStack() as stack:
                for each in recorders(self._jaxpr):
                    stack.enter_context(each.replaying())
                try:
                    moved.append(computed(noise.program, values, 4 * self._seconds + 1.0))
                except (TooLongError, ReplayError):
                    break
        if moved:
            return explained(masks, found, expected, moved)
        # A loop that takes too long with noise: its rounding errors grow with its steps.
        return not disagreements(found, expected, noise.repeated)

    def _repair(
        self, values: Arrays, found: Arrays, expected: Arrays, fault: str, longest: int
    ) -> Sequence[Any]:
        """Compile the program in a way that agrees; returns the right results."""
        blamed, wrong = self._blame(values, longest)
        try:
            folder = str(
                write_reproduction(
                    self._jaxpr, self._device, self._options, values, found, expected, blamed
                )
            )
            written = f"What was computed, and how to see it again: {folder}"
        except OSError as error:
            # The program goes on with right results also where there is no place for a report.
            folder, written = "", f"What was computed could not be written: {error}"
        backend = self._device.backend.name
        cure = "all of it runs on the host from now on"
        known: dict[str, Any] = {"all_on_host": True}
        new: Executable | None = None
        for what, changes, make in self._ways(wrong):
            executable = self._agreeing(make, values, expected, longest)
            if executable is not None:
                cure, known, new = what, changes, executable
                break
        if new is None:
            new = host_program(self._jaxpr, self._options)
        because = fault or f"differs from NumPy; first: {blamed}"
        self._conclude(state="repaired", because=because, folder=folder, **known)
        self._settle(self._adapted(new))
        warnings.warn(
            f"{backend} computed '{self.verification.name}' wrongly: {fault or f'the first equation that differs is {blamed}'}. "
            f"The result is NumPy's; {cure}. {written}",
            VerificationWarning,
            stacklevel=2,
        )
        return self._given(expected)

    def _blame(self, values: Arrays, longest: int) -> tuple[str, list[int]]:
        """The first equation that differs, and the positions of those that are wrong by themselves."""
        try:
            known = Intermediates(self._program, values, _SECONDS_FOR_BLAME)
            wrong = wrong_by_themselves(known, self._device, self._careful(), longest)
            first = min(wrong, default=None)
            if first is None:
                first = first_wrong(known, self._device, self._plain(), longest)
            if first is None:
                first = first_alone(known, self._device, self._plain(), longest)
        except (TooLongError, ReplayError, JaxRuntimeError) as error:
            return f"not known ({type(error).__name__})", []
        if first is None:
            return "not known (each is right if its results are all that is asked for)", wrong
        return described(self._program.eqns[first]), wrong

    def _plain(self) -> dict[str, Any]:
        return {k: v for k, v in self._options.items() if k != "donated"}

    def _careful(self) -> dict[str, Any]:
        return {**self._plain(), **self._device.backend.careful_options}

    def _ways(
        self, wrong: Sequence[int]
    ) -> Iterator[tuple[str, dict[str, Any], Callable[[], Executable]]]:
        """Ways to compile the program, from the fastest to the safest."""
        backend, device = self._device.backend, self._device
        careful = {**self._careful(), "donated": ()}
        apart = bool(backend.careful_options)
        if apart:
            yield (
                "each operation is compiled on its own from now on",
                {"apart": True},
                lambda: backend.compile(self._jaxpr, device, careful),
            )
        if wrong and len(self._program.eqns) == len(self._jaxpr.eqns):
            names = ", ".join(sorted({self._jaxpr.eqns[i].primitive.name for i in wrong}))
            yield (
                f"{names} run by their host kernels from now on",
                {"apart": apart, "on_host": tuple(wrong)},
                lambda: backend.compile(with_host(self._jaxpr, wrong), device, careful),
            )

    def _agreeing(
        self, make: Callable[[], Executable], values: Arrays, expected: Arrays, longest: int
    ) -> Executable | None:
        """The executable, if its results are the expected ones."""
        with ExitStack() as stack:
            for each in recorders(self._jaxpr):
                stack.enter_context(each.replaying())
            try:
                executable = make()
                found = on_values(executable, self._jaxpr, self._device, values)
            except (JaxRuntimeError, ReplayError):
                return None
        masks = disagreements(found, expected, longest)
        everything = [True] * len(expected)
        if masks and not self._is_noise(masks, values, found, expected, everything):
            return None
        return executable

    def _given(self, values: Arrays) -> Sequence[Any]:
        """Results in the form in which the executable returns them."""
        if self.host:
            return values
        backend = self._device.backend
        return [backend.put(np.ascontiguousarray(y), self._device) for y in values]

    def _adapted(self, executable: Executable) -> Run:
        """Its call, with buffers of the device where it takes host values."""
        return on_buffers(executable, self._jaxpr, self._device, host=self.host)


def on_buffers(executable: Executable, jaxpr: ClosedJaxpr, device: Device, *, host: bool) -> Run:
    """The call of an executable on a device's buffers.

    If the executable runs on the host, buffers are converted, unless ``host``.
    """
    if executable.host == host:
        return executable.run
    backend, avals = device.backend, jaxpr.in_avals

    def run(buffers: Sequence[Any]) -> Sequence[Any]:
        values = [backend.get(b, a, device) for b, a in zip(buffers, avals, strict=True)]
        return [backend.put(np.array(y, order="C"), device) for y in executable.run(values)]

    return run


def host_program(jaxpr: ClosedJaxpr, options: Mapping[str, Any]) -> Executable:
    """A program on NumPy."""
    backend = get_backend("numpy")
    found: Executable = backend.compile(
        jaxpr, backend.devices()[0], {"name": str(options.get("name", "program"))}
    )
    return found


def _bytes(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.ascontiguousarray(x).reshape(-1).view(np.uint8)


def _merged(
    found: Sequence[Any], chosen: Sequence[bool], expected: Sequence[Any]
) -> Iterator[tuple[Any, bool, Any]]:
    rest = iter(expected)
    for x, c in zip(found, chosen, strict=True):
        yield x, c, next(rest) if c else None
