// SPDX-License-Identifier: Apache-2.0
#include "base/csv.h"

namespace wharf {
namespace {

TEST(Csv, QuotesOnlyWhatNeedsIt) {
  std::string text;
  append_csv_row(text, {"plain", "a,b", "say \"hi\"", "two\nlines", ""});
  EXPECT_EQ(text, "plain,\"a,b\",\"say \"\"hi\"\"\",\"two\nlines\",\n");
}

}  // namespace
}  // namespace wharf
