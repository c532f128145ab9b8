// SPDX-License-Identifier: Apache-2.0
// What NICs of both designs have to remember for as many endpoints and hosts as somebody asks for, as
// OpenURMA 5.4 counts it, and what live engines hold. `wharf state` prints it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/memory_use.h"
#include "base/result.h"

namespace wharf::study::openurma {

/// One kind of record; bytes is count * bytes_each.
struct StateLine {
  std::string_view record;  ///< "jetty", "queue_pair", "segment", ...
  std::uint64_t bytes_each = 0;
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
};

/// Records of one kind of account.
struct StatePart {
  std::string_view key;  ///< In documents.
  std::string title;
  std::vector<StateLine> lines;
  std::uint64_t bytes = 0;
};

/// What a live engine said of itself, beside the account of its context records for as many.
struct LiveStatePart {
  std::string_view key;
  std::string title;
  std::vector<MemoryUse> uses;
  std::uint64_t bytes = 0;
  std::uint64_t accounting_bytes = 0;
};

struct StateAccount {
  std::vector<StatePart> parts;
  std::uint32_t live_endpoints = 0;
  std::uint32_t live_hosts = 0;
  std::vector<LiveStatePart> live;
  std::vector<std::string> sentences;  ///< How the two designs compare.
};

/// The account of `jetties` endpoints that talk to `hosts` hosts; live engines are measured at 64 x 64.
Result<StateAccount> state_account(std::uint64_t jetties, std::uint64_t hosts);

}  // namespace wharf::study::openurma
