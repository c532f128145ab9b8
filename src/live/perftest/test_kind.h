// SPDX-License-Identifier: Apache-2.0
// The tests of perftest (linux-rdma) that wharf takes either side of, and how their exchanges differ. What
// was seen between two processes of perftest 4.5 stands here as a table.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "verbs/verb.h"

namespace wharf::live {

struct TestKind {
  std::string_view name;  ///< Without "ib_".
  verbs::Verb verb = verbs::Verb::kWrite;
  bool bandwidth = false;
  std::uint8_t keys_before = 4;  ///< Exchanges of key messages before the traffic.
  std::uint8_t keys_after = 1;   ///< After it: then the parties say good-bye. 0: they just close.
  bool reports = false;          ///< The client tells its figures, between two key messages.
  std::uint32_t default_bytes = 2;

  bool two_sided() const { return verb == verbs::Verb::kSend; }
  /// Both sides send, in turn.
  bool ping_pong() const { return !bandwidth && (verb == verbs::Verb::kWrite || two_sided()); }
  bool atomic() const { return verb == verbs::Verb::kFetchAdd; }
};

inline constexpr std::array<TestKind, 8> kTestKinds{{
    {"write_lat", verbs::Verb::kWrite, false, 4, 0, false, 2},
    {"write_bw", verbs::Verb::kWrite, true, 3, 1, true, 65536},
    {"read_lat", verbs::Verb::kRead, false, 4, 1, false, 2},
    {"read_bw", verbs::Verb::kRead, true, 3, 1, true, 65536},
    {"send_lat", verbs::Verb::kSend, false, 4, 1, false, 2},
    {"send_bw", verbs::Verb::kSend, true, 4, 1, false, 65536},
    {"atomic_lat", verbs::Verb::kFetchAdd, false, 4, 1, false, 8},
    {"atomic_bw", verbs::Verb::kFetchAdd, true, 3, 1, true, 8},
}};

/// "write_lat" or "ib_write_lat"; refuses others, naming the nearest.
Result<TestKind> parse_test_kind(const std::string& text);

}  // namespace wharf::live
