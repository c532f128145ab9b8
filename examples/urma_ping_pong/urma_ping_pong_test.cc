// SPDX-License-Identifier: Apache-2.0
// Runs the example as its two processes.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <memory>
#include <string>

namespace {

using Pipe = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

std::string line_of(std::FILE* pipe) {
  std::array<char, 256> text{};
  return std::fgets(text.data(), text.size(), pipe) == nullptr ? std::string() : std::string(text.data());
}

TEST(UrmaPingPong, TwoProcessesWriteReadAndSend) {
  Pipe server(::popen(WHARF_PING_PONG " --port 0 2>&1", "r"), ::pclose);
  ASSERT_NE(server, nullptr);
  unsigned port = 0;
  ASSERT_EQ(std::sscanf(line_of(server.get()).c_str(), "listening on port %u", &port), 1);
  Pipe client(
      ::popen((std::string(WHARF_PING_PONG " 127.0.0.1 --port ") + std::to_string(port) + " 2>&1").c_str(),
              "r"),
      ::pclose);
  ASSERT_NE(client, nullptr);
  EXPECT_EQ(line_of(client.get()),
            "client: wrote and read \"written from afar\", sent \"ping\", got \"pong\"\n");
  const std::string heard = line_of(server.get());
  EXPECT_NE(heard.find("\"ping\""), std::string::npos) << heard;
  EXPECT_NE(heard.find("\"written from afar\""), std::string::npos) << heard;
  EXPECT_EQ(::pclose(client.release()), 0);
  EXPECT_EQ(::pclose(server.release()), 0);
}

}  // namespace
