// SPDX-License-Identifier: Apache-2.0
#include "sim/world/thin_host.h"

#include <utility>

#include "base/arena.h"
#include "sim/flows/engine_endpoint.h"
#include "sim/host/nic/network_port.h"

namespace wharf::sim {
namespace {

template <engine::Engine E>
class EngineThinHost final : public ThinHost {
 public:
  EngineThinHost(std::uint32_t number, std::unique_ptr<Arena> arena, E engine, FlowRun& run,
                 PacketContext& context)
      : arena_(std::move(arena)),
        base_(run.memory_base),
        number_(number),
        context_(context),
        endpoint_(number, std::move(engine), FlowDriver(run, context, number), context.payloads) {
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
  std::unique_ptr<FlowEnd> end() override {
    return std::make_unique<EngineFlowEnd<E>>(endpoint_.engine(), base_);
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

template <engine::Engine E>
Result<std::unique_ptr<ThinHost>> make(std::uint32_t number, std::unique_ptr<Arena> arena, Result<E> engine,
                                       FlowRun& run, PacketContext& context) {
  if (!engine) return engine.error();
  return std::unique_ptr<ThinHost>(
      std::make_unique<EngineThinHost<E>>(number, std::move(arena), *std::move(engine), run, context));
}

}  // namespace

Result<std::unique_ptr<ThinHost>> ThinHost::create(const HostEngine& choice, std::uint32_t number,
                                                   std::uint32_t hosts, std::uint64_t seed, FlowRun& run,
                                                   PacketContext& context) {
  auto arena = std::make_unique<Arena>(std::size_t{4} << 10U);
  Arena& room = *arena;
  return visit_protocol(protocol_of(choice.stack), [&]<typename P>(std::type_identity<P>) {
    const auto engine = P::thin(std::get<typename P::Config>(choice.configs), number, hosts, seed);
    return make(number, std::move(arena), P::Engine::create(engine, context.payloads, room), run, context);
  });
}

}  // namespace wharf::sim
