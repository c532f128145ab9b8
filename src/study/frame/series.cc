// SPDX-License-Identifier: Apache-2.0
// The two kinds of series that a plot of a study compares; apart from study.h, which draws nothing.
#include <fmt/format.h>

#include "study/frame/study.h"

namespace wharf::study {

Series published_series(std::string_view subject) {
  return {fmt::format("published {}", subject), {}, std::string(subject), true};
}

Series mechanism_series(std::string_view subject) {
  return {fmt::format("mechanism {}", subject), {}, std::string(subject), false};
}

}  // namespace wharf::study
