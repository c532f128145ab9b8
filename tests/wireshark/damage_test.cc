// SPDX-License-Identifier: Apache-2.0
// Whatever a frame holds, the dissectors neither fail nor get in the way of others.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>

#include "sample_frames.h"
#include "tshark.h"
#include "wire/frame.h"
#include "wire/hex_bytes_test_support.h"

namespace wharf::wire {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class WiresharkDamage : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string reason = reason_to_skip(); !reason.empty()) GTEST_SKIP() << reason;
  }

  /// What tshark says of `frames` in full, after it was seen to have no error of Lua.
  std::string whole_tree(const std::vector<SampleFrame>& frames) {
    write_capture(scratch_ / "frames.pcapng", frames);
    std::string text = tshark(scratch_ / "frames.pcapng", "-V");
    expect_no_error(text);
    return text;
  }
  static void expect_no_error(const std::string& text) {
    const std::size_t at = text.find("Lua Error");
    EXPECT_EQ(at, std::string::npos) << text.substr(at == std::string::npos ? 0 : at, 400);
    EXPECT_THAT(text.substr(0, 1000), Not(HasSubstr("lua")));
  }

  ScratchFolder scratch_;
};

TEST_F(WiresharkDamage, NeverMakesLuaFail) { whole_tree(wrecked_frames(drawn_frames(4, 400), 5)); }

/// Every eighth golden frame, cut after each of its bytes, as a frame and as a capture with a short snap
/// length has it.
TEST_F(WiresharkDamage, FramesMayEndAnywhere) {
  std::vector<SampleFrame> cut;
  std::vector<SampleFrame> frames = golden_frames();
  for (std::size_t i = 0; i < frames.size(); i += 8)
    for (std::size_t length = 0; length < frames[i].bytes.size(); ++length) {
      cut.push_back(frames[i]);
      cut.back().bytes.resize(length);
    }
  whole_tree(cut);

  write_capture(scratch_ / "frames.pcapng", drawn_frames(6, 40));
  for (const unsigned length : {15U, 50U, 77U, 95U}) {
    const auto path = scratch_ / fmt::format("short{}.pcapng", length);
    const std::string command =
        fmt::format("editcap -s {} '{}' '{}'", length, (scratch_ / "frames.pcapng").string(), path.string());
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
    expect_no_error(tshark(path, "-V"));
  }
}

/// A source port is an entropy value, whoever else has it; and that protocol still gets its own packets.
TEST_F(WiresharkDamage, SourcePortsOfOthersAreNotTheirs) {
  std::vector<SampleFrame> frames;
  for (const std::uint16_t entropy : {53, 443, 2049, 4791, 4792, 4793, 50000}) {
    Packet packet = ub_packet();
    packet.destination.number = 1;
    packet.entropy = entropy;
    packet.payload = pattern_payload(1, 0, 32);
    use_request(packet.ub).opcode = TaOpcode::kWrite;
    frames.push_back({std::vector<std::byte>(encoded_bytes(packet)), LinkType::kEthernet});
    encode(packet, frames.back().bytes);
    Packet probe = uet_packet();
    probe.destination.number = 1;
    probe.entropy = entropy;
    use_control(probe.uet, UetControlType::kProbe);
    frames.push_back({std::vector<std::byte>(encoded_bytes(probe)), LinkType::kEthernet});
    encode(probe, frames.back().bytes);
  }
  // A question for a name, from 53000 to 53.
  frames.push_back(
      {hex_bytes("02000a000002 02000a000001 0800 45000039 00004000 401126a8 0a000001 0a000002"
                 "cf08 0035 0025 0000 0001 0100 0001 0000 0000 0000 0577686172660474657374 00 0001"
                 "0001 00"),
       LinkType::kEthernet});
  write_capture(scratch_ / "frames.pcapng", frames);
  std::string expected;
  for (int i = 0; i < 7; ++i) expected += "UB\nUET\n";
  const std::string shown = tshark(scratch_ / "frames.pcapng", "-T fields -e _ws.col.Protocol");
  EXPECT_THAT(shown, HasSubstr(expected + "DNS\n"));
}

/// Fields can be filtered by.
TEST_F(WiresharkDamage, FiltersChooseFrames) {
  write_capture(scratch_ / "frames.pcapng", golden_frames());
  const auto count = [&](const std::string& filter) {
    const std::string shown =
        tshark(scratch_ / "frames.pcapng", "-Y '" + filter + "' -T fields -e frame.number");
    std::istringstream text(shown);
    std::size_t lines = 0;
    for (std::string line; std::getline(text, line);)
      if (line.find_first_not_of("0123456789") == std::string::npos) ++lines;
    return lines;
  };
  EXPECT_EQ(count("ub.btah.opcode == 0x03"), 6U);  // A Write of each profile, and of CTP in three framings.
  EXPECT_EQ(count("ub.rtph.opcode == 5"), 2U);     // A TPSACK of each profile that has them.
  EXPECT_EQ(count("tlp.type == 0 && tlp.fmt == 0"), 6U);  // Reads below 4 GiB.
  EXPECT_EQ(count("tlp.address == 0x100002000 && tlp.tag == 171"), 1U);
  EXPECT_EQ(count("ub.refused || tlp.refused"), 0U);
}

}  // namespace
}  // namespace wharf::wire
