// SPDX-License-Identifier: Apache-2.0
// Whether a program reaches remote memory with loads and stores or with work requests.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "verbs/remote_memory.h"
#include "workload/choice.h"

namespace wharf::workload {

enum class AccessPath : std::uint8_t {
  kAuto,         ///< Loads and stores where the remote supports them, else work requests.
  kLoadStore,    ///< Synchronous loads and stores of words, through the caches in front of remote memory.
  kWorkRequest,  ///< Reads and writes between remote and local memory.
};
inline constexpr std::array<Choice<AccessPath>, 3> kAccessPathChoices{
    {{"auto", AccessPath::kAuto},
     {"load_store", AccessPath::kLoadStore},
     {"work_request", AccessPath::kWorkRequest}}};

template <typename Keys>
void bind_keys(AccessPath& path, Keys& keys) {
  keys.choice("access", path, std::span<const Choice<AccessPath>>(kAccessPathChoices),
              "how remote memory is reached; auto: load_store where it is supported");
}

/// Whether `path` means loads and stores on `remote`.
template <verbs::RemoteMemory R>
bool uses_load_store(AccessPath path, R& remote) {
  return path == AccessPath::kLoadStore || (path == AccessPath::kAuto && remote.supports(verbs::Verb::kLoad));
}

}  // namespace wharf::workload
