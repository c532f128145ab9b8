// SPDX-License-Identifier: Apache-2.0
// The provider's table, which programs read through urma_context_t::ops: each slot is the call of the C
// interface itself.
#include "live/urma/exported.h"
//
#include "live/urma/library.h"

namespace wharf::live::urma {
namespace {

int user_ctl(urma_context_t* ctx, urma_user_ctl_in_t* in, urma_user_ctl_out_t* out) {
  return static_cast<int>(urma_user_ctl(ctx, in, out));
}

void ack_notify(uint32_t, urma_notify_t*) {}

}  // namespace

urma_ops_t& provider_ops() {
  static urma_ops_t ops = [] {
    urma_ops_t made{};
    made.name = "wharf";
    made.create_jfc = urma_create_jfc;
    made.modify_jfc = urma_modify_jfc;
    made.delete_jfc = urma_delete_jfc;
    made.delete_jfc_batch = urma_delete_jfc_batch;
    made.alloc_jfc = urma_alloc_jfc;
    made.set_jfc_opt = urma_set_jfc_opt;
    made.active_jfc = urma_active_jfc;
    made.get_jfc_opt = urma_get_jfc_opt;
    made.deactive_jfc = urma_deactive_jfc;
    made.free_jfc = urma_free_jfc;
    made.create_jfs = urma_create_jfs;
    made.modify_jfs = urma_modify_jfs;
    made.query_jfs = urma_query_jfs;
    made.flush_jfs = urma_flush_jfs;
    made.delete_jfs = urma_delete_jfs;
    made.delete_jfs_batch = urma_delete_jfs_batch;
    made.alloc_jfs = urma_alloc_jfs;
    made.set_jfs_opt = urma_set_jfs_opt;
    made.active_jfs = urma_active_jfs;
    made.get_jfs_opt = urma_get_jfs_opt;
    made.deactive_jfs = urma_deactive_jfs;
    made.free_jfs = urma_free_jfs;
    made.create_jfr = urma_create_jfr;
    made.modify_jfr = urma_modify_jfr;
    made.query_jfr = urma_query_jfr;
    made.delete_jfr = urma_delete_jfr;
    made.delete_jfr_batch = urma_delete_jfr_batch;
    made.import_jfr = urma_import_jfr;
    made.unimport_jfr = urma_unimport_jfr;
    made.advise_jfr = urma_advise_jfr;
    made.unadvise_jfr = urma_unadvise_jfr;
    made.advise_jfr_async = urma_advise_jfr_async;
    made.alloc_jfr = urma_alloc_jfr;
    made.set_jfr_opt = urma_set_jfr_opt;
    made.active_jfr = urma_active_jfr;
    made.get_jfr_opt = urma_get_jfr_opt;
    made.deactive_jfr = urma_deactive_jfr;
    made.free_jfr = urma_free_jfr;
    made.create_jetty = urma_create_jetty;
    made.modify_jetty = urma_modify_jetty;
    made.query_jetty = urma_query_jetty;
    made.flush_jetty = urma_flush_jetty;
    made.delete_jetty = urma_delete_jetty;
    made.delete_jetty_batch = urma_delete_jetty_batch;
    made.import_jetty = urma_import_jetty;
    made.unimport_jetty = urma_unimport_jetty;
    made.advise_jetty = urma_advise_jetty;
    made.unadvise_jetty = urma_unadvise_jetty;
    made.bind_jetty = urma_bind_jetty;
    made.unbind_jetty = urma_unbind_jetty;
    made.alloc_jetty = urma_alloc_jetty;
    made.set_jetty_opt = urma_set_jetty_opt;
    made.active_jetty = urma_active_jetty;
    made.get_jetty_opt = urma_get_jetty_opt;
    made.deactive_jetty = urma_deactive_jetty;
    made.free_jetty = urma_free_jetty;
    made.create_jetty_grp = urma_create_jetty_grp;
    made.delete_jetty_grp = urma_delete_jetty_grp;
    made.create_jfce = urma_create_jfce;
    made.delete_jfce = urma_delete_jfce;
    made.get_tpn = urma_get_tpn;
    made.modify_tp = urma_modify_tp;
    made.get_tp_list = urma_get_tp_list;
    made.set_tp_attr = urma_set_tp_attr;
    made.get_tp_attr = urma_get_tp_attr;
    made.import_jetty_ex = urma_import_jetty_ex;
    made.import_jfr_ex = urma_import_jfr_ex;
    made.bind_jetty_ex = urma_bind_jetty_ex;
    made.alloc_token_id = urma_alloc_token_id;
    made.alloc_token_id_ex = urma_alloc_token_id_ex;
    made.free_token_id = urma_free_token_id;
    made.register_seg = urma_register_seg;
    made.unregister_seg = urma_unregister_seg;
    made.import_seg = urma_import_seg;
    made.unimport_seg = urma_unimport_seg;
    made.get_async_event = urma_get_async_event;
    made.ack_async_event = urma_ack_async_event;
    made.user_ctl = user_ctl;
    made.post_jfs_wr = urma_post_jfs_wr;
    made.post_jfr_wr = urma_post_jfr_wr;
    made.post_jetty_send_wr = urma_post_jetty_send_wr;
    made.post_jetty_recv_wr = urma_post_jetty_recv_wr;
    made.poll_jfc = urma_poll_jfc;
    made.rearm_jfc = urma_rearm_jfc;
    made.wait_jfc = urma_wait_jfc;
    made.ack_jfc = urma_ack_jfc;
    made.import_jetty_async = urma_import_jetty_async;
    made.unimport_jetty_async = urma_unimport_jetty_async;
    made.bind_jetty_async = urma_bind_jetty_async;
    made.unbind_jetty_async = urma_unbind_jetty_async;
    made.create_notifier = urma_create_notifier;
    made.delete_notifier = urma_delete_notifier;
    made.wait_notify = urma_wait_notify;
    made.ack_notify = ack_notify;
    made.get_eid_by_ip = urma_get_eid_by_ip;
    made.get_ip_by_eid = urma_get_ip_by_eid;
    made.get_smac = urma_get_smac;
    made.get_dmac = urma_get_dmac;
    return made;
  }();
  return ops;
}

}  // namespace wharf::live::urma
