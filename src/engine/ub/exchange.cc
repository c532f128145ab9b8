// SPDX-License-Identifier: Apache-2.0
#include "engine/ub/exchange.h"

#include <fmt/format.h>

#include <bit>

#include "base/bytes.h"

namespace wharf::ub {
namespace {

// "UBJ" and the version of this layout.
constexpr std::uint32_t kMagic = 0x55424a06;

}  // namespace

engine::ExchangeBlob encode(const QueueBlob& blob) {
  engine::ExchangeBlob bytes(kQueueBlobBytes + kFailureBytes * blob.failures.size());
  std::byte* at = bytes.data();
  store_be32(at, kMagic);
  store_be32(at + 4, blob.host.number);
  store_be32(at + 8, blob.jetty);
  store_be32(at + 12, blob.token);
  store_u8(at + 16, static_cast<std::uint8_t>(blob.encapsulation));
  store_u8(at + 17, static_cast<std::uint8_t>(blob.recovery));
  store_u8(at + 18, static_cast<std::uint8_t>(blob.service));
  store_u8(at + 19, static_cast<std::uint8_t>(blob.target));
  store_be32(at + 20, blob.mtu);
  store_be32(at + 24, blob.receive_window);
  store_be32(at + 28, blob.first_psn);
  store_be32(at + 32, blob.inbound_messages);
  store_be32(at + 36, blob.first_incarnation);
  store_be32(at + 40, blob.channels);
  store_be32(at + 44, blob.requester);
  store_be32(at + 48, blob.numbering);
  store_be32(at + 52, static_cast<std::uint32_t>(blob.transport));
  at += kQueueBlobBytes;
  for (const ChannelFailures& entry : blob.failures) {
    store_be32(at, std::uint32_t{entry.lane} << 24U | entry.host.number);
    store_be32(at + 4, entry.count);
    at += kFailureBytes;
  }
  return bytes;
}

Result<QueueBlob> decode_queue_blob(std::span<const std::byte> bytes) {
  if (bytes.size() < kQueueBlobBytes || (bytes.size() - kQueueBlobBytes) % kFailureBytes != 0) {
    return input_error(fmt::format("UB exchange blob: found {} bytes, expected {} and a multiple of {}",
                                   bytes.size(), kQueueBlobBytes, kFailureBytes));
  }
  const std::byte* at = bytes.data();
  if (load_be32(at) != kMagic) {
    return input_error(
        fmt::format("UB exchange blob: found magic {:#010x}, expected {:#010x}", load_be32(at), kMagic));
  }
  QueueBlob blob;
  blob.host.number = load_be32(at + 4);
  blob.jetty = load_be32(at + 8);
  blob.token = load_be32(at + 12);
  const std::uint8_t encapsulation = load_u8(at + 16);
  const std::uint8_t recovery = load_u8(at + 17);
  const std::uint8_t service = load_u8(at + 18);
  const std::uint8_t target = load_u8(at + 19);
  blob.mtu = load_be32(at + 20);
  blob.receive_window = load_be32(at + 24);
  blob.first_psn = load_be32(at + 28);
  blob.inbound_messages = load_be32(at + 32);
  blob.first_incarnation = load_be32(at + 36);
  blob.channels = load_be32(at + 40);
  blob.requester = load_be32(at + 44);
  blob.numbering = load_be32(at + 48);
  const std::uint32_t transport = load_be32(at + 52);
  for (std::size_t entry = kQueueBlobBytes; entry < bytes.size(); entry += kFailureBytes) {
    const std::uint32_t channel = load_be32(at + entry);
    blob.failures.push_back(
        {{channel & wire::kPsnMask}, static_cast<Lane>(channel >> 24U), load_be32(at + entry + 4)});
  }
  if (blob.host.number >= wire::kPsnMask) {
    return input_error(
        fmt::format("UB exchange blob: found host {}, expected below 2^24 - 1", blob.host.number));
  }
  for (const std::uint32_t id : {blob.jetty, blob.requester}) {
    if (id >= kJettyIds)
      return input_error(fmt::format("UB exchange blob: found jetty {}, expected 20 bits", id));
  }
  if (encapsulation > static_cast<std::uint8_t>(wire::UbEncapsulation::kRawEthernet)) {
    return input_error(
        fmt::format("UB exchange blob: found encapsulation {}, expected 0 to 5", encapsulation));
  }
  if (recovery > static_cast<std::uint8_t>(LossRecovery::kSelective)) {
    return input_error(fmt::format("UB exchange blob: found loss recovery {}, expected 0 or 1", recovery));
  }
  if (service == 0 || service > static_cast<std::uint8_t>(engine::ServiceMode::kUnordered)) {
    return input_error(fmt::format("UB exchange blob: found service mode {}, expected 1 to 4", service));
  }
  if (transport != static_cast<std::uint32_t>(engine::TransportMode::kReliable) &&
      transport != static_cast<std::uint32_t>(engine::TransportMode::kCompact)) {
    return input_error(
        fmt::format("UB exchange blob: found transport {}, expected 1 (rtp) or 2 (ctp)", transport));
  }
  if (target != static_cast<std::uint8_t>(wire::TargetContextType::kJetty) &&
      target != static_cast<std::uint8_t>(wire::TargetContextType::kJettyGroup)) {
    return input_error(
        fmt::format("UB exchange blob: found target type {}, expected 1 (jetty) or 2 (jetty group)", target));
  }
  if (!std::has_single_bit(blob.mtu) || blob.mtu < 64 || blob.mtu > 8192) {
    return input_error(
        fmt::format("UB exchange blob: found MTU {}, expected a power of two from 64 to 8192", blob.mtu));
  }
  if (!std::has_single_bit(blob.receive_window) || blob.receive_window < 64 ||
      blob.receive_window > (1U << 22U)) {
    return input_error(
        fmt::format("UB exchange blob: found receive window {}, expected a power of two from 64 to 2^22",
                    blob.receive_window));
  }
  if (blob.first_psn > wire::kPsnMask) {
    return input_error(fmt::format("UB exchange blob: found first PSN {}, expected 24 bits", blob.first_psn));
  }
  if (blob.inbound_messages == 0)
    return input_error("UB exchange blob: found 0 inbound messages, expected 1 or more");
  if (blob.channels == 0 || blob.channels > kChannelsMax) {
    return input_error(
        fmt::format("UB exchange blob: found {} channels, expected 1 to {}", blob.channels, kChannelsMax));
  }
  blob.encapsulation = static_cast<wire::UbEncapsulation>(encapsulation);
  blob.recovery = static_cast<LossRecovery>(recovery);
  blob.service = static_cast<engine::ServiceMode>(service);
  blob.transport = static_cast<engine::TransportMode>(transport);
  blob.target = static_cast<wire::TargetContextType>(target);
  return blob;
}

}  // namespace wharf::ub
