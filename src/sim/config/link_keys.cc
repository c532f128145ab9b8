// SPDX-License-Identifier: Apache-2.0
#include "sim/config/link_keys.h"

#include <array>

#include "sim/config/retry_keys.h"

namespace wharf::sim {
namespace {

constexpr std::array<Choice<ChargeRule>, 2> kChargeRules{{
    {"packet", ChargeRule::kPacket},
    {"payload", ChargeRule::kPayload},
}};

}  // namespace

void bind_link(Binder& binder, LinkConfig& link) {
  {
    const Binder::Section section(binder, "link");
    binder.time("delay", link.delay, "propagation, one way");
    binder.rate("rate", link.rate, "bit rate of each direction; 0bps is unlimited");
    binder.choice<ChargeRule>("charged_bytes", link.charged_bytes, kChargeRules,
                              "which bytes of a packet take time on the link");
    const Binder::Section nominal(binder, "", link.charged_bytes == ChargeRule::kPayload,
                                  "only with charged_bytes = \"payload\"");
    binder.bytes("nominal_request_bytes", link.nominal_request_bytes, "charge of a request without payload",
                 0, 4096);
    binder.bytes("nominal_response_bytes", link.nominal_response_bytes,
                 "charge of a response without payload", 0, 4096);
  }
  const Binder::Section section(binder, "faults");
  LinkFaults& faults = link.faults;
  binder.probability("loss", faults.loss, "a packet vanishes");
  binder.probability("corruption", faults.damage,
                     "a bit is inverted; the receiver's frame check drops the frame");
  bind_link_retry(binder, faults.retry, faults.retry_limit, faults.retry_rules);
  binder.probability("duplication", faults.duplication, "a packet arrives twice");
  binder.probability("reordering", faults.reordering, "a packet is held back while later ones pass");
  {
    const Binder::Section held(binder, "", faults.reordering > 0, "only with faults.reordering above 0");
    binder.time("reorder_delay", faults.reorder_delay, "longest time held back");
  }
  binder.time("jitter", faults.jitter, "longest extra delay of every packet, order kept");
  binder.probability("corruption_past_check", faults.damage_past_check,
                     "a bit is inverted behind the frame check; needs --wire bytes");
}

}  // namespace wharf::sim
