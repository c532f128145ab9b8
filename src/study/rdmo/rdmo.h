// SPDX-License-Identifier: Apache-2.0
// The studies of remote operations by a worker near the memory: why one would have it append. Nobody has
// published these figures; each study says what its world assumes.
#pragma once

#include "study/frame/study.h"

namespace wharf::study::rdmo {

Result<StudyResult> append(const StudyContext& context);       // append.cc
Result<StudyResult> size(const StudyContext& context);         // size.cc
Result<StudyResult> load(const StudyContext& context);         // load.cc
Result<StudyResult> worker_time(const StudyContext& context);  // worker_time.cc

}  // namespace wharf::study::rdmo
