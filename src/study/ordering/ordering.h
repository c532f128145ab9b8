// SPDX-License-Identifier: Apache-2.0
// The studies of "Efficient Remote Memory Ordering for Non-Coherent Interconnects" (ASPLOS '26), and what
// they share.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "engine/ordering/rlsq_design.h"
#include "sim/host/pcie/dma_engine.h"
#include "study/frame/study.h"

namespace wharf::study::ordering {

/// Table 2 of the paper.
inline constexpr std::string_view kProfile = "remote-ordering";

/// A line of the paper's figures: who keeps reads in order.
struct Scheme {
  std::string_view name;
  wharf::ordering::RlsqDesign design;
  bool orders_at_source;
};
inline constexpr std::array<Scheme, 4> kSchemes{{
    {"NIC", wharf::ordering::RlsqDesign::kBaseline, true},
    {"RC", wharf::ordering::RlsqDesign::kStrictBlocking, false},
    {"RC-opt", wharf::ordering::RlsqDesign::kStrictSpeculative, false},
    {"Unordered", wharf::ordering::RlsqDesign::kBaseline, false},
}};

/// Sizes of the figures' axes: 64 B to 8 KiB.
inline constexpr std::array<std::uint32_t, 8> kSizes{64, 128, 256, 512, 1024, 2048, 4096, 8192};

Result<StudyResult> table1(const StudyContext& context);            // tables.cc
Result<StudyResult> figure2(const StudyContext& context);           // card_transfers.cc
Result<StudyResult> figure3(const StudyContext& context);           // card_transfers.cc
Result<StudyResult> figure4(const StudyContext& context);           // mmio.cc
Result<StudyResult> figure5(const StudyContext& context);           // reads.cc
Result<StudyResult> figure6a(const StudyContext& context);          // gets.cc
Result<StudyResult> figure6b(const StudyContext& context);          // gets.cc
Result<StudyResult> figure6c(const StudyContext& context);          // gets.cc
Result<StudyResult> figure7(const StudyContext& context);           // card_gets.cc
Result<StudyResult> figure8(const StudyContext& context);           // gets.cc
Result<StudyResult> figure9(const StudyContext& context);           // peer.cc
Result<StudyResult> figure10(const StudyContext& context);          // mmio.cc
Result<StudyResult> table5(const StudyContext& context);            // tables.cc
Result<StudyResult> table6(const StudyContext& context);            // tables.cc
Result<StudyResult> gets_correctness(const StudyContext& context);  // get_correctness.cc
Result<StudyResult> gets_over_stacks(const StudyContext& context);  // get_stack.cc

// Beyond the papers.
Result<StudyResult> writer_conflicts(const StudyContext& context);    // beyond.cc
Result<StudyResult> queue_size(const StudyContext& context);          // beyond.cc
Result<StudyResult> rob_size(const StudyContext& context);            // beyond.cc
Result<StudyResult> acquire_or_total(const StudyContext& context);    // beyond_gets.cc
Result<StudyResult> two_root_complexes(const StudyContext& context);  // beyond_gets.cc
Result<StudyResult> on_bus(const StudyContext& context);              // on_bus.cc

}  // namespace wharf::study::ordering
