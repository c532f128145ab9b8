// SPDX-License-Identifier: Apache-2.0
// UB-Base 2.0.1 chapter 7 and the URMA API (as public documents show them): statuses, memory protection,
// receiver not ready, segmentation, and what each packet of a transaction carries.
#include <array>
#include <functional>

#include "base/bytes.h"
#include "tests/support/ub_world.h"
#include "wire/packet.h"

namespace wharf::ub {
namespace {

using verbs::CompletionStatus;
using verbs::Verb;

class Transactions : public ::testing::Test {
 protected:
  World& world() {
    if (!world_) make({});
    return *world_;
  }
  void make(UbConfig config, test::EnginePairOptions options = {}) {
    world_ = std::make_unique<World>(config, options);
    world_->pair().wire().options().drop_if = [this](const wire::Packet& packet) {
      if (packet.ub.transport == wire::UbTransport::kRtp &&
          packet.ub.rtph.opcode == wire::TpOpcode::kReliable) {
        (packet.ub.transaction == wire::UbTransaction::kRequest ? requests_ : responses_).push_back(packet);
      }
      return false;
    };
  }
  std::uint64_t target_accesses() {
    const auto& memory = world_->pair().memory(1);
    return memory.count(engine::AccessKind::kRead) + memory.count(engine::AccessKind::kWrite) +
           memory.count(engine::AccessKind::kAtomic);
  }
  /// The request ends in `status`, no memory of the target is touched, and the channel works afterwards.
  void refused(const verbs::WorkRequest& request, CompletionStatus status) {
    const std::uint64_t before = target_accesses();
    EXPECT_EQ(world_->finish(request).status, status) << verbs::name(request.verb);
    EXPECT_EQ(target_accesses(), before);
    EXPECT_TRUE(world_->finish(world_->request(Verb::kRead, 64)).ok());
  }

  std::unique_ptr<World> world_;
  std::vector<wire::Packet> requests_;
  std::vector<wire::Packet> responses_;
};

// URMA, segments: TokenID exists, TokenValue matches, right, range, in this order; memory stays untouched.
TEST_F(Transactions, MemoryIsProtected) {
  auto& w = world();
  const auto read_only = *w.engine(1).register_segment(
      w.now(), {.base = World::kRemote, .length = 4096, .rights = verbs::kReadOnly, .token_value = 3});
  for (const Verb verb : {Verb::kRead, Verb::kWrite, Verb::kFetchAdd, Verb::kCompareSwap}) {
    auto request = w.request(verb, 8);
    request.remote.token.id += 100;
    refused(request, CompletionStatus::kRemoteAccess);
    request = w.request(verb, 8);
    request.remote.token.value ^= 1;
    refused(request, CompletionStatus::kRemoteAccess);
    request = w.request(verb, 8);
    request.remote.token.value = 0;
    refused(request, CompletionStatus::kRemoteAccess);
    request = w.request(verb, 8);
    request.remote.address = World::kBase - 8;
    refused(request, CompletionStatus::kRemoteAccess);
    request.remote.address = World::kBase + World::kSize;
    refused(request, CompletionStatus::kRemoteAccess);
    request.remote.address = ~std::uint64_t{7};  // Address plus length wraps.
    refused(request, CompletionStatus::kRemoteAccess);
    if (verb == Verb::kRead) continue;
    request = w.request(verb, 8);
    request.remote.token = read_only;
    refused(request, CompletionStatus::kRemoteAccess);
  }
}

TEST_F(Transactions, AccessesEndExactlyAtTheEndOfTheSegment) {
  auto& w = world();
  auto request = w.request(Verb::kWrite, 64);
  request.remote.address = World::kBase + World::kSize - 64;
  EXPECT_TRUE(w.finish(request).ok());
  request.remote.address += 1;
  refused(request, CompletionStatus::kRemoteAccess);
  request = w.request(Verb::kRead, 0);
  request.remote.address = World::kBase + World::kSize;
  EXPECT_TRUE(w.finish(request).ok());
}

TEST_F(Transactions, WithoutAPolicyNoValueIsChecked) {
  auto& w = world();
  const auto open = *w.engine(1).register_segment(
      w.now(), {.base = World::kRemote, .length = 64, .token_value = 3, .check_value = false});
  auto request = w.request(Verb::kWrite, 8);
  request.remote.token = {open.id, 0};
  EXPECT_TRUE(w.finish(request).ok());
  EXPECT_FALSE(requests_.back().ub.request.token_value_present);
}

TEST_F(Transactions, ADeregisteredTokenIsDead) {
  auto& w = world();
  const auto token =
      *w.engine(1).register_segment(w.now(), {.base = World::kRemote, .length = 64, .token_value = 3});
  auto request = w.request(Verb::kWrite, 8);
  request.remote.token = token;
  EXPECT_TRUE(w.finish(request).ok());
  ASSERT_TRUE(w.engine(1).deregister_segment(w.now(), token).ok());
  EXPECT_FALSE(w.engine(1).deregister_segment(w.now(), token).ok());
  refused(request, CompletionStatus::kRemoteAccess);
}

// 7.3: atomics are naturally aligned.
TEST_F(Transactions, MisalignedAtomicsAreRefused) {
  world();
  refused(world().request(Verb::kFetchAdd, 8, 4), CompletionStatus::kRemoteAccess);
  refused(world().request(Verb::kFetchAdd, 4, 2), CompletionStatus::kRemoteAccess);
  refused(world().request(Verb::kCompareSwap, 16, 8), CompletionStatus::kRemoteAccess);
  EXPECT_TRUE(world().finish(world().request(Verb::kFetchAdd, 4, 4)).ok());
}

// 7.3, RSPST 3 and RSPINFO: an unknown jetty, a wrong notify token, an opcode that nobody knows.
TEST_F(Transactions, UnknownJettyIsRefused) {
  auto& w = world();
  auto blob = *w.engine(1).export_queue(w.queue(1));
  blob[11] = std::byte{200};  // Another jetty id.
  const auto nobody = *w.engine(0).connect(w.now(), w.queue(0), blob);
  auto request = w.request(Verb::kSend, 8);
  request.peer = nobody;
  refused(request, CompletionStatus::kRemoteOperation);
  EXPECT_EQ(responses_[0].ub.response.status, wire::UbResponseStatus::kError);
  EXPECT_EQ(responses_[0].ub.response.info, static_cast<std::uint8_t>(wire::UbResponseInfo::kJettyState));
}

TEST_F(Transactions, AWrongNotifyTokenIsRefused) {
  auto request = world().request(Verb::kWriteNotify, 64);
  request.notify = {World::kRemote + 4096, {world().token(1).id, 1}};
  EXPECT_EQ(world().finish(request).status, CompletionStatus::kRemoteAccess);
  EXPECT_EQ(world().pair().memory(1).load64(World::kRemote + 4096), 0u);
}

TEST_F(Transactions, UnknownOpcodesAreAnswered) {
  auto& w = world();
  EXPECT_TRUE(w.finish(w.request(Verb::kWrite, 8)).ok());
  for (const unsigned opcode : {0x10u, 0x16u, 0x19u, 0x3fu, 0x40u, 0xffu}) {
    wire::Packet packet = requests_[0];
    packet.payload = {};
    packet.ub.request.opcode = static_cast<wire::TaOpcode>(opcode);
    packet.ub.rtph.psn = wire::psn_add(packet.ub.rtph.psn, 1);
    requests_[0].ub.rtph.psn = packet.ub.rtph.psn;
    packet.ub.rtph.tpmsn = packet.ub.rtph.psn;
    w.pair().inject(1, packet);
    w.run();
    EXPECT_EQ(responses_.back().ub.response.status, wire::UbResponseStatus::kError) << opcode;
    EXPECT_EQ(responses_.back().ub.response.info, 1) << opcode;
  }
}

// 7.3, C.5: memory that is not there is retried like a receiver that is not ready, within bounds.
TEST_F(Transactions, PageFaultsAreRetriedAndThenGivenUp) {
  UbConfig config;
  config.page_fault_retry = 3;
  make(config);
  const auto hole = *world().engine(1).register_segment(
      world().now(), {.base = World::kBase + World::kSize, .length = 4096, .token_value = 1});
  for (const Verb verb : {Verb::kRead, Verb::kWrite, Verb::kFetchAdd}) {
    auto request = world().request(verb, 8);
    request.remote = {World::kBase + World::kSize, hole};
    const std::uint64_t retries = world().counters(0).page_fault_retries;
    EXPECT_EQ(world().finish(request).status, CompletionStatus::kRemoteAccess);
    EXPECT_EQ(world().counters(0).page_fault_retries, retries + 3);
  }
  EXPECT_TRUE(world().finish(world().request(Verb::kRead, 64)).ok());
  EXPECT_EQ(world().pair().pool().in_use(), 0u);
}

TEST_F(Transactions, LocalFaultsAreTheInitiatorsOwn) {
  world();
  auto request = world().request(Verb::kWrite, 64);
  request.local[0].address = World::kBase - 0x1000;
  EXPECT_EQ(world().finish(request).status, CompletionStatus::kLocalAccess);
  EXPECT_TRUE(requests_.back().ub.request.poison);
  EXPECT_EQ(world().pair().memory(1).count(engine::AccessKind::kWrite), 0u);
  request = world().request(Verb::kRead, 64);
  request.local[0].address = World::kBase - 0x1000;
  EXPECT_EQ(world().finish(request).status, CompletionStatus::kLocalAccess);
  EXPECT_TRUE(world().finish(world().request(Verb::kWrite, 64)).ok());
}

// 7.3: RNR delays as advertised and retries as often as the initiator wants.
TEST_F(Transactions, ReceiverNotReadyIsRetriedAfterTheAdvertisedDelay) {
  UbConfig config;
  config.min_rnr_timer = 5;
  make(config);
  const TimePs start = world().now();
  EXPECT_EQ(world().post(world().request(Verb::kSend, 64)), engine::PostStatus::kOk);
  world().pair().run_to(start + microseconds(100));
  EXPECT_EQ(world().counters(1).receiver_not_ready_sent, 2u);
  EXPECT_TRUE(world().pair().host(0).completions.empty());
  world().pair().post_receive(1, world().queue(1), [] {
    verbs::ReceiveRequest receive;
    receive.local_count = 1;
    receive.local[0] = {World::kRemote, 64};
    return receive;
  }());
  world().run();
  EXPECT_TRUE(world().pair().host(0).completions.at(0).ok());
  EXPECT_EQ(requests_.size(), 3u);
  EXPECT_EQ(requests_[0].ub.request.tassn, requests_[2].ub.request.tassn);
  EXPECT_TRUE(requests_[2].ub.request.retry);
  EXPECT_FALSE(
      responses_[0].ub.response.poison);  // Its RSPINFO is a timer code, whatever the number means elsewhere.
  EXPECT_GE(world().now() - start, microseconds(120));
}

TEST_F(Transactions, ReceiverNotReadyEndsAfterRnrRetry) {
  UbConfig config;
  config.min_rnr_timer = 1;
  config.rnr_retry = 2;
  make(config);
  EXPECT_EQ(world().finish(world().request(Verb::kSend, 64)).status, CompletionStatus::kReceiverNotReady);
  EXPECT_EQ(requests_.size(), 3u);
  auto immediate = world().request(Verb::kWriteImm, 64);
  EXPECT_EQ(world().finish(immediate).status, CompletionStatus::kReceiverNotReady);
  EXPECT_TRUE(world().finish(world().request(Verb::kWrite, 64)).ok());
}

// 7.3, rule 6: a message that does not fit its entry fails at both ends.
TEST_F(Transactions, SendLongerThanItsEntry) {
  world();
  verbs::ReceiveRequest receive{.id = 4, .local_count = 1};
  receive.local[0] = {World::kRemote, 63};
  world().pair().post_receive(1, world().queue(1), receive);
  EXPECT_EQ(world().finish(world().request(Verb::kSend, 64)).status, CompletionStatus::kRemoteOperation);
  ASSERT_EQ(world().pair().host(1).completions.size(), 1u);
  EXPECT_EQ(world().pair().host(1).completions[0].status, CompletionStatus::kLocalLength);
  EXPECT_EQ(world().pair().memory(1).count(engine::AccessKind::kWrite), 0u);
}

// 7.3, RSPST 3: receive buffers that are not there are the receiver's affair. The sender does not repeat, and
// one entry is used up.
TEST_F(Transactions, AReceiveBufferThatIsNotThereEndsTheSend) {
  world();
  for (std::uint64_t id = 1; id <= 3; ++id) {
    verbs::ReceiveRequest receive{.id = id, .local_count = 1};
    receive.local[0] = {World::kBase - 0x1000, 64};
    world().pair().post_receive(1, world().queue(1), receive);
  }
  EXPECT_EQ(world().finish(world().request(Verb::kSend, 64)).status, CompletionStatus::kRemoteOperation);
  ASSERT_EQ(world().pair().host(1).completions.size(), 1u);
  EXPECT_EQ(world().pair().host(1).completions[0].id, 1u);
  EXPECT_EQ(world().pair().host(1).completions[0].status, CompletionStatus::kLocalAccess);
  EXPECT_EQ(world().counters(0).page_fault_retries, 0u);
}

// 7.3, Poison: data that is known to be bad is no success, and is not placed.
TEST_F(Transactions, APoisonedReadResponseIsAnError) {
  world().pair().host(1).plugged = false;
  EXPECT_EQ(world().post(world().request(Verb::kRead, 64)), engine::PostStatus::kOk);
  wire::Packet response = requests_.back();
  const wire::Packet request = response;
  std::swap(response.source, response.destination);
  std::swap(response.ub.rtph.source_tpn, response.ub.rtph.destination_tpn);
  auto& header = wire::use_response(response.ub);
  header.opcode = wire::TaOpcode::kReadResponse;
  header.tassn = request.ub.request.tassn;
  header.requester_id = request.ub.request.requester_id;
  header.poison = true;
  response.payload = wire::pattern_payload(1, 0, 64);
  world().pair().inject(0, response);
  wire::Packet ack = response;
  ack.ub.rtph.opcode = wire::TpOpcode::kAck;
  ack.ub.transaction = wire::UbTransaction::kNone;
  ack.payload = {};
  world().pair().inject(0, ack);
  ASSERT_EQ(world().pair().host(0).completions.size(), 1u) << world().pair().waiting_report();
  EXPECT_EQ(world().pair().host(0).completions[0].status, CompletionStatus::kRemotePoison);
  EXPECT_EQ(world().pair().memory(0).load64(World::kLocal), 0u);
}

TEST_F(Transactions, APoisonedRequestIsRefusedAndNotPlaced) {
  EXPECT_TRUE(world().finish(world().request(Verb::kWrite, 64)).ok());
  wire::Packet poisoned = requests_.back();
  ++poisoned.ub.rtph.psn;
  ++poisoned.ub.request.tassn;
  poisoned.ub.request.poison = true;
  poisoned.payload = wire::pattern_payload(1, 0, 64);
  const std::uint64_t writes = world().pair().memory(1).count(engine::AccessKind::kWrite);
  world().pair().inject(1, poisoned);
  world().run();
  EXPECT_EQ(world().pair().memory(1).count(engine::AccessKind::kWrite), writes);
  EXPECT_EQ(responses_.back().ub.response.info, static_cast<std::uint8_t>(wire::UbResponseInfo::kPoison));
}

// 7.2: how long its own segments are says nothing about those of others, up to 64 KiB.
TEST_F(Transactions, ATargetServesReadsOfAnySegmentLength) {
  UbConfig config;
  config.segment_bytes = 4096;
  make(config);
  EXPECT_TRUE(world().finish(world().request(Verb::kRead, 64)).ok());
  wire::Packet request = requests_.back();
  for (const std::uint32_t length : {8192u, 65'536u, 65'537u}) {
    request.ub.rtph.psn = wire::psn_add(request.ub.rtph.psn, 1);
    request.ub.rtph.tpmsn = request.ub.rtph.psn;
    request.ub.extension.maetah.length = length;
    world().pair().inject(1, request);
    world().run();
    EXPECT_EQ(responses_.back().ub.response.status,
              length <= 65'536 ? wire::UbResponseStatus::kSuccess : wire::UbResponseStatus::kError);
  }
  EXPECT_EQ(responses_.back().ub.response.info, static_cast<std::uint8_t>(wire::UbResponseInfo::kLength));
}

// C: Prefetch_tgt is a hint; it touches nothing and never fails.
TEST_F(Transactions, APrefetchAlwaysSucceeds) {
  EXPECT_TRUE(world().finish(world().request(Verb::kRead, 64)).ok());
  const std::uint64_t before = target_accesses();
  wire::Packet request = requests_.back();
  request.ub.request.opcode = wire::TaOpcode::kPrefetch;
  for (const std::uint32_t token : {world().token(1).id, 0xfffffu}) {
    request.ub.rtph.psn = wire::psn_add(request.ub.rtph.psn, 1);
    request.ub.rtph.tpmsn = request.ub.rtph.psn;
    request.ub.extension.maetah.token_id = token;
    world().pair().inject(1, request);
    world().run();
    EXPECT_EQ(responses_.back().ub.response.status, wire::UbResponseStatus::kSuccess);
    EXPECT_EQ(responses_.back().ub.response.opcode, wire::TaOpcode::kTaack);
  }
  EXPECT_EQ(target_accesses(), before);
}

// C.1: Write_with_be and Writeback_with_be touch the enabled bytes alone, and are refused as Writes are.
TEST_F(Transactions, WritesWithByteEnablesTouchTheseBytesAlone) {
  auto& w = world();
  EXPECT_TRUE(w.finish(w.request(Verb::kWrite, 8)).ok());
  wire::Packet packet = requests_.back();
  packet.ub.extension.maetah.address = World::kRemote;
  std::array<std::byte, 32 + 256> bytes{};
  const auto inject = [&](wire::TaOpcode opcode, std::uint32_t length, std::uint32_t payload) {
    packet.ub.request.opcode = opcode;
    packet.ub.rtph.psn = packet.ub.rtph.tpmsn = wire::psn_add(packet.ub.rtph.psn, 1);
    packet.ub.extension.maetah.length = length;
    packet.payload = wire::bytes_payload(std::span(bytes).first(payload));
    w.pair().inject(1, packet);
    w.run();
    EXPECT_EQ(responses_.back().ub.response.opcode, wire::TaOpcode::kTaack);
    return responses_.back().ub.response;
  };
  const auto word = [&](std::uint64_t at) { return w.pair().memory(1).load64(World::kRemote + at); };
  for (const auto opcode : {wire::TaOpcode::kWriteByteEnable, wire::TaOpcode::kWritebackByteEnable}) {
    const std::byte value{static_cast<std::uint8_t>(opcode)};
    bytes.fill(value);
    std::array<std::uint64_t, 3> before = {word(0), word(8), word(56)};
    store_le64(bytes.data(), 0x8000'0000'0000'0081U);  // Bytes 0, 7 and 63.
    EXPECT_EQ(inject(opcode, 64, 8 + 64).status, wire::UbResponseStatus::kSuccess);
    const std::uint64_t low = std::to_integer<std::uint64_t>(value);
    const std::uint64_t high = low << 56U;
    EXPECT_EQ(word(0), (before[0] & 0x00ff'ffff'ffff'ff00U) | low | high);
    EXPECT_EQ(word(8), before[1]);
    EXPECT_EQ(word(56), (before[2] & 0x00ff'ffff'ffff'ffffU) | high);

    const std::uint64_t touched = target_accesses();
    store_le64(bytes.data(), 0);
    EXPECT_EQ(inject(opcode, 64, 8 + 64).status, wire::UbResponseStatus::kSuccess);  // Nothing is enabled.
    const auto refused_for = [&](std::uint32_t length, std::uint32_t payload, wire::UbResponseInfo info) {
      const wire::Atah answer = inject(opcode, length, payload);
      EXPECT_EQ(answer.status, wire::UbResponseStatus::kError) << length;
      EXPECT_EQ(answer.info, static_cast<std::uint8_t>(info)) << length;
    };
    bytes.fill(std::byte{0x55});
    refused_for(64, 64, wire::UbResponseInfo::kLength);            // No room for the mask.
    refused_for(256, 32 + 256, wire::UbResponseInfo::kLength);     // 128 single bytes.
    refused_for(0xe38e'38e0, 256, wire::UbResponseInfo::kAccess);  // As long as the segment is not.
    packet.ub.extension.token_value ^= 1;
    refused_for(64, 8 + 64, wire::UbResponseInfo::kAccess);
    packet.ub.extension.token_value ^= 1;
    EXPECT_EQ(target_accesses(), touched);
  }
}

// A queue's peers are its own.
TEST_F(Transactions, PeersBelongToTheQueueThatImportedThem) {
  UbConfig config;
  config.retransmission = {.base = microseconds(10), .attempts_max = 1};
  World shared(config, {}, 2);
  EXPECT_FALSE(shared.engine(0).disconnect(shared.now(), shared.queue(0, 1), shared.peer(0, 0)).ok());
  auto request = shared.request(Verb::kWrite, 64);
  EXPECT_TRUE(shared.finish(request).ok());
  ASSERT_TRUE(shared.engine(0).destroy_queue(shared.now(), shared.queue(0, 0)).ok());
  request.peer = shared.peer(0, 1);
  shared.pair().host(1).plugged = false;
  EXPECT_EQ(shared.pair().post(0, shared.queue(0, 1), request), engine::PostStatus::kOk);
  shared.run();
  ASSERT_EQ(shared.pair().host(0).events.size(), 1u);  // None for the queue that is gone.
  EXPECT_EQ(shared.pair().host(0).events[0].queue, shared.queue(0, 1));
  EXPECT_TRUE(shared.engine(0).disconnect(shared.now(), shared.queue(0, 1), shared.peer(0, 1)).ok());
}

// B.3: an encapsulation addresses so many hosts; others are refused when the engine is made, and when it
// connects.
TEST_F(Transactions, HostsThatTheFramesCannotNameAreRefused) {
  using wire::UbEncapsulation;
  for (const auto encapsulation : {UbEncapsulation::kRawEthernet, UbEncapsulation::kCna24OnLink}) {
    UbConfig config;
    config.encapsulation = encapsulation;
    config.mtu = 256;
    config.host = {65'535};
    EXPECT_TRUE(validate(config).ok());
    config.host = {65'536};
    EXPECT_FALSE(validate(config).ok());
  }
  UbConfig config;
  config.host = {65'536};
  EXPECT_TRUE(validate(config).ok());
}

// 7.2: segments of 64 KiB with consecutive TASSNs, packets of one MTU; each packet describes exactly its own
// bytes.
TEST_F(Transactions, SegmentsAndPacketsDescribeThemselves) {
  auto& w = world();
  w.pair().post_receive(1, w.queue(1), {});
  auto request = w.request(Verb::kWriteImm, 140'000);
  EXPECT_TRUE(w.finish(request).ok());
  ASSERT_EQ(requests_.size(), 16u + 16u + 3u);
  std::uint64_t address = request.remote.address;
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    const wire::UbPacket& ub = requests_[i].ub;
    EXPECT_EQ(ub.request.tassn, i / 16);
    EXPECT_EQ(ub.rtph.tpmsn, i / 16);
    EXPECT_EQ(ub.rtph.last, i % 16 == 15 || i == 34);
    EXPECT_EQ(ub.request.opcode, i < 32 ? wire::TaOpcode::kWrite : wire::TaOpcode::kWriteImmediate);
    EXPECT_EQ(ub.extension.maetah.address, address);
    EXPECT_EQ(ub.extension.maetah.length, requests_[i].payload.length);
    EXPECT_EQ(ub.request.requester_id, w.queue(0));
    address += requests_[i].payload.length;
  }
  // One TAACK for each segment, with the TASSN and requester of the request.
  ASSERT_EQ(responses_.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(responses_[i].ub.response.opcode, wire::TaOpcode::kTaack);
    EXPECT_EQ(responses_[i].ub.response.tassn, i);
    EXPECT_EQ(responses_[i].ub.response.requester_id, w.queue(0));
  }
}

// 7.3: worked example, Write of 10 KB: three packets, three TPACKs, one TAACK with a PSN of its own, its
// TPACK.
TEST_F(Transactions, WriteOfTenKilobytesPacketByPacket) {
  EXPECT_TRUE(world().finish(world().request(Verb::kWrite, 10'000)).ok());
  EXPECT_EQ(world().counters(0).data_packets_sent, 3u);
  EXPECT_EQ(world().counters(1).acknowledgements_sent, 3u);
  EXPECT_EQ(world().counters(1).data_packets_sent, 1u);
  EXPECT_EQ(world().counters(0).acknowledgements_sent, 1u);
}

// B.12: header bytes of a P1 Write over UDP and of a P2 Write.
TEST_F(Transactions, HeaderBytesAreThoseOfTheProfile) {
  EXPECT_TRUE(world().finish(world().request(Verb::kWrite, 64)).ok());
  // Ethernet 14, IP 20, UDP 8, RTPH 16, BTAH 8, MAETAH 16, TVETAH 4, FCS 4.
  EXPECT_EQ(requests_[0].header_bytes, 90u);
  requests_.clear();
  make({.encapsulation = wire::UbEncapsulation::kRawEthernet, .mtu = 256});
  EXPECT_TRUE(world().finish(world().request(Verb::kWrite, 64)).ok());
  // Ethernet 14, NTH 12, RTPH 16, BTAH 16, MAETAH 16, TVETAH 4, FCS 4.
  EXPECT_EQ(requests_[0].header_bytes, 82u);
}

// OpenURMA: its headers have room for one operand of eight bytes; what needs more is refused before it is
// sent.
TEST_F(Transactions, OpenUrmaHeadersLimitAtomics) {
  make({.encapsulation = wire::UbEncapsulation::kRawEthernet, .mtu = 256});
  EXPECT_EQ(world().post(world().request(Verb::kCompareSwap, 8)), engine::PostStatus::kUnsupported);
  EXPECT_EQ(world().post(world().request(Verb::kFetchAdd, 4)), engine::PostStatus::kBadRequest);
  EXPECT_TRUE(world().finish(world().request(Verb::kFetchAdd, 8)).ok());
}

// 7.3, rule 5: a response of another length ends in REM_RESP_LEN_ERR; its bytes do not run over the buffer.
TEST_F(Transactions, ResponsesOfWrongLengthAreNoticed) {
  for (const std::uint32_t length : {32u, 128u}) {
    make({});
    world().pair().host(1).plugged = false;
    EXPECT_EQ(world().post(world().request(Verb::kRead, 64)), engine::PostStatus::kOk);
    const wire::Packet& request = requests_.back();
    wire::Packet response = request;
    response.source = request.destination;
    response.destination = request.source;
    std::swap(response.ub.rtph.source_tpn, response.ub.rtph.destination_tpn);
    auto& header = wire::use_response(response.ub);
    header.opcode = wire::TaOpcode::kReadResponse;
    header.tassn = request.ub.request.tassn;
    header.requester_id = request.ub.request.requester_id;
    response.payload = wire::pattern_payload(1, 0, length);
    world().pair().inject(0, response);
    wire::Packet ack = response;
    ack.ub.rtph.opcode = wire::TpOpcode::kAck;
    ack.ub.transaction = wire::UbTransaction::kNone;
    ack.payload = {};
    world().pair().inject(0, ack);
    ASSERT_EQ(world().pair().host(0).completions.size(), 1u) << world().pair().waiting_report();
    EXPECT_EQ(world().pair().host(0).completions[0].status, CompletionStatus::kResponseLength);
    EXPECT_EQ(world().pair().memory(0).load64(World::kLocal + 64), 0u);
    requests_.clear();
  }
}

// Queue depth: what is posted and not yet polled is bounded.
TEST_F(Transactions, FullQueuesSaySo) {
  auto& w = world();
  int posted = 0;
  while (w.engine(0).post(w.now(), w.queue(0), w.request(Verb::kWrite, 8), engine::Submission::kInHand) ==
         engine::PostStatus::kOk) {
    ++posted;
  }
  EXPECT_EQ(posted, 128);
  w.pair().drain(0);
  w.run();
  EXPECT_EQ(w.pair().host(0).completions.size(), 128u);
  EXPECT_EQ(w.post(w.request(Verb::kWrite, 8)), engine::PostStatus::kOk);
  // What is outstanding is flushed, and goes with the queue.
  EXPECT_TRUE(w.engine(0).destroy_queue(w.now(), w.queue(0)).ok());
  EXPECT_FALSE(w.engine(0).destroy_queue(w.now(), w.queue(0)).ok());
  w.run();
  EXPECT_EQ(w.post(w.request(Verb::kWrite, 8)), engine::PostStatus::kBadQueue);
}

// Jetties toward one host share one TP channel: one PSN space, one acknowledgement stream.
TEST_F(Transactions, JettiesShareTheChannel) {
  World shared({}, {}, 5);
  std::vector<wire::Psn> numbers;
  shared.pair().wire().options().drop_if = [&](const wire::Packet& packet) {
    if (packet.source.number == 0 && packet.ub.rtph.opcode == wire::TpOpcode::kReliable) {
      numbers.push_back(packet.ub.rtph.psn);
    }
    return false;
  };
  for (std::size_t queue = 0; queue < 5; ++queue) {
    auto request = shared.request(Verb::kWrite, 64);
    request.peer = shared.peer(0, queue);
    EXPECT_EQ(shared.pair().post(0, shared.queue(0, queue), request), engine::PostStatus::kOk);
  }
  shared.run();
  EXPECT_EQ(numbers, (std::vector<wire::Psn>{0, 1, 2, 3, 4}));
  EXPECT_EQ(shared.pair().host(0).completions.size(), 5u);
}

}  // namespace
}  // namespace wharf::ub
