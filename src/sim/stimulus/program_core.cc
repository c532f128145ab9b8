// SPDX-License-Identifier: Apache-2.0
#include "sim/stimulus/program_core.h"

#include "base/check.h"

namespace wharf::sim {

void ProgramCore::begin(Access& access) {
  WHARF_CHECK(cache_ != nullptr);
  const auto ticket = reinterpret_cast<Ticket>(&access);
  switch (access.kind_) {
    case AccessKind::kLoad:
      cache_->load(now(), ticket, access.address_, access.length_);
      break;
    case AccessKind::kStore:
      cache_->store(now(), ticket, access.address_,
                    std::as_bytes(std::span(&access.value_, 1)).first(access.length_));
      break;
    case AccessKind::kAtomic:
      cache_->atomic(now(), ticket, access.address_, access.length_, access.operation_);
      break;
  }
}

}  // namespace wharf::sim
