# SPDX-License-Identifier: Apache-2.0
"""Remote memory, from the wire to the nanosecond: the simulator of wharf in Python.

    import wharf
    results = wharf.run("fetch-64-bytes", {"model.link.delay": "1us"})
    results.summary["program"]["latency_ns"]["mean"]

docs/python.md is the guide. Every refusal is an exception of this package with the sentence of the command line.
"""
import os as _os

from . import _wharf
from ._errors import Bug, EnvironmentFailure, Error, ExpectationFailed, InputError, Stalled, UsageError
from ._program import command, keys, names
from ._results import Results, read
from ._scenario import Scenario, run
from ._sweep import Sweep, sweep
from ._captures import frames
from ._tables import Table

_wharf.set_own_file(_os.path.join(_os.path.dirname(_os.path.abspath(__file__)), "__init__.py"))

__version__ = _wharf.version
commit = _wharf.commit

__all__ = [
    "Bug", "EnvironmentFailure", "Error", "ExpectationFailed", "InputError", "Results", "Scenario", "Stalled",
    "Sweep", "Table", "UsageError", "command", "commit", "frames", "keys", "names", "read", "run", "sweep",
]
