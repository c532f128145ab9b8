// SPDX-License-Identifier: Apache-2.0
// An aperture of few pages beside a copy of what its memory must hold.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/random.h"
#include "live/aperture/aperture_test_support.h"

namespace wharf::live {

/// How the random loads and stores are served.
struct Shadowed {
  ApertureMode mode = ApertureMode::kAllFaults;
  bool write_protect = true;
  ApertureWriteBack write_back = ApertureWriteBack::kOnEviction;
  std::uint32_t grain = 1;
};

inline void expect_shadow(TestServer& server, ApertureSession& session, const Shadowed& how,
                          std::uint64_t seed) {
  constexpr std::uint64_t kLimit = 12;
  const ApertureOptions options{.mode = how.mode,
                                .write_protect = how.write_protect,
                                .pages_max = kLimit,
                                .read_ahead_pages = 3,
                                .write_back = how.write_back,
                                .write_back_interval_ms = 1,
                                .grain = how.grain};
  std::vector<std::byte> shadow = server.memory();
  shadow.resize(session.bytes());
  {
    const auto aperture = map_all(session, options);
    ASSERT_EQ(aperture->mode(), how.mode);
    RandomStream random(seed, "aperture.shadow");
    std::uint64_t wrong = 0;
    for (int turn = 0; turn < 150; ++turn) {
      const std::uint64_t length = 1 + random.below(64);
      const std::uint64_t at = random.below(aperture->size() - length);
      if (random.below(2) == 0) {
        for (std::uint64_t each = 0; each < length; ++each) {
          const auto value = std::byte(random.below(256));
          shadow[at + each] = value;
          store(aperture->data() + at + each, value);
        }
      } else {
        wrong += std::memcmp(aperture->data() + at, shadow.data() + at, length) == 0 ? 0 : 1;
      }
      if (random.below(40) == 0) {
        EXPECT_TRUE(aperture->publish(at, length));
        const std::vector<std::byte> memory = server.memory();
        wrong += std::memcmp(memory.data() + at, shadow.data() + at, length) == 0 ? 0 : 1;
      }
      if (random.below(60) == 0) {
        EXPECT_TRUE(aperture->refresh(at, length));
      }
    }
    EXPECT_EQ(wrong, 0U);
    const ApertureCounters counters = aperture->counters();
    EXPECT_LE(counters.most_pages_held, kLimit);
    EXPECT_GT(counters.evictions, 20U);
    EXPECT_GT(counters.faults, 20U);
    const ApertureOutcome unmapped = aperture->unmap();
    EXPECT_TRUE(unmapped) << unmapped.message;
  }
  const std::vector<std::byte> memory = server.memory();
  EXPECT_TRUE(std::equal(shadow.begin(), shadow.end(), memory.begin()));
}

}  // namespace wharf::live
