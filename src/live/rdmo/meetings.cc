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
  WHARF_TRY(ask(meeting));
  // What it says while it is not let in stays with it.
  while (!meeting.asked && meeting.channel.take(item)) {
    if (++meeting.heard == 1) {
      meeting.ticket = host_.ask_admit(item);
      meeting.asked = true;
      WHARF_TRY(ask(meeting));
    } else if (meeting.heard == 2) {
      meeting.channel.write({});
    } else {
      return Step::kOver;
    }
  }
  if (!meeting.channel.open())
    return Error{ErrorKind::kEnvironment, "an initiator went before it was let in"};
  if (clock_.now() - meeting.since > patience_)
    return Error{ErrorKind::kStalled,
                 meeting.asked ? "the worker: no answer in time" : "the initiator: no answer in time"};
  return Step::kWaits;
}

Result<void> Meetings::ask(Meeting& meeting) {
  if (!meeting.asked) return {};
  const MeetingHost::Admission now = host_.admission(meeting.ticket);
  if (now.state == MeetingHost::Admission::State::kAsked) return {};
  meeting.asked = false;
  if (now.state == MeetingHost::Admission::State::kRefused)
    return Error{ErrorKind::kEnvironment, "the worker refuses an initiator"};
  meeting.in = true;
  meeting.queue = now.queue;
  meeting.channel.write(host_.packed_grant());
  return {};
}

void Meetings::end(std::list<Meeting>::iterator at, bool well) {
  if (at->asked) host_.give_up(at->ticket);
  if (!well && at->in) host_.forget(at->queue);
  meetings_.erase(at);
}

}  // namespace wharf::live
