// SPDX-License-Identifier: Apache-2.0
// The studies of fabrics that belong to no single document's figure.
#pragma once

#include "study/frame/study.h"

namespace wharf::study::fabric {

Result<StudyResult> congestion_types(const StudyContext& context);  // congestion.cc

}  // namespace wharf::study::fabric
