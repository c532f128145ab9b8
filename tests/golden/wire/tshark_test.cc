// SPDX-License-Identifier: Apache-2.0
// Wireshark's opinion of our frames: one RoCEv2 frame of every opcode, written by our own capture writer,
// dissects without a malformed packet or an expert warning, with the opcode and at the time that we meant.
//
// Two payload heuristics of Wireshark take SEND data for RPC-over-RDMA and SMB Direct; they are switched off.
// Wireshark shows the ICRC and never checks it: icrc_test.cc does.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <sstream>

#include "wire/frame.h"
#include "wire/pcapng_writer.h"

namespace wharf::wire {
namespace {

bool tshark_present() { return std::system("command -v tshark >/dev/null 2>&1") == 0; }

/// What tshark prints about `capture`.
std::string tshark(const std::filesystem::path& capture, const std::string& arguments) {
  const std::string command =
      "tshark -n -r '" + capture.string() +
      "' --disable-heuristic rpcrdma_infiniband --disable-heuristic smb_direct_infiniband " + arguments +
      " 2>/dev/null";
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::string output;
  std::array<char, 4096> chunk;
  while (const std::size_t got = std::fread(chunk.data(), 1, chunk.size(), pipe.get()))
    output.append(chunk.data(), got);
  return output;
}

/// Matches malformed packets and expert remarks from "note" on; below it are the frame comments that we
/// write.
constexpr const char* kComplaints = "-Y '_ws.malformed || _ws.expert.severity >= 0x400000'";

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// A plausible packet of an opcode. Payloads are not a multiple of four, so that the pad is seen too.
Packet sample(RoceOpcode opcode) {
  Packet packet = roce_packet();
  packet.destination.number = 1;
  packet.entropy = 0xc000;
  packet.mark = CongestionMark::kCapable;
  RocePacket& roce = packet.roce;
  roce.bth.opcode = opcode;
  roce.bth.destination_queue_pair = 0x123456;
  roce.bth.psn = 0xabc;
  const std::uint16_t headers = roce_headers(opcode);
  if ((headers & kRoceReth) != 0) roce.reth = Reth{0x7f0000001000, 0x1234, 101};
  if ((headers & kRoceAtomicEth) != 0) roce.atomic = AtomicEth{0x7f0000001000, 5, 6, 0x1234};
  if ((headers & kRoceAeth) != 0) roce.ack = RocePacket::AckExtension{77, Aeth{kAckUnlimited, 3}};
  if ((headers & kRoceDeth) != 0) roce.deth = Deth{0x11111111, 0x223344};
  if ((headers & kRocePayload) != 0)
    packet.payload = pattern_payload(1, 0, opcode == RoceOpcode::kRcAtomicWrite ? 8 : 101);
  return packet;
}

class Tshark : public testing::Test {
 protected:
  void SetUp() override {
    if (!tshark_present()) GTEST_SKIP() << "tshark is not installed, so Wireshark has no opinion";
    path_ = std::filesystem::temp_directory_path() / ("wharf_tshark_" + std::to_string(getpid()) + ".pcapng");
    for (unsigned op = 0; op < 256; ++op)
      if (roce_headers(static_cast<RoceOpcode>(op)) != 0) opcodes_.push_back(static_cast<RoceOpcode>(op));
    Result<PcapngWriter> writer = PcapngWriter::create(path_);
    ASSERT_TRUE(writer.ok());
    const CaptureInterface port = writer->add_interface("host0", LinkType::kEthernet);
    std::int64_t number = 0;
    for (const RoceOpcode opcode : opcodes_) {
      const Packet packet = sample(opcode);
      std::vector<std::byte> frame(encoded_bytes(packet));
      encode(packet, frame);
      writer->write(port, TimePs{1'000'000'123 * ++number}, frame, packet_name(packet));
    }
    ASSERT_TRUE(writer->close().ok());
  }
  void TearDown() override { std::filesystem::remove(path_); }

  std::filesystem::path path_;
  std::vector<RoceOpcode> opcodes_;
};

TEST_F(Tshark, NoFrameIsMalformed) { EXPECT_EQ(tshark(path_, kComplaints), ""); }

/// The filter of the test above does match what is wrong: an IP length beyond the frame.
TEST_F(Tshark, ABrokenFrameIsSeen) {
  Result<PcapngWriter> writer = PcapngWriter::create(path_);
  ASSERT_TRUE(writer.ok());
  const Packet packet = sample(RoceOpcode::kRcWriteOnly);
  std::vector<std::byte> frame(encoded_bytes(packet));
  encode(packet, frame);
  frame.resize(60);
  writer->write(writer->add_interface("host0", LinkType::kEthernet), TimePs{0}, frame);
  ASSERT_TRUE(writer->close().ok());
  EXPECT_NE(tshark(path_, kComplaints), "");
}

TEST_F(Tshark, SeesTheOpcodesNumbersAndComments) {
  const auto lines = lines_of(tshark(
      path_,
      "-T fields -E separator='|' -e infiniband.bth.opcode -e infiniband.bth.destqp -e infiniband.bth.psn -e "
      "frame.comment -e frame.time_epoch"));
  ASSERT_EQ(lines.size(), opcodes_.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::ostringstream expected;
    const std::int64_t ps = 1'000'000'123 * static_cast<std::int64_t>(i + 1);
    char time[32];
    std::snprintf(time, sizeof time, "%lld.%09lld", static_cast<long long>(ps / 1'000'000'000'000),
                  static_cast<long long>(ps / 1000 % 1'000'000'000));
    expected << static_cast<unsigned>(opcodes_[i]) << "|0x123456|2748|" << roce_opcode_name(opcodes_[i])
             << '|' << time;
    EXPECT_EQ(lines[i], expected.str());
  }
}

TEST_F(Tshark, AgreesOnHeadersChecksumsAndIcrcPlace) {
  const auto lines = lines_of(tshark(path_,
                                     "-o ip.check_checksum:TRUE -Y 'infiniband.reth.dmalen == 101 && "
                                     "ip.checksum.status == 1' -T fields -e "
                                     "infiniband.reth.dmalen"));
  // Four in RC, three in UC, without FLUSH and ATOMIC WRITE, which Wireshark 4.0 does not know.
  EXPECT_EQ(lines.size(), 7U);
  for (const std::string& line : lines) EXPECT_EQ(line, "101");
}

}  // namespace
}  // namespace wharf::wire
