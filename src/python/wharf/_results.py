# SPDX-License-Identifier: Apache-2.0
"""What a run came to, whether it ran here or left a folder."""
import json
import os
import threading

from ._errors import InputError
from ._tables import Table, from_csv, from_native


class Results:
    """Tables are those of `wharf run --out`, by their names without .csv: `operations`, `program`, `flows`, `ports`,
    and the series of `observe.*`. One that this run does not have is no attribute; `tables` lists them."""

    def __init__(self, text, failures, load):
        #: summary.json, word for word.
        self.json = text
        #: One sentence for each thing that does not hold.
        self.failures = list(failures)
        self._load = load
        self._loading = threading.Lock()
        self._summary = None
        self._tables = None

    @property
    def summary(self):
        """summary.json."""
        if self._summary is None:
            self._summary = json.loads(self.json)
        return self._summary

    @property
    def fingerprint(self):
        """The hash of all that happened: two runs with the same one are the same run."""
        return self.summary["fingerprint"]

    @property
    def tables(self):
        """Every table by its name."""
        with self._loading:  # Two threads may ask at once; one loads.
            if self._tables is None:
                self._tables = self._load()
                self._load = None
        return self._tables

    def __getstate__(self):
        # A copy, and what another process gets, has the tables with it.
        return {"json": self.json, "failures": self.failures, "tables": self.tables}

    def __setstate__(self, state):
        tables = state["tables"]
        self.__init__(state["json"], state["failures"], lambda: tables)

    @property
    def latencies_ns(self):
        """Of the operations of the program (of client 0) that ended well, from arrival to end; of runs of flows the
        completion times of the flows that did."""
        if "program" in self.tables:
            table = self.tables["program"]
            return (table.ended_ns - table.arrived_ns)[table.status == "success"]
        table = self.tables["flows"]
        return table.fct_ns[table.status == "success"]

    def __getattr__(self, name):
        if not name.startswith("_"):
            tables = self.tables
            if name in tables:
                return tables[name]
            if not tables:
                raise AttributeError(f"the records of this run were not kept, so there is no {name}, expected "
                                     "sweep(..., tables=True)")
            raise AttributeError(f"this run has no table {name}, expected one of {', '.join(tables)}")
        raise AttributeError(name)

    def __dir__(self):
        return [*super().__dir__(), *self.tables]

    def __repr__(self):
        what = self.summary.get("title") or "a run"
        return f"<Results of {what}: {self.summary['fingerprint']}>"


def of_ended(ended):
    """Results of a run that ended here. Its records stay in C++ until a table is asked for."""

    def load():
        tables = {name: from_native(columns) for name, columns in ended.tables().items()}
        for file, text in ended.files():
            tables[file.removesuffix(".csv")] = from_csv(text)
        return tables

    return Results(ended.summary, ended.failures, load)


def of_summary(ended):
    """The same without records, for runs of which there are many."""
    return Results(ended.summary, ended.failures, dict)


def read(folder):
    """Results out of a folder that `wharf run --out` wrote. `failures` has the expectations that do not hold."""
    folder = os.fspath(folder)
    path = os.path.join(folder, "summary.json")
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read().removesuffix("\n")
        summary = json.loads(text)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}, expected a folder that wharf run --out wrote") from None
    except ValueError as error:
        raise InputError(f"{path}: {error}, expected a file that wharf run --out wrote") from None

    def load():
        tables = {}
        for name in sorted(os.listdir(folder)):
            if name.endswith(".csv"):
                with open(os.path.join(folder, name), encoding="utf-8", newline="") as file:
                    tables[name.removesuffix(".csv")] = from_csv(file.read())
        return tables

    failures = [
        f"{each['value']} is {each['found']:g}" for each in summary.get("expectations", []) if not each["holds"]
    ]
    results = Results(text, failures, load)
    results._summary = summary
    return results
