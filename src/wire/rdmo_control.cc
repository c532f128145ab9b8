// SPDX-License-Identifier: Apache-2.0
#include "wire/rdmo_control.h"

#include "base/bytes.h"

namespace wharf::wire {
namespace {

void put(std::vector<std::byte>& out, std::span<const std::byte> bytes) {
  out.insert(out.end(), bytes.begin(), bytes.end());
}

}  // namespace

void encode(const RdmoCommand& command, std::vector<std::byte>& out) {
  const std::size_t start = out.size();
  const std::size_t tail = command.peer.size() + command.rkey.size() + command.handle.size();
  out.resize(start + kRdmoCommandWrapperBytes + kRdmoCommandBytes);
  std::byte* at = out.data() + start;
  store_le64(at, command.plugin);
  store_le64(at + 8, command.context);
  store_le64(at + 16, kRdmoCommandBytes + tail);
  at += kRdmoCommandWrapperBytes;
  store_le64(at, static_cast<std::uint64_t>(command.type));
  switch (command.type) {
    case RdmoCommandType::kClientInit:
      store_le64(at + 8, command.id);
      store_le64(at + 24, command.peer.size());
      break;
    case RdmoCommandType::kRqCreate:
      store_le64(at + 16, command.peer.size());
      break;
    case RdmoCommandType::kRqDestroy:
      store_le64(at + 8, command.queue);
      break;
    case RdmoCommandType::kMrRegister:
      store_le64(at + 8, command.address);
      store_le64(at + 16, command.length);
      store_le64(at + 32, command.rkey.size());
      store_le64(at + 48, command.handle.size());
      break;
    case RdmoCommandType::kMrDeregister:
      store_le64(at + 8, command.key);
      break;
  }
  put(out, command.peer);
  put(out, command.rkey);
  put(out, command.handle);
}

RdmoControlError decode(std::span<const std::byte> bytes, RdmoCommand& out) {
  out = {};
  if (bytes.size() < kRdmoCommandWrapperBytes) return RdmoControlError::kShort;
  out.plugin = load_le64(bytes.data());
  out.context = load_le64(bytes.data() + 8);
  const std::uint64_t length = load_le64(bytes.data() + 16);
  const std::span<const std::byte> body = bytes.subspan(kRdmoCommandWrapperBytes);
  if (body.size() < 8) return RdmoControlError::kLength;
  const std::byte* at = body.data();
  const std::uint64_t type = load_le64(at);
  if (type >= kRdmoCommandTypes) return RdmoControlError::kType;
  out.type = static_cast<RdmoCommandType>(type);
  if (length != body.size() || body.size() < kRdmoCommandBytes) return RdmoControlError::kLength;
  const std::span<const std::byte> tail = body.subspan(kRdmoCommandBytes);
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  switch (out.type) {
    case RdmoCommandType::kClientInit:
      out.id = load_le64(at + 8);
      first = load_le64(at + 24);
      break;
    case RdmoCommandType::kRqCreate:
      first = load_le64(at + 16);
      break;
    case RdmoCommandType::kRqDestroy:
      out.queue = load_le64(at + 8);
      break;
    case RdmoCommandType::kMrRegister:
      out.address = load_le64(at + 8);
      out.length = load_le64(at + 16);
      first = load_le64(at + 32);
      second = load_le64(at + 48);
      break;
    case RdmoCommandType::kMrDeregister:
      out.key = load_le64(at + 8);
      break;
  }
  // Both are bounded before they are added, so that no sum wraps.
  if (first > kRdmoTailBytesMax || second > kRdmoTailBytesMax || first + second != tail.size()) {
    return RdmoControlError::kLength;
  }
  (out.type == RdmoCommandType::kMrRegister ? out.rkey : out.peer) = tail.first(first);
  out.handle = tail.subspan(first);
  return RdmoControlError::kNone;
}

void encode(const RdmoNotification& notification, std::vector<std::byte>& out) {
  const std::size_t start = out.size();
  out.resize(start + kRdmoNotificationWrapperBytes + kRdmoNotificationBytes);
  std::byte* at = out.data() + start;
  store_le64(at, notification.plugin);
  store_le64(at + 8, notification.context);
  store_le64(at + 16, kRdmoNotificationBytes + notification.address.size());
  store_le32(at + 24, static_cast<std::uint32_t>(notification.status));
  at += kRdmoNotificationWrapperBytes;
  store_le64(at, static_cast<std::uint64_t>(notification.type));
  if (notification.type == RdmoCommandType::kClientInit) {
    store_le64(at + 16, notification.address.size());
  } else {
    store_le64(at + 8, notification.value);
  }
  put(out, notification.address);
}

RdmoControlError decode(std::span<const std::byte> bytes, RdmoNotification& out) {
  out = {};
  if (bytes.size() < kRdmoNotificationWrapperBytes) return RdmoControlError::kShort;
  out.plugin = load_le64(bytes.data());
  out.context = load_le64(bytes.data() + 8);
  out.status = static_cast<DocaError>(load_le32(bytes.data() + 24));
  const std::uint64_t length = load_le64(bytes.data() + 16);
  const std::span<const std::byte> body = bytes.subspan(kRdmoNotificationWrapperBytes);
  if (length != body.size() || body.size() < kRdmoNotificationBytes) return RdmoControlError::kLength;
  const std::uint64_t type = load_le64(body.data());
  if (type >= kRdmoCommandTypes) return RdmoControlError::kType;
  out.type = static_cast<RdmoCommandType>(type);
  std::uint64_t tail = 0;
  if (out.type == RdmoCommandType::kClientInit) {
    tail = load_le64(body.data() + 16);
  } else {
    out.value = load_le64(body.data() + 8);
  }
  if (tail > kRdmoTailBytesMax || tail != body.size() - kRdmoNotificationBytes)
    return RdmoControlError::kLength;
  out.address = body.subspan(kRdmoNotificationBytes);
  return RdmoControlError::kNone;
}

}  // namespace wharf::wire
