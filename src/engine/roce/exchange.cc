// SPDX-License-Identifier: Apache-2.0
#include "engine/roce/exchange.h"

#include <bit>
#include <string>

#include "base/bytes.h"
#include "engine/roce/config.h"

namespace wharf::roce {
namespace {

constexpr std::size_t kBlobBytes = 20;
constexpr std::size_t kSelectiveBlobBytes = 24;
constexpr std::size_t kUnreliableBlobBytes = 28;
constexpr std::uint16_t kMagic = 0x5243;  // "RC"
constexpr std::uint8_t kVersion = 1;
constexpr std::uint8_t kUnreliableVersion = 2;
constexpr std::uint8_t kSelectiveVersion = 3;
constexpr std::uint32_t kMostEarly = 1U << 20U;

Error refuse(const std::string& found, const std::string& expected) {
  return input_error("a RoCE connection blob has " + found + ", expected " + expected);
}

}  // namespace

engine::ExchangeBlob encode(const ExchangeRecord& record) {
  const bool reliable = record.service == Service::kReliable;
  const bool selective = reliable && record.early_window > 0;
  engine::ExchangeBlob blob(selective ? kSelectiveBlobBytes : reliable ? kBlobBytes : kUnreliableBlobBytes);
  std::byte* at = blob.data();
  store_be16(at, kMagic);
  store_u8(at + 2, selective ? kSelectiveVersion : reliable ? kVersion : kUnreliableVersion);
  store_u8(at + 3, record.responder_resources);
  store_be32(at + 4, record.host.number);
  store_be32(at + 8, record.queue_number);
  store_be32(at + 12, record.starting_psn);
  store_be32(at + 16, record.path_mtu);
  if (selective) store_be32(at + 20, record.early_window);
  if (reliable) return blob;
  store_u8(at + 20, static_cast<std::uint8_t>(record.service));
  store_be32(at + 24, record.queue_key);
  return blob;
}

Result<ExchangeRecord> decode_exchange(std::span<const std::byte> blob) {
  const bool selective = blob.size() == kSelectiveBlobBytes;
  const bool reliable = selective || blob.size() == kBlobBytes;
  if (!reliable && blob.size() != kUnreliableBlobBytes) {
    return refuse(std::to_string(blob.size()) + " bytes",
                  std::to_string(kBlobBytes) + ", " + std::to_string(kSelectiveBlobBytes) +
                      " with selective repeat, or " + std::to_string(kUnreliableBlobBytes) +
                      " of unreliable service");
  }
  const std::uint8_t version = selective ? kSelectiveVersion : reliable ? kVersion : kUnreliableVersion;
  const std::byte* at = blob.data();
  if (load_be16(at) != kMagic) return refuse("another magic number", "0x5243");
  if (load_u8(at + 2) != version) {
    return refuse("version " + std::to_string(load_u8(at + 2)), "version " + std::to_string(version));
  }
  ExchangeRecord record;
  record.responder_resources = load_u8(at + 3);
  record.host.number = load_be32(at + 4);
  record.queue_number = load_be32(at + 8);
  record.starting_psn = load_be32(at + 12);
  record.path_mtu = load_be32(at + 16);
  if (record.queue_number < 2 || record.queue_number > wire::kPsnMask) {
    return refuse("queue pair number " + std::to_string(record.queue_number), "2 to 16777215");
  }
  if (record.starting_psn > wire::kPsnMask) {
    return refuse("starting PSN " + std::to_string(record.starting_psn), "at most 16777215");
  }
  if (!std::has_single_bit(record.path_mtu) || record.path_mtu < 256 || record.path_mtu > kAccountingMtu) {
    return refuse("path MTU " + std::to_string(record.path_mtu), "a power of two from 256 to 32768");
  }
  // [IBTA vol 1 9.4.4: a READ would wait for ever]
  if (reliable && record.responder_resources == 0) return refuse("no responder resources", "1 to 255");
  if (selective) {
    record.early_window = load_be32(at + 20);
    if (record.early_window == 0 || record.early_window > kMostEarly) {
      return refuse("a window of " + std::to_string(record.early_window) + " early requests", "1 to 1048576");
    }
  }
  if (reliable) return record;
  record.service = static_cast<Service>(load_u8(at + 20));
  if (record.service != Service::kUnreliable && record.service != Service::kDatagram) {
    return refuse("service " + std::to_string(load_u8(at + 20)), "1 (UC) or 3 (UD)");
  }
  if (load_u8(at + 21) != 0 || load_be16(at + 22) != 0) return refuse("reserved bytes", "zero");
  record.queue_key = load_be32(at + 24);
  return record;
}

}  // namespace wharf::roce
