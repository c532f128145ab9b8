// SPDX-License-Identifier: Apache-2.0
// Counters, windows and fences of the MMIO sequencer.
#include "engine/ordering/mmio_sequencer.h"

#include <algorithm>

namespace wharf::ordering {
namespace {

std::size_t network_of(MmioKind kind) {
  if (is_load(kind)) return static_cast<std::size_t>(MmioNetwork::kLoads);
  return static_cast<std::size_t>(kind == MmioKind::kRelease ? MmioNetwork::kReleases : MmioNetwork::kStores);
}

}  // namespace

MmioSequencer::MmioSequencer(const MmioSequencerConfig& config) : config_(config) {
  WHARF_CHECK(config.numbering.bits >= 2 && config.numbering.bits <= 16);
  for (const std::uint32_t window : config.windows)
    WHARF_CHECK(window >= 1 && window <= config.numbering.half());
  if (config.numbering.scheme == NumberingScheme::kEpochCount) {
    for (const std::uint32_t window : config.windows) WHARF_CHECK(window <= config.numbering.half() / 2);
  }
  const std::uint32_t most = *std::max_element(config.windows.begin(), config.windows.end());
  domains_.resize(config.numbering.domains(), Domain(most));
  acquire_outstanding_.resize(config.numbering.threads);
}

template <typename Visit>
void MmioSequencer::visit_thread(std::uint32_t thread, const Visit& visit) const {
  const std::uint32_t devices =
      config_.numbering.scope == CounterScope::kThread ? 1 : config_.numbering.devices;
  for (std::uint32_t device = 0; device < devices; ++device) visit(config_.numbering.domain(thread, device));
}

std::uint32_t MmioSequencer::in_flight(std::uint32_t domain) const {
  return (domains_[domain].counter - domains_[domain].acknowledged) & config_.numbering.mask();
}

bool MmioSequencer::all_acknowledged(std::uint32_t thread) const {
  std::uint32_t count = 0;
  visit_thread(thread, [&](std::uint32_t domain) { count += in_flight(domain); });
  return count == 0;
}

IssueBlock MmioSequencer::blocked_by(std::uint32_t thread, std::uint32_t device, MmioKind kind,
                                     bool host_stores_drained) const {
  WHARF_CHECK(is_numbered(kind));
  const std::uint32_t own = config_.numbering.domain(thread, device);
  if (acquire_outstanding_[thread] != 0) return IssueBlock::kAcquire;
  if (kind == MmioKind::kRelease) {
    if (!host_stores_drained) return IssueBlock::kHostStores;
    std::uint32_t elsewhere = 0;
    visit_thread(thread, [&](std::uint32_t domain) { elsewhere += domain == own ? 0 : in_flight(domain); });
    if (config_.reach == OrderReach::kAllDevices && elsewhere != 0) return IssueBlock::kOtherDevice;
  }
  return in_flight(own) < config_.windows[network_of(kind)] ? IssueBlock::kNone : IssueBlock::kWindow;
}

void MmioSequencer::stamp(MmioOperation& operation) {
  const MmioNumbering& numbering = config_.numbering;
  WHARF_CHECK(blocked_by(operation.thread, operation.device, operation.kind, true) == IssueBlock::kNone);
  Domain& domain = domains_[numbering.domain(operation.thread, operation.device)];
  const bool counted = numbering.scheme == NumberingScheme::kEpochCount;
  operation.number = counted ? 0 : domain.counter;
  // Without numbers of their own, operations are told apart by epoch: a release begins one. So does an epoch
  // that is long enough: while one of its operations is missing the others come and go, and the counter must
  // not go round meanwhile.
  const std::uint32_t since_fence = (domain.counter - domain.fence) & numbering.mask();
  const bool release = operation.kind == MmioKind::kRelease;
  if (counted && (release || since_fence == numbering.half() / 2)) domain.fence = domain.counter;
  operation.ordered_after = release ? domain.counter : domain.fence;
  if (!counted) {
    if (!release) operation.ordered_after = after_own_bytes(domain, operation, domain.fence);
    domain.sent.push_back({operation.address, operation.device, operation.length});
  }
  domain.counter = (domain.counter + 1U) & numbering.mask();
  if (operation.kind == MmioKind::kAcquire) acquire_outstanding_[operation.thread] = 1;
}

std::uint32_t MmioSequencer::after_own_bytes(const Domain& domain, const MmioOperation& operation,
                                             std::uint32_t otherwise) const {
  if (mutated(MmioMutation::kOwnBytesForgotten)) return otherwise;
  for (std::size_t age = 0; age < domain.sent.size(); ++age) {
    // Everything up to a fence is waited for anyhow.
    const std::uint32_t after = (domain.counter - static_cast<std::uint32_t>(age)) & config_.numbering.mask();
    if (after == otherwise) break;
    const Sent& earlier = domain.sent[domain.sent.size() - 1 - age];
    const bool overlaps = earlier.device == operation.device &&
                          earlier.address < operation.address + operation.length &&
                          operation.address < earlier.address + earlier.length;
    if (overlaps) return after;
  }
  return otherwise;
}

void MmioSequencer::acknowledge(const MmioCredit& credit) {
  WHARF_CHECK(credit.domain < domains_.size());
  Domain& domain = domains_[credit.domain];
  const std::uint32_t ahead = (credit.next - domain.acknowledged) & config_.numbering.mask();
  if (ahead > in_flight(credit.domain)) return;
  // A fence that everything before it has passed moves along, or it would seem to lie ahead half a turn
  // later. A count of what has left does not say which: an epoch keeps its start.
  const bool counted = config_.numbering.scheme == NumberingScheme::kEpochCount;
  const std::uint32_t fence_ahead = (domain.fence - domain.acknowledged) & config_.numbering.mask();
  if (!counted && fence_ahead < ahead) domain.fence = credit.next;
  domain.acknowledged = credit.next;
  for (std::uint32_t left = ahead; !counted && left > 0; --left) domain.sent.pop_front();
}

void MmioSequencer::acquire_done(std::uint32_t thread) {
  WHARF_CHECK(acquire_outstanding_[thread] != 0);
  acquire_outstanding_[thread] = 0;
}

FenceEffect MmioSequencer::fence(std::uint32_t thread, const FenceSet& predecessors,
                                 const FenceSet& successors) {
  FenceEffect effect = fence_effect(predecessors, successors);
  if (!effect.new_epoch) return effect;
  const bool separate_counters = config_.numbering.scope == CounterScope::kThreadAndDevice;
  if (separate_counters && config_.reach == OrderReach::kAllDevices && !all_acknowledged(thread)) {
    effect.wait_acknowledged = true;
  }
  if (mutated(MmioMutation::kForgottenFence)) return effect;
  visit_thread(thread, [&](std::uint32_t domain) { domains_[domain].fence = domains_[domain].counter; });
  return effect;
}

void MmioSequencer::append_state(std::vector<std::byte>& out) const {
  MmioStateWriter writer(out);
  const MmioNumbering& numbering = config_.numbering;
  for (const Domain& domain : domains_) {
    writer.put((domain.counter - domain.acknowledged) & numbering.mask());
    writer.put((domain.fence - domain.acknowledged) & numbering.mask());
    for (std::size_t at = 0; at < domain.sent.size(); ++at) {
      writer.put(domain.sent[at].address);
      writer.put(domain.sent[at].device);
      writer.put(domain.sent[at].length);
    }
  }
  for (const std::uint8_t outstanding : acquire_outstanding_) writer.put(outstanding);
}

}  // namespace wharf::ordering
