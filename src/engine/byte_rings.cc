// SPDX-License-Identifier: Apache-2.0
#include "engine/byte_rings.h"

#include <array>
#include <cstring>
#include <span>
#include <string>
#include <utility>

#include "verbs/ring_request.h"

namespace wharf::engine {

Result<void> check_byte_rings(const QueueConfig& config) {
  if (config.entries != EntryFormat::kBytes) return {};
  for (const auto& [key, queue] : {std::pair{"receive_completions", config.receive_completions},
                                   std::pair{"send_completions", config.send_completions}}) {
    if (queue == kOwn) {
      return input_error(std::string(key) +
                         ": found none of its own, expected a completion queue beside rings of bytes");
    }
  }
  if (config.send_entry_bytes != wire::kRingEntryBytes &&
      config.send_entry_bytes != wire::kLongWorkEntryBytes) {
    return input_error("send_entry_bytes is " + std::to_string(config.send_entry_bytes) +
                       ", expected 64 or 128");
  }
  return {};
}

bool WorkBytes::read(const wire::Payload& bytes) {
  if (bytes.length > wire::kLongWorkEntryBytes) return false;
  std::array<std::byte, wire::kLongWorkEntryBytes> flat;
  wire::fill(bytes, flat);
  if (wire::decode(std::span(flat).first(bytes.length), entry_) != wire::RingEntryError::kNone) return false;
  request_ = verbs::to_request(entry_);
  return true;
}

wire::BufferId WorkBytes::keep_inline(wire::PayloadPool& pool) {
  if (!entry_.is_inline) return wire::kNoBuffer;
  request_.inline_data = {};
  if (request_.length == 0) return wire::kNoBuffer;
  const wire::BufferId buffer = pool.acquire(request_.length);
  std::memcpy(pool.data(buffer), entry_.inline_data.data(), request_.length);
  request_.inline_data = wire::bytes_payload(pool.data(buffer), request_.length, buffer);
  return buffer;
}

}  // namespace wharf::engine
