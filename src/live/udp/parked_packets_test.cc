// SPDX-License-Identifier: Apache-2.0
// What a client can make a server of Unified Bus keep: messages behind one that never comes.
#include <gtest/gtest.h>

#include <vector>

#include "engine/driver/engine_driver.h"
#include "live/udp/direct_memory.h"
#include "live/udp/live_client_test_support.h"

namespace wharf::live {
namespace {

using Ub = LiveProtocol<ub::UbEngine>;

/// Memory, wire and user of a client whose first packet never leaves.
struct WithoutTheFirst {
  UdpSocket& socket;
  UdpEndpoint server;
  wire::PayloadPool& pool;
  std::uint32_t sent = 0;

  bool begin(TimePs, const engine::Access& access, engine::AccessResult& result) {
    result = perform(access);
    return true;
  }
  wire::TrafficClassMask open(TimePs) const { return wire::kAllTrafficClasses; }
  void send(TimePs, const wire::Packet& packet) {
    if (sent++ != 0) {
      const std::span<std::byte> room = socket.queue(server);
      socket.set_queued_length(Ub::encode(packet, socket.local(), server, room));
      socket.flush();
    }
    pool.release(packet.payload.buffer);
  }
  void completed(TimePs, const verbs::Completion&) {}
};

TEST(ParkedPackets, AreBoundedForEachClientAndGivenBack) {
  constexpr std::uint32_t kMessages = 1000;
  std::uint64_t bytes[2] = {};
  for (const std::uint32_t clients : {1U, 8U}) {
    TestServer server(server_config(wire::Protocol::kUb));
    std::vector<std::byte> message(3000);
    for (std::uint32_t turn = 0; turn < clients; ++turn) {  // One after the other, each as greedy.
      ManualClient<ub::UbEngine> client(server);
      const auto welcome = client.say(client.proper_hello());
      ASSERT_TRUE(welcome.ok());
      client.engine = Ub::make({.host = welcome->client}, client.memory).value();
      const auto queue = client.engine->create_queue(kTimeZero, {.send_depth = 2048}).value();
      const auto connected = client.connect(client.engine->export_queue(queue).value());
      ASSERT_TRUE(connected.ok()) << connected.error().message;
      const auto peer = client.engine->connect(kTimeZero, queue, connected->queue).value();
      WithoutTheFirst parts{client.socket, server.packets(), client.memory.payloads};
      engine::EngineDriver driver(*client.engine, parts, parts, parts);
      for (std::uint32_t index = 0; index < kMessages; ++index) {
        verbs::WorkRequest request;
        request.verb = verbs::Verb::kSend;
        request.peer = peer;
        request.local_count = 1;
        request.local[0] = {reinterpret_cast<std::uint64_t>(message.data()), 3000};
        request.length = 3000;
        if (client.engine->post(kTimeZero, queue, request, engine::Submission::kInHand) !=
            engine::PostStatus::kOk)
          break;
        driver.settle(kTimeZero);
      }
      EXPECT_GT(parts.sent, 100U);
      // The server has seen all of it when it answers.
      ASSERT_TRUE(exchange<Report>(client.channel, ReportRequest{}, seconds(60)).ok());
    }
    bytes[clients == 1 ? 0 : 1] = server.stop().payload_bytes;
  }
  // The pool grows in steps, and how many datagrams find room on the way differs: eight that gave nothing
  // back would hold more than this.
  for (const std::uint64_t each : bytes) EXPECT_LE(each, std::uint64_t{1} << 20U);
}

}  // namespace
}  // namespace wharf::live
