// SPDX-License-Identifier: Apache-2.0
// What two control planes say to each other to connect queues, as bytes. Any channel between the hosts
// carries them; one that loses, repeats or reorders will do.
//
//   bytes  0 1      2        3     4       5        8             12          16      24           26 28
//          magic    version  type  reason  reserved  connection    connection  service blob length  data
//          length  blob, data
//                                                     of the sender of the receiver
//
// Integers are big-endian. Choice: a format of our own, because the protocols' own (IBTA CM, TP management)
// carry neither each other's blobs nor more than some dozens of bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"

namespace wharf::engine {

enum class ConnectionMessageType : std::uint8_t {
  kRequest = 1,  ///< With the asking queue's blob.
  kAccept = 2,   ///< With the accepting queue's blob.
  kConfirm = 3,  ///< The accept has come.
  kReject = 4,
  kClose = 5,   ///< Also the answer to whatever is about a connection that nobody knows.
  kClosed = 6,  ///< The answer to kClose.
};

/// Why a connection did not come about, or ended.
enum class ConnectionReason : std::uint8_t {
  kNone = 0,
  kRefused = 1,      ///< The program there rejected it.
  kNoListener = 2,   ///< Nobody listens to the service.
  kBusy = 3,         ///< No room for one more request.
  kBadBlob = 4,      ///< The engine there, or here, does not take the peer's blob.
  kClosed = 5,       ///< The program there closed it.
  kUnreachable = 6,  ///< No answer came, or the engine or the control channel lost the host.
  kQueueError = 7,   ///< The local queue failed.
};
inline constexpr int kConnectionReasonCount = static_cast<int>(ConnectionReason::kQueueError) + 1;

/// Bytes of private data that a request, accept or reject may carry.
inline constexpr std::size_t kConnectionDataMost = 256;
inline constexpr std::size_t kConnectionBlobMost = 8192;
inline constexpr std::size_t kConnectionHeaderBytes = 28;

struct ConnectionMessage {
  ConnectionMessageType type = ConnectionMessageType::kRequest;
  ConnectionReason reason = ConnectionReason::kNone;
  std::uint32_t from = 0;  ///< The sender's name of the connection; 0: it has none.
  std::uint32_t to = 0;    ///< The receiver's; 0 in requests.
  std::uint64_t service = 0;
  std::vector<std::byte> blob;
  std::vector<std::byte> data;
};

std::vector<std::byte> encode(const ConnectionMessage& message);
/// Refuses everything that encode() does not write.
Result<ConnectionMessage> decode_connection_message(std::span<const std::byte> bytes);

}  // namespace wharf::engine
