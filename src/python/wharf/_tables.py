# SPDX-License-Identifier: Apache-2.0
"""Tables: columns by name, each a NumPy array; pandas frames where pandas is installed."""
import csv
import io
from collections.abc import Mapping

import numpy

from ._errors import EnvironmentFailure


class Table(Mapping):
    """Columns of one length, as table["fct_ns"] or table.fct_ns. Columns with _ns in their names are nanoseconds."""

    def __init__(self, columns):
        self._columns = dict(columns)

    def __getitem__(self, name):
        return self._columns[name]

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)  # No column; copying asks for such names before there are columns.
        try:
            return self.__dict__["_columns"][name]
        except KeyError:
            raise AttributeError(f"there is no column {name}, expected one of {', '.join(self)}") from None

    def __iter__(self):
        return iter(self._columns)

    def __len__(self):
        return len(self._columns)

    def __dir__(self):
        return [*super().__dir__(), *self._columns]

    @property
    def rows(self):
        """How many rows there are."""
        return len(next(iter(self._columns.values()), ()))

    def __repr__(self):
        return f"<Table of {self.rows} rows: {', '.join(self)}>"

    def frame(self):
        """The same as a pandas.DataFrame."""
        try:
            import pandas
        except ImportError:
            raise EnvironmentFailure("pandas is not installed, expected the Debian package python3-pandas") from None
        return pandas.DataFrame(self._columns, copy=False)


def from_native(columns):
    """A Table of what the module made: words come as numbers and what these stand for."""
    made = {}
    for name, column in columns.items():
        if isinstance(column, tuple):
            numbers, words = column
            column = numpy.array(words, dtype=str)[numbers] if words else numpy.array([], dtype=str)
        made[name] = column
    return Table(made)


def _column(cells):
    """Whole numbers, numbers with NaN for empty cells, or words."""
    try:
        return numpy.array([int(cell) for cell in cells], dtype=numpy.int64)
    except (ValueError, OverflowError):
        pass
    try:
        return numpy.array([float(cell) if cell else numpy.nan for cell in cells])
    except ValueError:
        return numpy.array(cells, dtype=str)


def from_csv(text):
    """A Table of the text of a file that wharf wrote."""
    rows = csv.reader(io.StringIO(text))
    names = next(rows, [])
    columns = list(zip(*rows)) or [()] * len(names)
    return Table({name: _column(cells) for name, cells in zip(names, columns)})
