// SPDX-License-Identifier: Apache-2.0
// What a live client and a server tell each other over the control channel before their engines talk. One
// struct per message; anything a hostile peer can send is decoded or refused, nothing else happens.
//
//   client                                server
//     Hello ------------------------------>           protocol, UDP port, wishes
//           <------------------------------ Welcome   host numbers: an offer, nothing is held for it yet
//     Connect ---------------------------->           the client's queue, of the host number offered
//           <------------------------------ Connected the server's queue, memory (receive entries are posted)
//     ReportRequest ---------------------->
//           <------------------------------ Report  what arrived in receive entries
//
// Refusal may stand in for any answer of the server; then it closes. Closing ends the session.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "engine/contract.h"
#include "verbs/segment.h"
#include "wire/host_address.h"
#include "wire/packet.h"

namespace wharf::live {

inline constexpr std::uint8_t kSessionVersion = 3;

/// Receive entries and their total size that a client may ask for.
inline constexpr std::uint32_t kReceiveEntriesMax = 1024;
inline constexpr std::uint64_t kReceiveBytesMax = std::uint64_t{64} << 20U;
/// Requests that either side may have outstanding on the session's queue.
inline constexpr std::uint32_t kQueueDepthMax = 4096;
/// Payload bytes of packets: powers of two.
inline constexpr std::uint32_t kMtuMin = 256;
inline constexpr std::uint32_t kMtuMax = 4096;
/// Host numbers are below this: a compact EID has 20 bits.
inline constexpr std::uint32_t kHostNumbers = 1U << 20U;

/// What the server does with a message that lands in a receive entry.
enum class ArrivalRule : std::uint8_t {
  kKeep,    ///< It stays where it landed until the entry is used again.
  kReturn,  ///< It is sent back.
};

/// The client's first message.
struct Hello {
  wire::Protocol protocol{};
  ArrivalRule arrivals = ArrivalRule::kKeep;
  std::uint16_t udp_port = 0;         ///< Where the client's datagrams come from.
  std::uint32_t mtu = 4096;           ///< Largest payload of a packet that the client takes: a power of two.
  std::uint32_t queue_depth = 128;    ///< Outstanding requests, a power of two.
  std::uint32_t receive_entries = 0;  ///< Entries that the server keeps posted.
  /// Bytes of each entry; entry k lies at `slice_offset + k * receive_bytes` of the segment.
  std::uint32_t receive_bytes = 0;
  bool tagged = false;                              ///< The entries take messages of the tag `tag` alone,
  std::uint64_t tag = 0;                            ///< else this is 0.
  verbs::AccessRights rights = verbs::kFullAccess;  ///< To its slice: what it needs, no more.
  /// Connected::slice_key of another session whose slice this one shall share, or 0 for one of its own. A
  /// session that shares has no receive entries.
  std::uint64_t slice_key = 0;

  bool operator==(const Hello&) const = default;
};

struct Welcome {
  wire::HostAddress server;
  wire::HostAddress client;  ///< The number under which the client makes its engine.
  std::uint32_t mtu = 4096;  ///< The smaller of both.

  bool operator==(const Welcome&) const = default;
};

struct Connect {
  engine::ExchangeBlob queue;
  bool operator==(const Connect&) const = default;
};

struct Connected {
  std::uint16_t udp_port = 0;      ///< Where the server's datagrams come from.
  verbs::RemoteSegment segment;    ///< With a token of this session's own.
  std::uint64_t slice_offset = 0;  ///< The session's part of the segment: all of it, unless memory is shared.
  std::uint64_t slice_bytes = 0;
  std::uint64_t slice_key = 0;  ///< Lets another session share the slice. Not 0.
  engine::ExchangeBlob queue;

  bool operator==(const Connected& other) const;
};

struct ReportRequest {
  bool operator==(const ReportRequest&) const = default;
};

/// What arrived in receive entries, or where the protocol takes none, since the session began.
struct Report {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
  bool operator==(const Report&) const = default;
};

struct Refusal {
  ErrorKind kind = ErrorKind::kInput;
  std::string reason;  ///< Printable ASCII, at most kReasonBytes; encoding replaces and cuts.
  static constexpr std::size_t kReasonBytes = 400;
  bool operator==(const Refusal&) const = default;
};

using SessionMessage = std::variant<Hello, Welcome, Connect, Connected, ReportRequest, Report, Refusal>;

/// Magic "WHRF", version 1, type 1, then the fields in order of declaration, big-endian; a blob is the rest.
std::vector<std::byte> encode(const SessionMessage& message);

/// Refuses foreign magic, another version, unknown types, wrong lengths, values out of range. What it accepts
/// encodes to the same bytes again.
Result<SessionMessage> decode_session_message(std::span<const std::byte> bytes);

}  // namespace wharf::live
