// SPDX-License-Identifier: Apache-2.0
#include "sim/host/pcie/link_tlp.h"

#include <cstring>

#include "base/line.h"
#include "wire/tlp_framing.h"

namespace wharf::sim {

namespace {

using ordering::Kind;
using ordering::Label;
using wire::TlpOrder;
using wire::TlpType;

// The two vocabularies name the same orders.
static_assert(static_cast<int>(TlpOrder::kStrong) == static_cast<int>(Label::kStrong));
static_assert(static_cast<int>(TlpOrder::kRelaxedOrdering) == static_cast<int>(Label::kRelaxedOrdering));
static_assert(static_cast<int>(TlpOrder::kIdBased) == static_cast<int>(Label::kIdBased));
static_assert(static_cast<int>(TlpOrder::kRelaxed) == static_cast<int>(Label::kRelaxed));
static_assert(static_cast<int>(TlpOrder::kAcquire) == static_cast<int>(Label::kAcquire));
static_assert(static_cast<int>(TlpOrder::kRelease) == static_cast<int>(Label::kRelease));
static_assert(static_cast<int>(TlpOrder::kAscending) == static_cast<int>(Label::kAscending));
static_assert(static_cast<int>(TlpOrder::kReadRelease) == static_cast<int>(Label::kReadRelease));
static_assert(static_cast<int>(wire::kTlpOrderCount) == ordering::kLabelCount);

void set_label(const ordering::Request& request, wire::TlpOrderingForm form, wire::Tlp& tlp) {
  wire::TlpOrderingLabel label;
  label.order = static_cast<TlpOrder>(request.label);
  label.thread = request.domain.thread & wire::kTlpThreadMask;
  wire::set_ordering_label(label, form, tlp);
}

std::uint64_t address_of(LineNumber line, ordering::ByteMask mask) {
  return line * kLineBytes + ordering::first_byte(mask);
}

/// Operands of `width` bytes each, low byte first; 0 when PCIe has no such atomic.
std::uint32_t put_operands(const ordering::Request& request, std::uint32_t width, TlpOperands& operands,
                           TlpType& type) {
  using verbs::Verb;
  std::array<std::uint64_t, 2> value = request.operand;
  if (request.atomic == Verb::kCompareSwap) {
    type = TlpType::kCompareSwap;
    std::memcpy(operands.data(), request.compare.data(), width);
    std::memcpy(operands.data() + width, value.data(), width);
    return 2 * width;
  }
  if (request.atomic == Verb::kSwap) {
    type = TlpType::kSwap;
  } else if (request.atomic == Verb::kFetchAdd || request.atomic == Verb::kFetchSub) {
    type = TlpType::kFetchAdd;
    if (request.atomic == Verb::kFetchSub) value[0] = 0 - value[0];
  } else {
    return 0;
  }
  // Only compare-and-swap has operands of 16 bytes. [PCIe Base 5.0 6.15]
  if (width > 8) return 0;
  std::memcpy(operands.data(), value.data(), width);
  return width;
}

}  // namespace

bool request_tlp(const ordering::Request& request, wire::TlpOrderingForm form, std::uint16_t tag,
                 TlpOperands& operands, wire::Tlp& out) {
  const std::uint64_t address = address_of(request.line, request.mask);
  const std::uint32_t bytes = ordering::byte_count(request.mask);
  const auto requester = static_cast<wire::PcieId>(request.domain.requester);
  switch (request.kind) {
    case Kind::kRead:
      out = wire::memory_read_tlp(address, bytes, requester, tag);
      break;
    case Kind::kWrite:
      out = wire::memory_write_tlp(
          address, wire::bytes_payload(request.bytes.data() + ordering::first_byte(request.mask), bytes),
          requester);
      break;
    case Kind::kAtomic: {
      TlpType type = TlpType::kFetchAdd;
      const std::uint32_t length = put_operands(request, bytes, operands, type);
      if (length == 0) return false;
      out = wire::atomic_tlp(type, address, wire::bytes_payload(operands.data(), length), requester, tag);
      break;
    }
  }
  set_label(request, form, out);
  return true;
}

wire::Tlp response_tlp(const ordering::Response& response, const wire::Tlp& request, TlpOperands& operands) {
  constexpr wire::PcieId kRootComplex = wire::pcie_id(0, 0, 0);
  const std::uint32_t bytes = ordering::byte_count(response.mask);
  const std::uint64_t address = address_of(response.line, response.mask);
  if (response.kind == Kind::kRead) {
    const std::byte* const data = response.bytes.data() + ordering::first_byte(response.mask);
    return wire::completion_data_tlp(request, kRootComplex, address, bytes, wire::bytes_payload(data, bytes));
  }
  std::memcpy(operands.data(), response.old_value.data(), bytes);
  return wire::completion_data_tlp(request, kRootComplex, address, bytes,
                                   wire::bytes_payload(operands.data(), bytes));
}

std::uint32_t tlp_link_bytes_of(const ordering::Request& request, wire::TlpOrderingForm form) {
  TlpOperands operands;
  wire::Tlp tlp;
  if (request_tlp(request, form, 0, operands, tlp)) return wire::tlp_link_bytes(tlp);
  ordering::Request addition = request;
  addition.atomic = verbs::Verb::kFetchAdd;
  addition.mask = ordering::byte_mask(ordering::first_byte(request.mask), 8);
  request_tlp(addition, form, 0, operands, tlp);
  return wire::tlp_link_bytes(tlp);
}

std::uint32_t tlp_link_bytes_of(const ordering::Response& response) {
  const std::uint64_t address =
      response.kind == Kind::kRead ? address_of(response.line, response.mask) : std::uint64_t{0};
  return wire::tlp_link_bytes(TlpType::kCompletionData, address, ordering::byte_count(response.mask));
}

std::uint32_t tlp_link_bytes_of(const ordering::MmioOperation& operation, bool carries_number) {
  using ordering::MmioKind;
  constexpr std::uint64_t kWindow = std::uint64_t{1} << 32U;
  const std::uint64_t address = kWindow + operation.address;
  wire::Tlp tlp =
      ordering::is_load(operation.kind)
          ? wire::memory_read_tlp(address, operation.length, 0, 0)
          : wire::memory_write_tlp(address, wire::bytes_payload(operation.data.data(), operation.length), 0);
  if (carries_number) {
    wire::TlpOrderingLabel label;
    label.order = operation.kind == MmioKind::kRelease   ? TlpOrder::kRelease
                  : operation.kind == MmioKind::kAcquire ? TlpOrder::kAcquire
                                                         : TlpOrder::kRelaxed;
    label.thread = operation.thread;
    label.sequence = wire::TlpSequence{static_cast<std::uint16_t>(operation.number)};
    wire::set_ordering_label(label, wire::TlpOrderingForm::kProposed, tlp);
  }
  return wire::tlp_link_bytes(tlp);
}

std::uint32_t tlp_completion_bytes_of(const ordering::MmioOperation& load) {
  return wire::tlp_link_bytes(TlpType::kCompletionData, load.address, load.length);
}

}  // namespace wharf::sim
