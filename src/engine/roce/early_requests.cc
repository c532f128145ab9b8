// SPDX-License-Identifier: Apache-2.0
#include "engine/roce/early_requests.h"

#include <algorithm>
#include <bit>
#include <memory>

#include "base/check.h"

namespace wharf::roce {

std::uint32_t EarlyRequest::psns(std::uint8_t mtu_shift) const {
  if (roce.bth.opcode != wire::RoceOpcode::kRcReadRequest || roce.reth.length == 0) return 1;
  return ((roce.reth.length - 1) >> mtu_shift) + 1;
}

EarlyRequests::EarlyRequests(std::uint32_t window)
    : mask_(window - 1), kept_((window + 63) / 64), owing_((window + 63) / 64) {
  WHARF_CHECK(std::has_single_bit(window));
  places_.reserve(std::size_t{window} * sizeof(EarlyRequest));
  requests_ = PlaceCutter(places_).take<EarlyRequest>(window);
  owed_.reserve(window);
}

const EarlyRequest* EarlyRequests::find(Psn psn) const {
  const std::uint32_t place = psn & mask_;
  return count_ > 0 && has(kept_, place) && requests_[place].roce.bth.psn == psn ? &requests_[place]
                                                                                 : nullptr;
}

void EarlyRequests::add(const wire::Packet& packet, wire::PayloadPool& pool) {
  const std::uint32_t place = packet.roce.bth.psn & mask_;
  WHARF_CHECK(!has(kept_, place));
  flip(kept_, place);
  ++count_;
  touched_ = std::max(touched_, place + 1);
  EarlyRequest& request = *std::construct_at(&requests_[place]);
  request.roce = packet.roce;
  request.payload = packet.payload;
  request.operation = packet.operation;
  pool.retain(packet.payload.buffer);
}

wire::Packet EarlyRequests::take(Psn psn) {
  const std::uint32_t place = psn & mask_;
  WHARF_CHECK(find(psn) != nullptr);
  flip(kept_, place);
  --count_;
  wire::Packet packet = wire::roce_packet();
  packet.roce = requests_[place].roce;
  packet.payload = requests_[place].payload;
  packet.operation = requests_[place].operation;
  return packet;
}

void EarlyRequests::drop(std::uint32_t place, wire::PayloadPool& pool) {
  flip(kept_, place);
  --count_;
  pool.release(requests_[place].payload.buffer);
}

void EarlyRequests::forget(Psn from, Psn to, wire::PayloadPool& pool) {
  const std::uint32_t steps = std::min(wire::psn_subtract(to, from), window());
  for (std::uint32_t at = 0; count_ > 0 && at < steps; ++at) {
    const std::uint32_t place = (from + at) & mask_;
    // A READ may take all places and more: those behind it are still to come.
    if (has(kept_, place) && wire::psn_before(requests_[place].roce.bth.psn, to)) drop(place, pool);
  }
}

void EarlyRequests::clear(wire::PayloadPool& pool) {
  for (std::uint32_t place = 0; count_ > 0; ++place) {
    if (has(kept_, place)) drop(place, pool);
  }
  std::fill(owing_.begin(), owing_.end(), 0);
  owed_.clear();
  refusing = stalled = false;
}

void EarlyRequests::owe_report(Psn psn) {
  const std::uint32_t place = psn & mask_;
  if (has(owing_, place)) return;
  flip(owing_, place);
  owed_.push_back(place);
}

const EarlyRequest* EarlyRequests::next_report() {
  const std::uint32_t place = owed_.front();
  owed_.pop_front();
  flip(owing_, place);
  return has(kept_, place) ? &requests_[place] : nullptr;
}

std::size_t EarlyRequests::bytes_held() const {
  return std::size_t{touched_} * sizeof(EarlyRequest) + 2 * kept_.size() * sizeof(kept_[0]) +
         owed_.bytes_held();
}

std::size_t EarlyRequests::bytes_at_most(std::uint32_t window) {
  return std::size_t{window} * (sizeof(EarlyRequest) + sizeof(std::uint32_t)) +
         2 * ((std::size_t{window} + 63) / 64) * sizeof(std::uint64_t);
}

}  // namespace wharf::roce
