// SPDX-License-Identifier: Apache-2.0
#include "sim/protocols/protocols.h"

#include <fmt/format.h>

namespace wharf::sim {

SenderDocs sender_docs() {
  SenderDocs docs;
  each_protocol(FabricProtocols(), [&]<typename P>(std::type_identity<P>) {
    const bool first = docs.controllers.empty();
    std::string others;
    for (const SenderController each : P::kRules.senders.controllers.subspan(1)) {
      if (each == SenderController::kDctcp) continue;  // Known, but not supported.
      others += fmt::format("{}{}", others.empty() ? "" : ", ", name(each));
    }
    docs.controllers +=
        fmt::format("{}{} for {} ({}{})", first ? "" : ", ", name(P::kRules.senders.controllers.front()),
                    wire::key_of(P::kProtocol), first ? "which also has " : "", others);
    if (!P::kRules.senders.back_off) {
      docs.no_back_off += fmt::format("{}protocol = \"{}\"", docs.no_back_off.empty() ? "not with " : " or ",
                                      wire::key_of(P::kProtocol));
    }
  });
  return docs;
}

std::string titles_of(bool (*has)(const ProtocolRules&)) {
  std::string text;
  for (const ProtocolRules& each : kProtocolRules) {
    if (has(each)) text += fmt::format("{}{}", text.empty() ? "" : " and ", wire::title_of(each.protocol));
  }
  return text;
}

}  // namespace wharf::sim
