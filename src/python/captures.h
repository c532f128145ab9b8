// SPDX-License-Identifier: Apache-2.0
// Captures, frame by frame, as `wharf dissect --json` has them.
#pragma once

#include <pybind11/pybind11.h>

#include <string>

#include "base/result.h"
#include "wire/capture_reader.h"

namespace wharf::python {

/// An iterator over the frames of a file: {"number", "time_s", "time_ps", "bytes", "source", "destination",
/// "summary", "status", "icrc", "reencodes", "fields"}.
class Frames {
 public:
  explicit Frames(wire::CaptureReader reader) : reader_(std::move(reader)) {}
  /// The next frame; None at the end.
  Result<pybind11::object> next();

 private:
  wire::CaptureReader reader_;
};

}  // namespace wharf::python
