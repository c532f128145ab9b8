# SPDX-License-Identifier: Apache-2.0
"""Sweeps: a scenario for every combination of values, on threads."""
import itertools
import os
import threading
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait

import numpy

from . import _errors, _wharf
from ._scenario import Scenario, _text_of
from ._tables import Table

_WAKES_UP_S = 0.2  # A signal is seen between two waits.


def _numbers(value, path, found):
    if isinstance(value, dict):
        for name, each in value.items():
            _numbers(each, f"{path}.{name}" if path else name, found)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        found[path] = value
    elif value is None or (isinstance(value, str) and path == "fingerprint"):
        found[path] = value


class Sweep(Sequence):
    """Results in the order of the combinations, the last key varying fastest. `varied` has the values of each."""

    def __init__(self, varied, results):
        self.varied = varied
        self._results = results

    def __getitem__(self, index):
        return self._results[index]

    def __len__(self):
        return len(self._results)

    @property
    def failures(self):
        """One sentence for each thing that does not hold, with the run it does not hold in."""
        return [
            f"run {index} ({', '.join(f'{key}={_text_of(value)}' for key, value in varied.items())}): {each}"
            for index, (varied, results) in enumerate(zip(self.varied, self._results)) for each in results.failures
        ]

    def table(self, *paths):
        """The varied keys, and beside them numbers of the summaries: "program.latency_ns.mean"; all without `paths`."""
        rows = []
        for results in self._results:
            found = {}
            _numbers(results.summary, "", found)
            rows.append(found)
        known = list(dict.fromkeys(path for row in rows for path in row))
        for path in paths:
            if path not in known:
                raise _errors.InputError(f"no run has a number {path}, expected one of {', '.join(known)}")
        columns = {key: numpy.array([varied[key] for varied in self.varied]) for key in (self.varied[0] if rows else ())}
        for path in paths or known:
            cells = [row.get(path) for row in rows]
            words = any(isinstance(cell, str) for cell in cells)
            columns[path] = numpy.array(cells) if words else numpy.array(
                [numpy.nan if cell is None else cell for cell in cells])
        return Table(columns)


def sweep(scenario, vary, *, jobs=None, tables=False, check=True, progress=None):
    """Runs `scenario` (a name or a Scenario) for every combination of vary = {key: [value, ...]}.

    jobs: runs at a time; all processors by default.
    tables: keep the records of every run, not its summary alone.
    check: raise ExpectationFailed, with the Sweep as its `results`, when an expectation fails in some run.
    progress: called with (runs that have ended, runs) on this thread.
    A run that is refused or stalls ends the sweep, as Ctrl-C does, within a fraction of a second.
    """
    if not isinstance(scenario, Scenario):
        scenario = Scenario(scenario)
    for key, values in vary.items():
        if isinstance(values, str) or not len(values):
            raise _errors.UsageError(f"{key} has no list of values, expected several, as in [a, b]")
        if key in scenario.keys:
            raise _errors.InputError(f"{key} is both set and varied, expected one of them")
    varied = [dict(zip(vary, values)) for values in itertools.product(*vary.values())]
    results = [None] * len(varied)
    interrupt = _wharf.Interrupt()
    numbers = iter(range(len(varied)))
    lock = threading.Lock()
    ended = threading.Semaphore(0)

    def work():
        while not interrupt.is_set():
            with lock:
                index = next(numbers, None)
            if index is None:
                return
            try:
                results[index] = scenario.copy(varied[index])._run_summary(interrupt, tables)
            except _errors.Error as error:
                interrupt.set()
                where = ", ".join(f"{key}={_text_of(value)}" for key, value in varied[index].items())
                raise type(error)(f"run {index} ({where}): {error}", error.results) from None
            except KeyboardInterrupt:
                return  # Another run ended the sweep, or the main thread did.
            except BaseException:
                interrupt.set()
                raise
            ended.release()

    workers = min(jobs or os.cpu_count() or 1, len(varied))
    if workers < 1 or (jobs is not None and jobs < 1):
        raise _errors.UsageError(f"jobs is {jobs}, expected 1 or more")
    with ThreadPoolExecutor(workers) as pool:
        try:
            futures = [pool.submit(work) for _ in range(workers)]
            told = 0
            pending = set(futures)
            while pending:
                pending = wait(pending, timeout=_WAKES_UP_S, return_when=FIRST_COMPLETED)[1]
                while ended.acquire(blocking=False):
                    told += 1
                    if progress is not None:
                        progress(told, len(varied))
        except BaseException:
            interrupt.set()
            raise
    for future in futures:
        future.result()
    made = Sweep(varied, results)
    failures = made.failures if check else []
    if failures:
        raise _errors.ExpectationFailed("; ".join(failures), made)
    return made
