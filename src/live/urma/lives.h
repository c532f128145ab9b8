// SPDX-License-Identifier: Apache-2.0
// How objects of the C interface begin and end: allocated, active, not active any more, released. The plain
// create and delete calls are two of these steps each. All of it with the interface locked.
#pragma once

#include <utility>

#include "live/urma/guarded.h"
#include "live/urma/objects.h"

namespace wharf::live::urma {

// Null with errno, when the configuration cannot be.
Jfc* allocate_jfc(Context& context, const urma_jfc_cfg_t& cfg);
Jfs* allocate_jfs(Context& context, urma_jfs_cfg_t& cfg);
Jfr* allocate_jfr(Context& context, urma_jfr_cfg_t& cfg);
Jetty* allocate_jetty(Context& context, urma_jetty_cfg_t& cfg);

// Makes the object's queue in the engine; EEXIST if it is active.
urma_status_t activate(Jfc& jfc);
urma_status_t activate(Jfs& jfs);
urma_status_t activate(Jfr& jfr);
urma_status_t activate(Jetty& jetty);

// Ends what is outstanding; EAGAIN while other objects use it.
urma_status_t deactivate(Jfc& jfc);
urma_status_t deactivate(Jfs& jfs);
urma_status_t deactivate(Jfr& jfr);
urma_status_t deactivate(Jetty& jetty);

urma_status_t release(Jfc& jfc);
urma_status_t release(Jfs& jfs);
urma_status_t release(Jfr& jfr);
urma_status_t release(Jetty& jetty);

/// The state that the program asks for. `flushes`: requests that wait are ended when it is ERROR.
urma_status_t change_state(QueueSide& side, urma_jetty_state_t wanted);
/// Requests that were never begun, of a queue that stands still.
int flush(QueueSide& side, int count, urma_cr_t* out);

/// Replaces DEF by what the transport mode has; false when mode and order do not go together. [URMA API,
/// order types]
bool normalise_order(urma_transport_mode_t mode, std::uint32_t& order);
/// The service mode of a queue with this order.
engine::ServiceMode service_of(urma_transport_mode_t mode, std::uint32_t order);
/// Those of a transport mode, as ub::Senders has them.
std::uint8_t modes_of(urma_transport_mode_t mode);

/// The interface of an object.
template <typename T>
Interface& interface_of(const T& object) {
  return *object.context->interface;
}
inline Interface& interface_of(const Context& context) { return *context.interface; }

/// Calls act(object) with its interface locked, and gives what it gives; `wrong` for a wrong address, `dry`
/// when memory ran out.
template <typename Table, typename Act, typename Status = urma_status_t>
Status with(Table& table, const void* address, Act&& act, Status wrong = URMA_EINVAL,
            Status dry = URMA_ENOMEM) {
  auto* const found = table.find(address);
  if (found == nullptr) return wrong;
  return guarded(dry, [&]() -> Status {
    const Interface::Section section(interface_of(*found));
    if (table.find(address) != found) return wrong;  // Another thread was faster.
    return act(*found);
  });
}

/// What make(context) gives, with the interface locked; null with errno when `address` is no context or
/// memory ran out.
template <typename Make>
auto made_in(const void* address, Make&& make) {
  decltype(make(std::declval<Context&>())) made = nullptr;
  const urma_status_t status = with(tables().contexts, address, [&](Context& context) -> urma_status_t {
    made = make(context);
    return URMA_SUCCESS;
  });
  if (status != URMA_SUCCESS) errno = status;
  return made;
}

/// Deletes one after the other and stops at the first that cannot be.
template <typename T>
urma_status_t delete_batch(T** objects, int count, T** bad, urma_status_t (*end)(T*)) {
  if (objects == nullptr || count <= 0 || bad == nullptr) return URMA_EINVAL;
  for (int at = 0; at < count; ++at) {
    const urma_status_t status = end(objects[at]);
    if (status != URMA_SUCCESS) {
      *bad = objects[at];
      return status;
    }
  }
  return URMA_SUCCESS;
}

}  // namespace wharf::live::urma
