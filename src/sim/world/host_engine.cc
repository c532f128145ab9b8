// SPDX-License-Identifier: Apache-2.0
#include "sim/world/host_engine.h"

#include <memory>
#include <utility>

#include "engine/roce/roce_engine.h"
#include "engine/ub/ub_engine.h"
#include "engine/uet/uet_engine.h"
#include "sim/host/nic/engine_nic.h"
#include "sim/world/full_host.h"

namespace wharf::sim {
namespace {

/// Addresses that evicted RoCE context records may take: room for about a hundred thousand queue pairs.
constexpr std::uint64_t kRoceContextBytes = std::uint64_t{64} << 20U;

/// Bit per verb that a UB stack offers to programs: loads and stores belong to the load/store stack alone,
/// although every UB engine has them.
std::uint32_t verbs_of_ub(Stack stack) {
  std::uint32_t offered = supported_verbs<ub::UbEngine>();
  if (stack != Stack::kUbLoadStore) {
    offered &=
        ~(1U << static_cast<unsigned>(verbs::Verb::kLoad) | 1U << static_cast<unsigned>(verbs::Verb::kStore));
  }
  return offered;
}

template <typename E>
Result<void> install(FullHost& full, const HostConfig& config, const HostEngine& choice, std::uint32_t number,
                     Result<E> engine, std::uint32_t verbs) {
  if (!engine) return engine.error();
  const StackTraits& usual = traits(choice.stack);
  const Attachment place = choice.attachment.value_or(usual.attachment);
  full.host().install(std::make_unique<EngineNic<E>>(full.simulation(), config, place, full.host().parts(),
                                                     static_cast<std::uint16_t>(number),
                                                     std::make_unique<E>(std::move(engine).value())),
                      place, choice.submission.value_or(usual.submission), verbs);
  return {};
}

template <typename E>
E* engine_of(FullHost& full, Stack stack, wire::Protocol protocol) {
  if (protocol_of(stack) != protocol) return nullptr;
  return &static_cast<EngineNic<E>&>(full.host().nic()).engine();
}

}  // namespace

Result<void> install_engine(FullHost& full, const HostConfig& host, const HostEngine& choice,
                            std::uint32_t number, std::uint32_t hosts, std::uint64_t seed) {
  switch (protocol_of(choice.stack)) {
    case wire::Protocol::kUb: {
      ub::UbConfig engine = choice.ub;
      engine.host = {number};
      engine.tracer = &full.tracer();
      if (engine.context_cache_entries > 0)
        engine.context_region = full.host().memory().allocate(Bytes{ub::context_region_bytes(engine)});
      return install(full, host, choice, number, ub::UbEngine::create(engine, full.payloads(), full.arena()),
                     verbs_of_ub(choice.stack));
    }
    case wire::Protocol::kRoce: {
      roce::RoceConfig engine = choice.roce;
      engine.host = {number};
      engine.seed = seed;
      engine.tracer = &full.tracer();
      if (engine.queue_cache_entries > 0 || engine.key_cache_entries > 0)
        engine.context_base = full.host().memory().allocate(Bytes{kRoceContextBytes});
      return install(full, host, choice, number,
                     roce::RoceEngine::create(engine, full.payloads(), full.arena()),
                     supported_verbs<roce::RoceEngine>());
    }
    case wire::Protocol::kUet: {
      uet::UetConfig engine = choice.uet;
      engine.host = {number};
      engine.seed = seed * hosts + number;
      engine.tracer = &full.tracer();
      return install(full, host, choice, number,
                     uet::UetEngine::create(engine, full.payloads(), full.arena()),
                     supported_verbs<uet::UetEngine>());
    }
  }
  WHARF_UNREACHABLE();
}

ub::UbEngine* ub_engine(FullHost& full, Stack stack) {
  return engine_of<ub::UbEngine>(full, stack, wire::Protocol::kUb);
}

roce::RoceEngine* roce_engine(FullHost& full, Stack stack) {
  return engine_of<roce::RoceEngine>(full, stack, wire::Protocol::kRoce);
}

uet::UetEngine* uet_engine(FullHost& full, Stack stack) {
  return engine_of<uet::UetEngine>(full, stack, wire::Protocol::kUet);
}

}  // namespace wharf::sim
