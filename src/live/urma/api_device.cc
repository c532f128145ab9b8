// SPDX-License-Identifier: Apache-2.0
// The C interface: start and end, devices, contexts.
#include "live/urma/exported.h"
//
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "live/urma/guarded.h"
#include "live/urma/identity.h"
#include "live/urma/library.h"

using namespace wharf::live::urma;

namespace wharf::live::urma {

void fill(const Device& device, urma_device_attr_t& out) {
  out = {};
  const std::uint32_t first = device.addresses.empty() ? 0 : device.addresses.front();
  out.guid.raw[0] = 0x75;  // "u", and the address.
  for (unsigned i = 0; i < 4; ++i) out.guid.raw[12 + i] = static_cast<std::uint8_t>(first >> (24U - 8U * i));
  urma_device_cap_t& cap = out.dev_cap;
  cap.feature.bs.jfc_inline = 1;
  cap.feature.bs.selective_retrans = 1;
  cap.feature.bs.jetty_grp = 1;
  cap.feature.bs.error_suspend = 1;
  cap.feature.bs.outorder_comp = 1;
  cap.feature.bs.non_pin = 1;
  cap.feature.bs.uboe = 1;
  cap.max_jfc = 1U << 16U;
  cap.max_jfs = 1U << 18U;
  cap.max_jfr = 1U << 16U;
  cap.max_jetty = 1U << 18U;
  cap.max_jetty_grp = 1U << 12U;
  cap.max_jetty_in_jetty_grp = kGroupMembersMost;
  cap.max_jfc_depth = kJfcDepthMost;
  cap.max_jfs_depth = kQueueDepthMost;
  cap.max_jfr_depth = kQueueDepthMost;
  cap.max_jfs_inline_len = kInlineMost;
  cap.max_jfs_sge = verbs::kMaxScatterEntries;
  cap.max_jfs_rsge = verbs::kMaxScatterEntries;
  cap.max_jfr_sge = verbs::kMaxScatterEntries;
  cap.max_msg_size = kSendMost;
  cap.max_read_size = kMessageMost;
  cap.max_write_size = kMessageMost;
  cap.max_cas_size = 16;
  cap.max_swap_size = 8;
  cap.max_fetch_and_add_size = 8;
  cap.max_fetch_and_sub_size = 8;
  cap.max_fetch_and_and_size = 8;
  cap.max_fetch_and_or_size = 8;
  cap.max_fetch_and_xor_size = 8;
  cap.atomic_feat.value = 0x7f;
  cap.trans_mode = URMA_TM_RM | URMA_TM_RC | URMA_TM_UM;
  cap.congestion_ctrl_alg = URMA_CC_NONE;
  cap.ceq_cnt = 1;
  cap.max_eid_cnt = static_cast<std::uint32_t>(device.addresses.size());
  cap.page_size_cap = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  cap.max_netaddr_cnt = static_cast<std::uint32_t>(device.addresses.size());
  cap.rm_order_cap.bs.oi = 1;
  cap.rc_order_cap.bs.ot = cap.rc_order_cap.bs.ol = 1;
  cap.rm_tp_cap.value = cap.rc_tp_cap.value = 3;  // RTP, and CTP, which is RTP here too.
  cap.um_tp_cap.bs.utp = 1;
  for (std::uint32_t priority = 0; priority < URMA_MAX_PRIORITY_CNT; ++priority) {
    // Programs look for an entry that is exactly one kind.
    cap.priority_info[priority].SL = priority;
    cap.priority_info[priority].tp_type.value = priority % 2 == 0 ? 1 : 2;
  }
  out.port_cnt = 1;
  urma_port_attr_t& port = out.port_attr[0];
  port.max_mtu = URMA_MTU_4096;
  port.state = URMA_PORT_ACTIVE;
  port.active_width = URMA_LINK_X1;
  port.active_speed = URMA_SP_10G;
  const std::uint32_t path = is_shared_memory(first) ? 8192 : interface_mtu(first);
  port.active_mtu = path >= 4096 + 128 ? URMA_MTU_4096 : path >= 2048 + 128 ? URMA_MTU_2048 : URMA_MTU_1024;
  out.reserved_jetty_id_min = 1;
  out.reserved_jetty_id_max = 31;
}

}  // namespace wharf::live::urma

extern "C" {

urma_status_t urma_init(urma_init_attr_t* conf) {
  return Library::get().init(conf == nullptr ? 0 : conf->uasid);
}

urma_status_t urma_uninit(void) { return Library::get().uninit(); }

urma_device_t** urma_get_device_list(int* num_devices) {
  if (num_devices == nullptr) return refuse<urma_device_t*>(EINVAL);
  *num_devices = 0;
  const std::lock_guard lock(Library::get().mutex());
  const auto& devices = Library::get().devices();
  if (!Library::get().ready()) return refuse<urma_device_t*>(ENODEV);
  auto** list = static_cast<urma_device_t**>(std::calloc(devices.size() + 1, sizeof(urma_device_t*)));
  if (list == nullptr) return refuse<urma_device_t*>(ENOMEM);
  for (std::size_t at = 0; at < devices.size(); ++at) list[at] = &devices[at]->api;
  *num_devices = static_cast<int>(devices.size());
  return list;
}

void urma_free_device_list(urma_device_t** device_list) { std::free(device_list); }

urma_eid_info_t* urma_get_eid_list(urma_device_t* dev, uint32_t* cnt) {
  if (cnt == nullptr) return refuse<urma_eid_info_t>(EINVAL);
  *cnt = 0;
  const std::lock_guard lock(Library::get().mutex());
  const Device* device = Library::get().find(dev);
  if (device == nullptr) return refuse<urma_eid_info_t>(EINVAL);
  auto* list = static_cast<urma_eid_info_t*>(std::calloc(device->addresses.size(), sizeof(urma_eid_info_t)));
  if (list == nullptr) return refuse<urma_eid_info_t>(ENOMEM);
  for (std::uint32_t at = 0; at < device->addresses.size(); ++at) {
    list[at].eid = eid_of(device->addresses[at]);
    list[at].eid_index = at;
  }
  *cnt = static_cast<uint32_t>(device->addresses.size());
  return list;
}

void urma_free_eid_list(urma_eid_info_t* eid_list) { std::free(eid_list); }

urma_device_t* urma_get_device_by_name(char* dev_name) {
  if (dev_name == nullptr) return refuse<urma_device_t>(EINVAL);
  const std::lock_guard lock(Library::get().mutex());
  for (const auto& each : Library::get().devices()) {
    if (std::strncmp(each->api.name, dev_name, URMA_MAX_NAME) == 0) return &each->api;
  }
  return refuse<urma_device_t>(ENODEV);
}

urma_device_t* urma_get_device_by_eid(urma_eid_t eid, urma_transport_type_t type) {
  const auto address = address_of(eid);
  const std::lock_guard lock(Library::get().mutex());
  for (const auto& each : Library::get().devices()) {
    for (const std::uint32_t own : each->addresses) {
      if (address == own && type == each->api.type) return &each->api;
    }
  }
  return refuse<urma_device_t>(ENODEV);
}

urma_status_t urma_query_device(urma_device_t* dev, urma_device_attr_t* dev_attr) {
  const std::lock_guard lock(Library::get().mutex());
  const Device* device = Library::get().find(dev);
  if (device == nullptr || dev_attr == nullptr) return URMA_EINVAL;
  fill(*device, *dev_attr);
  return URMA_SUCCESS;
}

urma_context_t* urma_create_context(urma_device_t* dev, uint32_t eid_index) {
  const std::lock_guard lock(Library::get().mutex());
  Device* const device = Library::get().find(dev);
  if (device == nullptr || eid_index >= device->addresses.size()) return refuse<urma_context_t>(EINVAL);
  Interface* interface = nullptr;
  if (!attempted([&] { interface = Library::get().interface(device->addresses[eid_index]); })) {
    return refuse<urma_context_t>(ENOMEM);
  }
  if (interface == nullptr) return refuse<urma_context_t>(EADDRNOTAVAIL);
  const int events = ::eventfd(0, EFD_CLOEXEC);  // Blocks, as programs expect.
  const auto prepare = [&](Context& made) { made.interface = interface; };
  Context* context = nullptr;
  if (events >= 0) attempted([&] { context = tables().contexts.make(prepare); });
  if (context == nullptr) {
    if (events >= 0) ::close(events);
    return refuse<urma_context_t>(ENOMEM);
  }
  context->device = device;
  urma_context_t& api = context->api;
  api.dev = &device->api;
  api.ops = &provider_ops();
  api.dev_fd = -1;
  api.async_fd = events;
  ::pthread_mutex_init(&api.mutex, nullptr);
  api.eid = eid_of(device->addresses[eid_index]);
  api.eid_index = eid_index;
  api.uasid = Library::get().uasid();
  api.ref.atomic_cnt = 1;
  api.aggr_mode = URMA_AGGR_MODE_STANDALONE;
  return &api;
}

urma_status_t urma_delete_context(urma_context_t* ctx) {
  const std::lock_guard lock(Library::get().mutex());
  Context* const context = tables().contexts.find(ctx);
  if (context == nullptr) return URMA_EINVAL;
  // Another thread that waits to make something in it finds it gone.
  const Interface::Section section(*context->interface);
  if (context->children != 0) return URMA_EAGAIN;
  signal(context->api.async_fd);  // Whoever waits there looks, and finds it gone.
  ::close(context->api.async_fd);
  ::pthread_mutex_destroy(&context->api.mutex);
  return tables().contexts.end(context) ? URMA_SUCCESS : URMA_EINVAL;
}

urma_status_t urma_set_context_opt(urma_context_t* ctx, urma_opt_name_t opt_name, const void* opt_value,
                                   size_t opt_len) {
  Context* const context = tables().contexts.find(ctx);
  if (context == nullptr || opt_value == nullptr || opt_name != URMA_OPT_AGGR_MODE ||
      opt_len != sizeof(urma_context_aggr_mode_t)) {
    return URMA_EINVAL;
  }
  urma_context_aggr_mode_t mode{};
  std::memcpy(&mode, opt_value, sizeof mode);
  if (mode != URMA_AGGR_MODE_STANDALONE) return URMA_FAIL;  // One address has one path.
  context->api.aggr_mode = mode;
  return URMA_SUCCESS;
}

urma_status_t urma_get_uasid(uint32_t* uasid) {
  if (uasid == nullptr || !Library::get().ready()) return URMA_EINVAL;
  *uasid = Library::get().uasid();
  return URMA_SUCCESS;
}

urma_status_t urma_user_ctl(urma_context_t* ctx, urma_user_ctl_in_t* in, urma_user_ctl_out_t* out) {
  if (tables().contexts.find(ctx) == nullptr || in == nullptr || out == nullptr) return URMA_EINVAL;
  return URMA_FAIL;  // This provider has no commands of its own.
}

}  // extern "C"
