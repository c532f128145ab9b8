// SPDX-License-Identifier: Apache-2.0
// The tables that Wireshark's dissectors use, made from the functions that the program itself uses.
#pragma once

#include <string>

namespace wharf::wire {

/// The text of src/wire/wireshark/wharf_names.lua.
std::string wireshark_names();

}  // namespace wharf::wire
