// SPDX-License-Identifier: Apache-2.0
// The waterfall of one operation on a page.
#pragma once

#include "report/page.h"
#include "sim/scenario/run.h"

namespace wharf::cli {

/// A row of bars for each stage (at each place), and a table of every span.
void add_waterfall(report::Page& page, const sim::RunReport& report);

}  // namespace wharf::cli
