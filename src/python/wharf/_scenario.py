# SPDX-License-Identifier: Apache-2.0
"""Scenarios: what is to run, checked and run."""
import os

from . import _errors, _wharf
from ._results import of_ended, of_summary

_NUMPY_BOOLS = {("numpy", "bool_"), ("numpy", "bool")}  # Its name before and since NumPy 2; str() gives "True".


def _text_of(value):
    """A value as `--set` takes it."""
    if isinstance(value, bool) or (type(value).__module__, type(value).__name__) in _NUMPY_BOOLS:
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return ",".join(_text_of(each) for each in value)
    return str(value)


class Scenario:
    """A scenario by its name or path, or as TOML in `text`; `keys` override it, as `--set` does.

    scenario["run.seed"] = 7 sets a key; `wharf list keys` and wharf.keys() have all of them.
    """

    def __init__(self, name=None, keys=None, *, text=None, profile=None):
        if name is None and text is None:
            raise _errors.UsageError("a scenario has a name or a text, found neither")
        self.name = os.fspath(name) if name is not None else "the text"
        self.text = text or ""
        if text is not None and not text.strip():
            raise _errors.InputError(f"{self.name} is empty, expected TOML")
        self.profile = os.fspath(profile) if profile is not None else ""
        self.keys = dict(keys or {})

    def __setitem__(self, key, value):
        self.keys[key] = value

    def __getitem__(self, key):
        return self.keys[key]

    def __delitem__(self, key):
        del self.keys[key]

    def copy(self, keys=None):
        """The same scenario with more keys."""
        return Scenario(
            self.name, {**self.keys, **(keys or {})}, text=self.text or None, profile=self.profile or None)

    def __repr__(self):
        return f"<Scenario {self.name}: {', '.join(self._overrides()) or 'as it is'}>"

    def _overrides(self):
        return [f"{key}={_text_of(value)}" for key, value in self.keys.items()]

    def check(self):
        """Reads everything and runs nothing: {"kind", "without_influence", "effective"}. Raises what run() would before
        it runs. `wharf check` estimates time and memory, too: wharf.command("check", ...)."""
        status, message, flows, remarks, effective = _wharf.check(self.name, self.text, self.profile, self._overrides())
        if status:
            raise _errors.of(status, message)
        return {"kind": "flows" if flows else "programs", "without_influence": remarks, "effective": effective}

    def run(self, *, check=True, progress=None):
        """Runs on this thread, with the lock of the interpreter released, and returns Results.

        check: raise ExpectationFailed when an expectation fails; else Results.failures says which.
        progress: called with (fraction, simulated_ns, events), ten times a second and at the end. What it raises ends
            the run.
        """
        ended = self._end(_wharf.Interrupt(), progress)
        results = of_ended(ended)
        if progress is not None:
            events = results.summary.get("events", results.summary.get("packet_hops", 0))
            progress(1.0, results.summary["simulated_ns"], events)
        if results.failures and check:
            raise _errors.ExpectationFailed("; ".join(results.failures), results)
        return results

    def _run_summary(self, interrupt, tables):
        ended = self._end(interrupt, None)
        return of_ended(ended) if tables else of_summary(ended)

    def _end(self, interrupt, progress):
        ended = _wharf.run(self.name, self.text, self.profile, self._overrides(), interrupt, progress)
        if ended.status > _errors.ExpectationFailed.exit_code:
            raise _errors.of(ended.status, ended.message, of_ended(ended) if ended.summary else None)
        return ended


def run(name=None, keys=None, *, text=None, profile=None, check=True, progress=None):
    """Runs a scenario once: Scenario(name, keys, text=..., profile=...).run(check=..., progress=...)."""
    return Scenario(name, keys, text=text, profile=profile).run(check=check, progress=progress)
