// SPDX-License-Identifier: Apache-2.0
#include "sim/flows/engine_frames.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "base/arena.h"
#include "sim/fabric/packet_host.h"
#include "sim/flows/engine_endpoint.h"
#include "sim/flows/flow_connections.h"
#include "sim/flows/flow_driver.h"

namespace wharf::sim {
namespace {

constexpr std::uint64_t kMemory = 1U << 20U;
constexpr std::uint32_t kPackets = 4;  ///< Of the flow with several.
/// Longer than controllers space packets and receivers sit on answers.
constexpr TimePs kStep = microseconds(50);
constexpr int kSteps = 4096;

struct Seen {
  std::array<std::uint32_t, kPackets> beside{};  ///< Bytes beside the payload, by packet.
  std::uint32_t packets = 0;
  std::uint32_t answer = 0;
};

/// One flow of so many full packets between two hosts without a network. Host 0 asks for it.
template <typename P>
Result<Seen> look(const typename P::Config& config, std::uint32_t payload, verbs::Verb verb,
                  std::uint32_t packets) {
  const bool read = verb == verbs::Verb::kRead;
  const std::uint32_t sender = read ? 1 : 0;
  using Endpoint = EngineEndpoint<typename P::Engine, FlowDriver>;
  workload::FlowList list;
  list.flows = {
      {.id = 1, .source = 0, .destination = 1, .verb = verb, .bytes = std::uint64_t{payload} * packets}};
  FlowRun run(list, 2);
  run.memory_base = kMemory;
  run.inline_data = P::kRules.flows.inline_data;
  PacketContext context;
  Arena arena;
  typename P::Engines maker;
  std::vector<std::unique_ptr<Endpoint>> ends;
  for (std::uint32_t host = 0; host < 2; ++host) {
    auto made = maker.make(config, host, context.payloads, arena);
    if (!made) return made.error();
    ends.push_back(
        std::make_unique<Endpoint>(host, *std::move(made), FlowDriver(run, context, host), context.payloads));
  }
  WHARF_TRY(connect_flows(run, P::kRules.flows, {[&](NodeId host, std::uint32_t) {
                            return std::make_unique<EngineFlowEnd<typename P::Engine>>(ends[host]->engine(),
                                                                                       kMemory);
                          }}));
  start_flows(run);
  for (const auto& end : ends) end->refresh();
  Seen seen;
  TimePs now;
  for (int step = 0; step < kSteps; ++step, now += kStep) {
    for (std::uint32_t host = 0; host < 2; ++host) {
      if (ends[host]->deadline() <= now) ends[host]->expire(now);
      wire::Packet packet;
      while (ends[host]->transmit(now, 0, wire::kAllTrafficClasses, packet)) {
        const std::uint32_t bytes = wire::link_bytes(packet);
        if (read && host == 0 && seen.answer == 0) seen.answer = bytes;
        if (host == sender && packet.payload.length == payload && seen.packets < packets)
          seen.beside.at(seen.packets++) = bytes - payload;
        const bool open = run.records[0].end == kNever;
        ends[1 - host]->receive(now, 0, packet);
        context.payloads.release(packet.payload.buffer);
        if (!read && host == 1 && open && run.records[0].end != kNever) seen.answer = bytes;
      }
    }
    if (run.records[0].end != kNever) break;
  }
  const FlowRecord& record = run.records[0];
  if (seen.packets < packets || seen.answer == 0 || record.end == kNever ||
      record.status != verbs::CompletionStatus::kSuccess)
    return input_error("no flow ends between two engines");
  return seen;
}

}  // namespace

Result<EngineFrames> engine_frames(wire::Protocol protocol, const EngineConfigs& engines,
                                   std::uint32_t payload, verbs::Verb verb) {
  return visit_protocol(protocol, [&]<typename P>(std::type_identity<P>) -> Result<EngineFrames> {
    const auto& config = std::get<typename P::Config>(engines);
    const auto one = look<P>(config, payload, verb, 1);
    if (!one) return one.error();
    const auto several = look<P>(config, payload, verb, kPackets);
    if (!several) return several.error();
    return EngineFrames{one->beside[0], several->beside[0],
                        *std::max_element(several->beside.begin() + 1, several->beside.end() - 1),
                        several->beside.back(), one->answer};
  });
}

}  // namespace wharf::sim
