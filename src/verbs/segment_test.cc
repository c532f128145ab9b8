// SPDX-License-Identifier: Apache-2.0
#include "verbs/segment.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace wharf::verbs {
namespace {

RC_GTEST_PROP(Segment, ExchangeFormRoundTrips,
              (std::uint64_t base, std::uint64_t length, std::uint32_t id, std::uint32_t value, bool read,
               bool write, bool atomic)) {
  const RemoteSegment segment{base, length, {id, value}, {read, write, atomic}};
  const auto bytes = encode(segment);
  const auto back = decode_remote_segment(bytes);
  RC_ASSERT(back.ok());
  RC_ASSERT(back->base == base && back->length == length && back->token == segment.token);
  RC_ASSERT(back->rights == segment.rights);
}

TEST(Segment, RefusesWrongLengthAndUnknownRights) {
  auto bytes = encode(RemoteSegment{});
  EXPECT_FALSE(decode_remote_segment(std::span(bytes).first(27)).ok());
  bytes[27] = std::byte{8};
  const auto result = decode_remote_segment(bytes);
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().message.find("unknown access rights 8"), std::string::npos);
}

}  // namespace
}  // namespace wharf::verbs
