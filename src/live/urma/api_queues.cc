// SPDX-License-Identifier: Apache-2.0
// The C interface: JFS, JFR and jetty, from allocation to release, their states and what they flush.
#include "live/urma/exported.h"
//
#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <new>

#include "base/vector_room.h"
#include "live/urma/library.h"
#include "live/urma/lives.h"
#include "live/urma/queue_checks.h"

using namespace wharf::live::urma;

namespace wharf::live::urma {

namespace {

std::uint32_t power_of_two(std::uint32_t depth) { return std::bit_ceil(std::max(depth, 1U)); }

urma_jetty_id_t id_of(const Context& context, std::uint32_t id) {
  return {context.api.eid, context.api.uasid, id};
}

template <typename T>
void prepare(Context& context, T& object) {
  object.context = &context;
  object.api.urma_ctx = &context.api;
  object.side.context = &context;
  object.side.object = &object.api;
  object.side.queue.owner = &object.side;
  ::pthread_mutex_init(&object.api.event_mutex, nullptr);
  ::pthread_cond_init(&object.api.event_cond, nullptr);
  ++context.children;
}

template <typename T, typename Table>
urma_status_t finish(T& object, Table& table) {
  ::pthread_cond_destroy(&object.api.event_cond);
  ::pthread_mutex_destroy(&object.api.event_mutex);
  --object.context->children;
  return table.end(&object) ? URMA_SUCCESS : URMA_EINVAL;
}

/// What a JFS and the send side of a jetty have in common.
urma_status_t make_queue(QueueSide& side, const urma_jfs_cfg_t& cfg, engine::QueueConfig config,
                         const ub::JettyPatience& patience) {
  Interface& interface = *side.context->interface;
  side.queue.depth = power_of_two(cfg.depth);
  side.queue.service = service_of(cfg.trans_mode, cfg.flag.bs.order_type);
  config.send_depth = side.queue.depth;
  config.service = side.queue.service;
  config.on_fault = cfg.flag.bs.error_suspend != 0 ? engine::FaultMode::kSuspend : engine::FaultMode::kError;
  side.suspends = cfg.flag.bs.error_suspend != 0;
  config.drain_marks = true;
  auto made = interface.create_queue(config, side);
  if (!made) {
    log(URMA_VLOG_LEVEL_ERR, "%s", made.error().message.c_str());
    return URMA_FAIL;
  }
  side.queue.queue = *made;
  side.state = URMA_JETTY_STATE_READY;
  WHARF_CHECK(interface.engine().set_patience(*made, patience).ok());
  return URMA_SUCCESS;
}

/// Whose messages a queue takes: those of its own transport mode. [URMA API]
urma_status_t set_senders(QueueSide& side, urma_transport_mode_t mode, const urma_jfr_cfg_t& receives) {
  side.queue.modes = modes_of(mode);
  side.queue.checks_token = receives.flag.bs.token_policy != URMA_TOKEN_NONE;
  const bool told = attempted([&] { side.context->interface->set_partner(side.queue, nullptr); });
  return told ? URMA_SUCCESS : URMA_ENOMEM;
}

/// Programs that set nothing leave zero. Of a time that stands for the usual value, for the shortest would
/// fail what takes its time; of `rnr_retry`, a count, it means none.
std::uint8_t or_usual(std::uint8_t code, std::uint8_t usual) { return code == 0 ? usual : code; }

/// As the send side says it; receives are announced by the JFR.
ub::JettyPatience patience_of(const urma_jfs_cfg_t& cfg, std::uint8_t min_rnr_timer = 0) {
  return {cfg.rnr_retry, or_usual(cfg.err_timeout, URMA_TYPICAL_ERR_TIMEOUT),
          or_usual(min_rnr_timer, URMA_TYPICAL_MIN_RNR_TIMER)};
}

void end_queue(QueueSide& side) {
  side.context->interface->destroy_queue(side.queue);
  side.queue.imports.clear();
  side.state = URMA_JETTY_STATE_RESET;
  withdraw(*side.context, side.object);
}

Jfc* active_jfc(const Context& context, const urma_jfc_t* address) {
  Jfc* const jfc = tables().jfcs.find(address);
  return jfc != nullptr && jfc->active && jfc->context->interface == context.interface ? jfc : nullptr;
}

}  // namespace

// --- JFS

Jfs* allocate_jfs(Context& context, urma_jfs_cfg_t& cfg) {
  if (!check_jfs(cfg)) return refuse<Jfs>(EINVAL);
  Jfs* const jfs = tables().jfss.make([&](Jfs& made) { prepare(context, made); });
  if (jfs == nullptr) return refuse<Jfs>(ENOMEM);
  jfs->side.kind = QueueSide::Kind::kJfs;
  jfs->api.jfs_cfg = cfg;
  return jfs;
}

urma_status_t activate(Jfs& jfs) {
  if (jfs.api.urma_jfs_opt.is_actived) return URMA_EEXIST;
  if (!check_jfs(jfs.api.jfs_cfg)) return URMA_EINVAL;  // Options may have changed it.
  Jfc* const jfc = active_jfc(*jfs.context, jfs.api.jfs_cfg.jfc);
  if (jfc == nullptr) return URMA_EINVAL;
  if (!jfc->open()) return URMA_ENOMEM;
  const urma_status_t status =
      make_queue(jfs.side, jfs.api.jfs_cfg, {.receive_depth = 1}, patience_of(jfs.api.jfs_cfg));
  if (status != URMA_SUCCESS) return status;
  jfs.side.send_jfc = jfc;
  ++jfc->users;
  jfs.side.id = jfs.side.queue.queue;
  jfs.api.jfs_id = id_of(*jfs.context, jfs.side.id);
  jfs.api.handle = jfs.side.queue.queue;
  jfs.api.urma_jfs_opt.is_actived = true;
  return URMA_SUCCESS;
}

urma_status_t deactivate(Jfs& jfs) {
  if (!jfs.api.urma_jfs_opt.is_actived) return URMA_EINVAL;
  end_queue(jfs.side);
  --jfs.side.send_jfc->users;
  jfs.side.send_jfc = nullptr;
  jfs.api.urma_jfs_opt.is_actived = false;
  return URMA_SUCCESS;
}

urma_status_t release(Jfs& jfs) {
  if (jfs.api.urma_jfs_opt.is_actived || jfs.async_events_given != jfs.api.async_events_acked)
    return URMA_EAGAIN;
  return finish(jfs, tables().jfss);
}

// --- JFR

Jfr* allocate_jfr(Context& context, urma_jfr_cfg_t& cfg) {
  if (!check(cfg)) return refuse<Jfr>(EINVAL);
  Jfr* const jfr = tables().jfrs.make([&](Jfr& made) { prepare(context, made); });
  if (jfr == nullptr) return refuse<Jfr>(ENOMEM);
  jfr->side.kind = QueueSide::Kind::kJfr;
  jfr->api.jfr_cfg = cfg;
  return jfr;
}

urma_status_t activate(Jfr& jfr) {
  if (jfr.api.urma_jfr_opt.is_actived) return URMA_EEXIST;
  if (!check(jfr.api.jfr_cfg)) return URMA_EINVAL;
  const urma_jfr_cfg_t& cfg = jfr.api.jfr_cfg;
  Jfc* const jfc = active_jfc(*jfr.context, cfg.jfc);
  if (jfc == nullptr) return URMA_EINVAL;
  if (!jfc->open()) return URMA_ENOMEM;
  Interface& interface = *jfr.context->interface;
  auto receives =
      interface.engine().create_receive_queue(interface.now(), {.depth = power_of_two(cfg.depth)});
  if (!receives) return URMA_FAIL;
  engine::QueueConfig config;
  config.send_depth = config.receive_depth = 1;
  config.receive_queue = *receives;
  config.token = cfg.flag.bs.token_policy == URMA_TOKEN_NONE ? 0 : cfg.token_value.token;
  config.public_id = cfg.id < ub::kFirstJettyId ? cfg.id : 0;
  Result<engine::QueueId> named = Error{ErrorKind::kEnvironment, "no memory"};
  if (!attempted([&] { named = interface.create_queue(config, jfr.side); })) {
    (void)interface.engine().destroy_queue(interface.now(), *receives);
    return URMA_ENOMEM;
  }
  if (!named) {
    (void)interface.engine().destroy_queue(interface.now(), *receives);
    log(URMA_VLOG_LEVEL_ERR, "%s", named.error().message.c_str());
    return cfg.id != 0 ? URMA_EEXIST : URMA_FAIL;
  }
  if (!attempted([&] { interface.watch_receives(*receives, &jfr.side); })) {
    jfr.side.queue.queue = *named;
    interface.destroy_queue(jfr.side.queue);
    (void)interface.engine().destroy_queue(interface.now(), *receives);
    return URMA_ENOMEM;
  }
  WHARF_CHECK(interface.engine().set_patience(*named, patience_of({}, cfg.min_rnr_timer)).ok());
  jfr.side.queue.queue = *named;
  if (const urma_status_t told = set_senders(jfr.side, cfg.trans_mode, cfg); told != URMA_SUCCESS) {
    interface.watch_receives(*receives, nullptr);
    interface.destroy_queue(jfr.side.queue);
    (void)interface.engine().destroy_queue(interface.now(), *receives);
    return told;
  }
  jfr.receives = *receives;
  jfr.side.receive_jfc = jfc;
  jfr.side.state = URMA_JETTY_STATE_READY;
  jfr.state = URMA_JFR_STATE_READY;
  ++jfc->users;
  jfr.side.id = config.public_id != 0 ? config.public_id : *named;
  jfr.api.jfr_id = id_of(*jfr.context, jfr.side.id);
  jfr.api.handle = *named;
  jfr.api.urma_jfr_opt.is_actived = true;
  return URMA_SUCCESS;
}

urma_status_t deactivate(Jfr& jfr) {
  if (!jfr.api.urma_jfr_opt.is_actived) return URMA_EINVAL;
  if (jfr.users != 0) return URMA_EAGAIN;
  Interface& interface = *jfr.context->interface;
  interface.watch_receives(jfr.receives, nullptr);
  end_queue(jfr.side);
  // Refused where a queue before it found no memory to end whole: then it stays too.
  attempted([&] { (void)interface.engine().destroy_queue(interface.now(), jfr.receives); });
  jfr.receives = engine::kOwn;
  jfr.state = URMA_JFR_STATE_RESET;
  --jfr.side.receive_jfc->users;
  jfr.side.receive_jfc = nullptr;
  jfr.api.urma_jfr_opt.is_actived = false;
  return URMA_SUCCESS;
}

urma_status_t release(Jfr& jfr) {
  if (jfr.api.urma_jfr_opt.is_actived || jfr.async_events_given != jfr.api.async_events_acked)
    return URMA_EAGAIN;
  return finish(jfr, tables().jfrs);
}

// --- Jetty

Jetty* allocate_jetty(Context& context, urma_jetty_cfg_t& cfg) {
  if (!check(context, cfg)) return refuse<Jetty>(EINVAL);
  Jetty* const jetty = tables().jettys.make([&](Jetty& made) { prepare(context, made); });
  if (jetty == nullptr) return refuse<Jetty>(ENOMEM);
  jetty->side.kind = QueueSide::Kind::kJetty;
  jetty->api.jetty_cfg = cfg;
  return jetty;
}

urma_status_t activate(Jetty& jetty) {
  if (jetty.api.urma_jetty_opt.is_actived) return URMA_EEXIST;
  if (!check(*jetty.context, jetty.api.jetty_cfg)) return URMA_EINVAL;
  const urma_jetty_cfg_t& cfg = jetty.api.jetty_cfg;
  Jfr* const jfr = tables().jfrs.find(cfg.shared.jfr);
  Jfc* const send = active_jfc(*jetty.context, cfg.jfs_cfg.jfc);
  if (jfr == nullptr || !jfr->api.urma_jfr_opt.is_actived || send == nullptr) return URMA_EINVAL;
  // Without one of its own a jetty reports receives where its JFR does.
  Jfc* const receive =
      cfg.shared.jfc == nullptr ? jfr->side.receive_jfc : active_jfc(*jetty.context, cfg.shared.jfc);
  if (receive == nullptr) return URMA_EINVAL;
  if (!send->open() || !receive->open()) return URMA_ENOMEM;
  JettyGroup* const group = cfg.jetty_grp == nullptr ? nullptr : tables().groups.find(cfg.jetty_grp);
  const urma_jfr_cfg_t& receives = jfr->api.jfr_cfg;
  engine::QueueConfig config;
  config.receive_depth = 1;
  config.receive_queue = jfr->receives;
  config.token = receives.flag.bs.token_policy == URMA_TOKEN_NONE ? 0 : receives.token_value.token;
  config.public_id = cfg.id < ub::kFirstJettyId ? cfg.id : 0;
  if (group != nullptr) {
    config.group = group->group;
    make_room_for_one(group->members);
    group->api.jetty_list = group->members.data();  // The array may have moved.
  }
  const urma_status_t status =
      make_queue(jetty.side, cfg.jfs_cfg, config, patience_of(cfg.jfs_cfg, receives.min_rnr_timer));
  if (status == URMA_ENOMEM) return status;
  if (status != URMA_SUCCESS) return config.public_id != 0 ? URMA_EEXIST : status;
  jetty.side.queue.name = config.public_id;
  if (const urma_status_t told = set_senders(jetty.side, cfg.jfs_cfg.trans_mode, receives);
      told != URMA_SUCCESS) {
    end_queue(jetty.side);
    return told;
  }
  jetty.side.send_jfc = send;
  jetty.side.receive_jfc = receive;
  jetty.jfr = jfr;
  jetty.group = group;
  ++send->users;
  ++receive->users;
  ++jfr->users;
  if (group != nullptr) {
    group->members.push_back(&jetty.api);
    group->api.jetty_list = group->members.data();
    group->api.jetty_cnt = static_cast<std::uint32_t>(group->members.size());
  }
  jetty.side.id = config.public_id != 0 ? config.public_id : jetty.side.queue.queue;
  jetty.api.jetty_id = id_of(*jetty.context, jetty.side.id);
  jetty.api.handle = jetty.side.queue.queue;
  jetty.api.urma_jetty_opt.is_actived = true;
  return URMA_SUCCESS;
}

urma_status_t deactivate(Jetty& jetty) {
  if (!jetty.api.urma_jetty_opt.is_actived) return URMA_EINVAL;
  if (jetty.bound != nullptr) return URMA_ENOPERM;
  end_queue(jetty.side);
  --jetty.side.send_jfc->users;
  --jetty.side.receive_jfc->users;
  --jetty.jfr->users;
  if (jetty.jfr->limit_set_by == &jetty) jetty.jfr->limit_set_by = nullptr;
  if (jetty.group != nullptr) {
    std::erase(jetty.group->members, &jetty.api);
    jetty.group->api.jetty_list = jetty.group->members.data();
    jetty.group->api.jetty_cnt = static_cast<std::uint32_t>(jetty.group->members.size());
  }
  jetty.side.send_jfc = jetty.side.receive_jfc = nullptr;
  jetty.jfr = nullptr;
  jetty.group = nullptr;
  jetty.api.urma_jetty_opt.is_actived = false;
  return URMA_SUCCESS;
}

urma_status_t release(Jetty& jetty) {
  if (jetty.api.urma_jetty_opt.is_actived || jetty.async_events_given != jetty.api.async_events_acked) {
    return URMA_EAGAIN;
  }
  return finish(jetty, tables().jettys);
}

// --- States. [URMA API, jetty states]

urma_status_t change_state(QueueSide& side, urma_jetty_state_t wanted) {
  Interface& interface = *side.context->interface;
  ub::UbEngine& engine = interface.engine();
  const urma_jetty_state_t was = side.state;
  bool done = was == wanted;
  switch (wanted) {
    case URMA_JETTY_STATE_READY:
      if (was == URMA_JETTY_STATE_SUSPENDED)
        done = engine.resume_queue(interface.now(), side.queue.queue).ok();
      if (was == URMA_JETTY_STATE_RESET) done = engine.reset_queue(interface.now(), side.queue.queue).ok();
      break;
    case URMA_JETTY_STATE_SUSPENDED:
      if (was == URMA_JETTY_STATE_READY) done = engine.suspend_queue(interface.now(), side.queue.queue).ok();
      break;
    case URMA_JETTY_STATE_ERROR:
      if (was == URMA_JETTY_STATE_READY || was == URMA_JETTY_STATE_SUSPENDED) {
        done = engine.fail_queue(interface.now(), side.queue.queue).ok();
      }
      break;
    case URMA_JETTY_STATE_RESET:
      // The engine goes from error to ready at once: so it is reset when the program wants it ready.
      if (was == URMA_JETTY_STATE_ERROR) done = true;
      break;
  }
  if (!done) return URMA_EINVAL;
  side.queue.held = wanted == URMA_JETTY_STATE_SUSPENDED;
  side.queue.looked_at = 0;
  side.state = wanted;
  return URMA_SUCCESS;
}

int flush(QueueSide& side, int count, urma_cr_t* out) {
  if (count <= 0 || out == nullptr) return -1;
  if (side.state != URMA_JETTY_STATE_SUSPENDED) return 0;  // What fails is flushed at once, with records.
  Interface& interface = *side.context->interface;
  const auto room = static_cast<std::size_t>(count);
  const std::size_t most = std::min<std::size_t>(room, side.queue.depth);
  const std::unique_ptr<verbs::Completion[]> taken(new (std::nothrow) verbs::Completion[most]);
  if (taken == nullptr) return -1;
  auto got = interface.engine().take_back(interface.now(), side.queue.queue, {taken.get(), most});
  if (!got) return -1;
  std::size_t given = *got;
  for (std::size_t at = 0; at < given; ++at) out[at] = record_of(side, taken[at]);
  // Those that still waited for their peer are younger.
  while (given < room && !side.queue.parked.empty()) {
    const SendQueue::Parked& oldest = side.queue.parked.front();
    verbs::Completion ended;
    ended.id = oldest.request.id;
    ended.length = oldest.request.length;
    ended.verb = oldest.request.verb;
    ended.status = verbs::CompletionStatus::kUnhandled;
    interface.payloads().release(oldest.request.inline_data.buffer);
    side.queue.parked.pop_front();
    out[given++] = record_of(side, ended);
  }
  return static_cast<int>(given);
}

}  // namespace wharf::live::urma

namespace {

/// Creation is allocation and activation; what fails leaves nothing behind.
template <typename Object, typename Cfg>
auto* create(urma_context_t* ctx, Cfg* cfg, Object* (*allocate)(Context&, Cfg&)) {
  using Api = decltype(Object::api);
  if (cfg == nullptr) return refuse<Api>(EINVAL);
  return made_in(ctx, [&](Context& context) -> Api* {
    Object* const made = allocate(context, *cfg);
    if (made == nullptr) return nullptr;
    const urma_status_t status = guarded(urma_status_t{URMA_ENOMEM}, [&] { return activate(*made); });
    if (status != URMA_SUCCESS) {
      release(*made);
      return refuse<Api>(status == URMA_FAIL ? ENOSPC : status);
    }
    return &made->api;
  });
}

template <typename Object, typename Cfg, typename Api>
urma_status_t allocate_only(urma_context_t* ctx, Cfg* cfg, Api** out, Object* (*allocate)(Context&, Cfg&)) {
  if (cfg == nullptr || out == nullptr) return URMA_EINVAL;
  return with(tables().contexts, ctx, [&](Context& context) -> urma_status_t {
    Object* const made = allocate(context, *cfg);
    if (made == nullptr) return errno == ENOMEM ? URMA_ENOMEM : URMA_EINVAL;
    *out = &made->api;
    return URMA_SUCCESS;
  });
}

/// A refusal leaves the object as it was.
template <typename Object>
urma_status_t remove(Object& object, bool active) {
  if (object.async_events_given != object.api.async_events_acked) return URMA_EAGAIN;
  if (active) {
    if (const urma_status_t status = deactivate(object); status != URMA_SUCCESS) return status;
  }
  return release(object);
}

}  // namespace

extern "C" {

urma_jfs_t* urma_create_jfs(urma_context_t* ctx, urma_jfs_cfg_t* jfs_cfg) {
  return create(ctx, jfs_cfg, allocate_jfs);
}
urma_status_t urma_alloc_jfs(urma_context_t* urma_ctx, urma_jfs_cfg_t* cfg, urma_jfs_t** jfs) {
  return allocate_only(urma_ctx, cfg, jfs, allocate_jfs);
}
urma_status_t urma_active_jfs(urma_jfs_t* jfs) {
  return with(tables().jfss, jfs, [](Jfs& found) { return activate(found); });
}
urma_status_t urma_deactive_jfs(urma_jfs_t* jfs) {
  return with(tables().jfss, jfs, [](Jfs& found) { return deactivate(found); });
}
urma_status_t urma_free_jfs(urma_jfs_t* jfs) {
  return with(tables().jfss, jfs, [](Jfs& found) { return release(found); });
}
urma_status_t urma_delete_jfs(urma_jfs_t* jfs) {
  return with(tables().jfss, jfs,
              [](Jfs& found) { return remove(found, found.api.urma_jfs_opt.is_actived); });
}
urma_status_t urma_delete_jfs_batch(urma_jfs_t** jfs_arr, int jfs_num, urma_jfs_t** bad_jfs) {
  return delete_batch(jfs_arr, jfs_num, bad_jfs, urma_delete_jfs);
}
urma_status_t urma_modify_jfs(urma_jfs_t* jfs, urma_jfs_attr_t* attr) {
  if (attr == nullptr || attr->mask != JFS_STATE) return URMA_EINVAL;
  return with(tables().jfss, jfs, [&](Jfs& found) { return change_state(found.side, attr->state); });
}
urma_status_t urma_query_jfs(urma_jfs_t* jfs, urma_jfs_cfg_t* cfg, urma_jfs_attr_t* attr) {
  if (cfg == nullptr || attr == nullptr) return URMA_EINVAL;
  return with(tables().jfss, jfs, [&](Jfs& found) -> urma_status_t {
    *cfg = found.api.jfs_cfg;
    *attr = {JFS_STATE, found.side.state};
    return URMA_SUCCESS;
  });
}
int urma_flush_jfs(urma_jfs_t* jfs, int cr_cnt, urma_cr_t* cr) {
  int count = -1;
  with(tables().jfss, jfs, [&](Jfs& found) -> urma_status_t {
    count = flush(found.side, cr_cnt, cr);
    return URMA_SUCCESS;
  });
  return count;
}

urma_jfr_t* urma_create_jfr(urma_context_t* ctx, urma_jfr_cfg_t* jfr_cfg) {
  return create(ctx, jfr_cfg, allocate_jfr);
}
urma_status_t urma_alloc_jfr(urma_context_t* urma_ctx, urma_jfr_cfg_t* cfg, urma_jfr_t** jfr) {
  return allocate_only(urma_ctx, cfg, jfr, allocate_jfr);
}
urma_status_t urma_active_jfr(urma_jfr_t* jfr) {
  return with(tables().jfrs, jfr, [](Jfr& found) { return activate(found); });
}
urma_status_t urma_deactive_jfr(urma_jfr_t* jfr) {
  return with(tables().jfrs, jfr, [](Jfr& found) { return deactivate(found); });
}
urma_status_t urma_free_jfr(urma_jfr_t* jfr) {
  return with(tables().jfrs, jfr, [](Jfr& found) { return release(found); });
}
urma_status_t urma_delete_jfr(urma_jfr_t* jfr) {
  return with(tables().jfrs, jfr,
              [](Jfr& found) { return remove(found, found.api.urma_jfr_opt.is_actived); });
}
urma_status_t urma_delete_jfr_batch(urma_jfr_t** jfr_arr, int jfr_num, urma_jfr_t** bad_jfr) {
  return delete_batch(jfr_arr, jfr_num, bad_jfr, urma_delete_jfr);
}
urma_status_t urma_modify_jfr(urma_jfr_t* jfr, urma_jfr_attr_t* attr) {
  constexpr std::uint32_t kAll = JFR_RX_THRESHOLD | JFR_STATE;
  if (attr == nullptr || attr->mask == 0 || (attr->mask & ~kAll) != 0) return URMA_EINVAL;
  // A number that may be none of the enumeration's.
  static_assert(sizeof attr->state == sizeof(std::uint32_t));
  std::uint32_t state = 0;
  std::memcpy(&state, &attr->state, sizeof state);
  const bool is_state =
      state == URMA_JFR_STATE_RESET || state == URMA_JFR_STATE_READY || state == URMA_JFR_STATE_ERROR;
  if ((attr->mask & JFR_STATE) != 0 && !is_state) return URMA_EINVAL;
  return with(tables().jfrs, jfr, [&](Jfr& found) -> urma_status_t {
    if (!found.api.urma_jfr_opt.is_actived) return URMA_EINVAL;
    Interface& interface = *found.context->interface;
    if ((attr->mask & JFR_RX_THRESHOLD) != 0) {
      if (!interface.engine().set_receive_limit(interface.now(), found.receives, attr->rx_threshold).ok()) {
        return URMA_EINVAL;
      }
      found.limit = attr->rx_threshold;
      found.limit_set_by = nullptr;
    }
    if ((attr->mask & JFR_STATE) != 0 && attr->state != found.state) {
      if (attr->state == URMA_JFR_STATE_ERROR) {
        if (const auto status = change_state(found.side, URMA_JETTY_STATE_ERROR); status != URMA_SUCCESS)
          return status;
      } else if (attr->state == URMA_JFR_STATE_RESET) {
        if (const auto status = change_state(found.side, URMA_JETTY_STATE_RESET); status != URMA_SUCCESS)
          return status;
      } else if (found.state != URMA_JFR_STATE_RESET ||
                 change_state(found.side, URMA_JETTY_STATE_READY) != URMA_SUCCESS) {
        return URMA_EINVAL;
      }
      found.state = attr->state;
    }
    return URMA_SUCCESS;
  });
}
urma_status_t urma_query_jfr(urma_jfr_t* jfr, urma_jfr_cfg_t* cfg, urma_jfr_attr_t* attr) {
  if (cfg == nullptr || attr == nullptr) return URMA_EINVAL;
  return with(tables().jfrs, jfr, [&](Jfr& found) -> urma_status_t {
    *cfg = found.api.jfr_cfg;
    *attr = {JFR_RX_THRESHOLD | JFR_STATE, found.limit, found.state};
    return URMA_SUCCESS;
  });
}

urma_jetty_t* urma_create_jetty(urma_context_t* ctx, urma_jetty_cfg_t* jetty_cfg) {
  return create(ctx, jetty_cfg, allocate_jetty);
}
urma_status_t urma_alloc_jetty(urma_context_t* urma_ctx, urma_jetty_cfg_t* cfg, urma_jetty_t** jetty) {
  return allocate_only(urma_ctx, cfg, jetty, allocate_jetty);
}
urma_status_t urma_active_jetty(urma_jetty_t* jetty) {
  return with(tables().jettys, jetty, [](Jetty& found) { return activate(found); });
}
urma_status_t urma_deactive_jetty(urma_jetty_t* jetty) {
  return with(tables().jettys, jetty, [](Jetty& found) { return deactivate(found); });
}
urma_status_t urma_free_jetty(urma_jetty_t* jetty) {
  return with(tables().jettys, jetty, [](Jetty& found) { return release(found); });
}
urma_status_t urma_delete_jetty(urma_jetty_t* jetty) {
  return with(tables().jettys, jetty,
              [](Jetty& found) { return remove(found, found.api.urma_jetty_opt.is_actived); });
}
urma_status_t urma_delete_jetty_batch(urma_jetty_t** jetty_arr, int jetty_num, urma_jetty_t** bad_jetty) {
  return delete_batch(jetty_arr, jetty_num, bad_jetty, urma_delete_jetty);
}
urma_status_t urma_modify_jetty(urma_jetty_t* jetty, urma_jetty_attr_t* attr) {
  constexpr std::uint32_t kAll = JETTY_RX_THRESHOLD | JETTY_STATE;
  if (attr == nullptr || attr->mask == 0 || (attr->mask & ~kAll) != 0) return URMA_EINVAL;
  return with(tables().jettys, jetty, [&](Jetty& found) -> urma_status_t {
    if (!found.api.urma_jetty_opt.is_actived) return URMA_EINVAL;
    Interface& interface = *found.context->interface;
    if ((attr->mask & JETTY_RX_THRESHOLD) != 0) {
      // The receive queue is shared, and so is its threshold.
      if (!interface.engine()
               .set_receive_limit(interface.now(), found.jfr->receives, attr->rx_threshold)
               .ok()) {
        return URMA_EINVAL;
      }
      found.rx_threshold = found.jfr->limit = attr->rx_threshold;
      found.jfr->limit_set_by = &found;
    }
    return (attr->mask & JETTY_STATE) != 0 ? change_state(found.side, attr->state) : URMA_SUCCESS;
  });
}
urma_status_t urma_query_jetty(urma_jetty_t* jetty, urma_jetty_cfg_t* cfg, urma_jetty_attr_t* attr) {
  if (cfg == nullptr || attr == nullptr) return URMA_EINVAL;
  return with(tables().jettys, jetty, [&](Jetty& found) -> urma_status_t {
    *cfg = found.api.jetty_cfg;
    *attr = {JETTY_RX_THRESHOLD | JETTY_STATE, found.rx_threshold, found.side.state};
    return URMA_SUCCESS;
  });
}
int urma_flush_jetty(urma_jetty_t* jetty, int cr_cnt, urma_cr_t* cr) {
  int count = -1;
  with(tables().jettys, jetty, [&](Jetty& found) -> urma_status_t {
    count = flush(found.side, cr_cnt, cr);
    return URMA_SUCCESS;
  });
  return count;
}

}  // extern "C"
