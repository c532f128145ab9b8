// SPDX-License-Identifier: Apache-2.0
// Groups, segments, requests, completion records, transport attributes. Included by urma_types.h.
#pragma once

#include "urma_queue_types.h"

#ifdef __cplusplus
extern "C" {
#endif

struct urma_notifier {
  urma_context_t* urma_ctx;
  int fd;
  void* incomplete_tjetty_list;
};

struct urma_notify {
  urma_notify_type_t type;
  urma_status_t status;
  uint64_t user_ctx;
  union {
    urma_target_jetty_t* tjetty;
    urma_jetty_t* jetty;
  };
};

union urma_jetty_grp_flag {
  struct {
    uint32_t token_policy : 3;
    uint32_t reserved : 29;
  } bs;
  uint32_t value;
};

struct urma_jetty_grp_cfg {
  char name[64];
  urma_jetty_grp_flag_t flag;
  urma_token_t token_value;
  uint32_t id;
  urma_jetty_grp_policy_t policy;
  uint64_t user_ctx;
};

struct urma_jetty_grp {
  urma_context_t* urma_ctx;
  urma_jetty_id_t jetty_grp_id;
  urma_jetty_grp_cfg_t cfg;
  uint32_t jetty_cnt;
  urma_jetty_t** jetty_list;
  pthread_mutex_t list_mutex;
  uint64_t handle;
  pthread_mutex_t event_mutex;
  pthread_cond_t event_cond;
  uint32_t async_events_acked;
};

struct urma_ubva {
  urma_eid_t eid;
  uint32_t uasid;
  uint64_t va;
} __attribute__((packed));

union urma_reg_seg_flag {
  struct {
    uint32_t token_policy : 3;
    uint32_t cacheable : 1;
    uint32_t dsva : 1;
    uint32_t access : 6;
    uint32_t non_pin : 1;
    uint32_t user_iova : 1;
    uint32_t token_id_valid : 1;
    uint32_t reserved : 18;
  } bs;
  uint32_t value;
};

union urma_seg_attr {
  struct {
    uint32_t token_policy : 3;
    uint32_t cacheable : 1;
    uint32_t dsva : 1;
    uint32_t access : 6;
    uint32_t non_pin : 1;
    uint32_t user_iova : 1;
    uint32_t user_token_id : 1;
    uint32_t has_user_info : 1;
    uint32_t reserved : 17;
  } bs;
  uint32_t value;
};

union urma_import_seg_flag {
  struct {
    uint32_t cacheable : 1;
    uint32_t access : 6;
    uint32_t mapping : 1;
    uint32_t reserved : 24;
  } bs;
  uint32_t value;
};

union urma_token_id_flag {
  struct {
    uint32_t multi_seg : 1;
    uint32_t reserved : 31;
  } bs;
  uint32_t value;
};

struct urma_token_id {
  urma_context_t* urma_ctx;
  uint32_t token_id;
  uint64_t handle;
  urma_ref_t ref;
  urma_token_id_flag_t flag;
};

struct urma_seg_cfg {
  uint64_t va;
  uint64_t len;
  urma_token_id_t* token_id;
  urma_token_t token_value;
  urma_reg_seg_flag_t flag;
  uint64_t user_ctx;
  uint64_t iova;
};

struct urma_seg {
  urma_ubva_t ubva;
  uint64_t len;
  urma_seg_attr_t attr;
  uint32_t token_id;
};

struct urma_target_seg {
  urma_seg_t seg;
  uint64_t user_ctx;
  uint64_t mva;
  urma_context_t* urma_ctx;
  urma_token_id_t* token_id;
  uint64_t handle;
};

struct urma_user_ctl_in {
  uint64_t addr;
  uint32_t len;
  uint32_t opcode;
};

struct urma_user_ctl_out {
  uint64_t addr;
  uint32_t len;
  uint32_t reserved;
};

struct urma_user_target_seg {
  urma_seg_attr_t attr;
  uint32_t token_id;
  urma_token_t token_value;
};

struct urma_sge {
  uint64_t addr;
  uint32_t len;
  urma_target_seg_t* tseg;
  urma_user_tseg_t* user_tseg;
};

struct urma_sg {
  urma_sge_t* sge;
  uint32_t num_sge;
};

union urma_jfs_wr_flag {
  struct {
    uint32_t place_order : 2;
    uint32_t comp_order : 1;
    uint32_t fence : 1;
    uint32_t solicited_enable : 1;
    uint32_t complete_enable : 1;
    uint32_t inline_flag : 1;
    uint32_t db_bypass : 1;
    uint32_t udf : 1;
    uint32_t has_drv_ext : 1;
    uint32_t reserved : 22;
  } bs;
  uint32_t value;
};

union urma_jfr_wr_flag {
  struct {
    uint32_t complete_type : 1;
    uint32_t reserved : 31;
  } bs;
  uint32_t value;
};

struct urma_rw_wr {
  urma_sg_t src;
  urma_sg_t dst;
  uint8_t target_hint;
  uint64_t notify_data;
};

struct urma_send_wr {
  urma_sg_t src;
  uint8_t target_hint;
  uint64_t imm_data;
  urma_target_seg_t* tseg;
};

struct urma_cas_wr {
  urma_sge_t* dst;
  urma_sge_t* src;
  union {
    uint64_t cmp_data;
    uint64_t cmp_addr;
  };
  union {
    uint64_t swap_data;
    uint64_t swap_addr;
  };
};

struct urma_faa_wr {
  urma_sge_t* dst;
  urma_sge_t* src;
  union {
    uint64_t operand;
    uint64_t operand_addr;
  };
};

struct urma_jfs_wr {
  urma_opcode_t opcode;
  urma_jfs_wr_flag_t flag;
  urma_target_jetty_t* tjetty;
  uint64_t user_ctx;
  union {
    urma_rw_wr_t rw;
    urma_send_wr_t send;
    urma_cas_wr_t cas;
    urma_faa_wr_t faa;
  };
  struct urma_jfs_wr* next;
};

struct urma_jfr_wr {
  urma_sg_t src;
  uint64_t user_ctx;
  struct urma_jfr_wr* next;
};

union urma_cr_flag {
  struct {
    uint8_t s_r : 1;
    uint8_t jetty : 1;
    uint8_t suspend_done : 1;
    uint8_t flush_err_done : 1;
    uint8_t reserved : 4;
  } bs;
  uint8_t value;
};

struct urma_cr_token {
  uint32_t token_id;
  urma_token_t token_value;
};

struct urma_cr {
  urma_cr_status_t status;
  uint64_t user_ctx;
  urma_cr_opcode_t opcode;
  urma_cr_flag_t flag;
  uint32_t completion_len;
  uint32_t local_id;
  urma_jetty_id_t remote_id;
  union {
    uint64_t imm_data;
    urma_cr_token_t invalid_token;
  };
  uint32_t tpn;
  uintptr_t user_data;
};

struct urma_async_event {
  const urma_context_t* urma_ctx;
  union {
    urma_jfc_t* jfc;
    urma_jfs_t* jfs;
    urma_jfr_t* jfr;
    urma_jetty_t* jetty;
    urma_jetty_grp_t* jetty_grp;
    uint32_t port_id;
    uint32_t eid_idx;
  } element;
  urma_async_event_type_t event_type;
  void* priv;
};

union urma_ur_attr {
  struct {
    uint32_t reserved : 32;
  } bs;
  uint32_t value;
};

union urma_import_ur_flag {
  struct {
    uint32_t mapping : 2;
    uint32_t reserved : 30;
  } bs;
  uint32_t value;
};

struct urma_ur {
  char name[256];
  uint64_t size;
  urma_ur_attr_t attr;
  uint64_t token;
  uint64_t user_ctx;
};

struct urma_target_ur {
  char name[256];
  uint64_t size;
  urma_import_ur_flag_t flag;
  urma_target_seg_t** tseg_list;
  uint32_t cnt;
};

struct urma_seg_info {
  urma_seg_t seg;
  uint32_t idx_in_ur;
};

struct urma_ur_info {
  char name[256];
  uint64_t size;
  urma_ur_attr_t attr;
  uint32_t cnt;
  __extension__ urma_seg_info_t seg_list[0];
};

struct urma_jfr_info {
  char name[256];
  urma_eid_t eid;
  uint32_t uasid;
  uint32_t id;
};

union urma_tp_cfg_flag {
  struct {
    uint32_t target : 1;
    uint32_t loopback : 1;
    uint32_t dca_enable : 1;
    uint32_t bonding : 1;
    uint32_t reserved : 28;
  } bs;
  uint32_t value;
};

struct urma_tp_cfg {
  urma_tp_cfg_flag_t flag;
  urma_transport_mode_t trans_mode;
  uint8_t retry_num;
  uint8_t retry_factor;
  uint8_t ack_timeout;
  uint8_t dscp;
  uint32_t oor_cnt;
};

union urma_tp_attr_mask {
  struct {
    uint32_t flag : 1;
    uint32_t peer_tpn : 1;
    uint32_t state : 1;
    uint32_t tx_psn : 1;
    uint32_t rx_psn : 1;
    uint32_t mtu : 1;
    uint32_t cc_pattern_idx : 1;
    uint32_t oos_cnt : 1;
    uint32_t local_net_addr_idx : 1;
    uint32_t peer_net_addr : 1;
    uint32_t data_udp_start : 1;
    uint32_t ack_udp_start : 1;
    uint32_t udp_range : 1;
    uint32_t hop_limit : 1;
    uint32_t flow_label : 1;
    uint32_t port_id : 1;
    uint32_t mn : 1;
    uint32_t peer_trans_type : 1;
    uint32_t reserved : 14;
  } bs;
  uint32_t value;
};

union urma_tp_mod_flag {
  struct {
    uint32_t oor_en : 1;
    uint32_t sr_en : 1;
    uint32_t cc_en : 1;
    uint32_t cc_alg : 4;
    uint32_t spray_en : 1;
    uint32_t clan : 1;
    uint32_t reserved : 23;
  } bs;
  uint32_t value;
};

struct urma_net_addr {
  sa_family_t sin_family;
  union {
    struct in_addr in4;
    struct in6_addr in6;
  };
  uint64_t vlan;
  uint8_t mac[6];
  uint32_t prefix_len;
};

struct urma_net_addr_info {
  urma_net_addr_t netaddr;
  uint32_t index;
};

struct urma_tp_attr {
  urma_tp_mod_flag_t flag;
  uint32_t peer_tpn;
  urma_tp_state_t state;
  uint32_t tx_psn;
  uint32_t rx_psn;
  urma_mtu_t mtu;
  uint8_t cc_pattern_idx;
  uint32_t oos_cnt;
  uint32_t local_net_addr_idx;
  urma_net_addr_t peer_net_addr;
  uint16_t data_udp_start;
  uint16_t ack_udp_start;
  uint8_t udp_range;
  uint8_t hop_limit;
  uint32_t flow_label;
  uint8_t port_id;
  uint8_t mn;
  urma_transport_type_t peer_trans_type;
};

union urma_get_tp_cfg_flag {
  struct {
    uint32_t ctp : 1;
    uint32_t rtp : 1;
    uint32_t utp : 1;
    uint32_t uboe : 1;
    uint32_t pre_defined : 1;
    uint32_t dynamic_defined : 1;
    uint32_t udp : 5;
    uint32_t group_id : 15;
    uint32_t reserved : 6;
  } bs;
  uint32_t value;
};

struct urma_get_tp_cfg {
  urma_get_tp_cfg_flag_t flag;
  urma_transport_mode_t trans_mode;
  urma_eid_t local_eid;
  urma_eid_t peer_eid;
};

struct urma_tp_info {
  uint64_t tp_handle;
};

struct urma_active_tp_attr {
  uint32_t tx_psn;
  uint32_t rx_psn;
  uint64_t reserved;
};

struct urma_active_tp_cfg {
  uint64_t tp_handle;
  uint64_t peer_tp_handle;
  uint64_t tag;
  urma_active_tp_attr_t tp_attr;
};

struct urma_tp_attr_value {
  uint8_t retry_times_init : 3;
  uint8_t at : 5;
  uint8_t sip[16];
  uint8_t dip[16];
  uint8_t sma[6];
  uint8_t dma[6];
  uint16_t vlan_id : 12;
  uint8_t vlan_en : 1;
  uint8_t dscp : 6;
  uint8_t at_times : 5;
  uint8_t sl : 4;
  uint8_t ttl;
  uint16_t ack_udp_srcport;
  uint16_t data_udp_srcport;
  uint8_t udp_srcport_range : 4;
  uint8_t spray_en : 1;
  uint8_t udp_global_en : 1;
  uint8_t reserve_0 : 2;
  uint16_t sl_bitmap;
  uint8_t dscp_config_mode : 1;
  uint8_t reserve_1 : 7;
  uint8_t reserved[70];
} __attribute__((packed));

#ifdef __cplusplus
}
#endif
