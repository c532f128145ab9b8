// SPDX-License-Identifier: Apache-2.0
// What a worker and its host hand each other: messages of initiators, accesses to the memory of targets,
// actions on endpoints and keys. The host is UCX and its process, a simulated machine, or a test; the worker
// never knows.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "wire/rdmo_control.h"
#include "wire/rdmo_message.h"

namespace wharf::rdmo {

/// The host channel that a command came by; its notification goes back there.
using DestinationId = std::uint32_t;
/// An endpoint of an initiator, numbered by the host from 0, small numbers first.
using PeerId = std::uint32_t;
inline constexpr PeerId kNoPeer = ~PeerId{0};
/// What the host calls an endpoint of a target, or imported memory.
using HostHandle = std::uint64_t;

// --- Messages
// ---------------------------------------------------------------------------------------------------

/// Data of a message. It is here (`data`), or its sender offers it and the host can fetch it (`data` is
/// null).
struct Payload {
  const std::byte* data = nullptr;
  std::uint32_t length = 0;
  std::uint64_t handle = 0;  ///< What the host calls it.
};

/// What became of a message's payload.
enum class Taken : std::uint8_t {
  kDone,    ///< Not needed any more: the host may reuse it.
  kHeld,    ///< The worker needs it until next_release() gives its handle.
  kNoRoom,  ///< Nothing was looked at. Offer the message again after the worker has answered something.
};

/// A message to an initiator: a header without payload.
struct Message {
  PeerId peer = kNoPeer;
  std::uint32_t message_id = wire::kRdmoMessageId;
  std::uint32_t length = 0;
  std::array<std::byte, 32> header{};
};

// --- Memory of targets
// ------------------------------------------------------------------------------------------

enum class AccessKind : std::uint8_t {
  kRead,         ///< `length` bytes, 8 or 32, into AccessResult::words.
  kWrite,        ///< `length` bytes from `data`; if that is null, straight from the sender of `payload`.
  kFill,         ///< `length` zeros.
  kWriteCell,    ///< The 8 bytes of `value`, in one piece, after all writes that a kOrder before it ordered.
  kCompareSwap,  ///< 8 bytes: `value` if they are `compare`; AccessResult::words[0] is what was there.
  kOrder,        ///< Done when all earlier writes to the target are visible to its cores.
  kFetch,        ///< No memory of a target: brings the payload here, AccessResult::data is where.
};

/// One access that the worker asks its host for. Answers may come in any order.
struct Access {
  std::uint32_t id = 0;
  AccessKind kind = AccessKind::kRead;
  HostHandle target = 0;  ///< Of kOpenTarget.
  HostHandle memory = 0;  ///< Of kImport. The range lies inside what was imported.
  std::uint64_t address = 0;
  std::uint32_t length = 0;
  const std::byte* data = nullptr;  ///< Valid until access_done().
  std::uint64_t payload = 0;        ///< Handle of the payload, when the data is not here.
  std::uint64_t value = 0;
  std::uint64_t compare = 0;
};

enum class AccessStatus : std::uint8_t {
  kDone,
  kMemoryFailed,  ///< This access failed: bad address, key withdrawn.
  kTargetLost,    ///< The target is gone, and so is all of its memory.
  kSenderLost,    ///< The data did not come; some of it may have been written.
};

struct AccessResult {
  AccessStatus status = AccessStatus::kDone;
  std::array<std::uint64_t, 4> words{};
  const std::byte* data = nullptr;  ///< kFetch: valid until the payload is released.
};

// --- Actions
// ----------------------------------------------------------------------------------------------------

enum class ActionKind : std::uint8_t {
  kOpenTarget,   ///< An endpoint to a target, by its address in `bytes`.
  kOpenPeer,     ///< An endpoint to an initiator, by its address in `bytes`.
  kImport,       ///< Memory of `target`, by the packed key in `bytes` and the memory handle in `more` (maybe
                 ///< empty).
  kForget,       ///< Imported memory: nothing uses it any more.
  kClosePeer,    ///< Nothing more is sent to it. What it announced fails with kSenderLost.
  kCloseTarget,  ///< Accesses under way fail or finish; none comes after it is done.
  kCancelOpening,  ///< Nobody waits any longer for the kOpenTarget of id `opening`: unless it was answered,
                   ///< it is given up, and soon answered as failed.
};

/// Something that the worker asks its host to do, and that may take time. The control path: bytes are copies.
struct Action {
  std::uint32_t id = 0;
  ActionKind kind = ActionKind::kOpenTarget;
  HostHandle target = 0;
  HostHandle memory = 0;
  PeerId peer = kNoPeer;
  std::uint32_t opening = 0;
  std::uint64_t address = 0;  ///< kImport: what the target says that the memory is.
  std::uint64_t length = 0;
  std::vector<std::byte> bytes;
  std::vector<std::byte> more;
};

struct ActionResult {
  wire::DocaError status = wire::DocaError::kSuccess;
  HostHandle handle = 0;     ///< kOpenTarget, kImport.
  PeerId peer = kNoPeer;     ///< kOpenPeer. An endpoint that exists already keeps its number.
  bool direct = false;       ///< kImport: a write is visible to the target's cores when it is done.
  std::uint64_t random = 0;  ///< kImport: 64 bits that nobody can guess, for the key.
};

/// A notification on its way to a host channel.
struct Notice {
  DestinationId destination = 0;
  std::vector<std::byte> bytes;
};

}  // namespace wharf::rdmo
