// SPDX-License-Identifier: Apache-2.0
// Devices, contexts and what they can do. Included by urma_types.h.
#pragma once

#ifndef __cplusplus
#include <stdatomic.h>
#include <stdbool.h>
#endif
#include <netinet/in.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "urma_opcode.h"

#ifdef __cplusplus
extern "C" {
#endif

#define URMA_API_VERSION 9

#define MAX_PORT_CNT 8

#define URMA_MAX_JETTY_IN_JETTY_GRP 32U
#define URMA_MAX_NAME 64
#define URMA_MAX_PATH 4096

#define URMA_EID_SIZE 16

#define URMA_MAX_PRIORITY_CNT 16

#define URMA_IPV4_MAP_IPV6_PREFIX 65535

#define URMA_MAX_EID_CNT 1024

#define URMA_CC_IDX_TABLE_SIZE 80

#define URMA_OPT_REVERSED_NUM 4

#define URMA_EID_STR_LEN 39

#define URMA_SEG_TOKEN_ID_INVALID 4294967295U

#define URMA_MAX_DEV_NAME 64

#define URMA_GUID_SIZE 16

#define URMA_IP_ADDR_BYTES 16

#define URMA_MAC_BYTES 6

#define URMA_JFS_SQE_BASE_ADDR_MASK 0x1ULL
#define URMA_JFS_ID_MASK 0x2ULL
#define URMA_JFS_DB_ADDR_MASK 0x4ULL
#define URMA_JFS_DB_STATUS_MASK 0x8ULL
#define URMA_JFS_PI_MASK 0x10ULL
#define URMA_JFS_PI_TYPE_MASK 0x20ULL
#define URMA_JFS_CI_MASK 0x40ULL

#define URMA_JFR_RQE_BASE_ADDR_MASK 0x1ULL
#define URMA_JFR_ID_MASK 0x2ULL
#define URMA_JFR_DB_ADDR_MASK 0x4ULL
#define URMA_JFR_DB_STATUS_MASK 0x8ULL
#define URMA_JFR_PI_MASK 0x10ULL
#define URMA_JFR_PI_TYPE_MASK 0x20ULL
#define URMA_JFR_CI_MASK 0x40ULL

#define URMA_JFC_CQE_BASE_ADDR_MASK 0x1ULL
#define URMA_JFC_ID_MASK 0x2ULL
#define URMA_JFC_DB_ADDR_MASK 0x4ULL
#define URMA_JFC_DB_STATUS_MASK 0x8ULL
#define URMA_JFC_PI_MASK 0x10ULL
#define URMA_JFC_PI_TYPE_MASK 0x20ULL
#define URMA_JFC_CI_MASK 0x40ULL

#define UR_NAME_MAX_LEN 256

#define JFR_NAME_MAX_LEN 256

#define URMA_MAX_SEGS_PER_UR_OPT 64
#define URMA_GET_VERSION(a, b) (((a) << 16) + ((b) > 65535 ? 65535 : (b)))
#define EID_FMT "%2.2x%2.2x:%2.2x%2.2x:%2.2x%2.2x:%2.2x%2.2x:%2.2x%2.2x:%2.2x%2.2x:%2.2x%2.2x:%2.2x%2.2x"
#define EID_RAW_ARGS(eid)                                                                             \
  (eid)[0], (eid)[1], (eid)[2], (eid)[3], (eid)[4], (eid)[5], (eid)[6], (eid)[7], (eid)[8], (eid)[9], \
      (eid)[10], (eid)[11], (eid)[12], (eid)[13], (eid)[14], (eid)[15]
#define EID_ARGS(eid) EID_RAW_ARGS((eid).raw)

typedef enum urma_mtu {
  URMA_MTU_256 = 1,
  URMA_MTU_512 = 2,
  URMA_MTU_1024 = 3,
  URMA_MTU_2048 = 4,
  URMA_MTU_4096 = 5,
  URMA_MTU_8192 = 6,
} urma_mtu_t;

typedef enum urma_port_state {
  URMA_PORT_NOP = 0,
  URMA_PORT_DOWN = 1,
  URMA_PORT_INIT = 2,
  URMA_PORT_ARMED = 3,
  URMA_PORT_ACTIVE = 4,
  URMA_PORT_ACTIVE_DEFER = 5,
} urma_port_state_t;

typedef enum urma_speed {
  URMA_SP_10M = 0,
  URMA_SP_100M = 1,
  URMA_SP_1G = 2,
  URMA_SP_2_5G = 3,
  URMA_SP_5G = 4,
  URMA_SP_10G = 5,
  URMA_SP_14G = 6,
  URMA_SP_25G = 7,
  URMA_SP_40G = 8,
  URMA_SP_50G = 9,
  URMA_SP_100G = 10,
  URMA_SP_200G = 11,
  URMA_SP_400G = 12,
  URMA_SP_800G = 13,
} urma_speed_t;

typedef enum urma_link_width {
  URMA_LINK_X1 = 1,
  URMA_LINK_X2 = 2,
  URMA_LINK_X4 = 4,
  URMA_LINK_X8 = 8,
  URMA_LINK_X16 = 16,
  URMA_LINK_X32 = 32,
} urma_link_width_t;

typedef enum urma_transport_type {
  URMA_TRANSPORT_INVALID = -1,
  URMA_TRANSPORT_UB = 0,
  URMA_TRANSPORT_IB = 1,
  URMA_TRANSPORT_IP = 2,
  URMA_TRANSPORT_SOFTUB = 3,
  URMA_TRANSPORT_HNS_UB = 5,
  URMA_TRANSPORT_MAX = 6,
} urma_transport_type_t;

typedef enum urma_transport_mode {
  URMA_TM_RM = 1,
  URMA_TM_RC = 2,
  URMA_TM_UM = 4,
} urma_transport_mode_t;

typedef enum urma_tp_cc_alg {
  URMA_TP_CC_NONE = 0,
  URMA_TP_CC_DCQCN = 1,
  URMA_TP_CC_CAQM = 2,
  URMA_TP_CC_LDCP = 3,
  URMA_TP_CC_LDCP_L2_HEADER = 4,
  URMA_TP_CC_LDCP_TP_HEADER = 5,
  URMA_TP_CC_DIP = 6,
  URMA_TP_CC_ACC = 7,
  URMA_TP_CC_CUSTOM_1 = 8,
  URMA_TP_CC_CUSTOM_2 = 9,
  URMA_TP_CC_NUM = 10,
} urma_tp_cc_alg_t;

typedef enum urma_congestion_ctrl_alg {
  URMA_CC_NONE = 1,
  URMA_CC_DCQCN = 2,
  URMA_CC_CAQM = 4,
  URMA_CC_LDCP = 8,
  URMA_CC_LDCP_L2_HEADER = 16,
  URMA_CC_LDCP_TP_HEADER = 32,
  URMA_CC_DIP = 64,
  URMA_CC_ACC = 128,
  URMA_CC_CUSTOM_1 = 256,
  URMA_CC_CUSTOM_2 = 512,
} urma_congestion_ctrl_alg_t;

typedef enum urma_context_opt_name {
  URMA_OPT_AGGR_MODE = 0,
} urma_opt_name_t;

typedef enum urma_context_aggr_mode {
  URMA_AGGR_MODE_STANDALONE = 0,
  URMA_AGGR_MODE_ACTIVE_BACKUP = 1,
  URMA_AGGR_MODE_BALANCE = 2,
} urma_context_aggr_mode_t;

typedef enum urma_jfc_attr_mask {
  JFC_MODERATE_COUNT = 1,
  JFC_MODERATE_PERIOD = 2,
} urma_jfc_attr_mask_t;

typedef enum urma_order_type {
  URMA_DEF_ORDER = 0,
  URMA_OT = 1,
  URMA_OI = 2,
  URMA_OL = 3,
  URMA_NO = 4,
} urma_order_type_t;

typedef enum urma_jfs_attr_mask {
  JFS_STATE = 1,
} urma_jfs_attr_mask_t;

typedef enum urma_jfr_attr_mask {
  JFR_RX_THRESHOLD = 1,
  JFR_STATE = 2,
} urma_jfr_attr_mask_t;

typedef enum urma_tp_type {
  URMA_RTP = 0,
  URMA_CTP = 1,
  URMA_UTP = 2,
} urma_tp_type_t;

typedef enum urma_jetty_grp_policy {
  URMA_JETTY_GRP_POLICY_RR = 0,
  URMA_JETTY_GRP_POLICY_HASH_HINT = 1,
} urma_jetty_grp_policy_t;

typedef enum urma_target_type {
  URMA_JFR = 0,
  URMA_JETTY = 1,
  URMA_JETTY_GROUP = 2,
} urma_target_type_t;

typedef enum urma_jetty_attr_mask {
  JETTY_RX_THRESHOLD = 1,
  JETTY_STATE = 2,
} urma_jetty_attr_mask_t;

typedef enum urma_notify_type {
  URMA_IMPORT_JETTY_NOTIFY = 0,
  URMA_BIND_JETTY_NOTIFY = 1,
} urma_notify_type_t;

typedef enum urma_tp_state {
  URMA_TP_STATE_RESET = 0,
  URMA_TP_STATE_PASSIVE = 1,
  URMA_TP_STATE_ACTIVE = 2,
  URMA_TP_STATE_BRAKE = 3,
  URMA_TP_STATE_ERROR = 4,
} urma_tp_state_t;

typedef enum urma_vlog_level {
  URMA_VLOG_LEVEL_EMERG = 0,
  URMA_VLOG_LEVEL_ALERT = 1,
  URMA_VLOG_LEVEL_CRIT = 2,
  URMA_VLOG_LEVEL_ERR = 3,
  URMA_VLOG_LEVEL_WARNING = 4,
  URMA_VLOG_LEVEL_NOTICE = 5,
  URMA_VLOG_LEVEL_INFO = 6,
  URMA_VLOG_LEVEL_DEBUG = 7,
  URMA_VLOG_LEVEL_MAX = 8,
} urma_vlog_level_t;

typedef struct urma_init_attr urma_init_attr_t;
typedef union urma_eid urma_eid_t;
typedef struct urma_ref urma_ref_t;
typedef struct urma_port_attr urma_port_attr_t;
typedef union urma_device_feature urma_device_feature_t;
typedef union urma_atomic_feature urma_atomic_feature_t;
typedef union urma_order_type_cap urma_order_type_cap_t;
typedef union urma_tp_type_cap urma_tp_type_cap_t;
typedef union urma_tp_feature urma_tp_feature_t;
typedef struct urma_device_cap urma_device_cap_t;
typedef struct urma_guid urma_guid_t;
typedef struct urma_device_attr urma_device_attr_t;
typedef struct urma_token urma_token_t;
typedef struct urma_cc_entry urma_cc_entry_t;
typedef struct urma_device urma_device_t;
typedef struct urma_context urma_context_t;
typedef struct urma_eid_info urma_eid_info_t;
typedef struct urma_jfce_cfg urma_jfce_cfg_t;
typedef struct urma_jfce urma_jfce_t;
typedef union urma_jfc_flag urma_jfc_flag_t;
typedef struct urma_jfc_cfg urma_jfc_cfg_t;
typedef struct urma_jfc_attr urma_jfc_attr_t;
typedef struct urma_jetty_id urma_jetty_id_t;
typedef struct urma_jetty_id urma_jfs_id_t;
typedef struct urma_jetty_id urma_jfr_id_t;
typedef struct urma_jetty_id urma_jfc_id_t;
typedef struct urma_jfc_opt urma_jfc_opt_t;
typedef struct urma_jfc urma_jfc_t;
typedef union urma_jfs_flag urma_jfs_flag_t;
typedef struct urma_jfs_opt urma_jfs_opt_t;
typedef struct urma_jfs_cfg urma_jfs_cfg_t;
typedef struct urma_jfs urma_jfs_t;
typedef struct urma_jfs_attr urma_jfs_attr_t;
typedef union urma_jfr_flag urma_jfr_flag_t;
typedef struct urma_jfr_opt urma_jfr_opt_t;
typedef struct urma_jfr_cfg urma_jfr_cfg_t;
typedef struct urma_jfr_attr urma_jfr_attr_t;
typedef struct urma_jfr urma_jfr_t;
typedef union urma_import_jetty_flag urma_import_jetty_flag_t;
typedef struct urma_rjfr urma_rjfr_t;
typedef struct urma_tp urma_tp_t;
typedef union urma_jetty_flag urma_jetty_flag_t;
typedef struct urma_jetty_cfg urma_jetty_cfg_t;
typedef union urma_ext_flag urma_ext_flag_t;
typedef struct urma_ext urma_ext_t;
typedef struct urma_rjetty urma_rjetty_t;
typedef struct urma_target_jetty urma_target_jetty_t;
typedef struct urma_jetty_attr urma_jetty_attr_t;
typedef struct urma_jetty_opt urma_jetty_opt_t;
typedef struct urma_jetty urma_jetty_t;
typedef struct urma_notifier urma_notifier_t;
typedef struct urma_notify urma_notify_t;
typedef union urma_jetty_grp_flag urma_jetty_grp_flag_t;
typedef struct urma_jetty_grp_cfg urma_jetty_grp_cfg_t;
typedef struct urma_jetty_grp urma_jetty_grp_t;
typedef struct urma_ubva urma_ubva_t;
typedef union urma_reg_seg_flag urma_reg_seg_flag_t;
typedef union urma_seg_attr urma_seg_attr_t;
typedef union urma_import_seg_flag urma_import_seg_flag_t;
typedef union urma_token_id_flag urma_token_id_flag_t;
typedef struct urma_token_id urma_token_id_t;
typedef struct urma_seg_cfg urma_seg_cfg_t;
typedef struct urma_seg urma_seg_t;
typedef struct urma_target_seg urma_target_seg_t;
typedef struct urma_user_ctl_in urma_user_ctl_in_t;
typedef struct urma_user_ctl_out urma_user_ctl_out_t;
typedef struct urma_user_target_seg urma_user_tseg_t;
typedef struct urma_sge urma_sge_t;
typedef struct urma_sg urma_sg_t;
typedef union urma_jfs_wr_flag urma_jfs_wr_flag_t;
typedef union urma_jfr_wr_flag urma_jfr_wr_flag_t;
typedef struct urma_rw_wr urma_rw_wr_t;
typedef struct urma_send_wr urma_send_wr_t;
typedef struct urma_cas_wr urma_cas_wr_t;
typedef struct urma_faa_wr urma_faa_wr_t;
typedef struct urma_jfs_wr urma_jfs_wr_t;
typedef struct urma_jfr_wr urma_jfr_wr_t;
typedef union urma_cr_flag urma_cr_flag_t;
typedef struct urma_cr_token urma_cr_token_t;
typedef struct urma_cr urma_cr_t;
typedef struct urma_async_event urma_async_event_t;
typedef union urma_ur_attr urma_ur_attr_t;
typedef union urma_import_ur_flag urma_import_ur_flag_t;
typedef struct urma_ur urma_ur_t;
typedef struct urma_target_ur urma_target_ur_t;
typedef struct urma_seg_info urma_seg_info_t;
typedef struct urma_ur_info urma_ur_info_t;
typedef struct urma_jfr_info urma_jfr_info_t;
typedef union urma_tp_cfg_flag urma_tp_cfg_flag_t;
typedef struct urma_tp_cfg urma_tp_cfg_t;
typedef union urma_tp_attr_mask urma_tp_attr_mask_t;
typedef union urma_tp_mod_flag urma_tp_mod_flag_t;
typedef struct urma_net_addr urma_net_addr_t;
typedef struct urma_net_addr_info urma_net_addr_info_t;
typedef struct urma_tp_attr urma_tp_attr_t;
typedef union urma_get_tp_cfg_flag urma_get_tp_cfg_flag_t;
typedef struct urma_get_tp_cfg urma_get_tp_cfg_t;
typedef struct urma_tp_info urma_tp_info_t;
typedef struct urma_active_tp_attr urma_active_tp_attr_t;
typedef struct urma_active_tp_cfg urma_active_tp_cfg_t;
typedef struct urma_active_tp_cfg urma_import_jetty_ex_cfg_t;
typedef struct urma_active_tp_cfg urma_import_jfr_ex_cfg_t;
typedef struct urma_active_tp_cfg urma_bind_jetty_ex_cfg_t;
typedef struct urma_tp_attr_value urma_tp_attr_value_t;
typedef struct urma_ops urma_ops_t;
typedef struct urma_provider_ops urma_provider_ops_t;
struct urma_sysfs_dev; /* never defined here */

#ifdef __cplusplus
typedef unsigned long urma_atomic_ulong_t; /* C11 atomics are not C++ */
#else
typedef atomic_ulong urma_atomic_ulong_t;
#endif

struct urma_init_attr {
  uint64_t token;
  uint32_t uasid;
};

union urma_eid {
  uint8_t raw[16];
  struct {
    uint64_t reserved;
    uint32_t prefix;
    uint32_t addr;
  } in4;
  struct {
    uint64_t subnet_prefix;
    uint64_t interface_id;
  } in6;
};

struct urma_ref {
  urma_atomic_ulong_t atomic_cnt;
};

struct urma_port_attr {
  urma_mtu_t max_mtu;
  urma_port_state_t state;
  urma_link_width_t active_width;
  urma_speed_t active_speed;
  urma_mtu_t active_mtu;
};

union urma_tp_type_en {
  struct {
    uint32_t rtp : 1;
    uint32_t ctp : 1;
    uint32_t utp : 1;
    uint32_t reserved : 29;
  } bs;
  uint32_t value;
};

struct urma_sl_info {
  uint32_t SL;
  union urma_tp_type_en tp_type;
};

union urma_device_feature {
  struct {
    uint32_t oor : 1;
    uint32_t jfc_per_wr : 1;
    uint32_t stride_op : 1;
    uint32_t load_store_op : 1;
    uint32_t non_pin : 1;
    uint32_t pmem : 1;
    uint32_t jfc_inline : 1;
    uint32_t spray_en : 1;
    uint32_t selective_retrans : 1;
    uint32_t live_migrate : 1;
    uint32_t dca : 1;
    uint32_t jetty_grp : 1;
    uint32_t error_suspend : 1;
    uint32_t outorder_comp : 1;
    uint32_t mn : 1;
    uint32_t clan : 1;
    uint32_t muti_seg_per_token_id : 1;
    uint32_t ipourma_en : 1;
    uint32_t ctp_en : 1;
    uint32_t uboe : 1;
    uint32_t reserved : 12;
  } bs;
  uint32_t value;
};

union urma_atomic_feature {
  struct {
    uint32_t cas : 1;
    uint32_t swap : 1;
    uint32_t fetch_and_add : 1;
    uint32_t fetch_and_sub : 1;
    uint32_t fetch_and_and : 1;
    uint32_t fetch_and_or : 1;
    uint32_t fetch_and_xor : 1;
    uint32_t reserved : 25;
  } bs;
  uint32_t value;
};

union urma_order_type_cap {
  struct {
    uint32_t ot : 1;
    uint32_t oi : 1;
    uint32_t ol : 1;
    uint32_t no : 1;
    uint32_t reserved : 28;
  } bs;
  uint32_t value;
};

union urma_tp_type_cap {
  struct {
    uint32_t rtp : 1;
    uint32_t ctp : 1;
    uint32_t utp : 1;
    uint32_t reserved : 29;
  } bs;
  uint32_t value;
};

union urma_tp_feature {
  struct {
    uint32_t rm_multi_path : 1;
    uint32_t rc_multi_path : 1;
    uint32_t reserved : 30;
  } bs;
  uint32_t value;
};

struct urma_device_cap {
  urma_device_feature_t feature;
  uint32_t max_jfc;
  uint32_t max_jfs;
  uint32_t max_jfr;
  uint32_t max_jetty;
  uint32_t max_jetty_grp;
  uint32_t max_jetty_in_jetty_grp;
  uint32_t max_jfc_depth;
  uint32_t max_jfs_depth;
  uint32_t max_jfr_depth;
  uint32_t max_jfs_inline_len;
  uint32_t max_jfs_sge;
  uint32_t max_jfs_rsge;
  uint32_t max_jfr_sge;
  uint64_t max_msg_size;
  uint32_t max_read_size;
  uint32_t max_write_size;
  uint32_t max_cas_size;
  uint32_t max_swap_size;
  uint32_t max_fetch_and_add_size;
  uint32_t max_fetch_and_sub_size;
  uint32_t max_fetch_and_and_size;
  uint32_t max_fetch_and_or_size;
  uint32_t max_fetch_and_xor_size;
  urma_atomic_feature_t atomic_feat;
  uint16_t trans_mode;
  uint16_t reserved;
  uint16_t congestion_ctrl_alg;
  uint32_t ceq_cnt;
  uint32_t max_tp_in_tpg;
  uint32_t max_eid_cnt;
  uint64_t page_size_cap;
  uint32_t max_oor_cnt;
  uint32_t mn;
  uint32_t max_netaddr_cnt;
  urma_order_type_cap_t rm_order_cap;
  urma_order_type_cap_t rc_order_cap;
  urma_tp_type_cap_t rm_tp_cap;
  urma_tp_type_cap_t rc_tp_cap;
  urma_tp_type_cap_t um_tp_cap;
  urma_tp_feature_t tp_feature;
  struct urma_sl_info priority_info[16];
};

struct urma_guid {
  uint8_t raw[16];
};

struct urma_device_attr {
  urma_guid_t guid;
  urma_device_cap_t dev_cap;
  uint8_t port_cnt;
  struct urma_port_attr port_attr[8];
  uint32_t reserved_jetty_id_min;
  uint32_t reserved_jetty_id_max;
};

struct urma_token {
  uint32_t token;
};

struct urma_cc_entry {
  urma_tp_cc_alg_t alg;
  uint8_t cc_pattern_idx;
  uint8_t cc_priority;
} __attribute__((packed));

struct urma_device {
  char name[64];
  char path[4096];
  urma_transport_type_t type;
  struct urma_provider_ops* ops;
  struct urma_sysfs_dev* sysfs_dev;
};

struct urma_context {
  struct urma_device* dev;
  struct urma_ops* ops;
  int dev_fd;
  int async_fd;
  pthread_mutex_t mutex;
  urma_eid_t eid;
  uint32_t eid_index;
  uint32_t uasid;
  struct urma_ref ref;
  urma_context_aggr_mode_t aggr_mode;
};

struct urma_eid_info {
  urma_eid_t eid;
  uint32_t eid_index;
};

#ifdef __cplusplus
}
#endif
