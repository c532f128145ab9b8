// SPDX-License-Identifier: Apache-2.0
// Requests and completions to and from the entries of byte rings (wire/ring_entry.h).
#pragma once

#include <optional>

#include "verbs/completion.h"
#include "verbs/work_request.h"
#include "wire/ring_entry.h"

namespace wharf::verbs {

/// The entry that says `request`, or nothing when no entry can: loads and stores, tags, typed atomics,
/// delivery modes, inline data that is longer than wire::kRingInlineBytes or beside a notification. The
/// attribution tag of a request is not in it.
std::optional<wire::WorkEntry> to_entry(const WorkRequest& request);
/// Inline data of the result points into `entry`.
WorkRequest to_request(const wire::WorkEntry& entry);

/// Nothing for tagged receives and more pieces than an entry has.
std::optional<wire::ReceiveEntry> to_entry(const ReceiveRequest& request);
ReceiveRequest to_request(const wire::ReceiveEntry& entry);

wire::CompletionEntry to_entry(const Completion& completion, bool lap);
Completion to_completion(const wire::CompletionEntry& entry);

}  // namespace wharf::verbs
