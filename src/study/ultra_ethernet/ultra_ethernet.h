// SPDX-License-Identifier: Apache-2.0
// The studies of Ultra Ethernet 1.0 and of public descriptions of it.
#pragma once

#include <array>

#include "study/frame/study.h"

namespace wharf::study::ultra_ethernet {

Result<StudyResult> base_rtt(const StudyContext& context);             // base_rtt.cc
Result<StudyResult> reference_simulator(const StudyContext& context);  // simulator.cc
Result<StudyResult> worked_examples(const StudyContext& context);      // examples.cc
Result<StudyResult> packet_walk(const StudyContext& context);          // packet_walk.cc

inline constexpr auto kStudies = std::to_array<Study>({
    {"uet/base-rtt", "What the base round trip consists of", "Ultra Ethernet 1.0, 3.6", base_rtt},
    {"uet/htsim-reference", "The UEC's simulator, and what each of its own rules changes",
     "Reference runs of the UEC's public simulator (htsim)", reference_simulator},
    {"uet/worked-examples", "The numbers of a public series of articles",
     "Articles on Ultra Ethernet, November 2025 to January 2026", worked_examples},
    {"uet/packet-walk", "A write of 16 KiB, packet by packet and byte by byte",
     "Articles on Ultra Ethernet, November 2025 to January 2026", packet_walk, true},
});

}  // namespace wharf::study::ultra_ethernet
