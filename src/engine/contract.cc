// SPDX-License-Identifier: Apache-2.0
#include "engine/contract.h"

namespace wharf::engine {

std::string_view name(PostStatus status) {
  switch (status) {
    case PostStatus::kOk:
      return "ok";
    case PostStatus::kQueueFull:
      return "queue_full";
    case PostStatus::kBadQueue:
      return "bad_queue";
    case PostStatus::kUnsupported:
      return "unsupported";
    case PostStatus::kBadRequest:
      return "bad_request";
  }
  WHARF_UNREACHABLE();
}

}  // namespace wharf::engine
