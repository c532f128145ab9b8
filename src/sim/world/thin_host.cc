// SPDX-License-Identifier: Apache-2.0
#include "sim/world/thin_host.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "base/arena.h"
#include "sim/flows/engine_endpoint.h"
#include "sim/host/nic/network_port.h"

namespace wharf::sim {
namespace {

template <engine::Engine E>
class EngineThinHost final : public ThinHost {
 public:
  EngineThinHost(std::uint32_t number, std::uint32_t hosts, std::unique_ptr<Arena> arena,
                 std::vector<E> engines, FlowRun& run, PacketContext& context)
      : arena_(std::move(arena)),
        base_(run.memory_base),
        number_(number),
        context_(context),
        endpoint_(number, std::move(engines.front()), FlowDriver(run, context, number), context.payloads) {
    if (engines.size() > 1) {
      endpoint_.add_ports(
          {std::make_move_iterator(engines.begin() + 1), std::make_move_iterator(engines.end())}, hosts);
    }
    note_deadline();
  }

  bool transmit(TimePs now, std::uint32_t port, wire::TrafficClassMask allowed,
                wire::Packet& packet) override {
    const bool given = endpoint_.transmit(now, port, allowed, packet);
    whole_at_ = now;
    note_deadline();
    if (given && context_.tracer != nullptr) [[unlikely]]
      report_sent(now, packet);
    return given;
  }
  void receive(TimePs now, std::uint32_t port, const wire::Packet& packet) override {
    endpoint_.receive(now, port, packet);
    note_deadline();
  }
  void expire(TimePs now) override {
    endpoint_.expire(now);
    note_deadline();
  }
  void refresh() override {
    endpoint_.refresh();
    note_deadline();
  }
  void sample(TimePs now) override { endpoint_.sample(now); }
  std::unique_ptr<FlowEnd> end(std::uint32_t port) override {
    return std::make_unique<EngineFlowEnd<E>>(endpoint_.engines().of(port), base_);
  }

 private:
  void note_deadline() { deadline_ = endpoint_.deadline(); }
  /// As the network port of a full host does.
  void report_sent(TimePs now, const wire::Packet& packet) {
    if (!context_.tracer->wants(trace::EventKind::kPacketSent)) return;
    context_.tracer->emit({.kind = trace::EventKind::kPacketSent,
                           .host = number_,
                           .component = NetworkPort::kComponent,
                           .begin = now,
                           .end = now,
                           .operation = packet.operation,
                           .packet = &packet});
  }

  std::unique_ptr<Arena> arena_;
  std::uint64_t base_;
  std::uint32_t number_;
  PacketContext& context_;
  EngineEndpoint<E, FlowDriver> endpoint_;
};

}  // namespace

Result<std::unique_ptr<ThinHost>> ThinHost::create(const HostEngine& choice, std::uint32_t number,
                                                   std::uint32_t hosts, std::uint32_t engines,
                                                   std::uint64_t seed, FlowRun& run, PacketContext& context) {
  auto arena = std::make_unique<Arena>(std::size_t{4} << 10U);
  Arena& room = *arena;
  return visit_protocol(
      protocol_of(choice.stack), [&]<typename P>(std::type_identity<P>) -> Result<std::unique_ptr<ThinHost>> {
        std::vector<typename P::Engine> made;
        for (std::uint32_t port = 0; port < engines; ++port) {
          const auto config =
              P::thin(std::get<typename P::Config>(choice.configs), port * hosts + number, hosts, seed);
          auto engine = P::Engine::create(config, context.payloads, room);
          if (!engine) return engine.error();
          made.push_back(*std::move(engine));
        }
        return std::unique_ptr<ThinHost>(std::make_unique<EngineThinHost<typename P::Engine>>(
            number, hosts, std::move(arena), std::move(made), run, context));
      });
}

bool keeps_port(const HostEngine& choice, const workload::FlowList& list) {
  const bool sends = std::any_of(list.flows.begin(), list.flows.end(),
                                 [](const workload::Flow& flow) { return flow.verb == verbs::Verb::kSend; });
  return visit_protocol(protocol_of(choice.stack), [&]<typename P>(std::type_identity<P>) {
    return P::keeps_port(std::get<typename P::Config>(choice.configs), sends);
  });
}

}  // namespace wharf::sim
