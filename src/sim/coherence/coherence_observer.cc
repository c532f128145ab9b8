// SPDX-License-Identifier: Apache-2.0
#include "sim/coherence/coherence_observer.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace wharf::sim {

namespace {

std::string hexadecimal(std::span<const std::byte> bytes) {
  std::string text;
  for (std::byte byte : bytes.first(std::min<std::size_t>(bytes.size(), 16))) {
    text += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
  }
  return bytes.size() > 16 ? text + "..." : text;
}

}  // namespace

CoherenceObserver::Line& CoherenceObserver::entry_of(LineNumber line) {
  const std::uint32_t* at = index_.find(line);
  if (at != nullptr) return lines_[*at];
  index_.insert(line, static_cast<std::uint32_t>(lines_.size()));
  Line& entry = lines_.emplace_back();
  entry.line = line;
  entry.history.resize(1);
  return entry;
}

void CoherenceObserver::fail(std::string sentence) {
  if (violation_.empty()) violation_ = std::move(sentence);
}

void CoherenceObserver::set_initial(LineNumber line, const LineBytes& bytes) {
  entry_of(line).history.back().bytes = bytes;
}

void CoherenceObserver::copy_changed(AgentId agent, LineNumber line, CopyState state) {
  Line& entry = entry_of(line);
  const std::uint64_t self = agent_bit(agent);
  entry.readers &= ~self;
  entry.exclusive &= ~self;
  entry.modified &= ~self;
  if (state != CopyState::kInvalid) entry.readers |= self;
  if (state >= CopyState::kExclusive) entry.exclusive |= self;
  if (state == CopyState::kModified) entry.modified |= self;
  if (entry.exclusive != 0 && !std::has_single_bit(entry.readers)) {
    fail(fmt::format("line {}: agent {} goes to {} while agents {:#x} have copies, {:#x} of them exclusive",
                     line, agent, name_of(state), entry.readers & ~self, entry.exclusive & ~self));
  }
}

void CoherenceObserver::load_issued(AgentId agent, std::uint64_t ticket, LineNumber line) {
  Line& entry = entry_of(line);
  ++entry.pending;
  pending_.push_back(PendingLoad{ticket, line, entry.history.back().number, agent});
}

void CoherenceObserver::load_performed(AgentId agent, std::uint64_t ticket, LineNumber line,
                                       std::uint32_t offset, std::span<const std::byte> bytes) {
  ++loads_;
  Line& entry = entry_of(line);
  std::uint64_t since = entry.history.back().number;
  const auto pending = std::ranges::find_if(pending_, [&](const PendingLoad& load) {
    return load.agent == agent && load.ticket == ticket && load.line == line;
  });
  const bool was_pending = pending != pending_.end();
  if (was_pending) {
    since = pending->version;
    pending_.erase(pending);
    --entry.pending;
  }
  const bool is_right = std::ranges::any_of(entry.history, [&](const Version& version) {
    return version.number >= since && std::equal(bytes.begin(), bytes.end(), version.bytes.begin() + offset);
  });
  if (!is_right) {
    fail(fmt::format(
        "line {}: a load of agent {} at offset {} returned {}, which was not there since it was issued; now "
        "{} is there",
        line, agent, offset, hexadecimal(bytes),
        hexadecimal(std::span(entry.history.back().bytes).subspan(offset, bytes.size()))));
  }
  if (!was_pending) return;
  std::uint64_t oldest = entry.history.back().number;
  for (const PendingLoad& load : pending_) {
    if (load.line == line) oldest = std::min(oldest, load.version);
  }
  std::erase_if(entry.history, [oldest](const Version& version) { return version.number < oldest; });
}

void CoherenceObserver::store_performed(AgentId agent, LineNumber line, std::uint32_t offset,
                                        std::span<const std::byte> bytes) {
  ++stores_;
  Line& entry = entry_of(line);
  if (entry.modified != agent_bit(agent)) {
    fail(fmt::format("line {}: agent {} stores while agents {:#x} have it modified", line, agent,
                     entry.modified));
  }
  if (entry.pending > 0) entry.history.push_back(entry.history.back());
  Version& now = entry.history.back();
  ++now.number;
  std::copy(bytes.begin(), bytes.end(), now.bytes.begin() + offset);
}

void CoherenceObserver::check_current(AgentId agent, LineNumber line, const LineBytes& bytes) {
  const LineBytes& now = entry_of(line).history.back().bytes;
  if (bytes == now) return;
  fail(fmt::format("line {}: agent {} holds {} for the present bytes, which are {}", line, agent,
                   hexadecimal(bytes), hexadecimal(now)));
}

void CoherenceObserver::check_at_rest(LineNumber line, const LineBytes& memory, const LineBytes* modified) {
  const Line& entry = entry_of(line);
  const LineBytes& kept = modified != nullptr ? *modified : memory;
  if (kept != entry.history.back().bytes) {
    fail(fmt::format("line {}: at rest {} has {}, but the last store left {}", line,
                     modified != nullptr ? "the modified copy" : "memory", hexadecimal(kept),
                     hexadecimal(entry.history.back().bytes)));
  }
  if (entry.pending != 0)
    fail(fmt::format("line {}: at rest {} loads were not performed", line, entry.pending));
}

LineBytes CoherenceObserver::truth(LineNumber line) const {
  const std::uint32_t* at = index_.find(line);
  return at == nullptr ? LineBytes{} : lines_[*at].history.back().bytes;
}

CopyState CoherenceObserver::copy(AgentId agent, LineNumber line) const {
  const std::uint32_t* at = index_.find(line);
  if (at == nullptr) return CopyState::kInvalid;
  const Line& entry = lines_[*at];
  if ((entry.modified & agent_bit(agent)) != 0) return CopyState::kModified;
  if ((entry.exclusive & agent_bit(agent)) != 0) return CopyState::kExclusive;
  return (entry.readers & agent_bit(agent)) != 0 ? CopyState::kShared : CopyState::kInvalid;
}

void CoherenceObserver::append_state(std::vector<std::byte>& state) const {
  std::vector<const Line*> order;
  for (const Line& line : lines_) order.push_back(&line);
  std::ranges::sort(order, {}, [](const Line* line) { return line->line; });
  for (const Line* line : order) {
    append_bytes(state, line->line);
    append_bytes(state, line->readers);
    append_bytes(state, line->exclusive);
    append_bytes(state, line->modified);
    append_bytes(state, line->history.size());
    for (const Version& version : line->history) append_bytes(state, version.bytes);
    // Versions count from the present one, so that two ways to the same bytes are one state.
    std::vector<PendingLoad> loads;
    std::ranges::copy_if(pending_, std::back_inserter(loads),
                         [line](const PendingLoad& load) { return load.line == line->line; });
    std::ranges::sort(loads, {}, [](const PendingLoad& load) { return std::pair(load.agent, load.ticket); });
    for (const PendingLoad& load : loads) {
      append_bytes(state, load.agent);
      append_bytes(state, load.ticket);
      append_bytes(state, line->history.back().number - load.version);
    }
    append_bytes(state, std::uint8_t{0xFF});
  }
  append_bytes(state, static_cast<std::uint8_t>(is_violated() ? 1 : 0));
}

}  // namespace wharf::sim
