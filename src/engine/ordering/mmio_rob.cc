// SPDX-License-Identifier: Apache-2.0
// Slots, what may leave, and credits of the MMIO reorder buffer.
#include "engine/ordering/mmio_rob.h"

#include <algorithm>
#include <bit>

namespace wharf::ordering {
namespace {

constexpr std::uint32_t kReachMax = 256;
constexpr std::uint32_t kWordBits = 64;

std::uint32_t index_of(MmioNetwork network) { return static_cast<std::uint32_t>(network); }

bool allowed(MmioLinkRoom room, const MmioOperation& operation) {
  return is_load(operation.kind) ? room.non_posted : room.posted;
}

}  // namespace

MmioRob::MmioRob(const MmioRobConfig& config) : config_(config) {
  const MmioNumbering& numbering = config.numbering;
  WHARF_CHECK(numbering.bits >= 2 && numbering.bits <= 16 && numbering.domains() >= 1);
  const std::uint32_t entries = config.entries_per_network;
  WHARF_CHECK(std::has_single_bit(entries) && entries <= kWordBits && entries <= numbering.half());
  reach_ = std::min(numbering.half(), kReachMax);
  domains_.resize(numbering.domains());
  slots_.resize(std::size_t{numbering.domains()} * kMmioNetworks * entries);
  sent_.resize(std::size_t{numbering.domains()} * (kReachMax / kWordBits));
}

MmioNetwork MmioRob::network(MmioKind kind) const {
  if (is_load(kind)) return MmioNetwork::kLoads;
  return kind == MmioKind::kRelease && !config_.shared_network ? MmioNetwork::kReleases
                                                               : MmioNetwork::kStores;
}

MmioArrival MmioRob::accept(const MmioOperation& operation) {
  const MmioNumbering& numbering = config_.numbering;
  if (!is_numbered(operation.kind) || operation.thread >= numbering.threads ||
      operation.device >= numbering.devices) {
    return refuse(MmioArrival::kMalformed);
  }
  const std::uint32_t domain = numbering.domain(operation.thread, operation.device);
  return numbering.scheme == NumberingScheme::kPerOperation ? accept_numbered(domain, operation)
                                                            : accept_counted(domain, operation);
}

MmioArrival MmioRob::accept_numbered(std::uint32_t domain, const MmioOperation& operation) {
  const MmioNumbering& numbering = config_.numbering;
  const std::uint32_t next = domains_[domain].next;
  const std::uint32_t ahead = numbering.distance(operation.number, next);
  if (!numbering.reached(operation.number, operation.ordered_after)) return refuse(MmioArrival::kMalformed);
  if (ahead >= numbering.half()) return refuse(MmioArrival::kDuplicate);
  if (ahead >= reach_) {
    return config_.overflow == RobOverflow::kHold ? MmioArrival::kHeld : refuse(MmioArrival::kTooFar);
  }
  if (sent(domain, operation.number) || find(domain, operation.number))
    return refuse(MmioArrival::kDuplicate);

  const std::uint32_t entries = config_.entries_per_network;
  const Place place{domain, index_of(network(operation.kind)), operation.number % entries};
  // One that has to wait beyond the window would keep a lower number out of the slot that both map to.
  const bool fits = ahead < entries || may_leave(domain, operation);
  const bool slot_free = ((domains_[domain].used[place.network] >> place.slot) & 1U) == 0;
  if (fits && slot_free) return store(place, operation);
  return config_.overflow == RobOverflow::kHold ? MmioArrival::kHeld : refuse(MmioArrival::kTooFar);
}

MmioArrival MmioRob::accept_counted(std::uint32_t domain, const MmioOperation& operation) {
  const std::uint32_t network_index = index_of(network(operation.kind));
  const auto slot = static_cast<std::uint32_t>(std::countr_one(domains_[domain].used[network_index]));
  if (slot < config_.entries_per_network) return store({domain, network_index, slot}, operation);
  return config_.overflow == RobOverflow::kHold ? MmioArrival::kHeld : refuse(MmioArrival::kTooFar);
}

MmioArrival MmioRob::store(Place place, const MmioOperation& operation) {
  domains_[place.domain].used[place.network] |= std::uint64_t{1} << place.slot;
  at(place) = operation;
  ++waiting_;
  if (mutated(MmioMutation::kEarlyCredit)) domains_[place.domain].owes_credit = true;
  return MmioArrival::kAccepted;
}

MmioArrival MmioRob::refuse(MmioArrival why) {
  if (why == MmioArrival::kDuplicate) ++errors_.duplicates;
  if (why == MmioArrival::kTooFar) ++errors_.too_far;
  if (why == MmioArrival::kMalformed) ++errors_.malformed;
  return why;
}

bool MmioRob::everything_left_below(std::uint32_t domain, std::uint32_t number, bool posted) const {
  const MmioNumbering& numbering = config_.numbering;
  const std::uint32_t next = domains_[domain].next;
  if (numbering.reached(next, number)) return true;
  const std::uint32_t ahead = numbering.distance(number, next);
  for (std::uint32_t offset = 0; offset < ahead; ++offset) {
    const std::uint32_t lower = (next + offset) & numbering.mask();
    if (sent(domain, lower)) continue;
    const auto place = find(domain, lower);
    if (!posted || !place || !is_load(at(*place).kind)) return false;
  }
  return true;
}

bool MmioRob::epochs_left_before(std::uint32_t domain, std::uint32_t count, bool posted) const {
  const MmioNumbering& numbering = config_.numbering;
  // A later epoch's operation has left only if everything before its epoch had, apart from loads that wait
  // for the link: so what has left and these loads together say when the `count` earliest operations are
  // here.
  std::uint32_t left_or_passable = domains_[domain].next;
  std::uint64_t used = domains_[domain].used[index_of(MmioNetwork::kLoads)];
  for (; used != 0; used &= used - 1U) {
    const Place place{domain, index_of(MmioNetwork::kLoads),
                      static_cast<std::uint32_t>(std::countr_zero(used))};
    if (numbering.reached(at(place).ordered_after, count)) continue;  // Not of an earlier epoch.
    if (!posted) return false;
    ++left_or_passable;
  }
  return numbering.reached(left_or_passable, count);
}

bool MmioRob::may_leave(std::uint32_t domain, const MmioOperation& operation) const {
  if (mutated(MmioMutation::kReleaseDoesNotWait) && operation.kind == MmioKind::kRelease) return true;
  const bool posted = !is_load(operation.kind);
  if (config_.numbering.scheme == NumberingScheme::kEpochCount) {
    return epochs_left_before(domain, operation.ordered_after, posted);
  }
  const bool strict = config_.rule == ReleaseRule::kStrict;
  return everything_left_below(domain, strict ? operation.number : operation.ordered_after, posted);
}

template <typename Visit>
bool MmioRob::visit_domain(std::uint32_t domain, const Visit& visit) const {
  std::uint32_t left = waiting(domain);
  if (config_.numbering.scheme == NumberingScheme::kEpochCount) {
    for (std::uint32_t network_index = 0; network_index < kMmioNetworks; ++network_index) {
      for (std::uint64_t used = domains_[domain].used[network_index]; used != 0; used &= used - 1U) {
        if (!visit(Place{domain, network_index, static_cast<std::uint32_t>(std::countr_zero(used))}))
          return false;
      }
    }
    return true;
  }
  for (std::uint32_t offset = 0; left > 0 && offset < reach_; ++offset) {
    const auto place = find(domain, (domains_[domain].next + offset) & config_.numbering.mask());
    if (!place) continue;
    --left;
    if (!visit(*place)) return false;
  }
  return true;
}

std::optional<MmioRob::Place> MmioRob::choose(std::uint32_t first_domain, std::uint32_t domains,
                                              std::uint32_t choice, MmioLinkRoom room) const {
  std::optional<Place> chosen;
  if (waiting_ == 0) return chosen;
  for (std::uint32_t i = 0; i < domains && !chosen; ++i) {
    const std::uint32_t domain = (first_domain + i) % config_.numbering.domains();
    visit_domain(domain, [&](Place place) {
      if (!allowed(room, at(place)) || !may_leave(domain, at(place))) return true;
      if (choice-- != 0) return true;
      chosen = place;
      return false;
    });
  }
  return chosen;
}

bool MmioRob::next_dispatch(MmioOperation& out, MmioLinkRoom room) {
  const std::uint32_t domains = config_.numbering.domains();
  const auto place = choose(turn_, domains, 0, room);
  if (!place) return false;
  turn_ = (place->domain + 1U) % domains;
  out = remove(*place);
  return true;
}

std::uint32_t MmioRob::dispatch_choices(MmioLinkRoom room) const {
  std::uint32_t count = 0;
  for (std::uint32_t domain = 0; domain < config_.numbering.domains(); ++domain) {
    visit_domain(domain, [&](Place place) {
      if (allowed(room, at(place)) && may_leave(domain, at(place))) ++count;
      return true;
    });
  }
  return count;
}

MmioOperation MmioRob::take_dispatch(std::uint32_t choice, MmioLinkRoom room) {
  const auto place = choose(0, config_.numbering.domains(), choice, room);
  WHARF_CHECK(place.has_value());
  return remove(*place);
}

MmioOperation MmioRob::remove(Place place) {
  const MmioNumbering& numbering = config_.numbering;
  Domain& domain = domains_[place.domain];
  const MmioOperation operation = at(place);
  domain.used[place.network] &= ~(std::uint64_t{1} << place.slot);
  --waiting_;
  if (numbering.scheme == NumberingScheme::kEpochCount) {
    domain.next = (domain.next + 1U) & numbering.mask();
    // While a load waits, writes of later epochs may pass it. Without credits for these the core stays within
    // half of all numbers of the load.
    if (domain.used[index_of(MmioNetwork::kLoads)] == 0) domain.settled = domain.next;
    domain.owes_credit = domain.owes_credit || domain.settled == domain.next;
    return operation;
  }
  set_sent(place.domain, operation.number, true);
  while (sent(place.domain, domain.next)) {
    set_sent(place.domain, domain.next, false);
    domain.next = (domain.next + 1U) & numbering.mask();
  }
  domain.owes_credit = domain.owes_credit || domain.settled != domain.next;
  domain.settled = domain.next;
  return operation;
}

bool MmioRob::next_credit(MmioCredit& out) {
  for (std::uint32_t domain = 0; domain < domains_.size(); ++domain) {
    if (!domains_[domain].owes_credit) continue;
    domains_[domain].owes_credit = false;
    out = {domain, domains_[domain].settled};
    if (mutated(MmioMutation::kEarlyCredit)) out.next = missing_number(domain).value_or(out.next);
    return true;
  }
  return false;
}

std::optional<std::uint32_t> MmioRob::missing_number(std::uint32_t domain) const {
  if (waiting(domain) == 0) return std::nullopt;
  std::uint32_t number = domains_[domain].next;
  while (sent(domain, number) || find(domain, number)) number = (number + 1U) & config_.numbering.mask();
  return number;
}

std::uint32_t MmioRob::waiting(std::uint32_t domain) const {
  std::uint32_t count = 0;
  for (const std::uint64_t used : domains_[domain].used)
    count += static_cast<std::uint32_t>(std::popcount(used));
  return count;
}

std::uint64_t MmioRob::storage_bytes() const {
  const std::uint64_t networks = config_.shared_network ? 1 : 2;
  return domains_.size() * networks * config_.entries_per_network * kLineBytes;
}

void MmioRob::append_state(std::vector<std::byte>& out) const {
  MmioStateWriter writer(out);
  const std::uint32_t mask = config_.numbering.mask();
  writer.put(turn_);
  for (std::uint32_t domain = 0; domain < domains_.size(); ++domain) {
    const Domain& state = domains_[domain];
    writer.put(static_cast<std::uint8_t>(state.owes_credit));
    writer.put((state.next - state.settled) & mask);
    // Bits of what has left ahead of `next`, up to the last one.
    std::uint32_t last = 0;
    for (std::uint32_t offset = 1; offset < reach_; ++offset) {
      if (sent(domain, (state.next + offset) & mask)) last = offset;
    }
    writer.put(last);
    for (std::uint32_t offset = 1; offset <= last; ++offset) {
      writer.put(static_cast<std::uint8_t>(sent(domain, (state.next + offset) & mask)));
    }
    writer.put(waiting(domain));
    visit_domain(domain, [&](Place place) {
      ordering::append_state(out, at(place), state.next, mask);
      return true;
    });
  }
}

MmioOperation& MmioRob::at(Place place) {
  return slots_[(place.domain * kMmioNetworks + place.network) * config_.entries_per_network + place.slot];
}

const MmioOperation& MmioRob::at(Place place) const {
  return slots_[(place.domain * kMmioNetworks + place.network) * config_.entries_per_network + place.slot];
}

bool MmioRob::sent(std::uint32_t domain, std::uint32_t number) const {
  const std::uint32_t bit = number % reach_;
  return ((sent_[domain * (kReachMax / kWordBits) + bit / kWordBits] >> (bit % kWordBits)) & 1U) != 0;
}

void MmioRob::set_sent(std::uint32_t domain, std::uint32_t number, bool value) {
  const std::uint32_t bit = number % reach_;
  std::uint64_t& word = sent_[domain * (kReachMax / kWordBits) + bit / kWordBits];
  const std::uint64_t one = std::uint64_t{1} << (bit % kWordBits);
  word = value ? word | one : word & ~one;
}

std::optional<MmioRob::Place> MmioRob::find(std::uint32_t domain, std::uint32_t number) const {
  const std::uint32_t slot = number % config_.entries_per_network;
  for (std::uint32_t network_index = 0; network_index < kMmioNetworks; ++network_index) {
    const Place place{domain, network_index, slot};
    const bool used = ((domains_[domain].used[network_index] >> slot) & 1U) != 0;
    if (used && at(place).number == number) return place;
  }
  return std::nullopt;
}

}  // namespace wharf::ordering
