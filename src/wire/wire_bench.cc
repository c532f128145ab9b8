// SPDX-License-Identifier: Apache-2.0
// How long headers and checksums take: parse and build of whole header stacks without ICRC (aim: 15 ns each),
// and the ICRC beside zlib's CRC-32 of the same bytes in the same run. Each loop prints what it computed as a
// counter.
#include <benchmark/benchmark.h>
#include <isa-l/crc.h>
#include <zlib.h>

#include <array>
#include <vector>

#include "wire/frame.h"
#include "wire/icrc.h"

namespace wharf::wire {
namespace {

constexpr std::size_t kPackets = 64;
constexpr WireOptions kNoChecksum = [] {
  WireOptions options{false, false};
  options.uet.verify_crc = false;
  return options;
}();

Packet ub_write() {
  Packet packet = ub_packet();
  packet.destination.number = 1;
  packet.entropy = 0xc123;
  packet.ub.rtph.source_tpn = 5;
  packet.ub.rtph.destination_tpn = 6;
  packet.ub.rtph.last = true;
  Btah& btah = use_request(packet.ub);
  btah.opcode = TaOpcode::kWrite;
  btah.requester_id = 9;
  packet.ub.extension.maetah = Maetah{0x7f0000001000, 0x123, 64};
  return packet;
}

Packet roce_write() {
  Packet packet = roce_packet();
  packet.destination.number = 1;
  packet.entropy = 0xc123;
  packet.roce.bth.opcode = RoceOpcode::kRcWriteOnly;
  packet.roce.bth.destination_queue_pair = 0x12;
  packet.roce.reth = Reth{0x7f0000001000, 0x1234, 64};
  return packet;
}

Packet roce_read() {
  Packet packet = roce_write();
  packet.roce.bth.opcode = RoceOpcode::kRcReadRequest;
  return packet;
}

Packet uet_write() {
  Packet packet = uet_packet();
  packet.destination.number = 1;
  packet.entropy = 0xc123;
  UetRequest& pds = use_pds_request(packet.uet, UetPdsType::kRudRequest);
  pds.clear_psn_offset = -1;
  pds.source_pdcid = 0x4001;
  pds.destination_pdcid = 0x8001;
  UetSesRequest& ses = use_ses_request(packet.uet, UetNextHeader::kRequestStandard, UetOpcode::kWrite);
  ses.message_id = 1;
  ses.job_id = 101;
  ses.memory_key = 0xacce5;
  ses.request_length = 64;
  return packet;
}

Packet uet_ack() {
  Packet packet = uet_packet();
  packet.destination.number = 1;
  packet.traffic_class = TrafficClass::kAcknowledgement;
  use_ack(packet.uet);
  packet.uet.ack.source_pdcid = 0x8001;
  packet.uet.ack.destination_pdcid = 0x4001;
  use_ack_congestion(packet.uet).byte_units = 100;
  use_ses_response(packet.uet, UetNextHeader::kResponse).message_id = 1;
  return packet;
}

/// Headers of many packets that differ in PSN, so that nothing is hoisted out of the loop.
std::vector<Packet> packets_like(const Packet& model) {
  std::vector<Packet> packets(kPackets, model);
  for (std::uint32_t i = 0; i < kPackets; ++i) {
    packets[i].ub.rtph.psn = model.protocol == Protocol::kUb ? i : packets[i].ub.rtph.psn;
    if (model.protocol == Protocol::kRoce) packets[i].roce.bth.psn = i;
    // The cumulative PSN of an acknowledgement stands in the same place.
    if (model.protocol == Protocol::kUet) packets[i].uet.request.psn = i;
  }
  return packets;
}

/// What encode() takes for a packet without data, from the Ethernet header on, without ICRC.
void build_frame(benchmark::State& state, const Packet& model) {
  const std::vector<Packet> packets = packets_like(model);
  std::array<std::byte, 512> frame{};
  std::size_t i = 0;
  std::uint64_t bytes = 0;
  for (auto _ : state) {
    bytes += encode(packets[i++ % kPackets], frame, kNoChecksum);
    benchmark::DoNotOptimize(frame.data());
    benchmark::ClobberMemory();
  }
  state.counters["frame_bytes"] = static_cast<double>(bytes) / static_cast<double>(state.iterations());
}

void parse_frame(benchmark::State& state, const Packet& model) {
  const std::vector<Packet> packets = packets_like(model);
  std::vector<std::array<std::byte, 512>> frames(kPackets);
  std::vector<std::size_t> lengths(kPackets);
  for (std::size_t i = 0; i < kPackets; ++i) lengths[i] = encode(packets[i], frames[i], kNoChecksum);
  std::size_t i = 0;
  std::uint64_t good = 0;
  Packet packet;
  for (auto _ : state) {
    const std::size_t at = i++ % kPackets;
    good += decode({frames[at].data(), lengths[at]}, LinkType::kEthernet, packet, kNoChecksum) ==
            DropReason::kNone;
    benchmark::DoNotOptimize(&packet);
    benchmark::ClobberMemory();
  }
  state.counters["decoded"] = static_cast<double>(good) / static_cast<double>(state.iterations());
}

/// The same from the transport header on: what a UDP socket carries.
void build_datagram(benchmark::State& state, const Packet& model) {
  const std::vector<Packet> packets = packets_like(model);
  std::array<std::byte, 512> datagram{};
  std::size_t i = 0;
  std::uint64_t bytes = 0;
  for (auto _ : state) {
    bytes += encode_datagram(packets[i++ % kPackets], datagram, kNoChecksum);
    benchmark::DoNotOptimize(datagram.data());
    benchmark::ClobberMemory();
  }
  state.counters["bytes"] = static_cast<double>(bytes) / static_cast<double>(state.iterations());
}

void parse_datagram(benchmark::State& state, const Packet& model) {
  const std::vector<Packet> packets = packets_like(model);
  std::vector<std::array<std::byte, 512>> datagrams(kPackets);
  std::vector<std::size_t> lengths(kPackets);
  for (std::size_t i = 0; i < kPackets; ++i)
    lengths[i] = encode_datagram(packets[i], datagrams[i], kNoChecksum);
  std::size_t i = 0;
  std::uint64_t good = 0;
  Packet packet = model;
  for (auto _ : state) {
    const std::size_t at = i++ % kPackets;
    good += decode_datagram({datagrams[at].data(), lengths[at]}, packet, kNoChecksum) == DropReason::kNone;
    benchmark::DoNotOptimize(&packet);
    benchmark::ClobberMemory();
  }
  state.counters["decoded"] = static_cast<double>(good) / static_cast<double>(state.iterations());
}

const auto kUbWrite = ub_write();
const auto kRoceWrite = roce_write();
const auto kRoceRead = roce_read();
const auto kUetWrite = uet_write();
const auto kUetAck = uet_ack();
BENCHMARK_CAPTURE(build_datagram, uet_write, kUetWrite);
BENCHMARK_CAPTURE(parse_datagram, uet_write, kUetWrite);
BENCHMARK_CAPTURE(build_datagram, uet_ack_cc, kUetAck);
BENCHMARK_CAPTURE(parse_datagram, uet_ack_cc, kUetAck);
BENCHMARK_CAPTURE(build_frame, uet_write, kUetWrite);
BENCHMARK_CAPTURE(parse_frame, uet_write, kUetWrite);
BENCHMARK_CAPTURE(build_frame, uet_ack_cc, kUetAck);
BENCHMARK_CAPTURE(parse_frame, uet_ack_cc, kUetAck);
BENCHMARK_CAPTURE(build_datagram, ub_write, kUbWrite);
BENCHMARK_CAPTURE(parse_datagram, ub_write, kUbWrite);
BENCHMARK_CAPTURE(build_datagram, roce_write, kRoceWrite);
BENCHMARK_CAPTURE(parse_datagram, roce_write, kRoceWrite);
BENCHMARK_CAPTURE(build_datagram, roce_read, kRoceRead);
BENCHMARK_CAPTURE(parse_datagram, roce_read, kRoceRead);
BENCHMARK_CAPTURE(build_frame, ub_write, kUbWrite);
BENCHMARK_CAPTURE(parse_frame, ub_write, kUbWrite);
BENCHMARK_CAPTURE(build_frame, roce_write, kRoceWrite);
BENCHMARK_CAPTURE(parse_frame, roce_write, kRoceWrite);
BENCHMARK_CAPTURE(build_frame, roce_read, kRoceRead);
BENCHMARK_CAPTURE(parse_frame, roce_read, kRoceRead);

/// IP header, UDP header, BTH, RETH and `payload` bytes.
std::vector<std::byte> icrc_input(std::size_t payload) {
  std::vector<std::byte> bytes(28 + 28 + payload);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 31 + 7);
  bytes[0] = std::byte{0x45};
  return bytes;
}

void roce_icrc(benchmark::State& state) {
  const std::vector<std::byte> bytes = icrc_input(static_cast<std::size_t>(state.range(0)));
  std::uint32_t sum = 0;
  for (auto _ : state)
    benchmark::DoNotOptimize(sum ^= icrc(IpVersion::kV4, bytes.data(), std::span(bytes).subspan(28)));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes.size()));
}

void zlib_crc32(benchmark::State& state) {
  const std::vector<std::byte> bytes = icrc_input(static_cast<std::size_t>(state.range(0)));
  unsigned long sum = 0;
  for (auto _ : state)
    benchmark::DoNotOptimize(sum ^= ::crc32(kIcrcSeed, reinterpret_cast<const unsigned char*>(bytes.data()),
                                            static_cast<unsigned>(bytes.size())));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes.size()));
}

void isal_crc32(benchmark::State& state) {
  const std::vector<std::byte> bytes = icrc_input(static_cast<std::size_t>(state.range(0)));
  std::uint32_t sum = 0;
  for (auto _ : state)
    benchmark::DoNotOptimize(
        sum ^=
        crc32_gzip_refl(kIcrcSeed, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes.size()));
}
BENCHMARK(roce_icrc)->Arg(0)->Arg(64)->Arg(1024)->Arg(4096);
BENCHMARK(zlib_crc32)->Arg(0)->Arg(64)->Arg(1024)->Arg(4096);
BENCHMARK(isal_crc32)->Arg(0)->Arg(64)->Arg(1024)->Arg(4096);

}  // namespace
}  // namespace wharf::wire

BENCHMARK_MAIN();
