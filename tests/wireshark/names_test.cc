// SPDX-License-Identifier: Apache-2.0
// The generated tables of src/wire/wireshark against the code.
#include <gtest/gtest.h>

#include "base/golden_test_support.h"
#include "wireshark_names.h"

namespace wharf::wire {
namespace {

/// The tables of the dissectors are those of the program.
TEST(WiresharkNames, AreThoseOfTheCode) {
  expect_golden("../../src/wire/wireshark/wharf_names.lua", wireshark_names());
}

}  // namespace
}  // namespace wharf::wire
