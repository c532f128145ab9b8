// SPDX-License-Identifier: Apache-2.0
// The studies of "Stop Taking the Scenic Route: the Shortest Distance Between the CPU and the NIC is MMIO"
// (HotOS '25).
#pragma once

#include "study/frame/study.h"

namespace wharf::study::mmio {

Result<StudyResult> figure2(const StudyContext& context);   // goodput.cc
Result<StudyResult> figure3(const StudyContext& context);   // transmit.cc
Result<StudyResult> figure4(const StudyContext& context);   // transmit.cc
Result<StudyResult> rates(const StudyContext& context);     // goodput.cc
Result<StudyResult> transmit(const StudyContext& context);  // transmit.cc

}  // namespace wharf::study::mmio
