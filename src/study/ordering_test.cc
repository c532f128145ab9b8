// SPDX-License-Identifier: Apache-2.0
// The quick studies of ordered remote memory hold, as shipped.
#include "study/ordering/ordering.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "study/registry.h"
#include "wire/capture_reader.h"

namespace wharf::study {
namespace {

TEST(OrderingStudies, TheQuickOnesHold) {
  StudyContext context;
  context.profiles = "profiles";
  context.reference = "studies";
  context.captures = testing::TempDir();
  for (const char* id :
       {"ordering/table1", "ordering/figure2", "ordering/figure3", "ordering/figure5", "ordering/figure6b",
        "ordering/figure10", "ordering/table5", "ordering/table6", "mmio/figure2", "mmio/figure3",
        "mmio/figure4", "mmio/rates", "mmio/transmit", "ordering/rob-size", "ordering/two-root-complexes"}) {
    auto found = find_studies(id);
    ASSERT_TRUE(found) << id;
    ASSERT_EQ(found->size(), 1U) << id;
    auto result = found->front()->run(context);
    ASSERT_TRUE(result) << result.error().message;
    for (const Check& check : result->checks)
      EXPECT_TRUE(check.holds()) << id << ": " << check.what << ": " << check.value;
  }
  // A thousand reads of a line, and their completions.
  for (const ordering::Scheme& scheme : ordering::kSchemes) {
    const std::filesystem::path file =
        context.captures / ("ordering-figure5-" + std::string(scheme.name) + "-64B.pcapng");
    auto reader = wire::CaptureReader::open(file.string());
    ASSERT_TRUE(reader) << reader.error().message;
    wire::CapturedFrame frame;
    std::uint64_t frames = 0;
    while (*reader->next(frame)) ++frames;
    EXPECT_EQ(frames, 2'000U) << file;
  }
}

}  // namespace
}  // namespace wharf::study
