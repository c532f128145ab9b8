// SPDX-License-Identifier: Apache-2.0
// What the agents of a host's memory say to each other: lines, agents and the messages of the directory
// protocol. Apart because every machine, every timed link and every explorer of the protocol speaks them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/line.h"
#include "sim/coherence/coherence_mutation.h"

namespace wharf::sim {

/// A caching agent of one home: below kMaxAgents, dense from 0.
using AgentId = std::uint8_t;

/// The sharer vector is full: one bit for each agent.
inline constexpr std::uint32_t kMaxAgents = 64;

constexpr std::uint64_t agent_bit(AgentId agent) { return std::uint64_t{1} << agent; }

/// Messages of one class about one line between one agent and the home arrive in the order in which they were
/// sent; those of different classes, and those about different lines, may overtake each other. Requests may
/// wait for the other two; snoops may wait for responses; responses are always taken. Nothing else about the
/// network is relied on.
enum class MessageClass : std::uint8_t {
  kRequest,   ///< Agent to home.
  kSnoop,     ///< Home to agent.
  kResponse,  ///< Home to agent (to a request) and agent to home (to a snoop).
};

/// Each request but kDropShared is answered by exactly one kData, kUpgradeDone or kPutDone; each snoop by
/// exactly one kSnoopAck or kSnoopData.
enum class MessageKind : std::uint8_t {
  // Requests.
  kGetShared,    ///< A copy to read; kExclusive is granted where nobody else has one.
  kGetTracked,   ///< A copy to read once, but invalidations are to be heard; never granted kExclusive.
  kGetModified,  ///< The only copy, with its bytes.
  kUpgrade,    ///< The only copy, by an agent that has its bytes. Its copy may be lost on the way: see kData.
  kReadOnce,   ///< The bytes as they are now; the home registers nothing and no copy changes its state.
  kWriteLine,  ///< The only copy, by an agent that will write all of it: bytes come only if memory lacks
               ///< them.
  kPutShared,  ///< A clean copy was given up.
  kPutClean,   ///< The only copy was given up; memory has its bytes.
  kPutModified,  ///< The only copy was given up; here are its bytes. With keeps_shared the agent stays a
                 ///< sharer.
  kDropShared,   ///< A clean copy was given up, said in passing: costs no credit, is not answered, and the
                 ///< home forgets the sharer only if its line is at rest. Never sent of a copy with bytes.
  // Snoops.
  kInvalidate,     ///< To a sharer: give up the copy. With wants_data its bytes are asked for.
  kSupply,         ///< To a sharer: its bytes, if it still has them. The copy stays.
  kFetchShared,    ///< To the owner: the bytes; at most a clean copy stays.
  kFetchModified,  ///< To the owner: the bytes; no copy stays.
  kFetchOnce,      ///< To the owner: the bytes; the copy stays as it is.
  // Responses of agents.
  kSnoopAck,   ///< Done; no bytes: for an owner this says that memory has them.
  kSnoopData,  ///< Done; the bytes, with is_dirty when memory does not have them.
  // Responses of the home.
  kData,         ///< The bytes and a grant. Without has_data (kWriteLine only) memory has them.
  kUpgradeDone,  ///< The copy that the agent has is the only one now. kData where the copy was lost.
  kPutDone,      ///< A put was taken or had nothing left to give up; `answers` tells which kind of put.
};
inline constexpr int kMessageKindCount = static_cast<int>(MessageKind::kPutDone) + 1;

constexpr MessageClass class_of(MessageKind kind) {
  if (kind <= MessageKind::kDropShared) return MessageClass::kRequest;
  return kind <= MessageKind::kFetchOnce ? MessageClass::kSnoop : MessageClass::kResponse;
}
constexpr bool is_put(MessageKind kind) {
  return kind >= MessageKind::kPutShared && kind <= MessageKind::kPutModified;
}

/// What kData allows.
enum class Grant : std::uint8_t {
  kOnce,       ///< To use the bytes, not to keep them.
  kShared,     ///< To keep and read them.
  kExclusive,  ///< To keep them, and to write them without asking; they are clean.
  kModified,   ///< To keep and write them; memory may be stale.
};

/// One message between the home and an agent. Fields that its kind does not name are zero, `data` included,
/// so that equal messages are equal bytes.
struct Message {
  LineNumber line = 0;
  MessageKind kind = MessageKind::kGetShared;
  AgentId agent = 0;  ///< The end that is not the home.
  Grant grant = Grant::kOnce;
  MessageKind answers = MessageKind::kGetShared;  ///< kPutDone: the put that is answered.
  bool has_data = false;                          ///< `data` means something.
  bool is_dirty = false;                          ///< kSnoopData: memory does not have these bytes.
  bool keeps_shared = false;  ///< kSnoopAck, kSnoopData, kPutModified: the agent stays a sharer.
  bool wants_data = false;    ///< kInvalidate: answer with the bytes, if they are still there.
  LineBytes data{};           ///< Behind the rest, which is all that most messages have.

  bool operator==(const Message&) const = default;
};
static_assert(std::is_trivially_copyable_v<Message>);
static_assert(sizeof(Message) == 80, "Copied several times per access.");

/// For timed links: the bytes of payload that travel with it, kLineBytes or 0.
constexpr std::uint32_t payload_bytes(const Message& message) { return message.has_data ? kLineBytes : 0; }

/// Copies all of a message but bytes that mean nothing: those of `to` stay as they are.
inline void copy_message(Message& to, const Message& from) {
  static_assert(std::is_standard_layout_v<Message>);
  __builtin_memcpy(static_cast<void*>(&to), &from, offsetof(Message, data));
  if (from.has_data) to.data = from.data;
}

/// Makes `request`, a new message, what `agent` asks of the home about `line`; `bytes` may be null.
inline void make_request(Message& request, AgentId agent, LineNumber line, MessageKind kind,
                         const LineBytes* bytes) {
  request.line = line;
  request.kind = kind;
  request.agent = agent;
  if (bytes == nullptr) return;
  request.has_data = true;
  request.data = *bytes;
}

/// Makes `answer`, a new message, what `agent` says to a snoop of `line`: with `bytes` unless they are null,
/// which are dirty when memory does not have them.
inline void make_snoop_answer(Message& answer, AgentId agent, LineNumber line, const LineBytes* bytes,
                              bool is_dirty, bool keeps_shared) {
  answer.line = line;
  answer.agent = agent;
  answer.kind = bytes != nullptr ? MessageKind::kSnoopData : MessageKind::kSnoopAck;
  answer.keeps_shared = keeps_shared;
  if (bytes == nullptr) return;
  answer.has_data = true;
  answer.is_dirty = is_dirty && !mutated(CoherenceMutation::kCleanSnoopAnswer);
  answer.data = *bytes;
}

/// As the kind is spelled in this file, without the k.
std::string_view name_of(MessageKind kind);
std::string_view name_of(Grant grant);

/// "GetModified agent 2 line 5", with what else it says, for traces and tests.
std::string describe(const Message& message);

/// Who has what of a line, as an observer is told.
enum class CopyState : std::uint8_t { kInvalid, kShared, kExclusive, kModified };
std::string_view name_of(CopyState state);

/// Appends the bytes of a value without padding to a canonical state.
template <typename T>
void append_bytes(std::vector<std::byte>& state, const T& value) {
  static_assert(std::is_trivially_copyable_v<T> && std::has_unique_object_representations_v<T>);
  const std::size_t at = state.size();
  state.resize(at + sizeof(T));
  __builtin_memcpy(state.data() + at, &value, sizeof(T));
}
/// The same for a message. A kind that carries no bytes adds none.
void append_state(std::vector<std::byte>& state, const Message& message);

}  // namespace wharf::sim
