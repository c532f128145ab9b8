// SPDX-License-Identifier: Apache-2.0
// Where the secrets of sessions come from: the kernel, or a seed for runs that must repeat.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/kernel_random.h"
#include "base/random.h"
#include "base/result.h"

namespace wharf::live {

class SecretSource {
 public:
  /// `seed`: draws all secrets from it, so that they are the same in each run and anybody can foretell them.
  SecretSource(const std::optional<std::uint64_t>& seed, std::string_view purpose) {
    if (seed) repeated_.emplace(*seed, purpose);
  }
  /// 64 bits; an environment error where the kernel gives none.
  Result<std::uint64_t> next() { return repeated_ ? Result(repeated_->next_u64()) : kernel_random(); }

 private:
  std::optional<RandomStream> repeated_;
};

}  // namespace wharf::live
