// SPDX-License-Identifier: Apache-2.0
// Packets that lie: answers that are not those of the request which they name, requests with more data than
// they say. They change nothing. [UB-Base 2.0.1 7.3]
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "base/arena.h"
#include "base/check.h"
#include "engine/ub/ub_engine.h"
#include "tests/support/engine_pair.h"

namespace wharf::ub {
namespace {

using verbs::Verb;

constexpr std::uint64_t kBase = 0x10000;
constexpr std::uint64_t kRemote = kBase + 0x8000;

/// Host 0 has a jetty, and a peer on each of the hosts 1 and 2. Every packet is seen; some are lost.
class Star {
 public:
  explicit Star(test::EnginePairOptions options = {})
      : pair(three(std::move(options)), [&](auto host, auto& pool) {
          UbConfig config;
          config.mtu = 256;
          config.host = {host};
          arenas.emplace_back();
          return std::make_unique<UbEngine>(std::move(*UbEngine::create(config, pool, arenas.back())));
        }) {
    for (std::uint32_t host = 0; host < 3; ++host) {
      queues.push_back(*pair.engine(host).create_queue(kTimeZero, {}));
      tokens.push_back(*pair.engine(host).register_segment(
          kTimeZero, {.base = kBase, .length = 0x10000, .rights = verbs::kFullAccess, .token_value = 7}));
    }
    for (std::uint32_t host = 1; host < 3; ++host) {
      peers.push_back(
          *pair.engine(0).connect(kTimeZero, queues[0], *pair.engine(host).export_queue(queues[host])));
      static_cast<void>(pair.engine(host)
                            .connect(kTimeZero, queues[host], *pair.engine(0).export_queue(queues[0]))
                            .value());
    }
    pair.wire().options().drop_if = [this](const wire::Packet& packet) {
      sent.push_back(packet);
      return lose && lose(packet);
    };
  }

  /// Posts a request of host 0 to host 1 or 2.
  void post(Verb verb, std::uint32_t host, std::uint32_t length) {
    verbs::WorkRequest request;
    request.verb = verb;
    request.peer = peers[host - 1];
    request.remote = {kRemote, tokens[host]};
    request.length = verbs::is_atomic(verb) ? 0 : length;
    request.width = 8;
    request.local_count = 1;
    request.local[0] = {kBase, length};
    ASSERT_EQ(pair.post(0, queues[0], request), engine::PostStatus::kOk);
  }
  /// Posts a Write of `length` bytes to host 1, of which nothing arrives; its first packet.
  wire::Packet lost_write(std::uint32_t length) {
    const auto is_request = [](const wire::Packet& packet) {
      return packet.source.number == 0 && packet.ub.transaction == wire::UbTransaction::kRequest;
    };
    lose = is_request;
    post(Verb::kWrite, 1, length);
    pair.run_to(microseconds(1));
    const auto first = std::find_if(sent.begin(), sent.end(), is_request);
    WHARF_CHECK(first != sent.end());
    return *first;
  }
  /// The transaction responses that `host` has sent.
  std::vector<wire::Packet> responses(std::uint32_t host) const {
    std::vector<wire::Packet> some;
    for (const wire::Packet& packet : sent) {
      if (packet.source.number == host && packet.ub.transaction == wire::UbTransaction::kResponse)
        some.push_back(packet);
    }
    return some;
  }
  const auto& completions() { return pair.host(0).completions; }
  std::uint64_t dropped() { return pair.engine(0).counters().dropped_response; }

  std::deque<Arena> arenas;
  test::EnginePair<UbEngine> pair;
  std::vector<engine::QueueId> queues;
  std::vector<verbs::SegmentToken> tokens;
  std::vector<verbs::PeerId> peers;
  std::vector<wire::Packet> sent;
  std::function<bool(const wire::Packet&)> lose;

 private:
  static test::EnginePairOptions three(test::EnginePairOptions options) {
    options.hosts = 3;
    options.memory_base = kBase;
    options.memory_bytes = 0x10000;
    return options;
  }
};

bool from_target(const wire::Packet& packet) { return packet.source.number != 0; }

// What one host is asked, another does not answer, whatever numbers it guesses.
TEST(UbForgedAnswers, AHostAnswersWhatItWasAskedAlone) {
  for (const Verb verb : {Verb::kRead, Verb::kWrite, Verb::kFetchAdd}) {
    Star world;
    world.lose = from_target;
    world.post(verb, 1, 8);
    world.post(verb, 2, 8);
    world.pair.run_to(microseconds(2));
    ASSERT_FALSE(world.responses(1).empty());
    ASSERT_FALSE(world.responses(2).empty());
    wire::Packet forged = world.responses(2).front();
    forged.ub.response = world.responses(1).front().ub.response;
    if (verb != Verb::kWrite) forged.payload = wire::pattern_payload(9, 0, 8);
    world.pair.inject(0, forged);
    world.pair.run_to(microseconds(3));
    EXPECT_TRUE(world.completions().empty()) << verbs::name(verb);
    EXPECT_EQ(world.dropped(), 1u) << verbs::name(verb);
  }
}

// An answer names its request by all 16 bits of its number, and by the jetty that posted it.
TEST(UbForgedAnswers, ANumberThatIsNotUnderWayIsNobodys) {
  for (const Verb verb : {Verb::kRead, Verb::kWrite, Verb::kFetchAdd}) {
    for (int change = 0; change < 3; ++change) {
      Star world;
      world.lose = from_target;
      world.post(verb, 1, 8);
      world.pair.run_to(microseconds(2));
      ASSERT_FALSE(world.responses(1).empty());
      wire::Packet forged = world.responses(1).front();
      if (verb != Verb::kWrite) forged.payload = wire::pattern_payload(9, 0, 8);
      auto& response = forged.ub.response;
      if (change == 0) response.tassn = static_cast<std::uint16_t>(response.tassn + 256);  // The same place.
      if (change == 1) response.tassn = static_cast<std::uint16_t>(response.tassn + 1);
      if (change == 2) response.requester_id += 1;
      world.pair.inject(0, forged);
      world.pair.run_to(microseconds(3));
      EXPECT_TRUE(world.completions().empty()) << verbs::name(verb) << change;
      EXPECT_EQ(world.dropped(), 1u) << verbs::name(verb) << change;
    }
  }
}

// A Read is answered by its data and an atomic by its result; another kind of success is none.
TEST(UbForgedAnswers, AnAnswerIsOfTheKindThatWasAskedFor) {
  for (const Verb verb : {Verb::kRead, Verb::kWrite, Verb::kFetchAdd}) {
    for (const wire::TaOpcode opcode :
         {wire::TaOpcode::kTaack, wire::TaOpcode::kReadResponse, wire::TaOpcode::kAtomicResponse}) {
      Star world;
      world.lose = from_target;
      world.post(verb, 1, 8);
      world.pair.run_to(microseconds(2));
      ASSERT_FALSE(world.responses(1).empty());
      wire::Packet forged = world.responses(1).front();
      if (forged.ub.response.opcode == opcode) continue;
      forged.ub.response.opcode = opcode;
      forged.payload = opcode == wire::TaOpcode::kTaack ? wire::Payload{} : wire::pattern_payload(9, 0, 8);
      world.pair.inject(0, forged);
      world.pair.run_to(microseconds(3));
      EXPECT_TRUE(world.completions().empty()) << verbs::name(verb);
      EXPECT_EQ(world.dropped(), 1u) << verbs::name(verb);
    }
  }
}

// A Read that brings more than was asked for, or less, has failed, and nothing is placed beyond its buffer.
TEST(UbForgedAnswers, ReadDataOfAnotherLengthIsAnError) {
  for (const std::uint32_t length : {7U, 9U, 256U, 0U}) {
    Star world;
    world.lose = from_target;
    world.post(Verb::kRead, 1, 8);
    world.pair.run_to(microseconds(2));
    wire::Packet forged = world.responses(1).at(0);
    forged.payload = wire::pattern_payload(9, 0, length);
    const auto behind = wire::bytes_payload(world.pair.memory(0).at(kBase + 8, 248));
    world.pair.inject(0, forged);
    world.pair.run_to(microseconds(3));
    ASSERT_EQ(world.completions().size(), 1u) << length;
    EXPECT_EQ(world.completions()[0].status, verbs::CompletionStatus::kResponseLength) << length;
    for (std::uint32_t at = 0; at < 248; ++at) EXPECT_EQ(behind.bytes[at], std::byte{0}) << length;
  }
}

// The same in the middle of an answer: a packet that brings too much is not placed.
TEST(UbForgedAnswers, AReadOfSeveralPacketsIsPlacedInItsBufferAlone) {
  for (const std::uint32_t length : {513U, 1000U}) {
    Star world;
    world.lose = from_target;
    world.post(Verb::kRead, 1, 512);
    world.pair.run_to(microseconds(2));
    ASSERT_EQ(world.responses(1).size(), 2u);
    wire::Packet first = world.responses(1)[0];
    first.payload = wire::pattern_payload(9, 0, length);
    wire::Packet second = world.responses(1)[1];
    second.payload = wire::pattern_payload(9, 256, 256);
    world.pair.inject(0, first);
    world.pair.inject(0, second);
    world.pair.run_to(microseconds(3));
    ASSERT_EQ(world.completions().size(), 1u);
    EXPECT_EQ(world.completions()[0].status, verbs::CompletionStatus::kResponseLength);
    const auto memory = world.pair.memory(0).at(kBase, 2048);
    for (std::size_t at = 512; at < memory.size(); ++at) ASSERT_EQ(memory[at], std::byte{0}) << at;
  }
}

// A request is held against its segment by the length that it says: it brings as much data, no more and no
// less.
TEST(UbForgedRequests, AWriteBringsAsMuchAsItSays) {
  for (const std::uint32_t length : {7U, 9U, 64U, 256U}) {
    Star world;
    wire::Packet forged = world.lost_write(8);
    forged.payload = wire::pattern_payload(9, 0, length);
    world.pair.inject(1, forged);
    world.pair.run_to(microseconds(2));
    EXPECT_EQ(world.pair.engine(1).counters().refused_length, 1u) << length;
    ASSERT_EQ(world.completions().size(), 1u);
    EXPECT_EQ(world.completions()[0].status, verbs::CompletionStatus::kRemoteOperation) << length;
    for (const std::byte each : world.pair.memory(1).at(kRemote, 512))
      ASSERT_EQ(each, std::byte{0}) << length;
  }
}

// A target that answers before it has everything confirms no packet that has not left: all of the data is
// sent.
TEST(UbForgedAnswers, AnEarlyAnswerConfirmsNothingUnsent) {
  test::EnginePairOptions options;
  options.packet_interval = microseconds(1);
  Star world(options);
  world.post(Verb::kWrite, 1, 8);
  ASSERT_EQ(world.pair.run_until_idle(), test::RunEnd::kDone);
  ASSERT_EQ(world.completions().size(), 1u);
  wire::Packet early = world.responses(1).at(0);
  early.ub.rtph.psn = wire::psn_add(early.ub.rtph.psn, 1);
  early.ub.rtph.tpmsn = wire::psn_add(early.ub.rtph.tpmsn, 1);
  early.ub.response.tassn = static_cast<std::uint16_t>(early.ub.response.tassn + 1);
  world.sent.clear();
  wire::fill(wire::pattern_payload(5, 0, 1024), world.pair.memory(0).at(kBase, 1024));
  world.post(Verb::kWrite, 1, 1024);
  ASSERT_EQ(world.sent.size(), 1u);  // Three more have their numbers.
  world.pair.inject(0, early);
  EXPECT_EQ(world.completions().size(), 1u);
  ASSERT_EQ(world.pair.run_until_idle(), test::RunEnd::kDone);
  ASSERT_EQ(world.completions().size(), 2u);
  EXPECT_TRUE(world.completions()[1].ok());
  EXPECT_TRUE(wire::payload_equal(wire::pattern_payload(5, 0, 1024),
                                  wire::bytes_payload(world.pair.memory(1).at(kRemote, 1024))));
}

// [UB-Base 2.0.1 7.2] What carries no data is one packet: of two, one would be checked against its segment
// and the other executed in its address space, and an atomic would be executed twice.
TEST(UbForgedRequests, WhatCarriesNoDataIsOnePacket) {
  for (const Verb verb : {Verb::kRead, Verb::kFetchAdd}) {
    for (int change = 0; change < 3; ++change) {
      Star world;
      // A second segment, in another address space.
      const auto other = *world.pair.engine(1).register_segment(
          kTimeZero,
          {.base = kBase, .length = 0x10000, .rights = verbs::kFullAccess, .token_value = 7, .space = 2});
      std::vector<wire::Packet> requests;
      world.lose = [&](const wire::Packet& packet) {
        if (packet.source.number != 0 || packet.ub.transaction != wire::UbTransaction::kRequest) return false;
        requests.push_back(packet);
        return true;
      };
      world.post(verb, 1, 8);
      world.pair.run_to(microseconds(1));
      ASSERT_FALSE(requests.empty());
      wire::Packet first = requests[0];
      wire::Packet second = requests[0];
      second.ub.rtph.psn = wire::psn_add(second.ub.rtph.psn, 1);
      second.ub.extension.maetah.token_id = other.id;
      second.ub.extension.maetah.address = kBase + 64;
      // Not the last; the last ahead of it; both the last, the second one ahead.
      if (change < 2) first.ub.rtph.last = false;
      const engine::AccessKind kind =
          verb == Verb::kRead ? engine::AccessKind::kRead : engine::AccessKind::kAtomic;
      const std::uint64_t before = world.pair.memory(1).count(kind);
      world.pair.inject(1, change == 0 ? first : second);
      world.pair.inject(1, change == 0 ? second : first);
      world.pair.run_to(microseconds(2));
      const std::uint64_t accesses = world.pair.memory(1).count(kind) - before;
      // Two that say that they are the last are executed once at most, and not answered well.
      EXPECT_LE(accesses, change == 2 && verb == Verb::kFetchAdd ? 1u : 0u) << verbs::name(verb) << change;
      ASSERT_FALSE(world.responses(1).empty()) << verbs::name(verb) << change;
      for (const wire::Packet& answer : world.responses(1))
        EXPECT_EQ(answer.ub.response.status, wire::UbResponseStatus::kError) << verbs::name(verb) << change;
    }
  }
}

// A Write whose packets arrive ahead of an earlier one, and two of them say that they are the last: it is
// refused, as it is when they come in their turn.
TEST(UbForgedRequests, ARequestEndsOnceThoughItComesAheadOfItsTurn) {
  for (const bool ahead : {false, true}) {
    Star world;
    wire::Packet before = world.lost_write(64);
    before.payload = wire::pattern_payload(1, 0, 64);
    wire::Packet last = before;
    last.ub.rtph.psn = wire::psn_add(last.ub.rtph.psn, 1);
    last.ub.rtph.tpmsn = wire::psn_add(last.ub.rtph.tpmsn, 1);
    last.ub.request.tassn = static_cast<std::uint16_t>(last.ub.request.tassn + 1);
    wire::Packet last_again = last;
    last_again.ub.rtph.psn = wire::psn_add(last_again.ub.rtph.psn, 1);
    if (!ahead) world.pair.inject(1, before);
    world.pair.inject(1, last_again);
    world.pair.inject(1, last);
    if (ahead) world.pair.inject(1, before);
    world.pair.run_to(microseconds(2));
    std::size_t refused = 0;
    for (const wire::Packet& answer : world.responses(1)) {
      if (answer.ub.response.tassn != last.ub.request.tassn) continue;
      ++refused;
      EXPECT_EQ(answer.ub.response.status, wire::UbResponseStatus::kError);
    }
    EXPECT_GT(refused, 0u);
    EXPECT_EQ(world.pair.engine(1).counters().dropped_malformed, 1u);
  }
}

}  // namespace
}  // namespace wharf::ub
