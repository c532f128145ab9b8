// SPDX-License-Identifier: Apache-2.0
// How long calls take, as the library counts it.
#pragma once

#include "urma_types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define URMA_PERF_THREAD_MAX_NUM 128U

typedef enum urma_perf_type {
  UB_JETTY_POST_SEND = 0,
  BOND_JETTY_POST_SEND = 1,
  UB_JFS_POST_SEND = 2,
  BOND_JFS_POST_SEND = 3,
  UB_JETTY_POST_RECV = 4,
  BOND_JETTY_POST_RECV = 5,
  UB_POST_JFR_RECV = 6,
  BOND_POST_JFR_RECV = 7,
  UB_POLL_JFC = 8,
  BOND_POLL_JFC = 9,
  UB_WAIT_JFC = 10,
  BOND_WAIT_JFC = 11,
  UB_ACK_JFC = 12,
  UB_REARM_JFC = 13,
  BOND_REARM_JFC = 14,
  URMA_PERF_RECORD_TYPE_MAX = 15,
} urma_perf_record_type_t;

typedef struct urma_perf_stats urma_perf_stats_t;

struct urma_perf_stats {
  uint64_t retry_count;
  struct {
    urma_perf_record_type_t type;
    uint64_t sample_num;
    uint64_t average;
    uint64_t mininum;
    uint64_t maxinum;
    uint64_t p90;
    uint64_t p99;
    uint64_t p9999;
  } type_record[15];
};

urma_status_t urma_start_perf(void);
urma_status_t urma_stop_perf(void);
urma_status_t urma_get_perf_info(char* perf_buf, uint32_t* length);

#ifdef __cplusplus
}
#endif
