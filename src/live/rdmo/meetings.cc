// SPDX-License-Identifier: Apache-2.0
#include "live/rdmo/meetings.h"

#include <algorithm>
#include <utility>

namespace wharf::live {

void Meetings::begin(StreamChannel channel) {
  if (meetings_.size() >= kMost) {
    const auto least = std::min_element(meetings_.begin(), meetings_.end(),
                                        [](const auto& a, const auto& b) { return a.heard < b.heard; });
    end(least, false);
  }
  Meeting& meeting = meetings_.emplace_back();
  meeting.channel = std::move(channel);
  meeting.since = clock_.now();
  meeting.channel.write(host_.worker_address());
}

Result<void> Meetings::progress() {
  Result<void> first{};
  for (auto at = meetings_.begin(); at != meetings_.end();) {
    const auto here = at++;
    const auto step = go_on(*here);
    if (step && *step == Step::kWaits) continue;
    if (!step && first) first = step.error();
    end(here, step.ok());
  }
  return first;
}

Result<Meetings::Step> Meetings::go_on(Meeting& meeting) {
  std::vector<std::byte> item;
  meeting.channel.progress();
  while (meeting.channel.take(item)) {
    if (++meeting.heard == 1) {
      auto queue = host_.admit(item);
      if (!queue) {
        meeting.heard = 0;  // There is no queue.
        return queue.error();
      }
      meeting.queue = *queue;
      meeting.channel.write(host_.packed_grant());
    } else if (meeting.heard == 2) {
      meeting.channel.write({});
    } else {
      return Step::kOver;
    }
  }
  if (!meeting.channel.open())
    return Error{ErrorKind::kEnvironment, "an initiator went before it was let in"};
  if (clock_.now() - meeting.since > patience_)
    return Error{ErrorKind::kStalled, "the initiator: no answer in time"};
  return Step::kWaits;
}

void Meetings::end(std::list<Meeting>::iterator at, bool well) {
  if (!well && at->heard > 0) host_.forget(at->queue);
  meetings_.erase(at);
}

}  // namespace wharf::live
