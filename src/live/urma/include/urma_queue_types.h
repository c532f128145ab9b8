// SPDX-License-Identifier: Apache-2.0
// Jettys and the queues that they are made of. Included by urma_types.h.
#pragma once

#include "urma_device_types.h"

#ifdef __cplusplus
extern "C" {
#endif

struct urma_jfce_cfg {
  uint32_t depth;
  uint64_t user_ctx;
};

struct urma_jfce {
  urma_context_t* urma_ctx;
  int fd;
  struct urma_ref ref;
};

union urma_jfc_flag {
  struct {
    uint32_t lock_free : 1;
    uint32_t jfc_inline : 1;
    uint32_t non_blocking : 1;
    uint32_t has_drv_ext : 1;
    uint32_t reserved : 28;
  } bs;
  uint32_t value;
};

struct urma_jfc_cfg {
  uint32_t depth;
  urma_jfc_flag_t flag;
  uint32_t ceqn;
  urma_jfce_t* jfce;
  uint64_t user_ctx;
};

struct urma_jfc_attr {
  uint32_t mask;
  uint16_t moderate_count;
  uint16_t moderate_period;
};

struct urma_jetty_id {
  urma_eid_t eid;
  uint32_t uasid;
  uint32_t id;
};

union urma_jfc_opt_mask {
  struct {
    uint64_t urma_jfc_cqe_base_addr : 1;
    uint64_t urma_jfc_db_addr : 1;
    uint64_t urma_jfc_id : 1;
    uint64_t urma_jfc_pi : 1;
    uint64_t urma_jfc_pi_type : 1;
    uint64_t urma_jfc_ci : 1;
    uint64_t urma_jfc_db_status : 1;
    uint64_t reserved : 57;
  } bs;
  uint64_t value;
};

struct urma_jfc_opt {
  union urma_jfc_opt_mask jfc_opt_mask;
  bool is_actived;
  uint64_t urma_jfc_cqe_base_addr;
  uint32_t urma_jfc_id;
  uint64_t urma_jfc_db_addr;
  uint8_t urma_jfc_db_status;
  uint16_t urma_jfc_pi;
  uint16_t urma_jfc_pi_type;
  uint16_t urma_jfc_ci;
  uint64_t reserved[4];
};

struct urma_jfc {
  urma_context_t* urma_ctx;
  urma_jfc_id_t jfc_id;
  urma_jfc_cfg_t jfc_cfg;
  uint64_t handle;
  pthread_mutex_t event_mutex;
  pthread_cond_t event_cond;
  uint32_t comp_events_acked;
  uint32_t async_events_acked;
  urma_jfc_opt_t urma_jfc_opt;
};

union urma_jfs_flag {
  struct {
    uint32_t lock_free : 1;
    uint32_t error_suspend : 1;
    uint32_t outorder_comp : 1;
    uint32_t order_type : 8;
    uint32_t multi_path : 1;
    uint32_t ctp_rc_mul_path_mode : 1;
    uint32_t non_blocking : 1;
    uint32_t has_drv_ext : 1;
    uint32_t reserved : 17;
  } bs;
  uint32_t value;
};

union urma_jfs_opt_mask {
  struct {
    uint64_t urma_jfs_cqe_base_addr : 1;
    uint64_t urma_jfs_db_addr : 1;
    uint64_t urma_jfs_id : 1;
    uint64_t urma_jfs_pi : 1;
    uint64_t urma_jfs_pi_type : 1;
    uint64_t urma_jfs_ci : 1;
    uint64_t urma_jfs_db_status : 1;
    uint64_t reserved : 57;
  } bs;
  uint64_t value;
};

struct urma_jfs_opt {
  union urma_jfs_opt_mask jfs_opt_mask;
  bool is_actived;
  uint64_t urma_jfs_sqe_base_addr;
  uint32_t urma_jfs_id;
  uint64_t urma_jfs_db_addr;
  uint8_t urma_jfs_db_status;
  uint16_t urma_jfs_pi;
  uint16_t urma_jfs_pi_type;
  uint16_t urma_jfs_ci;
  uint64_t reserved[4];
};

struct urma_jfs_cfg {
  uint32_t depth;
  urma_jfs_flag_t flag;
  urma_transport_mode_t trans_mode;
  uint8_t priority;
  uint8_t max_sge;
  uint8_t max_rsge;
  uint32_t max_inline_data;
  uint8_t rnr_retry;
  uint8_t err_timeout;
  urma_jfc_t* jfc;
  uint64_t user_ctx;
};

struct urma_jfs {
  urma_context_t* urma_ctx;
  urma_jfs_id_t jfs_id;
  urma_jfs_cfg_t jfs_cfg;
  uint64_t handle;
  pthread_mutex_t event_mutex;
  pthread_cond_t event_cond;
  uint32_t async_events_acked;
  urma_jfs_opt_t urma_jfs_opt;
};

struct urma_jfs_attr {
  uint32_t mask;
  urma_jfs_state_t state;
};

union urma_jfr_flag {
  struct {
    uint32_t token_policy : 3;
    uint32_t tag_matching : 1;
    uint32_t lock_free : 1;
    uint32_t order_type : 8;
    uint32_t has_drv_ext : 1;
    uint32_t non_blocking : 1;
    uint32_t reserved : 17;
  } bs;
  uint32_t value;
};

union urma_jfr_opt_mask {
  struct {
    uint64_t urma_jfr_cqe_base_addr : 1;
    uint64_t urma_jfr_db_addr : 1;
    uint64_t urma_jfr_id : 1;
    uint64_t urma_jfr_pi : 1;
    uint64_t urma_jfr_pi_type : 1;
    uint64_t urma_jfr_ci : 1;
    uint64_t urma_jfr_db_status : 1;
    uint64_t reserved : 57;
  } bs;
  uint64_t value;
};

struct urma_jfr_opt {
  union urma_jfr_opt_mask jfr_opt_mask;
  bool is_actived;
  uint64_t urma_jfr_rqe_base_addr;
  uint32_t urma_jfr_id;
  uint64_t urma_jfr_db_addr;
  uint8_t urma_jfr_db_status;
  uint16_t urma_jfr_pi;
  uint16_t urma_jfr_pi_type;
  uint16_t urma_jfr_ci;
  uint64_t reserved[4];
};

struct urma_jfr_cfg {
  uint32_t id;
  uint32_t depth;
  urma_jfr_flag_t flag;
  urma_transport_mode_t trans_mode;
  uint8_t max_sge;
  uint8_t min_rnr_timer;
  urma_jfc_t* jfc;
  urma_token_t token_value;
  uint64_t user_ctx;
};

struct urma_jfr_attr {
  uint32_t mask;
  uint32_t rx_threshold;
  urma_jfr_state_t state;
};

struct urma_jfr {
  urma_context_t* urma_ctx;
  urma_jfr_id_t jfr_id;
  urma_jfr_cfg_t jfr_cfg;
  uint64_t handle;
  pthread_mutex_t event_mutex;
  pthread_cond_t event_cond;
  uint32_t async_events_acked;
  urma_jfr_opt_t urma_jfr_opt;
};

union urma_import_jetty_flag {
  struct {
    uint32_t token_policy : 3;
    uint32_t order_type : 8;
    uint32_t share_tp : 1;
    uint32_t has_drv_ext : 1;
    uint32_t has_user_info : 1;
    uint32_t reserved : 18;
  } bs;
  uint32_t value;
};

struct urma_rjfr {
  urma_jfr_id_t jfr_id;
  urma_transport_mode_t trans_mode;
  urma_import_jetty_flag_t flag;
  urma_tp_type_t tp_type;
};

struct urma_tp {
  uint32_t tpn;
};

union urma_jetty_flag {
  struct {
    uint32_t share_jfr : 1;
    uint32_t non_blocking : 1;
    uint32_t has_drv_ext : 1;
    uint32_t has_user_info : 1;
    uint32_t reserved : 28;
  } bs;
  uint32_t value;
};

struct urma_jetty_cfg {
  uint32_t id;
  urma_jetty_flag_t flag;
  urma_jfs_cfg_t jfs_cfg;
  union {
    struct {
      urma_jfr_t* jfr;
      urma_jfc_t* jfc;
    } shared;
    urma_jfr_cfg_t* jfr_cfg;
  };
  urma_jetty_grp_t* jetty_grp;
  uint64_t user_ctx;
};

union urma_ext_flag {
  struct {
    uint32_t enable : 1;
    uint32_t reserved : 31;
  } bs;
  uint32_t value;
};

struct urma_ext {
  urma_ext_flag_t flag;
  uint32_t length;
  __extension__ char buf[0];
};

struct urma_rjetty {
  urma_jetty_id_t jetty_id;
  urma_transport_mode_t trans_mode;
  urma_jetty_grp_policy_t policy;
  urma_target_type_t type;
  urma_import_jetty_flag_t flag;
  urma_tp_type_t tp_type;
};

struct urma_target_jetty {
  urma_context_t* urma_ctx;
  urma_jetty_id_t id;
  uint64_t handle;
  urma_transport_mode_t trans_mode;
  urma_tp_t tp;
  urma_target_type_t type;
  urma_import_jetty_flag_t flag;
  urma_jetty_grp_policy_t policy;
  urma_tp_type_t tp_type;
};

struct urma_jetty_attr {
  uint32_t mask;
  uint32_t rx_threshold;
  urma_jetty_state_t state;
};

struct urma_jetty_opt {
  bool is_actived;
  urma_jfs_opt_t jfs_opt;
  uint64_t reserved[4];
};

struct urma_jetty {
  urma_context_t* urma_ctx;
  urma_jetty_id_t jetty_id;
  urma_target_jetty_t* remote_jetty;
  urma_jetty_cfg_t jetty_cfg;
  uint64_t handle;
  pthread_mutex_t event_mutex;
  pthread_cond_t event_cond;
  uint32_t async_events_acked;
  urma_jetty_opt_t urma_jetty_opt;
};

#ifdef __cplusplus
}
#endif
