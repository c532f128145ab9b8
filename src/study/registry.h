// SPDX-License-Identifier: Apache-2.0
// The list of all studies.
#pragma once

#include <span>
#include <string_view>

#include "base/result.h"
#include "study/frame/study.h"

namespace wharf::study {

/// Every study, by document and then in the order of the document.
std::span<const Study> all_studies();

/// The study called `id`; an unknown one is refused with the nearest name.
Result<const Study*> find_study(std::string_view id);

}  // namespace wharf::study
