// SPDX-License-Identifier: Apache-2.0
// The reference of scenario keys as a page, made from the same lists that read the keys.
#pragma once

#include <string>

namespace wharf::sim {

/// docs/scenario-keys.md.
std::string key_reference();

}  // namespace wharf::sim
