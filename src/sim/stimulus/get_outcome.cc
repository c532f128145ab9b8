// SPDX-License-Identifier: Apache-2.0
#include "sim/stimulus/get_outcome.h"

namespace wharf::sim {

GetOutcome& GetOutcome::operator+=(const GetOutcome& other) {
  gets += other.gets;
  overlaps += other.overlaps;
  retries += other.retries;
  torn += other.torn;
  stale += other.stale;
  given_up += other.given_up;
  puts += other.puts;
  squashes += other.squashes;
  latency_ps += other.latency_ps;
  blocked.insert(blocked.end(), other.blocked.begin(), other.blocked.end());
  return *this;
}

GetOutcome& GetOutcome::operator+=(const workload::ItemGetsResult& party) {
  gets += party.loop.operations;
  overlaps += party.overlaps;
  retries += party.retries;
  torn += party.torn;
  stale += party.stale;
  given_up += party.given_up;
  puts += party.puts;
  latency_ps += static_cast<double>(party.loop.latency.mean()) * static_cast<double>(party.loop.operations);
  return *this;
}

}  // namespace wharf::sim
