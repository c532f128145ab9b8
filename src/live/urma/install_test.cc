// SPDX-License-Identifier: Apache-2.0
// A program outside of the tree is built against what `cmake --install` puts somewhere, and runs.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>

namespace {

TEST(Installed, AProgramOutsideOfTheTreeIsBuiltAndRuns) {
  const std::string folder = ::testing::TempDir() + "wharf_urma_install";
  {
    std::ofstream program(folder + ".c");
    program << "#include <ub_util.h>\n"
               "#include <urma_api.h>\n"
               "int main(void) {\n"
               "  int count = 0;\n"
               "  uint8_t number = 0;\n"
               "  if (urma_init(NULL) != URMA_SUCCESS || ub_str_to_u8(\"7\", &number) != 0) return 1;\n"
               "  urma_device_t **devices = urma_get_device_list(&count);\n"
               "  urma_free_device_list(devices);\n"
               "  return urma_uninit() == URMA_SUCCESS && count == 1 && number == 7 ? 0 : 2;\n"
               "}\n";
  }
  const std::string script =
      "set -e; rm -rf " + folder + "; cmake --install " WHARF_BUILD_FOLDER " --component urma --prefix " +
      folder + " > /dev/null; " + "cc -std=gnu11 -Wno-packed-bitfield-compat -I" + folder +
      "/include/ub/umdk/urma " + folder + ".c -L" + folder +
      "/" WHARF_LIBRARY_DIRECTORY " -lurma -lurma_common -o " + folder +
      "/program; LD_LIBRARY_PATH=" + folder + "/" WHARF_LIBRARY_DIRECTORY " WHARF_URMA_DEVICES=127.0.0.1 " +
      folder + "/program; rm -rf " + folder + " " + folder + ".c";
  EXPECT_EQ(std::system(("sh -c '" + script + "'").c_str()), 0) << script;
}

}  // namespace
