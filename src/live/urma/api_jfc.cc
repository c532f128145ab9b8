// SPDX-License-Identifier: Apache-2.0
// The C interface: completion channels and completion queues.
#include "live/urma/exported.h"
//
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>

#include "live/urma/library.h"
#include "live/urma/lives.h"
#include "live/urma/watch.h"

using namespace wharf::live::urma;

namespace wharf::live::urma {

namespace {

/// None, or one of the same interface.
bool check_channel(const Context& context, const urma_jfc_cfg_t& cfg) {
  const Jfce* const jfce = tables().jfces.find(cfg.jfce);
  return cfg.jfce == nullptr || (jfce != nullptr && jfce->context->interface == context.interface);
}

}  // namespace

Jfc* allocate_jfc(Context& context, const urma_jfc_cfg_t& cfg) {
  if (!check_channel(context, cfg)) return refuse<Jfc>(EINVAL);
  if (cfg.depth == 0 || cfg.depth > kJfcDepthMost) return refuse<Jfc>(EINVAL);
  Jfc* const jfc = tables().jfcs.make([&](Jfc& made) { made.context = &context; });
  if (jfc == nullptr) return refuse<Jfc>(ENOMEM);
  jfc->api.urma_ctx = &context.api;
  jfc->api.jfc_cfg = cfg;
  ::pthread_mutex_init(&jfc->api.event_mutex, nullptr);
  ::pthread_cond_init(&jfc->api.event_cond, nullptr);
  ++context.children;
  return jfc;
}

urma_status_t activate(Jfc& jfc) {
  if (jfc.active) return URMA_EEXIST;
  if (!check_channel(*jfc.context, jfc.api.jfc_cfg)) return URMA_EINVAL;  // Options may have changed it.
  Jfce* const jfce = tables().jfces.find(jfc.api.jfc_cfg.jfce);
  static std::atomic<std::uint32_t> ids{1};
  jfc.jfce = jfce;
  if (jfce != nullptr) ++jfce->users;
  jfc.api.jfc_id.eid = jfc.context->api.eid;
  jfc.api.jfc_id.uasid = jfc.context->api.uasid;
  jfc.api.jfc_id.id = ids++;
  jfc.api.handle = jfc.api.jfc_id.id;
  jfc.api.urma_jfc_opt.is_actived = true;
  jfc.active = true;
  return URMA_SUCCESS;
}

urma_status_t deactivate(Jfc& jfc) {
  if (!jfc.active) return URMA_EINVAL;
  if (jfc.users != 0) return URMA_EAGAIN;
  if (jfc.jfce != nullptr) {
    if (jfc.signalled) jfc.jfce->forget_ready(jfc);
    if (jfc.jfce->first_ready == nullptr) quiet(jfc.jfce->api.fd);
    --jfc.jfce->users;
  }
  withdraw(*jfc.context, &jfc.api);
  jfc.jfce = nullptr;
  jfc.signalled = false;
  jfc.armed = Jfc::Armed::kNo;
  jfc.ring = {};
  jfc.head = jfc.count = 0;
  jfc.overrun = false;
  jfc.api.urma_jfc_opt.is_actived = false;
  jfc.active = false;
  return URMA_SUCCESS;
}

/// All events that the program has seen must be acknowledged before an object goes. [URMA API]
bool has_open_events(const Jfc& jfc) {
  return jfc.events_given != jfc.api.comp_events_acked ||
         jfc.async_events_given != jfc.api.async_events_acked;
}

urma_status_t release(Jfc& jfc) {
  if (jfc.active) return URMA_EAGAIN;
  if (has_open_events(jfc)) return URMA_EAGAIN;
  ::pthread_cond_destroy(&jfc.api.event_cond);
  ::pthread_mutex_destroy(&jfc.api.event_mutex);
  --jfc.context->children;
  return tables().jfcs.end(&jfc) ? URMA_SUCCESS : URMA_EINVAL;
}

}  // namespace wharf::live::urma

extern "C" {

urma_jfce_t* urma_create_jfce(urma_context_t* ctx) {
  if (tables().contexts.find(ctx) == nullptr) return refuse<urma_jfce_t>(EINVAL);
  const int descriptor = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (descriptor < 0) return nullptr;
  Jfce* jfce = nullptr;
  with(tables().contexts, ctx, [&](Context& context) -> urma_status_t {
    jfce = tables().jfces.make([&](Jfce& made) { made.context = &context; });
    if (jfce == nullptr) return URMA_ENOMEM;
    jfce->api.urma_ctx = ctx;
    jfce->api.fd = descriptor;
    jfce->api.ref.atomic_cnt = 1;
    ++context.children;
    return URMA_SUCCESS;
  });
  if (jfce != nullptr) return &jfce->api;
  ::close(descriptor);
  return refuse<urma_jfce_t>(ENOMEM);
}

urma_status_t urma_delete_jfce(urma_jfce_t* jfce) {
  return with(tables().jfces, jfce, [](Jfce& found) -> urma_status_t {
    if (found.users != 0) return URMA_EAGAIN;
    signal(found.api.fd);  // Whoever waits there looks, and finds it gone.
    ::close(found.api.fd);
    --found.context->children;
    return tables().jfces.end(&found) ? URMA_SUCCESS : URMA_EINVAL;
  });
}

urma_jfc_t* urma_create_jfc(urma_context_t* ctx, urma_jfc_cfg_t* jfc_cfg) {
  if (jfc_cfg == nullptr) return refuse<urma_jfc_t>(EINVAL);
  return made_in(ctx, [&](Context& context) -> urma_jfc_t* {
    Jfc* const jfc = allocate_jfc(context, *jfc_cfg);
    if (jfc == nullptr) return nullptr;
    activate(*jfc);
    return &jfc->api;
  });
}

urma_status_t urma_alloc_jfc(urma_context_t* urma_ctx, urma_jfc_cfg_t* cfg, urma_jfc_t** jfc) {
  if (cfg == nullptr || jfc == nullptr) return URMA_EINVAL;
  return with(tables().contexts, urma_ctx, [&](Context& context) -> urma_status_t {
    Jfc* const made = allocate_jfc(context, *cfg);
    if (made == nullptr) return errno == ENOMEM ? URMA_ENOMEM : URMA_EINVAL;
    *jfc = &made->api;
    return URMA_SUCCESS;
  });
}

urma_status_t urma_active_jfc(urma_jfc_t* jfc) {
  return with(tables().jfcs, jfc, [](Jfc& found) { return activate(found); });
}

urma_status_t urma_deactive_jfc(urma_jfc_t* jfc) {
  return with(tables().jfcs, jfc, [](Jfc& found) { return deactivate(found); });
}

urma_status_t urma_free_jfc(urma_jfc_t* jfc) {
  return with(tables().jfcs, jfc, [](Jfc& found) { return release(found); });
}

urma_status_t urma_modify_jfc(urma_jfc_t* jfc, urma_jfc_attr_t* attr) {
  if (attr == nullptr) return URMA_EINVAL;
  return with(tables().jfcs, jfc, [&](Jfc& found) -> urma_status_t {
    constexpr std::uint32_t kAll = JFC_MODERATE_COUNT | JFC_MODERATE_PERIOD;
    if (attr->mask == 0 || (attr->mask & ~kAll) != 0) return URMA_EINVAL;
    // An event for each record is allowed always; nothing is held back here.
    if ((attr->mask & JFC_MODERATE_COUNT) != 0) found.moderation.moderate_count = attr->moderate_count;
    if ((attr->mask & JFC_MODERATE_PERIOD) != 0) found.moderation.moderate_period = attr->moderate_period;
    return URMA_SUCCESS;
  });
}

urma_status_t urma_delete_jfc(urma_jfc_t* jfc) {
  return with(tables().jfcs, jfc, [](Jfc& found) -> urma_status_t {
    if (has_open_events(found)) return URMA_EAGAIN;
    if (found.active) {
      if (const urma_status_t status = deactivate(found); status != URMA_SUCCESS) return status;
    }
    return release(found);
  });
}

urma_status_t urma_delete_jfc_batch(urma_jfc_t** jfc_arr, int jfc_num, urma_jfc_t** bad_jfc) {
  return delete_batch(jfc_arr, jfc_num, bad_jfc, urma_delete_jfc);
}

int urma_poll_jfc(urma_jfc_t* jfc, int cr_cnt, urma_cr_t* cr) {
  if (cr_cnt <= 0 || cr == nullptr) return -1;
  const auto take = [&](Jfc& found) {
    if (!found.active) return -1;
    if (found.count == 0) found.context->interface->step();
    int taken = 0;
    while (taken < cr_cnt && found.count > 0) {
      cr[taken++] = found.ring[found.head];
      found.head = found.head + 1 == found.ring.size() ? 0 : found.head + 1;
      --found.count;
      found.overrun = false;  // There is room again; the next loss is told anew.
    }
    return taken;
  };
  return with(tables().jfcs, jfc, take, -1, -1);
}

urma_status_t urma_rearm_jfc(urma_jfc_t* jfc, bool solicited_only) {
  return with(tables().jfcs, jfc, [&](Jfc& found) -> urma_status_t {
    if (!found.active || found.jfce == nullptr) return URMA_EINVAL;
    found.armed = solicited_only ? Jfc::Armed::kSolicited : Jfc::Armed::kAll;
    // Programs take one record per event and wait again.
    if (found.count > 0) found.announce();
    return URMA_SUCCESS;
  });
}

int urma_wait_jfc(urma_jfce_t* jfce, uint32_t jfc_cnt, int time_out, urma_jfc_t* jfc[]) {
  if (jfc_cnt == 0 || jfc == nullptr) return -1;
  Watch watch;
  const TimeLeft time(time_out);
  bool last = time_out == 0;
  const auto take = [&](Jfce& found) {
    int taken = 0;
    while (static_cast<std::uint32_t>(taken) < jfc_cnt && found.first_ready != nullptr) {
      Jfc* const ready = found.take_ready();
      ++ready->events_given;
      jfc[taken++] = &ready->api;
    }
    if (found.first_ready == nullptr) quiet(found.api.fd);
    if (taken == 0 && !last && !watch.on(found.api.fd)) return -1;
    return taken;
  };
  for (;;) {
    // Another thread may have deleted it while this one waited, or taken the event that woke both.
    const int taken = with(tables().jfces, jfce, take, -1, -1);
    if (taken != 0 || last) return taken;
    pollfd wait{watch.descriptor(), POLLIN, 0};
    const int got = ::poll(&wait, 1, time.left());
    if (got == 0) return 0;
    if (got < 0) {
      // 512 says "interrupted, call again" to programs of this interface.
      errno = errno == EINTR ? 512 : errno;
      return errno == 512 ? 0 : -1;
    }
    last = time.left() == 0;
  }
}

void urma_ack_jfc(urma_jfc_t* jfc[], uint32_t nevents[], uint32_t jfc_cnt) {
  if (jfc == nullptr || nevents == nullptr) return;
  for (uint32_t at = 0; at < jfc_cnt; ++at) {
    with(tables().jfcs, jfc[at], [&](Jfc& found) -> urma_status_t {
      found.api.comp_events_acked += std::min(nevents[at], found.events_given - found.api.comp_events_acked);
      return URMA_SUCCESS;
    });
  }
}

}  // extern "C"
