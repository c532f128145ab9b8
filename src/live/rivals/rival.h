// SPDX-License-Identifier: Apache-2.0
// Other programs that answer the same question, measured beside wharf on this machine: a bare UDP ping-pong,
// UCX by its ucx_perftest, libfabric by its fi_pingpong. Both of their ends run here.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "verbs/verb.h"

namespace wharf::live {

enum class RivalKind : std::uint8_t { kUdp, kUcx, kLibfabric };

struct Rival {
  RivalKind kind = RivalKind::kUdp;
  std::string transport;  ///< "tcp", "udp", "shm"; empty for bare UDP.
  bool operator==(const Rival&) const = default;
};

/// "udp", "ucx:tcp", "libfabric:udp"
std::string name(const Rival& rival);
/// Reads these; without a transport it is one that is comparable with wharf over the network, or, `shared`,
/// in shared memory. Errors: kInput.
Result<Rival> parse_rival(std::string_view text, bool shared);

struct RivalRun {
  verbs::Verb verb = verbs::Verb::kWrite;
  std::uint32_t bytes = 64;
  std::uint64_t trips = 10'000;
  std::uint64_t warm_up = 100;
  bool spins = false;  ///< Bare UDP: both ends ask without pause. The others always do.
};

struct RivalFigure {
  std::int64_t latency_ps = 0;  ///< From the request to its answer.
  std::string_view statistic;   ///< "median", or "mean" where the program prints no other.
  std::string_view what;        ///< What it did: "put", "message", "datagrams"
};

/// Refuses what cannot be measured: kInput for verbs and sizes that it does not have, kEnvironment when it is
/// not installed.
Result<void> check(const Rival& rival, const RivalRun& run);

/// A write ends when its answer is there. Ping-pongs send as much back as there, so their figure for `bytes`
/// is half a round trip of that size, and half of one of 8 bytes. At most 10,000 trips and 256 MiB. Errors:
/// those of check(), kEnvironment when the program fails, kStalled when it does not end, or `stop` is set.
Result<RivalFigure> measure(const Rival& rival, const RivalRun& run, const std::atomic<bool>& stop);

/// The figure in what fi_pingpong prints for one size, or in what `ucx_perftest -f -v` does: picoseconds.
/// Errors: kEnvironment when it is not there.
Result<std::int64_t> read_fi_pingpong(std::string_view output);
Result<std::int64_t> read_ucx_perftest(std::string_view output);

}  // namespace wharf::live
