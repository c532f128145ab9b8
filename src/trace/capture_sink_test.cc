// SPDX-License-Identifier: Apache-2.0
#include "trace/capture_sink.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "trace/example_events_test_support.h"
#include "wire/capture_reader.h"

namespace wharf::trace {
namespace {

class CaptureFile : public testing::Test {
 protected:
  ~CaptureFile() override { std::filesystem::remove(path_); }
  std::filesystem::path path_ = std::filesystem::temp_directory_path() /
                                (std::string("wharf_capture_") +
                                 testing::UnitTest::GetInstance()->current_test_info()->name() + ".pcapng");
};

TEST_F(CaptureFile, HoldsThePacketsOfTheChosenPortsWithTheirTimes) {
  auto writer = wire::PcapngWriter::create(path_);
  ASSERT_TRUE(writer.ok());
  CaptureSink sink(std::move(*writer));
  sink.add_port(0, 4, "host 0 nic");
  Tracer tracer;
  tracer.attach(sink, CaptureSink::kMask);
  run_example(tracer);
  wire::Packet native = wire::ub_packet();
  native.source = wire::HostAddress{0};
  native.destination = wire::HostAddress{1};
  native.ub.encapsulation = wire::UbEncapsulation::kCna16OnLink;
  wire::use_ctp(native.ub);
  wire::use_request(native.ub).opcode = wire::TaOpcode::kRead;
  native.ub.extension.maetah.length = 64;
  tracer.emit(
      {.kind = EventKind::kPacketSent, .component = 4, .begin = nanoseconds(2'000), .packet = &native});
  wire::Packet trimmed = example_roce_write(8);
  trimmed.trim = wire::TrimState::kTrimmed;
  tracer.emit(
      {.kind = EventKind::kPacketReceived, .component = 4, .begin = nanoseconds(2'100), .packet = &trimmed});
  // Ultra Ethernet frames can say that they were trimmed.
  wire::Packet cut = wire::uet_packet();
  cut.source = wire::HostAddress{0};
  cut.destination = wire::HostAddress{1};
  wire::use_pds_request(cut.uet, wire::UetPdsType::kRudRequest).psn = 99;
  wire::use_ses_request(cut.uet, wire::UetNextHeader::kRequestStandard, wire::UetOpcode::kWrite);
  cut.payload = wire::pattern_payload(1, 0, 512);
  wire::trim_packet(cut, wire::TrimState::kTrimmed);
  tracer.emit(
      {.kind = EventKind::kPacketReceived, .component = 4, .begin = nanoseconds(2'200), .packet = &cut});
  ASSERT_TRUE(sink.close().ok());
  EXPECT_EQ(sink.frames(), 3U);
  EXPECT_EQ(sink.left_out(), 1U);

  auto reader = wire::CaptureReader::open(path_);
  ASSERT_TRUE(reader.ok()) << reader.error().message;
  wire::CapturedFrame frame;
  ASSERT_TRUE(*reader->next(frame));
  EXPECT_EQ(frame.interface_name, "host 0 nic");
  EXPECT_EQ(frame.seconds, 0);
  EXPECT_EQ(frame.picoseconds / 1000, 227U);  // Captures count nanoseconds.
  wire::Packet decoded;
  ASSERT_EQ(wire::decode(frame.bytes, static_cast<wire::LinkType>(frame.link_type), decoded),
            wire::DropReason::kNone);
  EXPECT_EQ(decoded.roce.bth.psn, 7U);
  EXPECT_TRUE(wire::payload_equal(decoded.payload, example_roce_write(7).payload));
  ASSERT_TRUE(*reader->next(frame));
  EXPECT_EQ(frame.link_type, static_cast<std::uint16_t>(wire::LinkType::kUbLink));
  EXPECT_EQ(frame.picoseconds, 2'000'000U);
  ASSERT_TRUE(*reader->next(frame));
  ASSERT_EQ(wire::decode(frame.bytes, static_cast<wire::LinkType>(frame.link_type), decoded),
            wire::DropReason::kNone);
  EXPECT_EQ(decoded.trim, wire::TrimState::kTrimmed);
  EXPECT_EQ(decoded.uet.request.psn, 99U);
  EXPECT_FALSE(*reader->next(frame));
}

}  // namespace
}  // namespace wharf::trace
