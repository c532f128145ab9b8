// SPDX-License-Identifier: Apache-2.0
// Types of the URMA C interface. Layout is that of URMA API 0.9 (openEuler UMDK 26.06), x86-64.
#pragma once

#include "urma_request_types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef void (*urma_log_cb_t)(int level, char* message);
typedef void (*urma_loc_log_cb)(int level, const char* file, const char* function, int line,
                                const char* message);
typedef void (*urma_advise_async_cb_func)(urma_status_t status, void* argument);

void urma_u32_to_eid(uint32_t ipv4, urma_eid_t* eid);
int urma_str_to_eid(const char* buf, urma_eid_t* eid);

#ifdef __cplusplus
}
#endif
