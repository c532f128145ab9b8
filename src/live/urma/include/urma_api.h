// SPDX-License-Identifier: Apache-2.0
// The URMA C interface: every call that programs make. docs/liburma.md says of each what wharf does.
#pragma once

#include "urma_types.h"

#ifdef __cplusplus
extern "C" {
#endif

urma_status_t urma_init(urma_init_attr_t* conf);
urma_status_t urma_uninit(void);
urma_device_t** urma_get_device_list(int* num_devices);
void urma_free_device_list(urma_device_t** device_list);
urma_eid_info_t* urma_get_eid_list(urma_device_t* dev, uint32_t* cnt);
void urma_free_eid_list(urma_eid_info_t* eid_list);
urma_device_t* urma_get_device_by_name(char* dev_name);
urma_device_t* urma_get_device_by_eid(urma_eid_t eid, urma_transport_type_t type);
urma_status_t urma_query_device(urma_device_t* dev, urma_device_attr_t* dev_attr);
urma_context_t* urma_create_context(urma_device_t* dev, uint32_t eid_index);
urma_status_t urma_delete_context(urma_context_t* ctx);
urma_status_t urma_set_context_opt(urma_context_t* ctx, urma_opt_name_t opt_name, const void* opt_value,
                                   size_t opt_len);
urma_jfc_t* urma_create_jfc(urma_context_t* ctx, urma_jfc_cfg_t* jfc_cfg);
urma_status_t urma_modify_jfc(urma_jfc_t* jfc, urma_jfc_attr_t* attr);
urma_status_t urma_delete_jfc(urma_jfc_t* jfc);
urma_status_t urma_alloc_jfc(urma_context_t* urma_ctx, urma_jfc_cfg_t* cfg, urma_jfc_t** jfc);
urma_status_t urma_set_jfc_opt(urma_jfc_t* jfc, uint64_t opt, void* buf, uint32_t len);
urma_status_t urma_active_jfc(urma_jfc_t* jfc);
urma_status_t urma_get_jfc_opt(urma_jfc_t* jfc, uint64_t opt, void* buf, uint32_t len);
urma_status_t urma_deactive_jfc(urma_jfc_t* jfc);
urma_status_t urma_free_jfc(urma_jfc_t* jfc);
urma_status_t urma_delete_jfc_batch(urma_jfc_t** jfc_arr, int jfc_num, urma_jfc_t** bad_jfc);
urma_jfs_t* urma_create_jfs(urma_context_t* ctx, urma_jfs_cfg_t* jfs_cfg);
urma_status_t urma_modify_jfs(urma_jfs_t* jfs, urma_jfs_attr_t* attr);
urma_status_t urma_query_jfs(urma_jfs_t* jfs, urma_jfs_cfg_t* cfg, urma_jfs_attr_t* attr);
urma_status_t urma_delete_jfs(urma_jfs_t* jfs);
urma_status_t urma_delete_jfs_batch(urma_jfs_t** jfs_arr, int jfs_num, urma_jfs_t** bad_jfs);
int urma_flush_jfs(urma_jfs_t* jfs, int cr_cnt, urma_cr_t* cr);
urma_status_t urma_alloc_jfs(urma_context_t* urma_ctx, urma_jfs_cfg_t* cfg, urma_jfs_t** jfs);
urma_status_t urma_set_jfs_opt(urma_jfs_t* jfs, uint64_t opt, void* buf, uint32_t len);
urma_status_t urma_active_jfs(urma_jfs_t* jfs);
urma_status_t urma_get_jfs_opt(urma_jfs_t* jfs, uint64_t opt, void* buf, uint32_t len);
urma_status_t urma_deactive_jfs(urma_jfs_t* jfs);
urma_status_t urma_free_jfs(urma_jfs_t* jfs);
urma_jfr_t* urma_create_jfr(urma_context_t* ctx, urma_jfr_cfg_t* jfr_cfg);
urma_status_t urma_modify_jfr(urma_jfr_t* jfr, urma_jfr_attr_t* attr);
urma_status_t urma_query_jfr(urma_jfr_t* jfr, urma_jfr_cfg_t* cfg, urma_jfr_attr_t* attr);
urma_status_t urma_delete_jfr(urma_jfr_t* jfr);
urma_status_t urma_delete_jfr_batch(urma_jfr_t** jfr_arr, int jfr_num, urma_jfr_t** bad_jfr);
urma_target_jetty_t* urma_import_jfr(urma_context_t* ctx, urma_rjfr_t* rjfr, urma_token_t* token_value);
urma_target_jetty_t* urma_import_jfr_ex(urma_context_t* ctx, urma_rjfr_t* rjfr, urma_token_t* token_value,
                                        urma_import_jfr_ex_cfg_t* cfg);
urma_status_t urma_unimport_jfr(urma_target_jetty_t* target_jfr);
urma_status_t urma_advise_jfr(urma_jfs_t* jfs, urma_target_jetty_t* tjfr);
urma_status_t urma_advise_jfr_async(urma_jfs_t* jfs, urma_target_jetty_t* tjfr,
                                    urma_advise_async_cb_func cb_fun, void* cb_arg);
urma_status_t urma_unadvise_jfr(urma_jfs_t* jfs, urma_target_jetty_t* tjfr);
urma_status_t urma_alloc_jfr(urma_context_t* urma_ctx, urma_jfr_cfg_t* cfg, urma_jfr_t** jfr);
urma_status_t urma_set_jfr_opt(urma_jfr_t* jfr, uint64_t opt, void* buf, uint32_t len);
urma_status_t urma_active_jfr(urma_jfr_t* jfr);
urma_status_t urma_get_jfr_opt(urma_jfr_t* jfr, uint64_t opt, void* buf, uint32_t len);
urma_status_t urma_deactive_jfr(urma_jfr_t* jfr);
urma_status_t urma_free_jfr(urma_jfr_t* jfr);
urma_jetty_t* urma_create_jetty(urma_context_t* ctx, urma_jetty_cfg_t* jetty_cfg);
urma_status_t urma_modify_jetty(urma_jetty_t* jetty, urma_jetty_attr_t* attr);
urma_status_t urma_query_jetty(urma_jetty_t* jetty, urma_jetty_cfg_t* cfg, urma_jetty_attr_t* attr);
urma_status_t urma_delete_jetty(urma_jetty_t* jetty);
urma_status_t urma_delete_jetty_batch(urma_jetty_t** jetty_arr, int jetty_num, urma_jetty_t** bad_jetty);
urma_target_jetty_t* urma_import_jetty(urma_context_t* ctx, urma_rjetty_t* rjetty, urma_token_t* token_value);
urma_target_jetty_t* urma_import_jetty_ex(urma_context_t* ctx, urma_rjetty_t* rjetty,
                                          urma_token_t* token_value, urma_import_jetty_ex_cfg_t* cfg);
urma_status_t urma_unimport_jetty(urma_target_jetty_t* tjetty);
urma_status_t urma_advise_jetty(urma_jetty_t* jetty, urma_target_jetty_t* tjetty);
urma_status_t urma_unadvise_jetty(urma_jetty_t* jetty, urma_target_jetty_t* tjetty);
urma_status_t urma_bind_jetty(urma_jetty_t* jetty, urma_target_jetty_t* tjetty);
urma_status_t urma_bind_jetty_ex(urma_jetty_t* jetty, urma_target_jetty_t* tjetty,
                                 urma_bind_jetty_ex_cfg_t* cfg);
urma_status_t urma_unbind_jetty(urma_jetty_t* jetty);
int urma_flush_jetty(urma_jetty_t* jetty, int cr_cnt, urma_cr_t* cr);
urma_status_t urma_get_rjetty(urma_jetty_t* jetty, urma_rjetty_t** rjetty, uint32_t* length);
void urma_put_rjetty(urma_rjetty_t* rjetty);
urma_target_jetty_t* urma_import_jetty_async(urma_notifier_t* notifier, const urma_rjetty_t* rjetty,
                                             const urma_token_t* token_value, uint64_t user_ctx, int timeout);
urma_status_t urma_unimport_jetty_async(urma_target_jetty_t* tjetty);
urma_status_t urma_bind_jetty_async(urma_notifier_t* notifier, urma_jetty_t* jetty,
                                    urma_target_jetty_t* tjetty, uint64_t user_ctx, int timeout);
urma_status_t urma_unbind_jetty_async(urma_jetty_t* jetty);
urma_notifier_t* urma_create_notifier(urma_context_t* ctx);
urma_status_t urma_delete_notifier(urma_notifier_t* notifier);
urma_status_t urma_alloc_jetty(urma_context_t* urma_ctx, urma_jetty_cfg_t* cfg, urma_jetty_t** jetty);
urma_status_t urma_set_jetty_opt(urma_jetty_t* jetty, uint64_t opt, void* buf, uint32_t len);
urma_status_t urma_active_jetty(urma_jetty_t* jetty);
urma_status_t urma_get_jetty_opt(urma_jetty_t* jetty, uint64_t opt, void* buf, uint32_t len);
urma_status_t urma_deactive_jetty(urma_jetty_t* jetty);
urma_status_t urma_free_jetty(urma_jetty_t* jetty);
int urma_wait_notify(urma_notifier_t* notifier, uint32_t cnt, urma_notify_t* notify, int timeout);
urma_status_t urma_ack_notify(urma_context_t* ctx, uint32_t cnt, urma_notify_t* notify);
urma_jetty_grp_t* urma_create_jetty_grp(urma_context_t* ctx, urma_jetty_grp_cfg_t* cfg);
urma_status_t urma_delete_jetty_grp(urma_jetty_grp_t* jetty_grp);
urma_jfce_t* urma_create_jfce(urma_context_t* ctx);
urma_status_t urma_delete_jfce(urma_jfce_t* jfce);
urma_status_t urma_get_async_event(urma_context_t* ctx, urma_async_event_t* event);
void urma_ack_async_event(urma_async_event_t* event);
urma_token_id_t* urma_alloc_token_id(urma_context_t* ctx);
urma_token_id_t* urma_alloc_token_id_ex(urma_context_t* ctx, urma_token_id_flag_t flag);
urma_status_t urma_free_token_id(urma_token_id_t* token_id);
urma_target_seg_t* urma_register_seg(urma_context_t* ctx, urma_seg_cfg_t* seg_cfg);
urma_status_t urma_unregister_seg(urma_target_seg_t* target_seg);
urma_target_seg_t* urma_import_seg(urma_context_t* ctx, urma_seg_t* seg, urma_token_t* token_value,
                                   uint64_t addr, urma_import_seg_flag_t flag);
urma_status_t urma_unimport_seg(urma_target_seg_t* tseg);
urma_status_t urma_get_seg_ctx(urma_target_seg_t* tseg, urma_seg_t** seg, uint32_t* size);
void urma_put_seg_ctx(urma_seg_t* seg);
urma_status_t urma_post_jfs_wr(urma_jfs_t* jfs, urma_jfs_wr_t* wr, urma_jfs_wr_t** bad_wr);
urma_status_t urma_post_jfr_wr(urma_jfr_t* jfr, urma_jfr_wr_t* wr, urma_jfr_wr_t** bad_wr);
urma_status_t urma_post_jetty_send_wr(urma_jetty_t* jetty, urma_jfs_wr_t* wr, urma_jfs_wr_t** bad_wr);
urma_status_t urma_post_jetty_recv_wr(urma_jetty_t* jetty, urma_jfr_wr_t* wr, urma_jfr_wr_t** bad_wr);
urma_status_t urma_write(urma_jfs_t* jfs, urma_target_jetty_t* target_jfr, urma_target_seg_t* dst_tseg,
                         urma_target_seg_t* src_tseg, uint64_t dst, uint64_t src, uint32_t len,
                         urma_jfs_wr_flag_t flag, uint64_t user_ctx);
urma_status_t urma_read(urma_jfs_t* jfs, urma_target_jetty_t* target_jfr, urma_target_seg_t* dst_tseg,
                        urma_target_seg_t* src_tseg, uint64_t dst, uint64_t src, uint32_t len,
                        urma_jfs_wr_flag_t flag, uint64_t user_ctx);
urma_status_t urma_send(urma_jfs_t* jfs, urma_target_jetty_t* target_jfr, urma_target_seg_t* src_tseg,
                        uint64_t src, uint32_t len, urma_jfs_wr_flag_t flag, uint64_t user_ctx);
urma_status_t urma_recv(urma_jfr_t* jfr, urma_target_seg_t* recv_tseg, uint64_t buf, uint32_t len,
                        uint64_t user_ctx);
int urma_poll_jfc(urma_jfc_t* jfc, int cr_cnt, urma_cr_t* cr);
urma_status_t urma_rearm_jfc(urma_jfc_t* jfc, bool solicited_only);
int urma_wait_jfc(urma_jfce_t* jfce, uint32_t jfc_cnt, int time_out, urma_jfc_t** jfc);
void urma_ack_jfc(urma_jfc_t** jfc, uint32_t* nevents, uint32_t jfc_cnt);
urma_status_t urma_get_uasid(uint32_t* uasid);
urma_status_t urma_user_ctl(urma_context_t* ctx, urma_user_ctl_in_t* in, urma_user_ctl_out_t* out);
urma_status_t urma_register_log_func(urma_log_cb_t func);
urma_status_t urma_register_loc_log_func(urma_loc_log_cb func);
urma_status_t urma_unregister_log_func(void);
urma_vlog_level_t urma_log_get_level(void);
void urma_log_set_level(urma_vlog_level_t level);
const char* urma_log_get_thread_tag(void);
void urma_log_set_thread_tag(const char* tag);
int urma_get_tpn(urma_jetty_t* jetty);
urma_net_addr_info_t* urma_get_net_addr_list(urma_context_t* ctx, uint32_t* cnt);
void urma_free_net_addr_list(urma_net_addr_info_t* net_addr_list);
int urma_modify_tp(urma_context_t* ctx, uint32_t tpn, urma_tp_cfg_t* cfg, urma_tp_attr_t* attr,
                   urma_tp_attr_mask_t mask);
urma_status_t urma_get_tp_list(urma_context_t* ctx, urma_get_tp_cfg_t* cfg, uint32_t* tp_cnt,
                               urma_tp_info_t* tp_list);
urma_status_t urma_set_tp_attr(const urma_context_t* ctx, const uint64_t tp_handle, const uint8_t tp_attr_cnt,
                               const uint32_t tp_attr_bitmap, const urma_tp_attr_value_t* tp_attr);
urma_status_t urma_get_tp_attr(const urma_context_t* ctx, const uint64_t tp_handle, uint8_t* tp_attr_cnt,
                               uint32_t* tp_attr_bitmap, urma_tp_attr_value_t* tp_attr);
urma_status_t urma_get_eid_by_ip(const urma_context_t* ctx, const urma_net_addr_t* net_addr, urma_eid_t* eid);
urma_status_t urma_get_ip_by_eid(const urma_context_t* ctx, const urma_eid_t* eid, urma_net_addr_t* net_addr);
urma_status_t urma_get_smac(const urma_context_t* ctx, uint8_t* mac);
urma_status_t urma_get_dmac(const urma_context_t* ctx, const urma_net_addr_t* net_addr, uint8_t* mac);

#ifdef __cplusplus
}
#endif
