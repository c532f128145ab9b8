// SPDX-License-Identifier: Apache-2.0
#include "sim/stimulus/dma_remote.h"

#include <algorithm>

#include "base/line.h"

namespace wharf::sim {

using wharf::ordering::Kind;
using wharf::ordering::Label;

void DmaRemote::ask(Call& call, Kind kind, std::uint32_t from, std::uint32_t length, Label label) {
  DmaAccess access;
  access.kind = kind;
  access.label = access.first_label = access.last_label = label;
  access.with_previous = from > 0;
  access.ticket = reinterpret_cast<std::uint64_t>(&call);
  access.address = call.address_ + from;
  access.length = length;
  access.bytes = call.bytes_ == nullptr ? nullptr : call.bytes_ + from;
  access.atomic = call.verb_;
  access.operand[0] = call.operand_;
  access.compare[0] = call.compare_;
  ++call.pending_;
  engine_.start(simulation_.now(), stream_, access);
}

void DmaRemote::begin(Call& call) {
  const bool annotated = annotation_ != GetAnnotation::kNone;
  if (call.verb_ == verbs::Verb::kRead) {
    begin_read(call);
  } else if (call.verb_ == verbs::Verb::kWrite) {
    ask(call, Kind::kWrite, 0, call.length_, Label::kStrong);
  } else {
    // To add is to take the lock, to subtract to give it back.
    const bool gives_back = call.operand_ >> 63U != 0;
    ask(call, Kind::kAtomic, 0, 8,
        !annotated   ? Label::kRelaxed
        : gives_back ? Label::kRelease
                     : Label::kAcquire);
  }
}

/// Reads with parts of different labels are cut where the label changes: the lines of one request are not
/// ordered among themselves.
void DmaRemote::begin_read(Call& call) {
  const std::uint32_t length = call.length_;
  const bool is_version = length <= 8;
  const std::uint32_t last = (length - 1) / kLineBytes * kLineBytes;
  switch (annotation_) {
    case GetAnnotation::kNone:
      ask(call, Kind::kRead, 0, length, Label::kRelaxed);
      return;
    case GetAnnotation::kAcquireAll:
      call.pending_ = 1;  // Not complete while it is still cut.
      for (std::uint32_t from = 0; from < length; from += kLineBytes)
        ask(call, Kind::kRead, from, std::min(kLineBytes, length - from), Label::kAcquire);
      --call.pending_;
      return;
    case GetAnnotation::kAscending:
      ask(call, Kind::kRead, 0, length, is_version ? Label::kReadRelease : Label::kAscending);
      return;
    case GetAnnotation::kAcquireFirst:
    case GetAnnotation::kReadRelease:
      break;
  }
  const bool releases = annotation_ == GetAnnotation::kReadRelease;
  if (is_version) {
    ask(call, Kind::kRead, 0, length, releases ? Label::kReadRelease : Label::kRelaxed);
    return;
  }
  call.pending_ = 1;
  ask(call, Kind::kRead, 0, std::min(kLineBytes, length), Label::kAcquire);
  const std::uint32_t relaxed_end = releases ? last : length;
  if (relaxed_end > kLineBytes) ask(call, Kind::kRead, kLineBytes, relaxed_end - kLineBytes, Label::kRelaxed);
  if (releases && last > 0) ask(call, Kind::kRead, last, length - last, Label::kReadRelease);
  --call.pending_;
}

}  // namespace wharf::sim
