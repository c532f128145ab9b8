// SPDX-License-Identifier: Apache-2.0
#include "engine/connection_message.h"

#include <algorithm>
#include <string>

#include "base/bytes.h"
#include "base/check.h"

namespace wharf::engine {
namespace {

constexpr std::uint16_t kMagic = 0x7763;
constexpr std::uint8_t kVersion = 1;

}  // namespace

std::vector<std::byte> encode(const ConnectionMessage& message) {
  WHARF_CHECK(message.blob.size() <= kConnectionBlobMost && message.data.size() <= kConnectionDataMost);
  std::vector<std::byte> bytes(kConnectionHeaderBytes + message.blob.size() + message.data.size());
  std::byte* at = bytes.data();
  store_be16(at, kMagic);
  store_u8(at + 2, kVersion);
  store_u8(at + 3, static_cast<std::uint8_t>(message.type));
  store_u8(at + 4, static_cast<std::uint8_t>(message.reason));
  store_be32(at + 8, message.from);
  store_be32(at + 12, message.to);
  store_be64(at + 16, message.service);
  store_be16(at + 24, static_cast<std::uint16_t>(message.blob.size()));
  store_be16(at + 26, static_cast<std::uint16_t>(message.data.size()));
  const auto body = std::copy(message.blob.begin(), message.blob.end(),
                              bytes.begin() + static_cast<std::ptrdiff_t>(kConnectionHeaderBytes));
  std::copy(message.data.begin(), message.data.end(), body);
  return bytes;
}

Result<ConnectionMessage> decode_connection_message(std::span<const std::byte> bytes) {
  if (bytes.size() < kConnectionHeaderBytes) {
    return input_error("connection message: found " + std::to_string(bytes.size()) + " bytes, expected " +
                       std::to_string(kConnectionHeaderBytes) + " or more");
  }
  const std::byte* at = bytes.data();
  const unsigned type = load_u8(at + 3);
  const unsigned reason = load_u8(at + 4);
  const std::size_t blob = load_be16(at + 24);
  const std::size_t data = load_be16(at + 26);
  if (load_be16(at) != kMagic || load_u8(at + 2) != kVersion || load_be24(at + 5) != 0) {
    return input_error("connection message: found another magic number or version, expected version 1");
  }
  if (type < 1 || type > static_cast<unsigned>(ConnectionMessageType::kClosed) ||
      reason >= static_cast<unsigned>(kConnectionReasonCount)) {
    return input_error("connection message: found type " + std::to_string(type) + " and reason " +
                       std::to_string(reason) + ", expected known ones");
  }
  if (blob > kConnectionBlobMost || data > kConnectionDataMost ||
      bytes.size() != kConnectionHeaderBytes + blob + data) {
    return input_error("connection message: found a blob of " + std::to_string(blob) + " and data of " +
                       std::to_string(data) + " bytes in " + std::to_string(bytes.size()));
  }
  ConnectionMessage message;
  message.type = static_cast<ConnectionMessageType>(type);
  message.reason = static_cast<ConnectionReason>(reason);
  message.from = load_be32(at + 8);
  message.to = load_be32(at + 12);
  message.service = load_be64(at + 16);
  const auto body = bytes.subspan(kConnectionHeaderBytes);
  message.blob.assign(body.begin(), body.begin() + static_cast<std::ptrdiff_t>(blob));
  message.data.assign(body.begin() + static_cast<std::ptrdiff_t>(blob), body.end());
  return message;
}

}  // namespace wharf::engine
