// SPDX-License-Identifier: Apache-2.0
// The C interface: importing jettys, JFRs and groups of other processes, binding, and what programs tell each
// other.
#include "live/urma/exported.h"
//
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <list>

#include "live/urma/identity.h"
#include "live/urma/library.h"
#include "live/urma/lives.h"
#include "live/urma/watch.h"

using namespace wharf;
using namespace wharf::live::urma;

namespace wharf::live::urma {
namespace {

/// A target as both kinds of import say it.
struct TargetChoice {
  urma_jetty_id_t id{};
  urma_transport_mode_t mode = URMA_TM_RM;
  urma_target_type_t type = URMA_JETTY;
  urma_import_jetty_flag_t flag{};
  urma_jetty_grp_policy_t policy{};
  urma_tp_type_t tp_type = URMA_RTP;
};

TargetJetty* make_target(Context& context, const TargetChoice& choice, const urma_token_t* token) {
  const auto endpoint = endpoint_of(choice.id.eid, choice.id.uasid);
  if (!endpoint || !same_way(context.interface->endpoint().address, endpoint->address) || choice.id.id == 0 ||
      choice.id.id >= ub::kJettyIds) {
    return refuse<TargetJetty>(EINVAL);
  }
  const std::uint32_t policy = choice.flag.bs.token_policy;
  if (policy > URMA_TOKEN_PLAIN_TEXT) return refuse<TargetJetty>(ENOTSUP);
  const bool unreliable = choice.mode == URMA_TM_UM;
  if ((choice.tp_type == URMA_UTP) != unreliable && choice.tp_type != URMA_RTP)
    return refuse<TargetJetty>(EINVAL);
  Interface& interface = *context.interface;
  Peer* const peer = interface.reach(*endpoint);
  if (peer == nullptr) return refuse<TargetJetty>(ENOMEM);
  TargetJetty* target = nullptr;
  attempted([&] { target = tables().targets.make([&](TargetJetty& made) { made.context = &context; }); });
  if (target == nullptr) {
    interface.leave(*peer);
    return refuse<TargetJetty>(ENOMEM);
  }
  target->remote.peer = peer;
  target->remote.uasid = choice.id.uasid;
  target->remote.id = choice.id.id;
  // A JFR is named by the jetty behind it.
  const bool group = choice.type == URMA_JETTY_GROUP;
  target->remote.type = group ? wire::TargetContextType::kJettyGroup : wire::TargetContextType::kJetty;
  // Group numbers begin at 0 in the engine, which is nobody's id here.
  if (group) target->remote.id = choice.id.id - 1;
  // A value is sent whenever there is one: who asks for none does not look at it.
  target->remote.token = token == nullptr ? 0 : token->token;
  urma_target_jetty_t& api = target->api;
  api.urma_ctx = &context.api;
  api.id = choice.id;
  api.handle = reinterpret_cast<std::uintptr_t>(target);
  api.trans_mode = choice.mode;
  api.type = choice.type;
  api.flag = choice.flag;
  api.policy = choice.policy;
  api.tp_type = choice.tp_type;
  ++context.children;
  return target;
}

/// The jetty has no peer any more.
void unbind(Jetty& jetty) {
  if (jetty.bound == nullptr) return;
  jetty.context->interface->set_partner(jetty.side.queue, nullptr);
  jetty.context->interface->forget(jetty.side.queue, jetty.bound->remote);
  --jetty.bound->bound;
  jetty.bound = nullptr;
  jetty.api.remote_jetty = nullptr;
}

urma_status_t end_target(TargetJetty& target) {
  Context& context = *target.context;
  Interface& interface = *context.interface;
  tables().jettys.for_each([&](Jetty& jetty) {
    if (jetty.context->interface != &interface) return;
    if (jetty.bound == &target) unbind(jetty);
    interface.forget(jetty.side.queue, target.remote);
  });
  tables().jfss.for_each([&](Jfs& jfs) {
    if (jfs.context->interface == &interface) interface.forget(jfs.side.queue, target.remote);
  });
  interface.leave(*target.remote.peer);
  --context.children;
  return tables().targets.end(&target) ? URMA_SUCCESS : URMA_EINVAL;
}

/// The order that a peer's structure carries may be normalised already.
bool take_order(urma_transport_mode_t mode, std::uint32_t order, std::uint32_t& out) {
  out = order;
  return normalise_order(mode, out);
}

TargetJetty* import(Context& context, urma_rjetty_t& rjetty, const urma_token_t* token) {
  std::uint32_t order = 0;
  if (!take_order(rjetty.trans_mode, rjetty.flag.bs.order_type, order)) return refuse<TargetJetty>(EINVAL);
  rjetty.flag.bs.order_type = order & 0xffU;
  return make_target(
      context, {rjetty.jetty_id, rjetty.trans_mode, rjetty.type, rjetty.flag, rjetty.policy, rjetty.tp_type},
      token);
}

urma_status_t bind(Jetty& jetty, TargetJetty& target) {
  if (jetty.context->interface != target.context->interface) return URMA_EINVAL;
  if (!jetty.api.urma_jetty_opt.is_actived || jetty.api.jetty_cfg.jfs_cfg.trans_mode != URMA_TM_RC ||
      target.api.trans_mode != URMA_TM_RC || target.api.type == URMA_JETTY_GROUP) {
    return URMA_EINVAL;
  }
  if (jetty.bound != nullptr) return URMA_EEXIST;
  if (!jetty.context->interface->bind(jetty.side.queue, target.remote)) return URMA_EINVAL;
  jetty.context->interface->set_partner(jetty.side.queue, &target.remote);
  jetty.bound = &target;
  jetty.api.remote_jetty = &target.api;
  ++target.bound;
  return URMA_SUCCESS;
}

/// The pair of objects that bind and its kin take, with their interface locked.
template <typename Act>
urma_status_t with_pair(urma_jetty_t* jetty, urma_target_jetty_t* target, Act&& act) {
  TargetJetty* const to = tables().targets.find(target);
  if (to == nullptr) return URMA_EINVAL;
  return with(tables().jettys, jetty, [&](Jetty& found) -> urma_status_t {
    if (tables().targets.find(target) != to) return URMA_EINVAL;  // As with() does for the jetty.
    return act(found, *to);
  });
}

/// A note in a list of its own: what has no memory for one must not happen.
void note(Notifier& notifier, std::list<urma_notify_t>& one) {
  notifier.notes.splice(notifier.notes.end(), one);
  signal(notifier.api.fd);
}

}  // namespace
}  // namespace wharf::live::urma

extern "C" {

urma_target_jetty_t* urma_import_jetty(urma_context_t* ctx, urma_rjetty_t* rjetty,
                                       urma_token_t* token_value) {
  if (rjetty == nullptr) return refuse<urma_target_jetty_t>(EINVAL);
  return made_in(ctx, [&](Context& context) -> urma_target_jetty_t* {
    TargetJetty* const target = import(context, *rjetty, token_value);
    return target == nullptr ? nullptr : &target->api;
  });
}

urma_target_jetty_t* urma_import_jetty_ex(urma_context_t* ctx, urma_rjetty_t* rjetty,
                                          urma_token_t* token_value, urma_import_jetty_ex_cfg_t* cfg) {
  if (cfg == nullptr) return refuse<urma_target_jetty_t>(EINVAL);
  return urma_import_jetty(ctx, rjetty, token_value);
}

urma_status_t urma_unimport_jetty(urma_target_jetty_t* tjetty) {
  return with(tables().targets, tjetty, [](TargetJetty& found) { return end_target(found); });
}

urma_target_jetty_t* urma_import_jfr(urma_context_t* ctx, urma_rjfr_t* rjfr, urma_token_t* token_value) {
  std::uint32_t order = 0;
  if (tables().contexts.find(ctx) == nullptr || rjfr == nullptr ||
      !take_order(rjfr->trans_mode, rjfr->flag.bs.order_type, order)) {
    return refuse<urma_target_jetty_t>(EINVAL);
  }
  if (rjfr->trans_mode == URMA_TM_RC) return refuse<urma_target_jetty_t>(EINVAL);
  rjfr->flag.bs.order_type = order & 0xffU;
  return made_in(ctx, [&](Context& context) -> urma_target_jetty_t* {
    TargetJetty* const target = make_target(
        context, {rjfr->jfr_id, rjfr->trans_mode, URMA_JFR, rjfr->flag, {}, rjfr->tp_type}, token_value);
    return target == nullptr ? nullptr : &target->api;
  });
}

urma_target_jetty_t* urma_import_jfr_ex(urma_context_t* ctx, urma_rjfr_t* rjfr, urma_token_t* token_value,
                                        urma_import_jfr_ex_cfg_t* cfg) {
  if (cfg == nullptr) return refuse<urma_target_jetty_t>(EINVAL);
  return urma_import_jfr(ctx, rjfr, token_value);
}

urma_status_t urma_unimport_jfr(urma_target_jetty_t* target_jfr) { return urma_unimport_jetty(target_jfr); }

// A hint, which an import here is already.
urma_status_t urma_advise_jfr(urma_jfs_t* jfs, urma_target_jetty_t* tjfr) {
  if (tables().targets.find(tjfr) == nullptr) return URMA_EINVAL;
  return with(tables().jfss, jfs, [](Jfs&) -> urma_status_t { return URMA_SUCCESS; });
}
urma_status_t urma_unadvise_jfr(urma_jfs_t* jfs, urma_target_jetty_t* tjfr) {
  return urma_advise_jfr(jfs, tjfr);
}
urma_status_t urma_advise_jfr_async(urma_jfs_t* jfs, urma_target_jetty_t* tjfr,
                                    urma_advise_async_cb_func cb_fun, void* cb_arg) {
  if (cb_fun == nullptr) return URMA_EINVAL;
  const urma_status_t status = urma_advise_jfr(jfs, tjfr);
  if (status == URMA_SUCCESS) cb_fun(status, cb_arg);
  return status;
}
urma_status_t urma_advise_jetty(urma_jetty_t* jetty, urma_target_jetty_t* tjetty) {
  return with_pair(jetty, tjetty, [](Jetty&, TargetJetty&) -> urma_status_t { return URMA_SUCCESS; });
}
urma_status_t urma_unadvise_jetty(urma_jetty_t* jetty, urma_target_jetty_t* tjetty) {
  return urma_advise_jetty(jetty, tjetty);
}

urma_status_t urma_bind_jetty(urma_jetty_t* jetty, urma_target_jetty_t* tjetty) {
  return with_pair(jetty, tjetty, [](Jetty& found, TargetJetty& to) { return bind(found, to); });
}
urma_status_t urma_bind_jetty_ex(urma_jetty_t* jetty, urma_target_jetty_t* tjetty,
                                 urma_bind_jetty_ex_cfg_t* cfg) {
  return cfg == nullptr ? URMA_EINVAL : urma_bind_jetty(jetty, tjetty);
}
urma_status_t urma_unbind_jetty(urma_jetty_t* jetty) {
  return with(tables().jettys, jetty, [](Jetty& found) -> urma_status_t {
    if (found.bound == nullptr) return URMA_EINVAL;
    unbind(found);
    return URMA_SUCCESS;
  });
}

urma_status_t urma_get_rjetty(urma_jetty_t* jetty, urma_rjetty_t** rjetty, uint32_t* length) {
  if (rjetty == nullptr || length == nullptr) return URMA_EINVAL;
  return with(tables().jettys, jetty, [&](Jetty& found) -> urma_status_t {
    if (!found.api.urma_jetty_opt.is_actived) return URMA_EINVAL;
    auto* const out = static_cast<urma_rjetty_t*>(std::calloc(1, sizeof(urma_rjetty_t)));
    if (out == nullptr) return URMA_ENOMEM;
    const urma_jetty_cfg_t& cfg = found.api.jetty_cfg;
    out->jetty_id = found.api.jetty_id;
    out->trans_mode = cfg.jfs_cfg.trans_mode;
    out->policy = found.group != nullptr ? found.group->api.cfg.policy : URMA_JETTY_GRP_POLICY_RR;
    out->type = URMA_JETTY;
    out->flag.bs.order_type = cfg.jfs_cfg.flag.bs.order_type;
    out->flag.bs.token_policy = found.jfr->api.jfr_cfg.flag.bs.token_policy;
    out->tp_type = cfg.jfs_cfg.trans_mode == URMA_TM_UM ? URMA_UTP : URMA_RTP;
    *rjetty = out;
    *length = sizeof(urma_rjetty_t);
    return URMA_SUCCESS;
  });
}
void urma_put_rjetty(urma_rjetty_t* rjetty) { std::free(rjetty); }

// --- Notifiers: imports and bindings here are done when the call returns, so their notes are there at once.

urma_notifier_t* urma_create_notifier(urma_context_t* ctx) {
  if (tables().contexts.find(ctx) == nullptr) return refuse<urma_notifier_t>(EINVAL);
  const int descriptor = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (descriptor < 0) return nullptr;
  urma_notifier_t* const notifier = made_in(ctx, [&](Context& context) -> urma_notifier_t* {
    Notifier* const made = tables().notifiers.make([&](Notifier& each) { each.context = &context; });
    if (made == nullptr) return refuse<urma_notifier_t>(ENOMEM);
    made->api.urma_ctx = ctx;
    made->api.fd = descriptor;
    ++context.children;
    return &made->api;
  });
  if (notifier == nullptr) ::close(descriptor);
  return notifier;
}
urma_status_t urma_delete_notifier(urma_notifier_t* notifier) {
  return with(tables().notifiers, notifier, [](Notifier& found) -> urma_status_t {
    signal(found.api.fd);  // Whoever waits there looks, and finds it gone.
    ::close(found.api.fd);
    --found.context->children;
    return tables().notifiers.end(&found) ? URMA_SUCCESS : URMA_EINVAL;
  });
}
urma_target_jetty_t* urma_import_jetty_async(urma_notifier_t* notifier, const urma_rjetty_t* rjetty,
                                             const urma_token_t* token_value, uint64_t user_ctx, int) {
  if (rjetty == nullptr) return refuse<urma_target_jetty_t>(EINVAL);
  TargetJetty* target = nullptr;
  const urma_status_t status = with(tables().notifiers, notifier, [&](Notifier& found) -> urma_status_t {
    urma_rjetty_t copy = *rjetty;
    std::list<urma_notify_t> notes(1);
    target = import(*found.context, copy, token_value);
    if (target == nullptr) return errno;
    urma_notify_t& done = notes.front();
    done.type = URMA_IMPORT_JETTY_NOTIFY;
    done.status = URMA_SUCCESS;
    done.user_ctx = user_ctx;
    done.tjetty = &target->api;
    note(found, notes);
    return URMA_SUCCESS;
  });
  return status == URMA_SUCCESS ? &target->api : refuse<urma_target_jetty_t>(status);
}
urma_status_t urma_unimport_jetty_async(urma_target_jetty_t* tjetty) { return urma_unimport_jetty(tjetty); }
urma_status_t urma_bind_jetty_async(urma_notifier_t* notifier, urma_jetty_t* jetty,
                                    urma_target_jetty_t* tjetty, uint64_t user_ctx, int) {
  return with_pair(jetty, tjetty, [&](Jetty& bound, TargetJetty& to) -> urma_status_t {
    Notifier* const found = tables().notifiers.find(notifier);
    if (found == nullptr || bound.context->interface != found->context->interface) return URMA_EINVAL;
    std::list<urma_notify_t> notes(1);
    const urma_status_t status = bind(bound, to);
    if (status != URMA_SUCCESS) return status;
    urma_notify_t& done = notes.front();
    done.type = URMA_BIND_JETTY_NOTIFY;
    done.status = URMA_SUCCESS;
    done.user_ctx = user_ctx;
    done.jetty = jetty;
    note(*found, notes);
    return URMA_SUCCESS;
  });
}
urma_status_t urma_unbind_jetty_async(urma_jetty_t* jetty) { return urma_unbind_jetty(jetty); }

int urma_wait_notify(urma_notifier_t* notifier, uint32_t cnt, urma_notify_t* notify, int timeout) {
  if (cnt == 0 || notify == nullptr) return -1;
  Watch watch;
  const TimeLeft time(timeout);
  bool last = timeout == 0;
  const auto take = [&](Notifier& found) {
    int taken = 0;
    while (static_cast<std::uint32_t>(taken) < cnt && !found.notes.empty()) {
      notify[taken++] = found.notes.front();
      found.notes.pop_front();
    }
    if (found.notes.empty()) quiet(found.api.fd);
    if (taken == 0 && !last && !watch.on(found.api.fd)) return -1;
    return taken;
  };
  for (;;) {
    // Another thread may have deleted it while this one waited, or taken the note that woke both.
    const int taken = with(tables().notifiers, notifier, take, -1, -1);
    if (taken != 0 || last) return taken;
    pollfd wait{watch.descriptor(), POLLIN, 0};
    const int got = ::poll(&wait, 1, time.left());
    if (got == 0) return 0;
    if (got < 0) return errno == EINTR ? 0 : -1;
    last = time.left() == 0;
  }
}
urma_status_t urma_ack_notify(urma_context_t* ctx, uint32_t, urma_notify_t* notify) {
  return tables().contexts.find(ctx) == nullptr || notify == nullptr ? URMA_EINVAL : URMA_SUCCESS;
}

// --- Groups. [URMA API, jetty groups]

urma_jetty_grp_t* urma_create_jetty_grp(urma_context_t* ctx, urma_jetty_grp_cfg_t* cfg) {
  if (tables().contexts.find(ctx) == nullptr || cfg == nullptr ||
      ::strnlen(cfg->name, sizeof cfg->name) == sizeof cfg->name ||
      cfg->flag.bs.token_policy > URMA_TOKEN_PLAIN_TEXT || cfg->policy > URMA_JETTY_GRP_POLICY_HASH_HINT ||
      cfg->id != 0) {
    return refuse<urma_jetty_grp_t>(EINVAL);
  }
  return made_in(ctx, [&](Context& context) -> urma_jetty_grp_t* {
    Interface& interface = *context.interface;
    JettyGroup* same = nullptr;
    tables().groups.for_each([&](JettyGroup& each) {
      const bool named = cfg->name[0] != 0 && std::strcmp(each.api.cfg.name, cfg->name) == 0;
      if (named && each.context == &context) same = &each;
    });
    if (same != nullptr) return &same->api;
    auto made = interface.engine().create_group(
        interface.now(),
        {.policy = cfg->policy == URMA_JETTY_GRP_POLICY_RR ? engine::GroupPolicy::kRoundRobin
                                                           : engine::GroupPolicy::kHint,
         .token = cfg->flag.bs.token_policy == URMA_TOKEN_NONE ? 0 : cfg->token_value.token});
    if (!made) return refuse<urma_jetty_grp_t>(ENOSPC);
    JettyGroup* group = nullptr;
    attempted([&] { group = tables().groups.make([&](JettyGroup& each) { each.context = &context; }); });
    if (group == nullptr) {
      (void)interface.engine().destroy_queue(interface.now(), *made);
      return refuse<urma_jetty_grp_t>(ENOMEM);
    }
    group->group = *made;
    urma_jetty_grp_t& api = group->api;
    api.urma_ctx = ctx;
    api.jetty_grp_id = {context.api.eid, context.api.uasid, engine::table_index(*made) + 1};
    api.cfg = *cfg;
    api.handle = *made;
    ::pthread_mutex_init(&api.list_mutex, nullptr);
    ::pthread_mutex_init(&api.event_mutex, nullptr);
    ::pthread_cond_init(&api.event_cond, nullptr);
    ++context.children;
    return &api;
  });
}

urma_status_t urma_delete_jetty_grp(urma_jetty_grp_t* jetty_grp) {
  return with(tables().groups, jetty_grp, [](JettyGroup& found) -> urma_status_t {
    if (!found.members.empty()) return URMA_EAGAIN;
    Interface& interface = *found.context->interface;
    if (!interface.engine().destroy_queue(interface.now(), found.group).ok()) return URMA_EAGAIN;
    ::pthread_mutex_destroy(&found.api.list_mutex);
    ::pthread_mutex_destroy(&found.api.event_mutex);
    ::pthread_cond_destroy(&found.api.event_cond);
    --found.context->children;
    return tables().groups.end(&found) ? URMA_SUCCESS : URMA_EINVAL;
  });
}

}  // extern "C"
