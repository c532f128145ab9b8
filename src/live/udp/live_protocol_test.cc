// SPDX-License-Identifier: Apache-2.0
// What a protocol says about itself is what its engines can do.
#include "live/udp/live_protocol.h"

#include <gtest/gtest.h>

namespace wharf::live {
namespace {

TEST(LiveProtocols, DescriptionsAgreeWithEnginesAndNames) {
  for (const ProtocolDescription& each : live_protocols()) {
    SCOPED_TRACE(each.name);
    const engine::Capabilities can = capabilities_of(each.protocol);
    EXPECT_EQ(each.tagged, can.tagged);
    EXPECT_EQ(each.name, can.protocol);
    EXPECT_EQ(parse_protocol(each.name), each.protocol);
  }
}

}  // namespace
}  // namespace wharf::live
