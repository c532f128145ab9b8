// SPDX-License-Identifier: Apache-2.0
// Every function of the C interface, called with nothing, and with addresses that are no objects: it fails in
// the way of its kind, and harms nothing. The list is that of the library's symbols, so none is left out.
#include <cerrno>
#include <cstring>
#include <set>
#include <string>
#include <type_traits>

#include "live/urma/include/ub_numbers.h"
#include "live/urma/include/urma_perf.h"
#include "live/urma/include/urma_ubagg.h"
#include "live/urma/urma_test_support.h"

namespace wharf::live::urma {
namespace {

/// Functions to which nothing is an answer, too: setters and getters of the log, and what frees.
const std::set<std::string> kTakeNothing{"urma_unregister_log_func", "urma_log_get_level",
                                         "urma_log_set_level",       "urma_log_get_thread_tag",
                                         "urma_log_set_thread_tag",  "ub_hugemalloc"};
/// Functions that would take an address for what it is: they free it, write there, or call it.
const std::set<std::string> kTrustAddresses{"urma_free_device_list",
                                            "urma_free_eid_list",
                                            "urma_put_rjetty",
                                            "urma_put_seg_ctx",
                                            "urma_free_net_addr_list",
                                            "urma_get_device_list",
                                            "urma_get_uasid",
                                            "urma_register_log_func",
                                            "urma_register_loc_log_func",
                                            "urma_log_set_thread_tag",
                                            "urma_u32_to_eid",
                                            "ub_hugefree",
                                            "ub_hugemalloc"};

/// Zeroed memory at which there is no object.
alignas(64) std::byte nowhere[1U << 16U];

enum class With : std::uint8_t { kNothing, kWrongAddresses };

template <typename T>
T argument(With with) {
  if constexpr (std::is_pointer_v<T> && std::is_object_v<std::remove_pointer_t<T>>) {
    if (with == With::kWrongAddresses) return reinterpret_cast<T>(nowhere);
  }
  return T{};
}

template <typename R, typename... Args>
void expect_refusal(const char* name, R (*function)(Args...), With with) {
  const std::set<std::string>& excepted = with == With::kNothing ? kTakeNothing : kTrustAddresses;
  if (std::strcmp(name, "urma_uninit") == 0) return;  // Would be right.
  if (with == With::kWrongAddresses && excepted.count(name) != 0) return;
  errno = 0;
  if constexpr (std::is_void_v<R>) {
    function(argument<Args>(with)...);
  } else {
    const R result = function(argument<Args>(with)...);
    if (excepted.count(name) != 0 || kTakeNothing.count(name) != 0) return;
    if constexpr (std::is_pointer_v<R>) {
      EXPECT_EQ(result, nullptr) << name;
      EXPECT_NE(errno, 0) << name;
    } else {
      EXPECT_NE(static_cast<long>(result), 0L) << name;
    }
  }
}

class EveryCall : public UrmaTest {};

TEST_F(EveryCall, WithNothing) {
  int calls = 0;
#define FUNCTION(name)                          \
  expect_refusal(#name, &name, With::kNothing); \
  ++calls;
#include "live/urma/function_rows.inc"
#undef FUNCTION
  EXPECT_GE(calls, 230);
}

TEST_F(EveryCall, WithWrongAddresses) {
#define FUNCTION(name) expect_refusal(#name, &name, With::kWrongAddresses);
#include "live/urma/function_rows.inc"
#undef FUNCTION
}

TEST(EveryCallBefore, WithNothing) {
#define FUNCTION(name) \
  if (std::strcmp(#name, "urma_init") != 0) expect_refusal(#name, &name, With::kNothing);
#include "live/urma/function_rows.inc"
#undef FUNCTION
}

}  // namespace
}  // namespace wharf::live::urma
