// SPDX-License-Identifier: Apache-2.0
#include "engine/uet/exchange.h"

#include <fmt/format.h>

#include "base/bytes.h"

namespace wharf::uet {

engine::ExchangeBlob encode(const EndpointBlob& blob) {
  engine::ExchangeBlob bytes(kEndpointBlobBytes);
  std::byte* at = bytes.data();
  std::uint8_t flags = kAddressHasCapabilities | kAddressHasPid | kAddressHasRi | kAddressHasInitiator;
  if (!blob.address.relative) flags |= kAddressAbsolute;
  store_u8(at, 0);  // Version.
  store_u8(at + 1, flags);
  store_u8(at + 2, blob.capabilities);
  store_be16(at + 20, blob.address.pid_on_fep);
  store_be16(at + 22, blob.address.resource_index);
  store_be16(at + 24, 1);
  store_be16(at + 26, blob.generation);
  store_be32(at + 28, blob.initiator_id);
  store_be32(at + 32, blob.address.job_id);
  store_be32(at + 36, blob.host.number);
  return bytes;
}

Result<EndpointBlob> decode_endpoint_blob(std::span<const std::byte> bytes) {
  if (bytes.size() != kEndpointBlobBytes) {
    return input_error(
        fmt::format("UET exchange blob: found {} bytes, expected {}", bytes.size(), kEndpointBlobBytes));
  }
  const std::byte* at = bytes.data();
  if (load_u8(at) != 0) {
    return input_error(fmt::format("UET exchange blob: found version {}, expected 0", load_u8(at)));
  }
  EndpointBlob blob;
  blob.address.relative = (load_u8(at + 1) & kAddressAbsolute) == 0;
  blob.capabilities = load_u8(at + 2);
  blob.address.pid_on_fep = load_be16(at + 20);
  blob.address.resource_index = load_be16(at + 22);
  blob.generation = static_cast<std::uint8_t>(load_be16(at + 26));
  blob.initiator_id = load_be32(at + 28);
  blob.address.job_id = load_be32(at + 32);
  blob.host.number = load_be32(at + 36);
  if (blob.address.pid_on_fep > 0xfff || blob.address.resource_index == 0 ||
      blob.address.resource_index > 0xfff || blob.address.job_id == 0 || blob.address.job_id > 0xff'ffff) {
    return input_error(
        fmt::format("UET exchange blob: found JobID {}, PIDonFEP {}, RI {}, expected 1 to 16777215, 0 to "
                    "4095, 1 to 4095",
                    blob.address.job_id, blob.address.pid_on_fep, blob.address.resource_index));
  }
  return blob;
}

}  // namespace wharf::uet
