// SPDX-License-Identifier: Apache-2.0
// The C interface: what happens unasked.
#include "live/urma/exported.h"
//
#include <fcntl.h>
#include <poll.h>

#include "live/urma/library.h"
#include "live/urma/lives.h"
#include "live/urma/watch.h"

using namespace wharf::live::urma;

namespace {

/// Counts an event that the program has taken, or acknowledges it, at the object that it is about.
void count(const urma_async_event_t& event, bool acknowledged) {
  const auto add = [&](auto& object) {
    std::uint32_t& counter = acknowledged ? object.api.async_events_acked : object.async_events_given;
    if (!acknowledged || object.api.async_events_acked != object.async_events_given) ++counter;
  };
  const urma_async_event_type_t type = event.event_type;
  if (type == URMA_EVENT_JFC_ERR) {
    if (Jfc* found = tables().jfcs.find(event.element.jfc)) add(*found);
  } else if (type == URMA_EVENT_JFS_ERR) {
    if (Jfs* found = tables().jfss.find(event.element.jfs)) add(*found);
  } else if (type == URMA_EVENT_JFR_ERR || type == URMA_EVENT_JFR_LIMIT) {
    if (Jfr* found = tables().jfrs.find(event.element.jfr)) add(*found);
  } else if (type == URMA_EVENT_JETTY_ERR || type == URMA_EVENT_JETTY_LIMIT) {
    if (Jetty* found = tables().jettys.find(event.element.jetty)) add(*found);
  }
}

}  // namespace

extern "C" {

urma_status_t urma_get_async_event(urma_context_t* ctx, urma_async_event_t* event) {
  if (event == nullptr) return URMA_EINVAL;
  int descriptor = -1;
  Watch watch;
  bool waits = false;
  const auto take = [&](Context& context) -> urma_status_t {
    descriptor = context.api.async_fd;
    if (context.events.empty()) {
      // The program says by the descriptor whether it waits.
      waits = (::fcntl(descriptor, F_GETFL) & O_NONBLOCK) == 0;
      return !waits || watch.on(descriptor) ? URMA_EAGAIN : URMA_FAIL;
    }
    *event = context.events.front();
    context.events.pop_front();
    count(*event, false);
    if (context.events.empty()) quiet(context.api.async_fd);
    return URMA_SUCCESS;
  };
  for (;;) {
    // Another thread may have deleted it while this one waited.
    const urma_status_t status = with(tables().contexts, ctx, take);
    if (status != URMA_EAGAIN) return status;
    if (!waits) return URMA_EAGAIN;
    pollfd wait{watch.descriptor(), POLLIN, 0};
    if (::poll(&wait, 1, -1) < 0) return URMA_EAGAIN;
  }
}

void urma_ack_async_event(urma_async_event_t* event) {
  if (event == nullptr) return;
  with(tables().contexts, event->urma_ctx, [&](Context&) -> urma_status_t {
    count(*event, true);
    return URMA_SUCCESS;
  });
}

}  // extern "C"
