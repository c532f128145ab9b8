// SPDX-License-Identifier: Apache-2.0
// Wireshark shows of our frames what `wharf dissect` shows: each header and field at the same place, with the
// same name and value; the same summary in its columns.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "sample_frames.h"
#include "tshark.h"
#include "wire/dissect.h"
#include "wire/frame_layout.h"
#include "wire/hex_bytes_test_support.h"

namespace wharf::wire {
namespace {

/// Numbers as both write them: hexadecimal without leading zeros, and one word for what has no name.
std::string plain(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    for (const std::string_view nameless : {"Unknown (", "unknown ("}) {
      if (!text.starts_with(nameless)) continue;
      result += "reserved (";
      text.remove_prefix(nameless.size());
    }
    if (text.starts_with("0x")) {
      result += "0x";
      text.remove_prefix(2);
      while (text.size() > 1 && text[0] == '0' && std::isxdigit(static_cast<unsigned char>(text[1])) != 0)
        text.remove_prefix(1);
    }
    if (text.empty()) break;
    result += text[0];
    text.remove_prefix(1);
  }
  return result;
}

/// Wireshark cuts long texts.
bool same_text(const std::string& shown, const std::string& expected) {
  if (plain(shown) == plain(expected)) return true;
  for (const std::string_view end : {"…", "..."})
    if (shown.size() > 64 && shown.ends_with(end))
      return expected.starts_with(shown.substr(0, shown.size() - end.size()));
  return false;
}

bool is_of_the_network(const std::string& header) {
  return header == "Ethernet" || header == "IPv4" || header == "IPv6" || header == "UDP";
}

/// The lines of a dissection that stand for headers of UB, UET or PCIe.
std::vector<DissectLine> own_lines(const Dissection& dissection, LinkType link) {
  std::vector<DissectLine> lines;
  bool own = false;
  for (const DissectLine& line : dissection.lines) {
    if (line.depth == 0) own = !is_of_the_network(line.name) && line.name != "refused";
    if (line.name == "Ethernet padding" && link == LinkType::kEthernet && dissection.source.find("CNA") != 0)
      own = false;
    if (own) lines.push_back(line);
  }
  // The type that announces an OPtag is Ethernet's in Wireshark.
  for (DissectLine& line : lines)
    if (line.name == "OPtag") line.offset += 2, line.length -= 2;
  return lines;
}

std::string place_text(const ShownField& field) {
  return fmt::format("{}+{} {}: {}\n", field.offset, field.length, field.name, field.text);
}

/// Fields of Wireshark alone: they stand for bits that a reader of the program's output has no use for.
const std::set<std::string>& only_in_wireshark() {
  static const std::set<std::string> kNames = {
      "ub.rtph.version",         "ub.rtph.pad",         "ub.rtph.nlp",
      "ub.utph.version",         "ub.utph.pad",         "ub.utph.nlp",
      "ub.ctph.opcode",          "ub.ctph.pad",         "ub.ctph.nlp",
      "ub.btah.version",         "ub.btah.ud_flg",      "ub.atah.version",
      "ub.saetph.size",          "uet.ses.version",     "tlp.prefix.local0.value",
      "tlp.prefix.local1.value", "tlp.prefix.tph.value"};
  return kNames;
}

bool is_part_of_cc(const std::string& name) { return name.find(".cc.") != std::string::npos; }

void expect_same(const ShownFrame& shown, const Dissection& dissection, LinkType link) {
  std::vector<bool> met(shown.fields.size(), false);
  std::string missing;
  for (const DissectLine& line : own_lines(dissection, link)) {
    const std::string text = line.name + ": " + line.value;
    bool found = false;
    for (std::size_t i = 0; i < shown.fields.size() && !found; ++i) {
      const ShownField& field = shown.fields[i];
      if (met[i] || field.offset != line.offset || field.length != line.length) continue;
      if (same_text(field.text, text)) met[i] = found = true;
    }
    if (!found) missing += fmt::format("{}+{} {}\n", line.offset, line.length, text);
  }
  std::string left;
  for (std::size_t i = 0; i < shown.fields.size(); ++i) {
    const std::string& name = shown.fields[i].name;
    if (!met[i] && !is_part_of_cc(name) && !only_in_wireshark().contains(name) &&
        !name.ends_with(".bad_checksum"))
      left += place_text(shown.fields[i]);
  }
  EXPECT_EQ(missing, "") << "Wireshark lacks these lines; it has\n" << left;
  if (!missing.empty()) return;
  EXPECT_EQ(left, "") << "`wharf dissect` lacks these";
}

/// Whether it breaks rules of IP or UDP, or ends before the transport header.
bool is_of_the_network(const SampleFrame& frame, const Dissection& dissection) {
  FrameLayout layout;
  if (frame.link == LinkType::kPcieTlp) return false;
  locate(frame.bytes, frame.link, layout, {}, PortRule::kEither);
  return dissection.reason == DropReason::kForeign || dissection.reason == DropReason::kBadUdpLength ||
         (layout.has_ip && layout.transport_at == 0);
}

/// Compares all frames; those that the program refuses, by the reason. Those that break rules of IP or UDP
/// are Wireshark's affair.
void expect_all_the_same(const std::vector<SampleFrame>& frames, std::size_t& refused) {
  const ScratchFolder scratch;
  write_capture(scratch / "frames.pcapng", frames);
  const std::vector<ShownFrame> shown = shown_frames(scratch / "frames.pcapng");
  ASSERT_EQ(shown.size(), frames.size());
  refused = 0;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const Dissection dissection = dissect(frames[i].bytes, frames[i].link);
    SCOPED_TRACE(fmt::format("frame {}: {}", i + 1, dissection.summary));
    if (is_of_the_network(frames[i], dissection)) continue;
    const bool read = dissection.reason == DropReason::kNone;
    if (!read) ++refused;
    EXPECT_EQ(shown[i].refused, read ? "" : dissection_status(dissection)) << shown[i].info;
    if (read) {
      EXPECT_EQ(shown[i].protocol + " " + shown[i].info, dissection.summary);
    }
    if (read || dissection.reason == DropReason::kSecured) expect_same(shown[i], dissection, frames[i].link);
    if (testing::Test::HasFailure()) {
      // One frame is enough to look at.
      ADD_FAILURE() << dissection_text(dissection);
      return;
    }
  }
}

class WiresharkFields : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string reason = reason_to_skip(); !reason.empty()) GTEST_SKIP() << reason;
  }
};

TEST_F(WiresharkFields, OfEveryGoldenFrame) {
  std::size_t refused = 0;
  expect_all_the_same(golden_frames(), refused);
  EXPECT_EQ(refused, 0U);
}

TEST_F(WiresharkFields, OfDrawnFrames) {
  std::size_t refused = 0;
  expect_all_the_same(drawn_frames(1, 200), refused);
  EXPECT_EQ(refused, 0U);
}

/// Of many damaged frames some of each reason for which they are refused, and some that are still read.
std::vector<SampleFrame> damaged_frames_of_each_reason(std::map<std::string, std::size_t>& kept) {
  const std::vector<SampleFrame> whole = drawn_frames(2, 1000);
  std::vector<SampleFrame> chosen;
  for (std::uint64_t seed = 0; seed < 20; ++seed)
    for (SampleFrame& frame : damaged_frames(whole, seed)) {
      const Dissection dissection = dissect(frame.bytes, frame.link);
      const std::size_t most = dissection.reason == DropReason::kNone ? 400 : 20;
      std::size_t& count = kept[std::string(dissection_status(dissection))];
      if (count == most) continue;
      ++count;
      chosen.push_back(std::move(frame));
    }
  return chosen;
}

/// What is refused, is refused for the same reason; what is not, has the same fields.
TEST_F(WiresharkFields, OfDamagedFrames) {
  std::map<std::string, std::size_t> kept;
  std::size_t refused = 0;
  expect_all_the_same(damaged_frames_of_each_reason(kept), refused);
  EXPECT_GT(refused, 400U);
  // No reason is left out but those of IP, of hosts and of checksums, and those that no damage brings about.
  for (std::uint32_t i = 1; i < kDropReasonCount; ++i) {
    const auto reason = static_cast<DropReason>(i);
    switch (reason) {
      case DropReason::kForeign:
      case DropReason::kBadIpHeader:
      case DropReason::kIpFragment:
      case DropReason::kBadIpChecksum:
      case DropReason::kBadUdpLength:
      case DropReason::kAddressNotInPlan:
      case DropReason::kBadIcrc:
      case DropReason::kBadTlp:
        break;
      case DropReason::kNone:
      case DropReason::kTruncated:
      case DropReason::kBadLinkHeader:
      case DropReason::kBadTransportVersion:
      case DropReason::kUnknownTransport:
      case DropReason::kUnknownNextHeader:
      case DropReason::kUnknownOpcode:
      case DropReason::kBadSackSize:
      case DropReason::kBadRequesterType:
      case DropReason::kUnsupportedHeader:
      case DropReason::kBadPadding:
      case DropReason::kBadPayloadLength:
      case DropReason::kForbiddenHeader:
      case DropReason::kBadSegment:
      case DropReason::kSecured:
        EXPECT_TRUE(kept.contains(std::string(drop_reason_text(reason)))) << drop_reason_text(reason);
    }
  }
  for (std::uint32_t i = 1; i < kTlpDropReasonCount; ++i) {
    const auto reason = static_cast<TlpDropReason>(i);
    if (reason == TlpDropReason::kPayloadTooLong || reason == TlpDropReason::kBadEcrc) continue;
    EXPECT_TRUE(kept.contains(std::string(tlp_drop_reason_text(reason)))) << tlp_drop_reason_text(reason);
  }
}

}  // namespace
}  // namespace wharf::wire
