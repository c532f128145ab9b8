// SPDX-License-Identifier: Apache-2.0
// Source and binary layout of the URMA headers, row by row, as C11 and as C++. [URMA API 0.9]
#include "live/urma/layout_check.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

extern "C" void check_layout_in_c(LayoutReport* report);
extern "C" void check_constants_in_c(LayoutReport* report);

namespace {

void check_layout(LayoutReport* report) {
#include "live/urma/layout_rows.inc"
}

void check_constants(LayoutReport* report) {
#include "live/urma/constant_rows.inc"
}

void expect_right(void (*check)(LayoutReport*), unsigned rows_least) {
  LayoutReport report{};
  check(&report);
  EXPECT_GE(report.rows, rows_least);
  EXPECT_EQ(report.wrong, 0U) << report.first;
}

TEST(UrmaLayout, EveryTypeAsC) { expect_right(check_layout_in_c, 2000); }
TEST(UrmaLayout, EveryTypeAsCpp) { expect_right(check_layout, 2000); }
TEST(UrmaLayout, EveryConstantAsC) { expect_right(check_constants_in_c, 370); }
TEST(UrmaLayout, EveryConstantAsCpp) { expect_right(check_constants, 370); }

// Programs look functions up by name in the libraries that they open by name.
TEST(UrmaLayout, EveryFunctionIsExported) {
  void* const urma = ::dlopen(WHARF_LIBRARY_FOLDER "/liburma.so.0", RTLD_NOW);
  ASSERT_NE(urma, nullptr) << ::dlerror();
  void* const common = ::dlopen(WHARF_LIBRARY_FOLDER "/liburma_common.so.0", RTLD_NOW);
  ASSERT_NE(common, nullptr) << ::dlerror();
  unsigned missing = 0;
  const auto look = [&](const char* name) {
    if (::dlsym(urma, name) == nullptr && ::dlsym(common, name) == nullptr && missing++ == 0) {
      ADD_FAILURE() << "missing: " << name;
    }
  };
#define FUNCTION(name) look(#name);
#include "live/urma/function_rows.inc"
#undef FUNCTION
  EXPECT_EQ(missing, 0U);
  EXPECT_EQ(::dlsym(urma, "_ZN5wharf4live4urma6tablesEv"), nullptr)
      << "only the C interface leaves the library";
}

}  // namespace
