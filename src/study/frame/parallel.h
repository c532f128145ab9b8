// SPDX-License-Identifier: Apache-2.0
// Independent pieces of work on all cores.
#pragma once

#include <cstddef>
#include <functional>

#include "base/result.h"
#include "study/frame/study.h"

namespace wharf::study {

/// Calls work(0) .. work(count - 1), up to context.threads at a time, and reports progress. After a failure
/// no further piece is begun; of several failures the one of the lowest number is returned.
Result<void> for_each_in_parallel(const StudyContext& context, std::size_t count,
                                  const std::function<Result<void>(std::size_t)>& work);

}  // namespace wharf::study
