// SPDX-License-Identifier: Apache-2.0
// The PDC manager: identifiers and pools, opening, the close handshake, failure. [UE 1.0 3.5.8]
#include <fmt/format.h>

#include <bit>
#include <utility>

#include "engine/uet/engine_parts.h"
#include "engine/uet/packet_size.h"
#include "engine/uet/pds_next.h"

namespace wharf::uet {

namespace {

/// Start_PSN keeps this distance from the last PSN that the identifier used. [UE 1.0 3.5.8]
constexpr std::int32_t kStartDistance = 1 << 16;
/// Closed PDCs that a target remembers.
constexpr std::uint32_t kClosedLimit = 4096;
/// Refused openings among them: who sends SYNs without end takes the place of no PDC that was here.
constexpr std::uint32_t kRefusedLimit = 2048;

}  // namespace

Pds::Pds(EngineParts& parts, std::uint64_t seed)
    : parts_(parts),
      contexts_per_connection_(parts.config.contexts_per_connection),
      first_rto_(min(parts.config.rto_init, parts.config.rto_cap)),
      earliest_rto_(parts.config.rto_floor > kTimeZero ? parts.config.rto_floor : first_rto_),
      adaptive_{.base = parts.config.rto_init,
                .backoff_exponent = parts.config.rto_back_off ? 1U : 0U,
                .cap = parts.config.rto_cap,
                .floor = parts.config.rto_floor},
      frame_overhead_(frame_overhead(parts.config)),
      window_overhead_(window_overhead(parts.config, 0)),
      random_(RandomStream(seed, "uet.pdc").substream(parts.host.number)) {
  const UetConfig& config = parts.config;
  const auto past = [](std::uint16_t first, std::uint32_t count) {
    return static_cast<std::uint16_t>(first + count);
  };
  ids_[0] = {PdcidPool(config.first_initiator_pdcid, config.pdc_limit),
             PdcidPool(past(config.first_initiator_pdcid, config.pdc_limit), config.reserved_pdc_limit)};
  ids_[1] = {PdcidPool(config.first_target_pdcid, config.pdc_limit),
             PdcidPool(past(config.first_target_pdcid, config.pdc_limit), config.reserved_pdc_limit)};
}

void Pds::begin(TimePs now) {
  if (std::exchange(begun_, true) || now == kTimeZero) return;
  // [UE 1.0 3.5.8] A host that starts again with the same seed uses the same identifiers: with the same
  // Start_PSN as well, its peers would take its requests for repetitions of those that it sent before.
  random_ = random_.substream(static_cast<std::uint64_t>(now.ps));
}

std::uint32_t Pds::find(std::uint16_t local_id) const {
  for (const auto& role : ids_) {
    for (const PdcidPool& pool : role) {
      if (pool.covers(local_id)) return pool.pdc(local_id);
    }
  }
  return kNoSlot;
}

UetPsn Pds::draw_start(std::uint16_t local_id) {
  for (const bool reserved : {false, true}) {
    PdcidPool& pool = ids_[0][reserved ? 1 : 0];
    if (!pool.covers(local_id)) continue;
    const std::optional<UetPsn> last = pool.last_psn(local_id);
    // A configured start is for the first opening alone: packets of an earlier one may still be under way.
    if (parts_.config.start_psn && !last) return *parts_.config.start_psn;
    for (;;) {
      const UetPsn start = random_.next_u32();
      if (!last) return start;
      const std::int32_t distance = wire::uet_psn_difference(start, *last);
      if (distance >= kStartDistance || distance <= -kStartDistance) return start;
    }
  }
  WHARF_UNREACHABLE();
}

std::uint32_t Pds::bits_words() const {
  const std::uint32_t mpr = parts_.config.default_mpr == 0 ? 1 : parts_.config.default_mpr;
  return std::bit_ceil(mpr * wire::kUetMprUnit) / 64;
}

std::uint64_t* Pds::take_bits() {
  std::uint64_t* bits = nullptr;
  if (free_bits_.empty()) {
    bits = parts_.arena.make_span<std::uint64_t>(bits_words()).data();
    free_bits_.reserve(2 * pdcs_.size() + 2);
  } else {
    bits = free_bits_.back();
    free_bits_.pop_back();
  }
  for (std::uint32_t i = 0; i < bits_words(); ++i) bits[i] = 0;
  return bits;
}

void Pds::grow_ring(PdcSend& tx) {
  const std::uint32_t old_size = tx.ring == nullptr ? 0 : tx.mask + 1;
  const std::uint32_t size = old_size == 0 ? kFirstRing : old_size * 2;
  const auto size_class = static_cast<std::size_t>(std::countr_zero(size) - std::countr_zero(kFirstRing));
  SendEntry* ring = nullptr;
  if (free_rings_[size_class].empty()) {
    ring = parts_.arena.make_span<SendEntry>(size).data();
  } else {
    ring = free_rings_[size_class].back();
    free_rings_[size_class].pop_back();
  }
  for (UetPsn psn = tx.una; psn != tx.next; ++psn) ring[psn & (size - 1)] = tx.at(psn);
  if (tx.ring != nullptr) {
    const auto old_class =
        static_cast<std::size_t>(std::countr_zero(old_size) - std::countr_zero(kFirstRing));
    free_rings_[old_class].push_back(tx.ring);
  }
  tx.ring = ring;
  tx.mask = size - 1;
  tx.look_ahead();
}

std::uint32_t Pds::open(TimePs now, PdcRole role, wire::HostAddress peer, bool ordered, bool reserved,
                        UetPsn start) {
  PdcidPool& pool = ids_[role == PdcRole::kInitiator ? 0 : 1][reserved ? 1 : 0];
  const std::optional<std::uint16_t> id = pool.acquire();
  if (!id) return kNoSlot;
  std::uint32_t index = 0;
  if (free_pdcs_.empty()) {
    index = pdc_count();
    pdcs_.push_back(std::make_unique<Pdc>());
    silence_.emplace_back();
    free_pdcs_.reserve(pdcs_.size());
    timers_.reserve(pdc_count());
  } else {
    index = free_pdcs_.back();
    free_pdcs_.pop_back();
  }
  pool.pdc(*id) = index;
  silence_[index] = {now, now};
  if (role == PdcRole::kInitiator) start = draw_start(*id);
  Pdc& made = *pdcs_[index];
  const std::uint32_t generation = made.generation + 1;
  const TimePs armed_at = made.armed_at;
  made = Pdc{};
  made.generation = generation;
  made.armed_at = armed_at;
  made.role = role;
  made.peer = peer;
  made.ordered = ordered;
  made.reserved = reserved;
  made.local_id = *id;
  made.last_activity = now;
  made.ccc = contexts_per_connection_ ? parts_.cms.open_context(peer) : parts_.cms.context_for(peer);
  made.entropy = parts_.cms.next_entropy(now, made.ccc);
  const std::uint32_t mpr = parts_.config.default_mpr == 0 ? 1 : parts_.config.default_mpr;
  PdcSend& tx = made.tx;
  tx.start = tx.next = tx.una = tx.fresh = tx.usual_end = start;
  tx.cumulative = start - 1;
  tx.sacked = start;
  tx.range = mpr * wire::kUetMprUnit;
  // [UE 1.0 3.5.8] Choice: both directions begin at the same Start_PSN, so that nothing needs to be told.
  PdcReceive& rx = made.rx;
  rx.received = take_bits();
  rx.finished = take_bits();
  rx.mask = static_cast<std::uint16_t>(bits_words() * 64 - 1);
  rx.range = static_cast<std::uint16_t>(mpr * wire::kUetMprUnit);
  rx.expected = start;
  rx.cumulative = rx.highest = rx.clear = rx.sack_track = start - 1;
  if (parts_.config.idle_timeout > kTimeZero) arm(index, now + parts_.config.idle_timeout);
  return index;
}

std::uint32_t Pds::pdc_for(TimePs now, wire::HostAddress host, std::uint32_t route, bool ordered,
                           bool reserved) {
  const std::uint64_t key = route_key(host, route, ordered, reserved);
  if (key == last_route_) return last_routed_;
  if (const std::uint32_t found = find_route(key); found != kNoSlot) return found;
  const std::uint32_t index = open(now, PdcRole::kInitiator, host, ordered, reserved, 0);
  if (index == kNoSlot) return kNoSlot;
  pdcs_[index]->route = route;
  step(now, index, PdcEvent::kOpen);
  routes_.insert(key, index);
  ++parts_.counters.pdcs_opened;
  return index;
}

std::uint32_t Pds::find_route(std::uint64_t key) {
  const std::uint32_t* found = routes_.find(key);
  if (found == nullptr) return kNoSlot;
  last_route_ = key;
  return last_routed_ = *found;
}

bool Pds::step(TimePs now, std::uint32_t index, PdcEvent event) {
  Pdc& record = *pdcs_[index];
  const std::optional<PdcState> next = next_state(record.state, event);
  if (!next) return false;
  parts_.trace(now, trace::EventKind::kStateChange, record.local_id, static_cast<std::uint64_t>(record.state),
               static_cast<std::uint64_t>(*next));
  record.state = *next;
  return true;
}

void Pds::forget_route(std::uint32_t index) {
  const Pdc& record = *pdcs_[index];
  if (record.role != PdcRole::kInitiator) return;
  const std::uint64_t key = route_key(record.peer, record.route, record.ordered, record.reserved);
  const std::uint32_t* found = routes_.find(key);
  if (found == nullptr || *found != index) return;
  routes_.erase(key);
  last_route_ = ~std::uint64_t{0};
}

void Pds::want_close(TimePs now, std::uint32_t index) {
  // [UE 1.0 3.5.8] QUIESCE: no new messages; they open another PDC.
  if (step(now, index, PdcEvent::kCloseWanted)) forget_route(index);
  drain_step(now, index);
}

void Pds::drain_step(TimePs now, std::uint32_t index) {
  Pdc& record = *pdcs_[index];
  if (record.state != PdcState::kQuiesce) return;
  const bool drained = record.tx.outstanding() == 0 && record.tx.message_head == kNoSlot &&
                       record.rx.in_execution == 0 && !parts_.initiator.expects_data(index);
  if (!drained || !step(now, index, PdcEvent::kDrained)) return;
  record.close_psn = record.tx.next;
  push_control_entry(now, index, wire::UetControlType::kCloseCommand);
}

std::uint32_t Pds::take_cleared(PdcReceive& rx, UetPsn up_to) {
  std::uint32_t cleared = kNoSlot;
  std::uint32_t kept = rx.stored_tail;
  for (std::uint32_t left = rx.stored_count; left > 0; --left) {
    const std::uint32_t at = stored_[kept].next;
    if (wire::uet_psn_after(stored_[at].psn, up_to)) {
      if (rx.stored_in_order) break;
      kept = at;
      continue;
    }
    stored_[kept].next = stored_[at].next;
    if (at == rx.stored_tail) rx.stored_tail = kept;
    stored_[at].next = cleared;
    cleared = at;
    --rx.stored_count;
  }
  return cleared;
}

void Pds::clear_stored(TimePs now, std::uint32_t index, UetPsn up_to) {
  PdcReceive& rx = pdcs_[index]->rx;
  for (std::uint32_t at = take_cleared(rx, up_to); at != kNoSlot;) {
    const StoredResponse& stored = stored_[at];
    rx.finish(stored.psn);
    parts_.payloads.release(stored.data.buffer);
    const std::uint32_t next = stored.next;
    const std::uint32_t region = stored.region;
    const std::uint32_t bytes = stored.data.length;
    stored_.release(at);
    if (region != kNoSlot) parts_.initiator.remainder_delivered(now, region, bytes);
    at = next;
  }
}

void Pds::forget_oldest_refused(std::size_t limit) {
  const auto is_refused = [](const ClosedPdc& closed) { return closed.end == ClosedPdc::End::kRefused; };
  std::size_t refused = 0;
  for (std::size_t i = 0; i < closed_.size(); ++i) refused += is_refused(closed_[i]) ? 1U : 0U;
  if (refused < limit) return;
  bool found = false;
  for (std::size_t left = closed_.size(); left > 0; --left) {
    const ClosedPdc kept = closed_.front();
    closed_.pop_front();
    if (found || !is_refused(kept)) closed_.push_back(kept);
    found = found || is_refused(kept);
  }
}

void Pds::remember_closed(TimePs now, ClosedPdc closed) {
  // [UE 1.0.3 Syn_Retx_Safety_Time] Stale SYNs of this PDC must not open another one.
  if (closed.end == ClosedPdc::End::kRefused) forget_oldest_refused(kRefusedLimit);
  if (closed_.size() >= kClosedLimit) closed_.pop_front();
  if (closed_.full()) closed_.reserve(closed_.capacity() * 2 + 16);
  const TimePs safety =
      parts_.config.syn_safety_time > kTimeZero ? parts_.config.syn_safety_time : parts_.config.rto_cap * 2;
  closed.until = now + safety;
  closed_.push_back(closed);
}

void Pds::free_pdc(TimePs now, std::uint32_t index) {
  Pdc& record = *pdcs_[index];
  // A closed PDC's responses count as consumed: CLOSE_CMD clears everything.
  clear_stored(now, index, record.rx.highest);
  drop_fetched(record);
  forget_route(index);  // First: what the target asks for now goes over another one.
  parts_.target.forget_pdc(now, index);
  PdcidPool& pool = ids_[record.role == PdcRole::kInitiator ? 0 : 1][record.reserved ? 1 : 0];
  pool.last_psn(record.local_id) = record.tx.next - 1;
  pool.release(record.local_id, record.refused || record.state == PdcState::kError);
  answered_ = {};
  requested_ = {};
  usual_sender_ = nullptr;
  if (record.role == PdcRole::kTarget) {
    by_syn_.erase(syn_key(record.peer, record.peer_id));
    remember_closed(now,
                    {syn_key(record.peer, record.peer_id),
                     record.tx.start,
                     record.rx.highest,
                     record.state == PdcState::kError ? ClosedPdc::End::kFailed : ClosedPdc::End::kClosed,
                     {}});
  }
  if (record.on_ready_list) {
    record.on_ready_list = false;
    parts_.cms[record.ccc].pdcs.remove(*this, index, &Pdc::next_ready);
  }
  free_bits_.push_back(record.rx.received);
  free_bits_.push_back(record.rx.finished);
  if (record.tx.ring != nullptr) {
    const auto size_class =
        static_cast<std::size_t>(std::countr_zero(record.tx.mask + 1) - std::countr_zero(kFirstRing));
    free_rings_[size_class].push_back(record.tx.ring);
  }
  disarm(index);
  const std::uint32_t ccc = record.ccc;
  record.state = PdcState::kClosed;
  ++record.generation;
  free_pdcs_.push_back(index);
  parts_.cms.update(now, ccc);
  if (contexts_per_connection_) {
    stop_fetching(ccc);
    parts_.cms.release_context(ccc);
  }
}

void Pds::stop_fetching(std::uint32_t ccc) {
  CongestionContext& context = parts_.cms[ccc];
  if (!context.fetch_wanted) return;
  context.fetch_wanted = false;
  fetch_wanted_.remove(parts_.cms, ccc, &CongestionContext::next_fetch);
}

void Pds::close_answered(TimePs now, std::uint32_t index) {
  const Pdc& record = *pdcs_[index];
  if (record.tx.message_head != kNoSlot || record.tx.next != record.close_psn + 1) {
    // The peer read over this PDC after CLOSE_CMD had left, and closed it before it had its data.
    end_in_error(now, index, verbs::CompletionStatus::kRemoteOperation, false);
    return;
  }
  step(now, index, PdcEvent::kCloseAnswered);
  ++parts_.counters.pdcs_closed;
  free_pdc(now, index);
}

void Pds::fail(TimePs now, std::uint32_t index, verbs::CompletionStatus status, bool peer_has_nothing) {
  const Pdc& record = *pdcs_[index];
  const wire::HostAddress peer = record.peer;
  const std::uint32_t generation = record.generation;
  end_in_error(now, index, status, peer_has_nothing);
  if (status == verbs::CompletionStatus::kRetryExhausted && record.generation != generation)
    parts_.initiator.report_unreachable(peer);
}

void Pds::end_in_error(TimePs now, std::uint32_t index, verbs::CompletionStatus status,
                       bool peer_has_nothing) {
  Pdc& record = *pdcs_[index];
  if (!step(now, index, PdcEvent::kFailed)) return;
  ++parts_.counters.pdcs_failed;
  forget_route(index);
  // Everything that is under way leaves the congestion context.
  PdcSend& tx = record.tx;
  congestion::Loss loss;
  loss.cause = congestion::LossCause::kTimeout;
  CongestionContext& context = parts_.cms[record.ccc];
  for (UetPsn psn = tx.una; psn != tx.next; ++psn) {
    const SendEntry& entry = tx.at(psn);
    if (entry.message == kControlEntry) continue;
    if (entry.state == EntryState::kSent) {
      ++loss.lost.packets;
      loss.lost.bytes += entry_window_bytes(entry);
    } else if (entry.state == EntryState::kQueued) {
      --context.resend_packets;
      context.resend_backlog -= entry_window_bytes(entry);
    }
  }
  if (loss.lost.packets > 0) parts_.cms.on_loss(now, record.ccc, loss);
  for (std::uint32_t at = tx.message_head; at != kNoSlot; at = parts_.outbound[at].next) {
    parts_.initiator.take_from_backlog(context, at);
  }
  tx.message_head = tx.message_tail = kNoSlot;
  free_pdc(now, index);
  parts_.initiator.pdc_failed(now, index, status, peer_has_nothing);
}

void Pds::release_buffers() {
  for (std::uint32_t at = 0; at < stored_.capacity(); ++at) {
    if (stored_.is_used(at)) parts_.payloads.release(stored_[at].data.buffer);
  }
  for (std::uint32_t at = 0; at < staged_.capacity(); ++at) {
    if (staged_.is_used(at)) parts_.payloads.release(staged_[at].payload.buffer);
  }
  for (Ring<ControlJob>* jobs : {&acknowledgements_, &control_}) {
    for (std::size_t i = 0; i < jobs->size(); ++i) parts_.payloads.release((*jobs)[i].data.buffer);
  }
}

void Pds::describe_waiting(std::vector<std::string>& out) const {
  for (const auto& record : pdcs_) {
    if (record->state == PdcState::kClosed) continue;
    const PdcSend& tx = record->tx;
    if (tx.outstanding() == 0 && tx.message_head == kNoSlot && record->rx.in_execution == 0) continue;
    out.push_back(
        fmt::format("host {}: PDC {:#06x} to host {} ({}, {}): {} PSNs outstanding from {:#x}, {} to send "
                    "again, CACK {:#x}, {} requests in execution",
                    parts_.host.number, record->local_id, record->peer.number,
                    record->ordered ? "ROD" : "RUD", name(record->state), tx.outstanding(), tx.una,
                    tx.resend.count, tx.cumulative, record->rx.in_execution));
  }
}

}  // namespace wharf::uet
