// SPDX-License-Identifier: Apache-2.0
// What the workers of one program instance share: configuration, remote, core, the loop that hands out
// operations.
#pragma once

#include <cstdint>

#include "verbs/core.h"
#include "verbs/remote_memory.h"
#include "workload/access_path.h"
#include "workload/join.h"
#include "workload/loop.h"
#include "workload/party.h"

namespace wharf::workload {

/// Lives in the frame of the program's run(), which outlives its workers.
template <typename Config, typename ProgramResult, verbs::RemoteMemory R, verbs::Core C>
struct Crew {
  Crew(const Config& config_in, Party party_in, std::uint64_t seed_in, R& remote_in, C& core_in,
       ProgramResult& result_in)
      : config(config_in),
        party(party_in),
        seed(seed_in),
        remote(remote_in),
        core(core_in),
        result(result_in),
        segment(remote.segment()),
        random(core.random("workload.operations").substream(party.index)),
        loop(config.loop, core.random("workload.arrivals").substream(party.index), result.loop) {
    if constexpr (requires { config.access; }) load_store = uses_load_store(config.access, remote);
  }

  /// The place `offset` bytes into the program's part of the segment.
  verbs::RemoteAddress at(std::uint64_t offset) const { return segment.at(config.region_offset + offset); }

  const Config& config;
  const Party party;
  const std::uint64_t seed;
  R& remote;
  C& core;
  ProgramResult& result;
  const verbs::RemoteSegment segment;
  const RandomStream random;  ///< Workers draw from substreams of it.
  Loop loop;
  bool load_store = false;
  Join join;
};

}  // namespace wharf::workload
