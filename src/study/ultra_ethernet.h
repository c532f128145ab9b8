// SPDX-License-Identifier: Apache-2.0
// The studies of Ultra Ethernet 1.0 and of public descriptions of it.
#pragma once

#include "study/study.h"

namespace wharf::study::ultra_ethernet {

Result<StudyResult> base_rtt(const StudyContext& context);             // uet_base_rtt.cc
Result<StudyResult> reference_simulator(const StudyContext& context);  // uet_simulator.cc
Result<StudyResult> worked_examples(const StudyContext& context);      // uet_worked_examples.cc

}  // namespace wharf::study::ultra_ethernet
