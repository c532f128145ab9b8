// SPDX-License-Identifier: Apache-2.0
// The ordering designs that a litmus program can be explored under, and the settings that a file may change.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/check.h"
#include "engine/ordering/mmio_rob.h"
#include "engine/ordering/mmio_sequencer.h"
#include "engine/ordering/request.h"
#include "engine/ordering/rlsq_design.h"

namespace wharf::sim {

/// Who makes the order. The first two let the device wait, the next six are the queue at the root complex,
/// the last ones are about MMIO stores.
enum class LitmusDesign : std::uint8_t {
  kSourceLine,     ///< The device has at most one line unanswered per thread.
  kSourceMessage,  ///< The device has at most one request unanswered per thread; its lines overlap.
  kBaseline,
  kReleaseAcquire,
  kThreadSpecific,
  kSpeculative,
  kStrictBlocking,
  kStrictSpeculative,
  kMmioToday,       ///< No numbers: the fabric keeps posted writes in order, the core has fences.
  kMmioUnordered,   ///< No numbers, and nothing keeps writes in order between core and device.
  kRobRootComplex,  ///< Numbers; the reorder buffer at the root complex, ordered posted writes below it.
  kRobDevice,       ///< Numbers; the reorder buffer in the device, no order anywhere before it.
};
inline constexpr int kLitmusDesignCount = static_cast<int>(LitmusDesign::kRobDevice) + 1;

std::string_view name(LitmusDesign design);
std::optional<LitmusDesign> parse_litmus_design(std::string_view text);
std::span<const std::string_view> litmus_design_names();

constexpr bool is_mmio(LitmusDesign design) { return design >= LitmusDesign::kMmioToday; }
constexpr bool has_rob(LitmusDesign design) { return design >= LitmusDesign::kRobRootComplex; }
constexpr bool is_source_side(LitmusDesign design) { return design <= LitmusDesign::kSourceMessage; }

/// What the root complex is under `design`. The source-side designs, and those about MMIO, have today's.
constexpr ordering::RlsqDesign rlsq_design(LitmusDesign design) {
  switch (design) {
    case LitmusDesign::kReleaseAcquire:
      return ordering::RlsqDesign::kReleaseAcquire;
    case LitmusDesign::kThreadSpecific:
      return ordering::RlsqDesign::kThreadSpecific;
    case LitmusDesign::kSpeculative:
      return ordering::RlsqDesign::kSpeculative;
    case LitmusDesign::kStrictBlocking:
      return ordering::RlsqDesign::kStrictBlocking;
    case LitmusDesign::kStrictSpeculative:
      return ordering::RlsqDesign::kStrictSpeculative;
    case LitmusDesign::kSourceLine:
    case LitmusDesign::kSourceMessage:
    case LitmusDesign::kBaseline:
    case LitmusDesign::kMmioToday:
    case LitmusDesign::kMmioUnordered:
    case LitmusDesign::kRobRootComplex:
    case LitmusDesign::kRobDevice:
      return ordering::RlsqDesign::kBaseline;
  }
  WHARF_UNREACHABLE();
}

/// Settings of a file; the defaults are large enough never to matter in a program of a few lines.
struct LitmusSettings {
  bool on_chip_bus = false;  ///< No PCIe between device and queue: requests arrive in order.
  std::uint32_t entries = 8;
  std::uint32_t trackers = 8;
  std::uint32_t posted_reserve = 2;
  ordering::OrderOptions order;
  std::uint32_t store_buffer = 4;
  std::uint32_t directory_entries = 16;
  std::uint32_t cache_lines = 8;
  std::uint32_t combining_buffers = 8;
  std::uint32_t rob_entries = 4;
  std::uint32_t rob_window = 4;  ///< Numbers that the core may send ahead of the last credit.
  std::uint32_t number_bits = 8;
  ordering::NumberingScheme numbers = ordering::NumberingScheme::kPerOperation;
  ordering::CounterScope counters = ordering::CounterScope::kThread;
  ordering::OrderReach reach = ordering::OrderReach::kAllDevices;
  std::optional<ordering::RlsqDesign> queue;  ///< Of the root complex beside a design for MMIO.
  ordering::ReleaseRule rob_rule = ordering::ReleaseRule::kRefined;
  ordering::RobOverflow rob_overflow = ordering::RobOverflow::kReport;
  bool rob_shared_network = false;
  bool sets_rob = false;  ///< The file sets one of the reorder buffer's values.
};

/// The same with what a file sets beside a design for MMIO.
constexpr ordering::RlsqDesign rlsq_design(LitmusDesign design, const LitmusSettings& settings) {
  return is_mmio(design) ? settings.queue.value_or(rlsq_design(design)) : rlsq_design(design);
}

/// How operations on devices are numbered.
inline ordering::MmioNumbering numbering_of(const LitmusSettings& settings, std::uint32_t threads,
                                            std::uint32_t devices) {
  return {.threads = threads,
          .devices = devices,
          .scope = settings.counters,
          .scheme = settings.numbers,
          .bits = settings.number_bits};
}

}  // namespace wharf::sim
