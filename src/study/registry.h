// SPDX-License-Identifier: Apache-2.0
// The list of all studies.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "study/frame/overrides.h"
#include "study/frame/study.h"

namespace wharf::study {

/// Every study, by document and then in the order of the document.
std::span<const Study> all_studies();

/// The study called `name`; of a document ("openurma") or a pattern ("openurma/table*") all that it names.
/// What names none is refused with the nearest name.
Result<std::vector<const Study*>> find_studies(const std::string& name);

}  // namespace wharf::study
