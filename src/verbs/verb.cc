// SPDX-License-Identifier: Apache-2.0
#include "verbs/verb.h"

#include <array>
#include <cstddef>

namespace wharf::verbs {
namespace {

constexpr std::array<std::string_view, kVerbCount> kNames{
    "load",      "store",           "read",         "write",     "write_imm",    "write_notify", "send",
    "send_imm",  "send_invalidate", "compare_swap", "swap",      "atomic_store", "atomic_load",  "fetch_add",
    "fetch_sub", "fetch_and",       "fetch_or",     "fetch_xor",
};

}  // namespace

std::string_view name(Verb verb) { return kNames[static_cast<std::size_t>(verb)]; }

std::optional<Verb> parse_verb(std::string_view text) {
  if (text == "faa") return Verb::kFetchAdd;
  if (text == "cas") return Verb::kCompareSwap;
  for (std::size_t index = 0; index < kNames.size(); ++index) {
    if (kNames[index] == text) return static_cast<Verb>(index);
  }
  return std::nullopt;
}

std::span<const std::string_view> verb_names() { return kNames; }

}  // namespace wharf::verbs
