// SPDX-License-Identifier: Apache-2.0
#include "live/reactor/host_name.h"

#include <gmock/gmock.h>

namespace wharf::live {
namespace {

using ::testing::HasSubstr;

TEST(HostName, AddressesAndNamesAreFound) {
  EXPECT_EQ(*find_host("127.0.0.1"), 0x7f000001U);
  EXPECT_EQ(*find_host("localhost"), 0x7f000001U);
}

TEST(HostName, AnythingElseIsRefusedInOneSentence) {
  for (const char* text :
       {"", "127.0.0", "127.0.0.256", "a b", "-rf", ".local", "two:words", "a/b", "1.2.3.4.5"})
    EXPECT_THAT(find_host(text).error().message, HasSubstr("no IPv4 address and no name")) << text;
  for (const char* text : {"::1", "fe80::1", "2001:db8::7"})
    EXPECT_THAT(find_host(text).error().message, HasSubstr("is an IPv6 address")) << text;
  // Nobody has it. [RFC 6761 6.4]
  EXPECT_THAT(find_host("nobody.invalid").error().message,
              HasSubstr("\"nobody.invalid\" has no IPv4 address that the system knows"));
  EXPECT_FALSE(find_host(std::string(300, 'a')).ok());
}

}  // namespace
}  // namespace wharf::live
