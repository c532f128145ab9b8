// SPDX-License-Identifier: Apache-2.0
// The operations that a program can ask of remote memory, under one neutral name each; every protocol maps
// them to its own opcodes or refuses them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace wharf::verbs {

/// One remote operation. kLoad and kStore are synchronous (a CPU instruction on mapped remote memory); the
/// others are work requests on a queue.
enum class Verb : std::uint8_t {
  kLoad,
  kStore,
  kRead,
  kWrite,
  kWriteImm,     ///< Write, then a completion at the target that has 64 bits of the request, or 32 (IBTA).
  kWriteNotify,  ///< Write, then store 8 bytes at a second address after the data (URMA only).
  kSend,
  kSendImm,
  kSendInvalidate,  ///< Send that also revokes a token (URMA) or rkey (IBTA) of the target.
  kCompareSwap,
  kSwap,
  kAtomicStore,
  kAtomicLoad,
  kFetchAdd,
  kFetchSub,
  kFetchAnd,
  kFetchOr,
  kFetchXor,
};

inline constexpr int kVerbCount = static_cast<int>(Verb::kFetchXor) + 1;

constexpr bool is_atomic(Verb verb) { return verb >= Verb::kCompareSwap; }
constexpr bool is_load_store(Verb verb) { return verb == Verb::kLoad || verb == Verb::kStore; }
constexpr bool is_send(Verb verb) {
  return verb == Verb::kSend || verb == Verb::kSendImm || verb == Verb::kSendInvalidate;
}
constexpr bool is_write(Verb verb) {
  return verb == Verb::kWrite || verb == Verb::kWriteImm || verb == Verb::kWriteNotify;
}
/// True when the request carries the initiator's data to the target.
constexpr bool carries_payload(Verb verb) { return is_write(verb) || is_send(verb) || verb == Verb::kStore; }
/// True when the target takes a receive entry for it; kWriteImm: see Capabilities::write_imm_takes_receive.
constexpr bool consumes_receive_entry(Verb verb) { return is_send(verb) || verb == Verb::kWriteImm; }

/// The name used in scenarios, tables and messages: "read", "write_imm", "compare_swap", ...
std::string_view name(Verb verb);
/// The verb of that name; "faa" and "cas" are accepted for fetch_add and compare_swap.
std::optional<Verb> parse_verb(std::string_view text);
/// Every name, in enumerator order, for messages that offer the nearest one.
std::span<const std::string_view> verb_names();

}  // namespace wharf::verbs
