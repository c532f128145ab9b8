// SPDX-License-Identifier: Apache-2.0
// liburma_common: numbers from text, and memory in huge pages.
#pragma GCC visibility push(default)
#include "live/urma/include/ub_numbers.h"
#pragma GCC visibility pop

#include <sys/mman.h>

#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <limits>

namespace {

constexpr std::size_t kTwoMegabytes = std::size_t{1} << 21U;
constexpr std::size_t kOneGigabyte = std::size_t{1} << 30U;

/// The whole of `text` as a number that is at most `most`; decimal, or 0x and hexadecimal.
bool parse(const char* text, unsigned long long most, unsigned long long& out) {
  if (text == nullptr || std::isdigit(static_cast<unsigned char>(*text)) == 0) return false;
  char* end = nullptr;
  errno = 0;
  const bool hexadecimal = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
  out = std::strtoull(text, &end, hexadecimal ? 16 : 10);
  return errno == 0 && *end == 0 && out <= most;
}

template <typename T>
int parse_into(const char* text, T* out) {
  unsigned long long value = 0;
  if (out == nullptr || !parse(text, std::numeric_limits<T>::max(), value)) return -EINVAL;
  *out = static_cast<T>(value);
  return 0;
}

std::size_t page_of(urma_huge_page_size_t size) {
  return size == URMA_HUGE_PAGE_SIZE_1G ? kOneGigabyte : kTwoMegabytes;
}

}  // namespace

extern "C" {

void* ub_hugemalloc(size_t i_length, urma_huge_page_size_t hps, void* p_addr_hint) {
  if (i_length == 0) {
    errno = EINVAL;
    return nullptr;
  }
  const std::size_t page = page_of(hps);
  int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB;
  if (hps == URMA_HUGE_PAGE_SIZE_2M) flags |= 21 << MAP_HUGE_SHIFT;
  if (hps == URMA_HUGE_PAGE_SIZE_1G) flags |= 30 << MAP_HUGE_SHIFT;
  void* const memory =
      ::mmap(p_addr_hint, (i_length + page - 1) / page * page, PROT_READ | PROT_WRITE, flags, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

// The kernel wants whole pages; a mapping of 1 GiB pages is one of 2 MiB pages too when its length is told.
int ub_hugefree(void* p_addr, size_t i_length) {
  if (p_addr == nullptr || i_length == 0) return -EINVAL;
  if (::munmap(p_addr, (i_length + kTwoMegabytes - 1) / kTwoMegabytes * kTwoMegabytes) == 0) return 0;
  return ::munmap(p_addr, (i_length + kOneGigabyte - 1) / kOneGigabyte * kOneGigabyte) == 0 ? 0 : -errno;
}

int ub_str_to_bool(const char* buf, bool* bool_res) {
  if (buf == nullptr || bool_res == nullptr) return -EINVAL;
  if (std::strcmp(buf, "true") == 0 || std::strcmp(buf, "1") == 0) {
    *bool_res = true;
  } else if (std::strcmp(buf, "false") == 0 || std::strcmp(buf, "0") == 0) {
    *bool_res = false;
  } else {
    return -EINVAL;
  }
  return 0;
}

int ub_str_to_int(const char* buf, int* integer) {
  if (buf == nullptr || integer == nullptr) return -EINVAL;
  const bool negative = *buf == '-';
  unsigned long long value = 0;
  const auto most = static_cast<unsigned long long>(std::numeric_limits<int>::max());
  if (!parse(negative ? buf + 1 : buf, negative ? most + 1 : most, value)) return -EINVAL;
  *integer = static_cast<int>(negative ? -static_cast<long long>(value) : static_cast<long long>(value));
  return 0;
}

int ub_str_to_u8(const char* buf, uint8_t* u8) { return parse_into(buf, u8); }
int ub_str_to_u16(const char* buf, uint16_t* u16) { return parse_into(buf, u16); }
int ub_str_to_u32(const char* buf, uint32_t* u32) { return parse_into(buf, u32); }
int ub_str_to_u64(const char* buf, uint64_t* u64) { return parse_into(buf, u64); }

}  // extern "C"
