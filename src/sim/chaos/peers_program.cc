// SPDX-License-Identifier: Apache-2.0
#include "sim/chaos/peers_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <utility>

namespace wharf::sim {

using verbs::CompletionStatus;
using verbs::Verb;

namespace {

constexpr std::uint64_t kReceiveBit = std::uint64_t{1} << 63U;
/// Requests of each pair that are still to come when the event happens.
constexpr std::uint32_t kAfterEvent = 4;

/// What request `id` writes or sends: its number first.
void fill_with(std::uint64_t id, std::span<std::byte> out) {
  for (std::size_t at = 0; at < out.size(); at += 8) {
    const std::uint64_t word = at == 0 ? id : (id * 0x9e37'79b9'7f4a'7c15U) ^ (at * 0xc2b2'ae3d'27d4'eb4fU);
    std::memcpy(out.data() + at, &word, std::min<std::size_t>(8, out.size() - at));
  }
}

bool holds(std::uint64_t id, std::span<const std::byte> bytes) {
  std::vector<std::byte> expected(bytes.size());
  fill_with(id, expected);
  return std::equal(bytes.begin(), bytes.end(), expected.begin());
}

}  // namespace

PeersProgram::PeersProgram(const PeersPlan& plan, std::vector<PeersMemory>& memories)
    : plan_(plan),
      memories_(memories),
      random_(plan.seed, "chaos.peers.program"),
      pairs_(std::size_t{plan.hosts} * plan.hosts) {
  for (std::uint32_t host = 0; host < plan.hosts; ++host) {
    for (std::uint32_t peer = 0; peer < plan.hosts; ++peer) {
      if (host == peer) continue;
      pair(host, peer).to_come = plan.operations;
      pair(host, peer).slots.resize(slots());
      const std::uint64_t receive_bytes = receives(plan) * piece();
      memories[host].set_certain(receive_base(peer), receive_bytes, false);
    }
  }
}

std::uint64_t PeersProgram::area_bytes() const {
  return 2 * (grant_bytes() + 64) + receives(plan_) * piece() + 64;
}
std::uint64_t PeersProgram::memory_bytes(const PeersPlan& plan) {
  const std::uint64_t grant = (plan.depth + 2) * std::uint64_t{plan.longest};
  return 64 + plan.hosts * (2 * (grant + 64) + receives(plan) * std::uint64_t{plan.longest} + 64);
}
std::uint64_t PeersProgram::grant_base(std::uint32_t peer) const { return area(peer); }
std::uint64_t PeersProgram::grant_bytes() const { return slots() * piece(); }

verbs::ReceiveRequest PeersProgram::receive(std::uint32_t peer, std::uint32_t index) const {
  verbs::ReceiveRequest request;
  request.id = kReceiveBit | (std::uint64_t{peer} << 32U) | index;
  request.local_count = 1;
  request.local[0] = {receive_base(peer) + index * piece(), plan_.longest};
  return request;
}

bool PeersProgram::is_judged(const Operation& operation) const {
  return plan_.event != PeerEvent::kLies || spared(operation.host, operation.peer);
}
bool PeersProgram::may_fail(const Operation& operation) const {
  if (spared(operation.host, operation.peer)) return false;
  if (plan_.event == PeerEvent::kLies) return true;
  return happened_ && operation.life == 0;
}

std::string PeersProgram::text(std::uint64_t id, const Operation& operation) const {
  return fmt::format("{} {} of host {} at host {}, {} bytes", verbs::name(operation.verb), id, operation.host,
                     operation.peer, operation.length);
}

std::optional<verbs::WorkRequest> PeersProgram::next(TimePs now, std::uint32_t host, std::uint32_t peer,
                                                     verbs::SegmentToken token) {
  Pair& those = pair(host, peer);
  if (those.to_come == 0 || those.outstanding >= plan_.depth) return std::nullopt;
  std::uint32_t slot = 0;
  while (slot < those.slots.size() && (those.slots[slot].busy || those.slots[slot].lost)) ++slot;
  if (slot == those.slots.size()) {
    if (those.outstanding == 0) those.to_come = 0;  // Failures have used all of them up.
    return std::nullopt;
  }
  constexpr std::array<Verb, 4> kVerbs{Verb::kWrite, Verb::kRead, Verb::kSend, Verb::kFetchAdd};
  Operation operation;
  operation.host = host;
  operation.peer = peer;
  operation.verb = kVerbs[random_.below(kVerbs.size())];
  operation.slot = slot;
  operation.life = those.life;
  operation.posted = now;
  const std::uint64_t id = ++last_id_;
  const bool add = operation.verb == Verb::kFetchAdd;
  operation.length = add ? 8 : static_cast<std::uint32_t>(8 + random_.below(plan_.longest - 7));
  if (operation.verb == Verb::kSend)
    operation.length = static_cast<std::uint32_t>(std::min<std::uint64_t>(operation.length, longest_send_));
  verbs::WorkRequest request;
  request.id = id;
  request.verb = operation.verb;
  request.length = operation.length;
  // A fence waits for every peer of the queue, and a liar need not answer.
  const bool waits_for_liar = plan_.shared_queue && plan_.event == PeerEvent::kLies;
  request.fence = random_.below(8) == 0 && !waits_for_liar;
  const std::uint64_t local = local_base(peer) + slot * piece();
  const std::uint64_t remote = grant_base(host) + slot * piece();
  request.local_count = 1;
  request.local[0] = {local, operation.length};
  if (operation.verb != Verb::kSend) request.remote = {remote, token};
  PeersMemory& own = memories_[host];
  if (operation.verb == Verb::kWrite || operation.verb == Verb::kSend) {
    fill_with(id, own.at(local, operation.length));
    fill_with(id, own.expected(local, operation.length));
  } else {
    own.set_certain(local, piece(), false);
  }
  if (operation.verb == Verb::kWrite || add) memories_[peer].set_certain(remote, piece(), false);
  if (add) {
    request.width = 8;
    operation.operand = random_.next_u64();
    request.operand[0] = operation.operand;
  }
  those.slots[slot].busy = true;
  --those.to_come;
  ++those.outstanding;
  operations_[id] = operation;
  return request;
}

void PeersProgram::take_back(std::uint64_t id) {
  const Operation operation = operations_.at(id);
  Pair& those = pair(operation.host, operation.peer);
  --those.outstanding;
  those.slots[operation.slot].busy = false;
  those.to_come = 0;
  settle_slot(operation, true);
  operations_.erase(id);
}

/// Nothing is under way in its piece any more. `known`: it is as expected.
void PeersProgram::settle_slot(const Operation& operation, bool known) {
  const std::uint64_t local = local_base(operation.peer) + operation.slot * piece();
  const std::uint64_t remote = grant_base(operation.host) + operation.slot * piece();
  known = known && is_judged(operation);
  memories_[operation.host].set_certain(local, piece(), known);
  memories_[operation.peer].set_certain(remote, piece(), known);
}

void PeersProgram::completed(TimePs now, std::uint32_t host, const verbs::Completion& completion) {
  if (completion.kind == verbs::CompletionKind::kReceive) return take_receive(host, completion);
  const auto found = operations_.find(completion.id);
  if (found == operations_.end() || found->second.host != host)
    return fail("completions",
                fmt::format("host {}: request {} ended, which it never posted", host, completion.id));
  Operation& operation = found->second;
  if (operation.ended)
    return fail("completions", fmt::format("{} ended twice", text(completion.id, operation)));
  operation.ended = true;
  ++ended_;
  Pair& those = pair(operation.host, operation.peer);
  if (operation.life != those.life)
    return fail("completions",
                fmt::format("{} ended after the host was forgotten", text(completion.id, operation)));
  --those.outstanding;
  Slot& slot = those.slots[operation.slot];
  slot.busy = false;
  if (completion.ok() && is_judged(operation)) {
    succeed(completion.id, operation, completion);
    return;
  }
  if (!completion.ok()) take_failure(now, operation, completion);
  slot.lost = is_judged(operation);
  settle_slot(operation, false);
}

void PeersProgram::take_failure(TimePs now, const Operation& operation, const verbs::Completion& completion) {
  const std::string what = text(completion.id, operation);
  if (!may_fail(operation))
    return fail("errors",
                fmt::format("{} ended with {}, expected success", what, verbs::name(completion.status)));
  if (plan_.event == PeerEvent::kLies) return;
  // The next life of a host may answer that it knows nothing of this.
  const bool specified =
      completion.status == CompletionStatus::kRetryExhausted ||
      completion.status == CompletionStatus::kFlushed ||
      (plan_.event == PeerEvent::kReset && completion.status == CompletionStatus::kRemoteOperation);
  if (!specified)
    return fail("errors", fmt::format("{} ended with {}, expected retry_exhausted or flushed", what,
                                      verbs::name(completion.status)));
  // One after another may have to be given up: each within the time since the one before.
  TimePs& last = pair(operation.host, operation.peer).last_failure;
  const TimePs latest = max(max(operation.posted, plan_.at), last) + patience_;
  last = now;
  if (plan_.event == PeerEvent::kDeath && now > latest)
    fail("late", fmt::format("{} was posted at {} ns and ended at {} ns, expected by {} ns", what,
                             operation.posted.ps / 1000, now.ps / 1000, latest.ps / 1000));
}

void PeersProgram::succeed(std::uint64_t id, Operation& operation, const verbs::Completion& completion) {
  operation.well = true;
  const std::uint64_t local = local_base(operation.peer) + operation.slot * piece();
  const std::uint64_t remote = grant_base(operation.host) + operation.slot * piece();
  PeersMemory& own = memories_[operation.host];
  PeersMemory& other = memories_[operation.peer];
  // What was done at a host before its reset is gone with it.
  const bool gone =
      plan_.event == PeerEvent::kReset && happened_ && operation.peer == plan_.host && operation.life == 0;
  if (completion.length != operation.length)
    fail("completions", fmt::format("{} ended with {} bytes", text(id, operation), completion.length));
  if (gone) {
    pair(operation.host, operation.peer).slots[operation.slot].lost = true;
    settle_slot(operation, false);
    return;
  }
  const auto must_be = other.expected(remote, operation.length);
  if (operation.verb == Verb::kWrite) {
    fill_with(id, must_be);
    if (!other.is_as_expected(remote, piece()))
      fail("memory", fmt::format("{} ended well and is not there", text(id, operation)));
  } else if (operation.verb == Verb::kRead) {
    std::copy(must_be.begin(), must_be.end(), own.expected(local, operation.length).begin());
    if (!own.is_as_expected(local, piece()))
      fail("memory", fmt::format("{} ended well and brought other bytes", text(id, operation)));
  } else if (operation.verb == Verb::kFetchAdd) {
    std::uint64_t value = 0;
    std::memcpy(&value, must_be.data(), 8);
    if (completion.atomic_result[0] != value)
      fail("memory", fmt::format("{} found {:#x}, expected {:#x}", text(id, operation),
                                 completion.atomic_result[0], value));
    std::memcpy(own.expected(local, 8).data(), &value, 8);
    value += operation.operand;
    std::memcpy(must_be.data(), &value, 8);
    if (!other.is_as_expected(remote, piece()) || !own.is_as_expected(local, piece()))
      fail("memory", fmt::format("{} ended well and left other bytes", text(id, operation)));
  }
  settle_slot(operation, true);
}

void PeersProgram::take_receive(std::uint32_t host, const verbs::Completion& completion) {
  const auto peer = static_cast<std::uint32_t>((completion.id & ~kReceiveBit) >> 32U);
  const auto index = static_cast<std::uint32_t>(completion.id);
  // A write with immediate data, which takes no receive in every protocol: a liar may make one of a write.
  if (completion.verb == Verb::kWriteImm && (completion.id & kReceiveBit) == 0 &&
      plan_.event == PeerEvent::kLies && completion.remote_host == plan_.host)
    return;
  if ((completion.id & kReceiveBit) == 0 || peer >= plan_.hosts || index >= receives(plan_))
    return fail("completions", fmt::format("host {}: a receive ended that it never posted", host));
  if (!completion.ok()) {
    // A queue that served one peer, or a message that nobody finishes.
    const bool excused = happened_ || plan_.event == PeerEvent::kLies;
    if (!excused || (!plan_.shared_queue && spared(host, peer)))
      fail("errors", fmt::format("host {}: a receive ended with {}", host, verbs::name(completion.status)));
    if (plan_.shared_queue) to_post_ = Again{peer, index};
    return;
  }
  to_post_ = Again{peer, index};
  if (plan_.event == PeerEvent::kLies && (completion.remote_host == plan_.host || host == plan_.host)) return;
  const auto bytes = memories_[host].at(receive_base(peer) + index * piece(), plan_.longest);
  std::uint64_t id = 0;
  std::memcpy(&id, bytes.data(), 8);
  const auto found = operations_.find(id);
  if (found == operations_.end() || found->second.peer != host || found->second.verb != Verb::kSend)
    return fail("memory", fmt::format("host {}: a message arrived that nobody sent to it", host));
  Operation& sent = found->second;
  if (completion.length != sent.length || !holds(id, bytes.first(sent.length)))
    return fail("memory", fmt::format("{} arrived with other bytes", text(id, sent)));
  if (++sent.arrivals > 1) fail("memory", fmt::format("{} arrived twice", text(id, sent)));
  if (sent.life != pair(sent.host, sent.peer).life)
    fail("memory", fmt::format("{} arrived after the host was forgotten", text(id, sent)));
}

std::optional<PeersProgram::Again> PeersProgram::take_receive_to_post() {
  return std::exchange(to_post_, std::nullopt);
}

void PeersProgram::befall(TimePs patience) {
  happened_ = true;
  patience_ = patience;
  for (std::uint32_t host = 0; host < plan_.hosts; ++host) {
    for (std::uint32_t peer = 0; peer < plan_.hosts; ++peer) {
      if (host != peer) pair(host, peer).to_come += kAfterEvent;
    }
  }
  if (plan_.event == PeerEvent::kLies) {
    // A liar may do as it likes with itself and with what others grant it.
    for (std::uint32_t host = 0; host < plan_.hosts; ++host)
      memories_[host].set_certain(grant_base(plan_.host), grant_bytes(), false);
    memories_[plan_.host].set_certain(PeersMemory::kBase, memory_bytes(plan_), false);
    return;
  }
  // What it has posted itself ends nowhere.
  for (auto& [id, operation] : operations_) {
    if (operation.host != plan_.host || operation.ended) continue;
    operation.ended = true;
    Pair& those = pair(operation.host, operation.peer);
    --those.outstanding;
    those.slots[operation.slot].lost = true;
    settle_slot(operation, false);
  }
  for (std::uint32_t peer = 0; peer < plan_.hosts; ++peer) pair(plan_.host, peer).to_come = 0;
  if (plan_.event != PeerEvent::kReset) return;
  memories_[plan_.host].renew();
  memories_[plan_.host].set_certain(PeersMemory::kBase, memory_bytes(plan_), false);
}

void PeersProgram::begin_anew() {
  for (std::uint32_t peer = 0; peer < plan_.hosts; ++peer) {
    if (peer == plan_.host) continue;
    for (const auto& [host, other] : {std::pair{plan_.host, peer}, std::pair{peer, plan_.host}}) {
      Pair& those = pair(host, other);
      ++those.life;
      those.to_come = plan_.operations;
      those.outstanding = 0;
      those.slots.assign(slots(), {});
      // Whatever is there now stays there.
      for (const std::uint64_t base : {local_base(other), grant_base(other)}) {
        const auto now = memories_[host].at(base, grant_bytes());
        std::copy(now.begin(), now.end(), memories_[host].expected(base, grant_bytes()).begin());
        memories_[host].set_certain(base, grant_bytes(), true);
      }
    }
  }
}

bool PeersProgram::is_finished() const {
  if (plan_.event != PeerEvent::kNone && !happened_) return false;
  for (std::uint32_t host = 0; host < plan_.hosts; ++host) {
    for (std::uint32_t peer = 0; peer < plan_.hosts; ++peer) {
      if (host == peer) continue;
      const Pair& those = pair(host, peer);
      const bool needed = spared(host, peer) || (plan_.event == PeerEvent::kReset && those.life == 1) ||
                          (plan_.event == PeerEvent::kDeath && host != plan_.host);
      if (needed && (those.outstanding > 0 || those.to_come > 0)) return false;
      if (plan_.event == PeerEvent::kReset && !spared(host, peer) && those.life == 0) return false;
    }
  }
  return true;
}

std::uint64_t PeersProgram::pending_at_event() const {
  std::uint64_t pending = 0;
  for (const auto& [id, operation] : operations_)
    pending += !operation.ended && operation.host != plan_.host && operation.peer == plan_.host ? 1U : 0U;
  return pending;
}

std::string PeersProgram::pending_text() const {
  std::string all;
  std::uint32_t count = 0;
  for (const auto& [id, operation] : operations_) {
    if (operation.ended) continue;
    if (++count <= 3) all += (all.empty() ? "" : "; ") + text(id, operation);
  }
  return fmt::format("{} requests have not ended: {}", count, all);
}

void PeersProgram::judge_end() {
  for (std::uint32_t host = 0; host < plan_.hosts; ++host) {
    if (plan_.event != PeerEvent::kReset && host == plan_.host) continue;
    if (const auto changed = memories_[host].first_changed())
      return fail("memory",
                  fmt::format("host {}: memory at {:#x} changed, expected as it was", host, *changed));
  }
  for (const auto& [id, operation] : operations_) {
    if (operation.verb != Verb::kSend || !operation.well || operation.arrivals > 0) continue;
    // A host that is gone, or was, tells nobody what had arrived.
    if (operation.peer == plan_.host && operation.life == 0 && plan_.event != PeerEvent::kNone) continue;
    return fail("memory", fmt::format("{} ended well and never arrived", text(id, operation)));
  }
}

}  // namespace wharf::sim
