// SPDX-License-Identifier: Apache-2.0
#include "engine/roce/exchange.h"

#include <bit>
#include <string>

#include "base/bytes.h"
#include "engine/roce/config.h"

namespace wharf::roce {
namespace {

constexpr std::size_t kBlobBytes = 20;
constexpr std::uint16_t kMagic = 0x5243;  // "RC"
constexpr std::uint8_t kVersion = 1;

Error refuse(const std::string& found, const std::string& expected) {
  return input_error("a RoCE connection blob has " + found + ", expected " + expected);
}

}  // namespace

engine::ExchangeBlob encode(const ExchangeRecord& record) {
  engine::ExchangeBlob blob(kBlobBytes);
  std::byte* at = blob.data();
  store_be16(at, kMagic);
  store_u8(at + 2, kVersion);
  store_u8(at + 3, record.responder_resources);
  store_be32(at + 4, record.host.number);
  store_be32(at + 8, record.queue_number);
  store_be32(at + 12, record.starting_psn);
  store_be32(at + 16, record.path_mtu);
  return blob;
}

Result<ExchangeRecord> decode_exchange(std::span<const std::byte> blob) {
  if (blob.size() != kBlobBytes) {
    return refuse(std::to_string(blob.size()) + " bytes", std::to_string(kBlobBytes));
  }
  const std::byte* at = blob.data();
  if (load_be16(at) != kMagic) return refuse("another magic number", "0x5243");
  if (load_u8(at + 2) != kVersion) return refuse("version " + std::to_string(load_u8(at + 2)), "version 1");
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
  return record;
}

}  // namespace wharf::roce
