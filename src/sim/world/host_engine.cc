// SPDX-License-Identifier: Apache-2.0
#include "sim/world/host_engine.h"

#include <memory>
#include <utility>

#include "sim/host/nic/engine_nic.h"
#include "sim/world/full_host.h"

namespace wharf::sim {
namespace {

/// Bit per verb that a stack offers to programs: loads and stores belong to stacks of their own, although
/// every engine of their protocol has them.
template <typename E>
std::uint32_t verbs_of(Stack stack) {
  const std::uint32_t offered = supported_verbs<E>();
  if (traits(stack).load_store) return offered;
  return offered & ~(1U << static_cast<unsigned>(verbs::Verb::kLoad) |
                     1U << static_cast<unsigned>(verbs::Verb::kStore));
}

template <typename E>
Result<void> install(FullHost& full, const HostConfig& config, const HostEngine& choice, std::uint32_t number,
                     Result<E> engine) {
  if (!engine) return engine.error();
  const StackTraits& usual = traits(choice.stack);
  const Attachment place = choice.attachment.value_or(usual.attachment);
  full.host().install(std::make_unique<EngineNic<E>>(full.simulation(), config, place, full.host().parts(),
                                                     static_cast<std::uint16_t>(number),
                                                     std::make_unique<E>(std::move(engine).value())),
                      place, choice.submission.value_or(usual.submission), verbs_of<E>(choice.stack));
  return {};
}

}  // namespace

Result<void> install_engine(FullHost& full, const HostConfig& host, const HostEngine& choice,
                            const EnginePlace& place) {
  const EngineSite site{.number = place.address,
                        .hosts = place.addresses,
                        .seed = place.seed,
                        .tracer = &full.tracer(),
                        .allocate = [&](Bytes bytes) { return full.host().memory().allocate(bytes); }};
  return visit_protocol(protocol_of(choice.stack), [&]<typename P>(std::type_identity<P>) -> Result<void> {
    if (host.nic.implementation == NicImplementation::kRtl) {
      if constexpr (requires { typename P::Hardware; }) {
        // The hardware counts its own cycles: none are charged.
        HostConfig uncharged = host;
        uncharged.nic.cycle = kTimeZero;
        uncharged.nic.cut_through = true;
        uncharged.nic.payload_fetch = PayloadFetchRule::kSeparate;
        return install(full, uncharged, choice, place.host,
                       P::Hardware::create(P::placed_hardware(host.nic.rtl_cycle, site), full.payloads()));
      }
    }
    const typename P::Config engine = P::placed(std::get<typename P::Config>(choice.configs), site);
    return install(full, host, choice, place.host, P::Engine::create(engine, full.payloads(), full.arena()));
  });
}

}  // namespace wharf::sim
