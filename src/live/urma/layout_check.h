// SPDX-License-Identifier: Apache-2.0
// Compares the types and constants of the URMA headers with the rows of layout_rows.inc and
// constant_rows.inc. C and C++: each language has a source that includes this and names its function with
// LAYOUT_CHECK.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "live/urma/include/ub_numbers.h"
#include "live/urma/include/urma_api.h"
#include "live/urma/include/urma_perf.h"
#include "live/urma/include/urma_provider.h"
#include "live/urma/include/urma_types_str.h"
#include "live/urma/include/urma_ubagg.h"

/// What a check found: how many rows it compared, and the first that differs.
struct LayoutReport {
  unsigned rows;
  unsigned wrong;
  char first[256];
};

static void compare_row(struct LayoutReport* report, const char* what, long long found, long long expected) {
  ++report->rows;
  if (found == expected) return;
  if (report->wrong++ == 0) {
    (void)snprintf(report->first, sizeof report->first, "%s: found %lld, expected %lld", what, found,
                   expected);
  }
}

/// Whether the `bits` bits from bit `first` of byte `offset` on are set, and no other of `size` bytes.
static long long only_bits(const unsigned char* bytes, size_t size, size_t offset, size_t first,
                           size_t bits) {
  for (size_t bit = 0; bit < size * 8; ++bit) {
    const int expected = bit >= offset * 8 + first && bit < offset * 8 + first + bits;
    if (((bytes[bit / 8] >> (bit % 8)) & 1) != expected) return 0;
  }
  return 1;
}

#define WHOLE(type, size, align)                                     \
  compare_row(report, #type " size", (long long)sizeof(type), size); \
  compare_row(report, #type " alignment", (long long)__alignof__(type), align);
#define FIELD(type, field, offset, size)                                                     \
  compare_row(report, #type "." #field " offset", (long long)offsetof(type, field), offset); \
  compare_row(report, #type "." #field " size", (long long)sizeof(((type*)0)->field), size);
#define BITS(type, field, offset, first, bits)                                                  \
  {                                                                                             \
    type value;                                                                                 \
    memset(&value, 0, sizeof value);                                                            \
    value.field = ~value.field;                                                                 \
    compare_row(report, #type "." #field " bits",                                               \
                only_bits((const unsigned char*)&value, sizeof value, offset, first, bits), 1); \
  }
#define CONSTANT(name, value) compare_row(report, #name, (long long)(name), value);
