// SPDX-License-Identifier: Apache-2.0
// What a peer and a host do to one NIC, and what must come of it: each is a test, and all of them find
// planted faults. Apart because several files have some.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace wharf::rtl {

/// The fault that is planted in every NIC of a scenario; 0: none.
inline std::uint32_t planted = 0;

struct Scenario {
  std::string name;
  void (*run)();
};
inline std::vector<Scenario>& scenarios() {
  static std::vector<Scenario> all;
  return all;
}

}  // namespace wharf::rtl

#define SCENARIO(name)                                                                \
  void name();                                                                        \
  [[maybe_unused]] const bool k##name = (scenarios().push_back({#name, name}), true); \
  TEST(UbNicAndPeer, name) { name(); }                                                \
  void name()
