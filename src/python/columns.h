// SPDX-License-Identifier: Apache-2.0
// What a run has recorded, as NumPy arrays: one for each column of operations.csv, program.csv and flows.csv,
// with the same names and units. Words are numbers here, beside the list of what they stand for.
#pragma once

#include <pybind11/pybind11.h>

#include "wharf/detailed_run.h"

namespace wharf::python {

/// Each returns {column: array}; a column of words is (array of numbers, list of words).
pybind11::dict operation_columns(const sim::RunReport& report);
pybind11::dict program_columns(const sim::RunReport& report);
/// NaN where a flow did not come to it.
pybind11::dict flow_columns(const FlowsRun& run);

}  // namespace wharf::python
