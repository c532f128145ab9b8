// SPDX-License-Identifier: Apache-2.0
// Who takes part in a run that asks whether gets are snapshots: readers, and a third party that makes one
// line of the item late. Written once for the bare coherent host and for whole protocol stacks.
#pragma once

#include <cstdint>

#include "verbs/remote_memory.h"
#include "verbs/task.h"
#include "workload/item_gets.h"

namespace wharf::sim {

/// What the programs of a run share.
struct GetParties {
  std::uint32_t readers = 0;  ///< Parties whose gets are not over.
  bool stopped = false;       ///< They are: the third party may rest.
};

/// One party of readers. Its arguments outlive it.
template <typename R, typename C>
verbs::Task<void> read_items(const workload::ItemGetsConfig& config, workload::Party party,
                             std::uint64_t seed, R& remote, C& core, workload::ItemGetsResult& result,
                             GetParties& parties) {
  co_await workload::run(config, party, seed, remote, core, result);
  if (--parties.readers == 0) parties.stopped = true;
}

/// Fetches and adds zero. It changes no word, but takes the word's line from the writer's cache, and what
/// comes for the line waits for it.
template <typename R>
verbs::Task<void> disturb(verbs::RemoteAddress word, R& remote, GetParties& parties) {
  while (!parties.stopped) (void)co_await remote.fetch_add(word, 0);
}

/// Reads the word, to `local`.
template <typename R>
verbs::Task<void> look(verbs::RemoteAddress word, std::uint64_t local, R& remote, GetParties& parties) {
  while (!parties.stopped) (void)co_await remote.read(local, word, 8);
}

}  // namespace wharf::sim
