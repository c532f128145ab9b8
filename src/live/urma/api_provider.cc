// SPDX-License-Identifier: Apache-2.0
// The driver side of the C interface. This library has no drivers beneath it and no kernel device: each call
// fails, and says so in the way of its kind.
#include "live/urma/exported.h"
//
#include <cerrno>

extern "C" {

int urma_register_provider_ops(urma_provider_ops_t*) { return -ENOTSUP; }
int urma_unregister_provider_ops(urma_provider_ops_t*) { return -ENOTSUP; }
ssize_t urma_read_sysfs_file(const char*, const char*, char*, size_t) { return -ENOTSUP; }
int urma_cmd_create_context(urma_context_t*, urma_context_cfg_t*, urma_cmd_udrv_priv_t*) { return -ENOTSUP; }
int urma_cmd_delete_context(urma_context_t*) { return -ENOTSUP; }
int urma_cmd_create_jfce(urma_context_t*) { return -ENOTSUP; }
int urma_cmd_create_jfc(urma_context_t*, urma_jfc_t*, urma_jfc_cfg_t*, urma_cmd_udrv_priv_t*) {
  return -ENOTSUP;
}
int urma_cmd_modify_jfc(urma_jfc_t*, urma_jfc_attr_t*, urma_cmd_udrv_priv_t*) { return -ENOTSUP; }
int urma_cmd_delete_jfc(urma_jfc_t*) { return -ENOTSUP; }
int urma_cmd_delete_jfc_batch(urma_jfc_t**, int, urma_jfc_t**) { return -ENOTSUP; }
int urma_cmd_wait_jfc(int, uint32_t, int, urma_jfc_t**) { return -ENOTSUP; }
void urma_cmd_ack_jfc(urma_jfc_t**, uint32_t*, uint32_t) {}
int urma_cmd_alloc_jfc(urma_context_t*, urma_jfc_cfg_t*, urma_jfc_t*, urma_cmd_udrv_priv_t*) {
  return -ENOTSUP;
}
int urma_cmd_set_jfc_opt(urma_jfc_t*, uint64_t, void*, uint32_t, urma_cmd_udrv_priv_t*) { return -ENOTSUP; }
int urma_cmd_active_jfc(urma_jfc_t*, urma_cmd_udrv_priv_t*) { return -ENOTSUP; }
int urma_cmd_get_jfc_opt(urma_jfc_t*, uint64_t, void*, uint32_t, urma_cmd_udrv_priv_t*) { return -ENOTSUP; }
int urma_cmd_deactive_jfc(urma_jfc_t*, urma_cmd_udrv_priv_t*) { return -ENOTSUP; }
int urma_cmd_free_jfc(urma_jfc_t*, urma_cmd_udrv_priv_t*) { return -ENOTSUP; }
int urma_cmd_create_jfs(urma_context_t*, urma_jfs_t*, urma_jfs_cfg_t*, urma_cmd_udrv_priv_t*) {
  return -ENOTSUP;
}
int urma_cmd_modify_jfs(urma_jfs_t*, urma_jfs_attr_t*, urma_cmd_udrv_priv_t*) { return -ENOTSUP; }
int urma_cmd_query_jfs(urma_jfs_t*, urma_jfs_cfg_t*, urma_jfs_attr_t*) { return -ENOTSUP; }
int urma_cmd_delete_jfs(urma_jfs_t*) { return -ENOTSUP; }
int urma_cmd_delete_jfs_batch(urma_jfs_t**, int, urma_jfs_t**) { return -ENOTSUP; }
int urma_cmd_alloc_jfs(urma_context_t*, urma_jfs_cfg_t*, urma_jfs_t*, urma_cmd_udrv_priv_t*) {
  return -ENOTSUP;
}
int urma_cmd_set_jfs_opt(urma_jfs_t*, uint64_t, void*, uint32_t, urma_cmd_udrv_priv_t*) { return -ENOTSUP; }
int urma_cmd_active_jfs(urma_jfs_t*, urma_cmd_udrv_priv_t*) { return -ENOTSUP; }
int urma_cmd_get_jfs_opt(urma_jfs_t*, uint64_t, void*, uint32_t, urma_cmd_udrv_priv_t*) { return -ENOTSUP; }
int urma_cmd_deactive_jfs(urma_jfs_t*, urma_cmd_udrv_priv_t*) { return -ENOTSUP; }
int urma_cmd_free_jfs(urma_jfs_t*, urma_cmd_udrv_priv_t*) { return -ENOTSUP; }
int urma_cmd_create_jfr(urma_context_t*, urma_jfr_t*, urma_jfr_cfg_t*, urma_cmd_udrv_priv_t*) {
  return -ENOTSUP;
}
int urma_cmd_modify_jfr(urma_jfr_t*, urma_jfr_attr_t*, urma_cmd_udrv_priv_t*) { return -ENOTSUP; }
int urma_cmd_query_jfr(urma_jfr_t*, urma_jfr_cfg_t*, urma_jfr_attr_t*) { return -ENOTSUP; }
int urma_cmd_delete_jfr(urma_jfr_t*) { return -ENOTSUP; }
int urma_cmd_delete_jfr_batch(urma_jfr_t**, int, urma_jfr_t**) { return -ENOTSUP; }
int urma_cmd_alloc_jfr(urma_context_t*, urma_jfr_cfg_t*, urma_jfr_t*, urma_cmd_udrv_priv_t*) {
  return -ENOTSUP;
}
int urma_cmd_set_jfr_opt(urma_jfr_t*, uint64_t, void*, uint32_t, urma_cmd_udrv_priv_t*) { return -ENOTSUP; }
int urma_cmd_active_jfr(urma_jfr_t*, urma_cmd_udrv_priv_t*) { return -ENOTSUP; }
int urma_cmd_get_jfr_opt(urma_jfr_t*, uint64_t, void*, uint32_t, urma_cmd_udrv_priv_t*) { return -ENOTSUP; }
int urma_cmd_deactive_jfr(urma_jfr_t*, urma_cmd_udrv_priv_t*) { return -ENOTSUP; }
int urma_cmd_free_jfr(urma_jfr_t*, urma_cmd_udrv_priv_t*) { return -ENOTSUP; }
int urma_cmd_import_jfr(urma_context_t*, urma_target_jetty_t*, urma_tjfr_cfg_t*, urma_cmd_udrv_priv_t*) {
  return -ENOTSUP;
}
int urma_cmd_import_jfr_ex(urma_context_t*, urma_target_jetty_t*, urma_tjfr_cfg_t*, urma_import_jfr_ex_cfg_t*,
                           urma_cmd_udrv_priv_t*) {
  return -ENOTSUP;
}
int urma_cmd_unimport_jfr(urma_target_jetty_t*) { return -ENOTSUP; }
int urma_cmd_advise_jfr(urma_jfs_t*, urma_target_jetty_t*, urma_cmd_udrv_priv_t*) { return -ENOTSUP; }
int urma_cmd_unadvise_jfr(urma_jfs_t*, urma_target_jetty_t*) { return -ENOTSUP; }
int urma_cmd_create_jetty(urma_context_t*, urma_jetty_t*, urma_jetty_cfg_t*, urma_cmd_udrv_priv_t*) {
  return -ENOTSUP;
}
int urma_cmd_modify_jetty(urma_jetty_t*, urma_jetty_attr_t*, urma_cmd_udrv_priv_t*) { return -ENOTSUP; }
int urma_cmd_query_jetty(urma_jetty_t*, urma_jetty_cfg_t*, urma_jetty_attr_t*) { return -ENOTSUP; }
int urma_cmd_delete_jetty(urma_jetty_t*) { return -ENOTSUP; }
int urma_cmd_delete_jetty_batch(urma_jetty_t**, int, urma_jetty_t**) { return -ENOTSUP; }
int urma_cmd_alloc_jetty(urma_context_t*, urma_jetty_cfg_t*, urma_jetty_t*, urma_cmd_udrv_priv_t*) {
  return -ENOTSUP;
}
int urma_cmd_set_jetty_opt(urma_jetty_t*, uint64_t, void*, uint32_t, urma_cmd_udrv_priv_t*) {
  return -ENOTSUP;
}
int urma_cmd_active_jetty(urma_jetty_t*, urma_cmd_udrv_priv_t*) { return -ENOTSUP; }
int urma_cmd_get_jetty_opt(urma_jetty_t*, uint64_t, void*, uint32_t, urma_cmd_udrv_priv_t*) {
  return -ENOTSUP;
}
int urma_cmd_deactive_jetty(urma_jetty_t*, urma_cmd_udrv_priv_t*) { return -ENOTSUP; }
int urma_cmd_free_jetty(urma_jetty_t*, urma_cmd_udrv_priv_t*) { return -ENOTSUP; }
int urma_cmd_import_jetty(urma_context_t*, urma_target_jetty_t*, urma_tjetty_cfg_t*, urma_cmd_udrv_priv_t*) {
  return -ENOTSUP;
}
int urma_cmd_import_jetty_ex(urma_context_t*, urma_target_jetty_t*, urma_tjetty_cfg_t*,
                             urma_import_jetty_ex_cfg_t*, urma_cmd_udrv_priv_t*) {
  return -ENOTSUP;
}
int urma_cmd_unimport_jetty(urma_target_jetty_t*) { return -ENOTSUP; }
int urma_cmd_advise_jetty(urma_jetty_t*, urma_target_jetty_t*, urma_cmd_udrv_priv_t*) { return -ENOTSUP; }
int urma_cmd_unadvise_jetty(urma_jetty_t*, urma_target_jetty_t*) { return -ENOTSUP; }
int urma_cmd_bind_jetty(urma_jetty_t*, urma_target_jetty_t*, urma_cmd_udrv_priv_t*) { return -ENOTSUP; }
int urma_cmd_bind_jetty_ex(urma_jetty_t*, urma_target_jetty_t*, urma_bind_jetty_ex_cfg_t*,
                           urma_cmd_udrv_priv_t*) {
  return -ENOTSUP;
}
int urma_cmd_unbind_jetty(urma_jetty_t*) { return -ENOTSUP; }
int urma_cmd_create_jetty_grp(urma_context_t*, urma_jetty_grp_t*, urma_jetty_grp_cfg_t*,
                              urma_cmd_udrv_priv_t*) {
  return -ENOTSUP;
}
int urma_cmd_delete_jetty_grp(urma_jetty_grp_t*) { return -ENOTSUP; }
int urma_cmd_alloc_token_id(urma_context_t*, urma_token_id_t*, urma_cmd_udrv_priv_t*) { return -ENOTSUP; }
int urma_cmd_alloc_token_id_ex(urma_context_t*, urma_token_id_t*, urma_token_id_flag_t,
                               urma_cmd_udrv_priv_t*) {
  return -ENOTSUP;
}
int urma_cmd_free_token_id(urma_token_id_t*) { return -ENOTSUP; }
int urma_cmd_register_seg(urma_context_t*, urma_target_seg_t*, urma_seg_cfg_t*, urma_cmd_udrv_priv_t*) {
  return -ENOTSUP;
}
int urma_cmd_unregister_seg(urma_target_seg_t*) { return -ENOTSUP; }
int urma_cmd_import_seg(urma_context_t*, urma_target_seg_t*, urma_import_tseg_cfg_t*, urma_cmd_udrv_priv_t*) {
  return -ENOTSUP;
}
int urma_cmd_unimport_seg(urma_target_seg_t*) { return -ENOTSUP; }
urma_status_t urma_cmd_get_async_event(urma_context_t*, urma_async_event_t*) { return URMA_FAIL; }
void urma_cmd_ack_async_event(urma_async_event_t*) {}
int urma_cmd_user_ctl(urma_context_t*, urma_user_ctl_in_t*, urma_user_ctl_out_t*, urma_udrv_t*) {
  return -ENOTSUP;
}
int urma_cmd_get_eid_list(int, uint32_t, urma_eid_info_t*, uint32_t*) { return -ENOTSUP; }
int urma_cmd_get_net_addr_list(urma_context_t*, uint32_t, urma_net_addr_info_t*, uint32_t*) {
  return -ENOTSUP;
}
int urma_cmd_modify_tp(urma_context_t*, uint32_t, urma_tp_cfg_t*, urma_tp_attr_t*, urma_tp_attr_mask_t) {
  return -ENOTSUP;
}
int urma_cmd_query_device_attr(int, struct urma_sysfs_dev*) { return -ENOTSUP; }
int urma_register_sysfs_dev(struct urma_sysfs_dev*) { return -ENOTSUP; }
int urma_cmd_import_jetty_async(urma_notifier_t*, urma_target_jetty_t*, urma_tjetty_cfg_t*, uint64_t, int,
                                urma_cmd_udrv_priv_t*) {
  return -ENOTSUP;
}
int urma_cmd_unimport_jetty_async(urma_target_jetty_t*) { return -ENOTSUP; }
int urma_cmd_bind_jetty_async(urma_notifier_t*, urma_jetty_t*, urma_target_jetty_t*, uint64_t, int,
                              urma_cmd_udrv_priv_t*) {
  return -ENOTSUP;
}
int urma_cmd_unbind_jetty_async(urma_jetty_t*) { return -ENOTSUP; }
int urma_cmd_create_notifier(urma_context_t*) { return -ENOTSUP; }
int urma_cmd_wait_notify(urma_notifier_t*, uint32_t, urma_notify_t*, int) { return -ENOTSUP; }
int urma_cmd_get_tp_list(urma_context_t*, urma_get_tp_cfg_t*, uint32_t*, urma_tp_info_t*,
                         urma_cmd_udrv_priv_t*) {
  return -ENOTSUP;
}
int urma_cmd_set_tp_attr(const urma_context_t*, const uint64_t, const uint8_t, const uint32_t,
                         const urma_tp_attr_value_t*, urma_cmd_udrv_priv_t*) {
  return -ENOTSUP;
}
int urma_cmd_get_tp_attr(const urma_context_t*, const uint64_t, uint8_t*, uint32_t*, urma_tp_attr_value_t*,
                         urma_cmd_udrv_priv_t*) {
  return -ENOTSUP;
}
int urma_cmd_exchange_tp_info(urma_context_t*, urma_get_tp_cfg_t*, uint64_t, uint32_t, uint64_t*, uint32_t*) {
  return -ENOTSUP;
}
int urma_cmd_get_eid_by_ip(const urma_context_t*, const urma_net_addr_t*, urma_eid_t*) { return -ENOTSUP; }
int urma_cmd_get_ip_by_eid(const urma_context_t*, const urma_eid_t*, urma_net_addr_t*) { return -ENOTSUP; }
int urma_cmd_get_smac(const urma_context_t*, uint8_t*) { return -ENOTSUP; }
int urma_cmd_get_dmac(const urma_context_t*, const urma_net_addr_t*, uint8_t*) { return -ENOTSUP; }

}  // extern "C"
