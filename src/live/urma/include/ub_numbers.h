// SPDX-License-Identifier: Apache-2.0
// Helpers of liburma_common: numbers from text, and memory in huge pages.
#pragma once

#ifndef __cplusplus
#include <stdbool.h>
#endif
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Size class of ub_hugemalloc(). */
typedef enum urma_huge_page_size {
  URMA_HUGE_PAGE_SIZE_DEFAULT = 0, /* The kernel's default. */
  URMA_HUGE_PAGE_SIZE_2M = 1,
  URMA_HUGE_PAGE_SIZE_1G = 2,
} urma_huge_page_size_t;

int ub_hugefree(void* p_addr, size_t i_length);
void* ub_hugemalloc(size_t i_length, urma_huge_page_size_t hps, void* p_addr_hint);
int ub_str_to_bool(const char* buf, bool* bool_res);
int ub_str_to_int(const char* buf, int* integer);
int ub_str_to_u16(const char* buf, uint16_t* u16);
int ub_str_to_u32(const char* buf, uint32_t* u32);
int ub_str_to_u64(const char* buf, uint64_t* u64);
int ub_str_to_u8(const char* buf, uint8_t* u8);

#ifdef __cplusplus
}
#endif
