// SPDX-License-Identifier: Apache-2.0
// The quick studies of many hosts: what they promise of their own figures holds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <string>
#include <vector>

#include "study/fabric/fabric.h"
#include "study/registry.h"
#include "study/ultra_ethernet/ultra_ethernet.h"
#include "wire/capture_reader.h"

namespace wharf::study {
namespace {

StudyContext context() {
  StudyContext context;
  context.profiles = "profiles";
  context.reference = "studies";
  context.threads = 2;
  return context;
}

void expect_holds(const Result<StudyResult>& result) {
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_FALSE(result->rows.empty());
  EXPECT_FALSE(result->sentences.empty());
  for (const Check& check : result->checks)
    EXPECT_TRUE(check.holds()) << check.what << ": " << check.value << ", expected " << check.least << " to "
                               << check.most;
}

TEST(ManyHosts, TheBaseRoundTripIsTheSumOfItsParts) { expect_holds(ultra_ethernet::base_rtt(context())); }

TEST(ManyHosts, WorkedExamplesComeOut) { expect_holds(ultra_ethernet::worked_examples(context())); }

TEST(ManyHosts, APacketWalkSendsThePrintedBytesAndCapturesThem) {
  StudyContext with = context();
  with.captures = ::testing::TempDir();
  const auto result = ultra_ethernet::packet_walk(with);
  ASSERT_TRUE(result.ok()) << result.error().message;
  for (const Check& check : result->checks) EXPECT_TRUE(check.holds()) << check.what;
  auto reader = wire::CaptureReader::open((with.captures / "uet-packet-walk.pcapng").string());
  ASSERT_TRUE(reader.ok()) << reader.error().message;
  std::vector<std::string> headers;
  wire::CapturedFrame frame;
  while (*reader->next(frame)) {
    // Behind Ethernet, IPv4 and UDP.
    std::string text;
    for (std::size_t at = 42; at < 42 + 12; ++at)
      text += fmt::format("{:02X}", static_cast<unsigned>(frame.bytes[at]));
    headers.push_back(text);
  }
  EXPECT_THAT(headers, ::testing::ElementsAre("118CFFFF0001200040010000", "118CFFFE0001200140010001",
                                              "118CFFFD0001200240010002", "118CFFFC0001200340010003",
                                              "3A0000000001200080014001", "3A0000000001200180014001",
                                              "3A0000000001200280014001", "3A0000000001200380014001"));
}

TEST(ManyHosts, RunsAgreeWithTheUecSimulator) {
  expect_holds(ultra_ethernet::reference_simulator(context()));
}

TEST(ManyHosts, EachTypeOfCongestionHasItsCure) { expect_holds(fabric::congestion_types(context())); }

TEST(ManyHosts, TheirStudiesAreListed) {
  for (const char* id :
       {"openurma/figure17", "openurma/figure44", "openurma/figure45", "fabric/congestion-types",
        "uet/base-rtt", "uet/htsim-reference", "uet/worked-examples", "uet/packet-walk"}) {
    EXPECT_TRUE(find_studies(id).ok()) << id;
  }
}

}  // namespace
}  // namespace wharf::study
