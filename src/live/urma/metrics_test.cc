// SPDX-License-Identifier: Apache-2.0
// The files in which programs of the C interface keep what they count.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>

#include "live/urma/urma_test_support.h"

namespace wharf::live::urma {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class UrmaMetrics : public UrmaTestEachWay {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "wharf_urma_metrics_XXXXXX";
    folder_ = ::mkdtemp(name.data());
    ::setenv("WHARF_URMA_METRICS", folder_.c_str(), 1);
    UrmaTestEachWay::SetUp();
  }
  void TearDown() override {
    UrmaTestEachWay::TearDown();
    EXPECT_TRUE(fs::is_empty(folder_)) << "files of a process that has ended";
    ::unsetenv("WHARF_URMA_METRICS");
    fs::remove_all(folder_);
  }
  /// By name, once `enough` of them.
  std::map<std::string, std::string> files(const std::function<bool(const std::string&)>& enough) const {
    std::map<std::string, std::string> found;
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    for (bool all = false; !all && std::chrono::steady_clock::now() < limit;) {
      found.clear();
      all = true;
      for (const fs::directory_entry& each : fs::directory_iterator(folder_)) {
        if (each.path().extension() != ".prom") continue;
        std::ifstream in(each.path());
        std::string& text = found[each.path().filename().string()];
        text.assign(std::istreambuf_iterator<char>(in), {});
        all = all && enough(text);
      }
      all = all && found.size() == 2;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return found;
  }

  fs::path folder_;
};
INSTANTIATE_TEST_SUITE_P(EachWay, UrmaMetrics, each_way(), way_name);

// Also while the program does nothing.
TEST_P(UrmaMetrics, AreKeptForEachAddressThatIsUsed) {
  End left;
  End right({.device = "right", .token = 77});
  left.reach(right, 77);
  ASSERT_EQ(right.receive(0, 256, 42), URMA_SUCCESS);
  ASSERT_EQ(left.post(URMA_OPC_SEND, left.local(0, 100), {}), URMA_SUCCESS);
  EXPECT_EQ(next_record(left.send_jfc).status, URMA_CR_SUCCESS);
  EXPECT_EQ(next_record(right.receive_jfc).status, URMA_CR_SUCCESS);
  // One may have been written in the middle; each is written again.
  const auto found = files([](const std::string& text) {
    return text.find("wharf_completions_total{protocol=\"ub\"} 1\n") != std::string::npos ||
           text.find("wharf_messages_received_total{protocol=\"ub\"} 1\n") != std::string::npos;
  });
  ASSERT_EQ(found.size(), 2U);
  std::string both;
  for (const auto& [name, text] : found) {
    EXPECT_THAT(name, HasSubstr(std::to_string(::getpid()) + "-" + (shares_memory() ? "shm-" : "127.0.0.")));
    EXPECT_THAT(text, HasSubstr("wharf_info{protocol=\"ub\",address=\"" +
                                std::string(shares_memory() ? "shm:" : "127.0.0.")));
    EXPECT_THAT(text, HasSubstr("wharf_clients{protocol=\"ub\"} 1\n"));
    // The jetty and its JFR.
    EXPECT_THAT(text, HasSubstr("wharf_queues{protocol=\"ub\"} 2\n"));
    EXPECT_THAT(text, HasSubstr("wharf_peer_datagrams_received_total{protocol=\"ub\",peer=\"1\",address=\""));
    EXPECT_EQ(text.substr(text.size() - 6), "# EOF\n");
    both += text;
  }
  EXPECT_THAT(both, HasSubstr("wharf_messages_received_total{protocol=\"ub\"} 1\n"));
  EXPECT_THAT(both, HasSubstr("wharf_completions_total{protocol=\"ub\"} 1\n"));
}

TEST(UrmaMetricsFolder, ThatIsNoneLeavesTheProgramAlone) {
  ::setenv("WHARF_URMA_METRICS", "/no/such/folder", 1);
  ::setenv("WHARF_URMA_DEVICES", kUdpDevices, 1);
  urma_init_attr_t attributes{};
  ASSERT_EQ(urma_init(&attributes), URMA_SUCCESS);
  { End left; }
  EXPECT_EQ(urma_uninit(), URMA_SUCCESS);
  ::unsetenv("WHARF_URMA_METRICS");
}

}  // namespace
}  // namespace wharf::live::urma
