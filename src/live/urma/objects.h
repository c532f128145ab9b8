// SPDX-License-Identifier: Apache-2.0
// What stands behind the structures of the C interface: each begins with the structure that the program sees.
#pragma once

#include <cerrno>
#include <cstdint>
#include <deque>
#include <list>
#include <string>
#include <vector>

#include "live/urma/include/urma_api.h"
#include "live/urma/include/urma_provider.h"
#include "live/urma/interface.h"
#include "live/urma/object_table.h"

namespace wharf::live::urma {

struct Jfc;
struct Jfr;

/// A device: some addresses of this machine under one name.
struct Device {
  urma_device_t api{};
  std::vector<std::uint32_t> addresses;  ///< By EID index.
};

struct Context {
  urma_context_t api{};
  Device* device = nullptr;
  Interface* interface = nullptr;
  std::uint32_t children = 0;             ///< Objects made in it.
  std::deque<urma_async_event_t> events;  ///< Not yet taken.
};

/// A completion channel: a descriptor, and the queues that have something to say.
struct Jfce {
  urma_jfce_t api{};
  Context* context = nullptr;
  Jfc* first_ready = nullptr;  ///< The others follow by Jfc::next_ready.
  Jfc* last_ready = nullptr;
  std::uint32_t users = 0;

  void add_ready(Jfc& jfc);
  Jfc* take_ready();  ///< The first; there is one.
  void forget_ready(Jfc& jfc);
};

/// A completion queue. Its records lie in a ring that grows up to the depth; a queue that reports into it is
/// only made with room for the first 64.
struct Jfc {
  enum class Armed : std::uint8_t { kNo, kSolicited, kAll };

  urma_jfc_t api{};
  Context* context = nullptr;
  Jfce* jfce = nullptr;
  std::vector<urma_cr_t> ring;
  std::size_t head = 0;
  std::size_t count = 0;
  Armed armed = Armed::kNo;
  bool active = false;
  bool overrun = false;
  bool signalled = false;  ///< It is one of those in its channel that are ready.
  Jfc* next_ready = nullptr;
  std::uint32_t users = 0;
  std::uint32_t events_given = 0;  ///< By urma_wait_jfc().
  std::uint32_t async_events_given = 0;
  urma_jfc_attr_t moderation{};
  std::uint32_t unannounced = 0;  ///< Records since the last event, for moderation.

  /// Room for the first records; false when there is no memory for it.
  bool open() { return !ring.empty() || grow(); }
  /// False: it is full, or there is no memory for it. The record is lost then.
  bool push(const urma_cr_t& record, bool solicited);
  void announce();

 private:
  bool grow();
};

/// A queue of the engine as its completions see it: of a JFS, a JFR or a jetty.
struct QueueSide final : QueueOwner {
  enum class Kind : std::uint8_t { kJfs, kJfr, kJetty };

  Kind kind = Kind::kJfs;
  Context* context = nullptr;
  void* object = nullptr;  ///< The JFS, JFR or jetty.
  SendQueue queue;
  std::uint32_t id = 0;  ///< As the program knows it.
  Jfc* send_jfc = nullptr;
  Jfc* receive_jfc = nullptr;
  urma_jetty_state_t state = URMA_JETTY_STATE_RESET;
  bool suspends = false;  ///< On a fault of the transport, instead of going to ERROR.

  void completed(const verbs::Completion& completion) override;
  void happened(engine::AsyncEventKind kind) override;
};

struct Jfs {
  urma_jfs_t api{};
  Context* context = nullptr;
  QueueSide side;
  std::uint32_t async_events_given = 0;
};

struct Jetty;

/// A receive queue, and a jetty without a send side of its own through which peers name it.
struct Jfr {
  urma_jfr_t api{};
  Context* context = nullptr;
  QueueSide side;
  engine::QueueId receives = engine::kOwn;
  urma_jfr_state_t state = URMA_JFR_STATE_RESET;
  std::uint32_t limit = 0;
  Jetty* limit_set_by = nullptr;  ///< It is told, or nobody but this one.
  std::uint32_t users = 0;
  std::uint32_t async_events_given = 0;
};

struct JettyGroup {
  urma_jetty_grp_t api{};
  Context* context = nullptr;
  engine::QueueId group = engine::kOwn;
  std::vector<urma_jetty_t*> members;
  std::uint32_t async_events_given = 0;
};

struct TargetJetty {
  urma_target_jetty_t api{};
  Context* context = nullptr;
  Remote remote;
  std::uint32_t bound = 0;  ///< Jettys here that are bound to it.
};

struct Jetty {
  urma_jetty_t api{};
  Context* context = nullptr;
  QueueSide side;
  Jfr* jfr = nullptr;
  JettyGroup* group = nullptr;
  TargetJetty* bound = nullptr;
  std::uint32_t rx_threshold = 0;
  std::uint32_t async_events_given = 0;
};

struct TokenId {
  urma_token_id_t api{};
  Context* context = nullptr;
  std::uint32_t users = 0;
};

/// A segment of this process, or one of another that was imported.
struct Segment {
  urma_target_seg_t api{};
  Context* context = nullptr;
  bool local = false;
  verbs::SegmentToken token;
  TokenId* token_id = nullptr;  ///< The program's, or the library's own.
  bool owns_token_id = false;
};

struct Notifier {
  urma_notifier_t api{};
  Context* context = nullptr;
  std::list<urma_notify_t> notes;
};

/// All objects of the process.
struct Tables {
  ObjectTable<Context, 1U << 12U> contexts;
  ObjectTable<Jfce, 1U << 16U> jfces;
  ObjectTable<Jfc, 1U << 16U> jfcs;
  ObjectTable<Jfs, 1U << 18U> jfss;
  ObjectTable<Jfr, 1U << 16U> jfrs;
  ObjectTable<Jetty, 1U << 18U> jettys;
  ObjectTable<JettyGroup, 1U << 12U> groups;
  ObjectTable<TargetJetty, 1U << 20U> targets;
  ObjectTable<TokenId, 1U << 20U> token_ids;
  ObjectTable<Segment, 1U << 20U> segments;
  ObjectTable<Notifier, 1U << 12U> notifiers;

  /// Those that have descriptors: the child of a fork looks for them.
  void lock_for_fork() {
    contexts.lock_for_fork();
    jfces.lock_for_fork();
    notifiers.lock_for_fork();
  }
  void unlock_after_fork() {
    notifiers.unlock_after_fork();
    jfces.unlock_after_fork();
    contexts.unlock_after_fork();
  }
};
Tables& tables();

/// The status, and errno for calls that return pointers.
template <typename T>
T* refuse(int error) {
  errno = error;
  return nullptr;
}

/// Queues an asynchronous event of `context`.
void raise(Context& context, urma_async_event_type_t type, void* element);
/// Takes events of an object that nobody has seen back; its owner is about to go.
void withdraw(Context& context, const void* element);

/// The record status of a completion.
urma_cr_status_t status_of(verbs::CompletionStatus status);
/// The record of a completion of `side`.
urma_cr_t record_of(const QueueSide& side, const verbs::Completion& completion);

/// Makes a descriptor readable, or empty.
void signal(int descriptor);
void quiet(int descriptor);

}  // namespace wharf::live::urma
