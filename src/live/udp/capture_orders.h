// SPDX-License-Identifier: Apache-2.0
// What a running process can be told about its capture, from outside.
#pragma once

#include <atomic>
#include <cstdint>

namespace wharf::live {

enum class CaptureOrder : std::uint8_t { kNone, kBegin, kEnd };
/// Whoever gives orders writes here, a signal handler too; of several that nobody has seen yet the last
/// counts.
using CaptureOrders = std::atomic<CaptureOrder>;
static_assert(CaptureOrders::is_always_lock_free);

}  // namespace wharf::live
