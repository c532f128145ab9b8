// SPDX-License-Identifier: Apache-2.0
#include "report/text_table.h"

#include <gtest/gtest.h>

namespace wharf::report {
namespace {

TEST(TextTable, AlignsColumnsAndTrimsLineEnds) {
  TextTable table({{"stack"}, {"ns", Align::kRight}});
  table.add_row({"ub_ldst", "500"});
  table.add_rule();
  table.add_row({"roce_dma", "2186"});
  table.add_row({"µs"});
  EXPECT_EQ(table.text(),
            "stack       ns\n"
            "--------------\n"
            "ub_ldst    500\n"
            "--------------\n"
            "roce_dma  2186\n"
            "µs\n");
}

}  // namespace
}  // namespace wharf::report
