// SPDX-License-Identifier: Apache-2.0
// The control path of an RDMO worker: commands that a target's host sends through the service, and the
// notification that answers each. Little-endian, natural alignment. [DOCA UROM Programming Guide,
// doca_urom_plugin.h; doca-samples 3.0 to 3.3, applications/urom_rdmo]
//
//   command        0-7 plugin | 8-15 context | 16-23 length | 24-31 type | 32-79 fields | tail
//     CLIENT_INIT    32-39 id | 40-47 (address) | 48-55 address length                          tail: UCP
//     address RQ_CREATE      32-39 (address) | 40-47 address length                                     tail:
//     UCP address RQ_DESTROY     32-39 queue MR_REG         32-39 va | 40-47 length | 48-55 (rkey) | 56-63
//     rkey length | 64-71 (memh) | 72-79 memh length
//                                                                                               tail: rkey,
//                                                                                               memh
//     MR_DEREG       32-39 key
//   notification   0-7 plugin | 8-15 context | 16-23 length | 24-27 status | 28-31 zero | 32-39 type | 40-55
//   fields | tail
//     CLIENT_INIT    40-47 (address) | 48-55 address length                                     tail: UCP
//     address RQ_*           40-47 queue MR_*           40-47 key
//
// Fields in brackets are pointers of the sender's process: zero here when written, ignored when read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace wharf::wire {

inline constexpr std::uint32_t kRdmoCommandWrapperBytes = 24;
inline constexpr std::uint32_t kRdmoCommandBytes = 56;
inline constexpr std::uint32_t kRdmoNotificationWrapperBytes = 32;
inline constexpr std::uint32_t kRdmoNotificationBytes = 24;
/// Choice: a UCP address is some hundred bytes at most, a packed key less; the shipped worker takes 1024 too.
inline constexpr std::uint32_t kRdmoTailBytesMax = 1024;

enum class RdmoCommandType : std::uint64_t {
  kClientInit = 0,
  kRqCreate = 1,
  kRqDestroy = 2,
  kMrRegister = 3,
  kMrDeregister = 4,
};
inline constexpr std::uint64_t kRdmoCommandTypes = 5;

/// The errors of the DOCA library that notifications carry, with its numbers. [DOCA Core, doca_error_t]
enum class DocaError : std::uint32_t {
  kSuccess = 0,
  kNotPermitted = 2,
  kInUse = 3,
  kNotSupported = 4,
  kInvalidValue = 6,
  kNoMemory = 7,
  kTimeOut = 9,
  kShutdown = 10,
  kNotFound = 16,
  kInputOutputFailed = 17,
  kBadState = 18,
  kUnsupportedVersion = 19,
  kAlreadyExist = 23,
  kFull = 24,
  kEmpty = 25,
  kInProgress = 26,
  kTooBig = 27,
};
/// "not found", "in use", ...; "unknown error" for other values.
std::string_view name(DocaError error);

/// One command. Spans point into what was decoded.
struct RdmoCommand {
  std::uint64_t plugin = 0;   ///< Number of the plugin that it is for.
  std::uint64_t context = 0;  ///< Comes back in the notification.
  RdmoCommandType type = RdmoCommandType::kClientInit;
  std::uint64_t id = 0;               ///< CLIENT_INIT: what initiators put in every request.
  std::uint64_t queue = 0;            ///< RQ_DESTROY.
  std::uint64_t key = 0;              ///< MR_DEREG.
  std::uint64_t address = 0;          ///< MR_REG: first byte.
  std::uint64_t length = 0;           ///< MR_REG: bytes.
  std::span<const std::byte> peer;    ///< CLIENT_INIT, RQ_CREATE: UCP address.
  std::span<const std::byte> rkey;    ///< MR_REG: packed remote key.
  std::span<const std::byte> handle;  ///< MR_REG: packed memory handle; may be empty.
};

struct RdmoNotification {
  std::uint64_t plugin = 0;
  std::uint64_t context = 0;
  DocaError status = DocaError::kSuccess;
  RdmoCommandType type = RdmoCommandType::kClientInit;
  std::uint64_t value = 0;             ///< Queue or key; CLIENT_INIT: zero.
  std::span<const std::byte> address;  ///< CLIENT_INIT: UCP address of the worker.
};

enum class RdmoControlError : std::uint8_t {
  kNone,
  kShort,   ///< Not even a wrapper: there is no context to answer with.
  kLength,  ///< The wrapper's length, the tail's lengths and what arrived do not agree, or a tail is too
            ///< long.
  kType,    ///< No such command.
};

/// Appends the command's bytes to `out`.
void encode(const RdmoCommand& command, std::vector<std::byte>& out);
/// Reads one that fills `bytes` exactly. With kLength and kType, `plugin` and `context` are set, so that the
/// sender can be told; with kLength, `type` too if it is there.
RdmoControlError decode(std::span<const std::byte> bytes, RdmoCommand& out);

void encode(const RdmoNotification& notification, std::vector<std::byte>& out);
RdmoControlError decode(std::span<const std::byte> bytes, RdmoNotification& out);

}  // namespace wharf::wire
