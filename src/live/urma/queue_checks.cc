// SPDX-License-Identifier: Apache-2.0
#include "live/urma/queue_checks.h"

#include "live/urma/library.h"
#include "live/urma/lives.h"

namespace wharf::live::urma {

bool normalise_order(urma_transport_mode_t mode, std::uint32_t& order) {
  switch (mode) {
    case URMA_TM_RM:
      if (order == URMA_DEF_ORDER) order = URMA_OI;
      return order == URMA_OI;
    case URMA_TM_RC:
      if (order == URMA_DEF_ORDER) order = URMA_OL;
      return order == URMA_OL || order == URMA_OT;
    case URMA_TM_UM:
      if (order == URMA_DEF_ORDER) order = URMA_NO;
      return order == URMA_NO;
  }
  return false;
}

engine::ServiceMode service_of(urma_transport_mode_t mode, std::uint32_t order) {
  if (mode == URMA_TM_UM) return engine::ServiceMode::kUnordered;
  if (order == URMA_OT) return engine::ServiceMode::kOrderedByTarget;
  if (order == URMA_OL) return engine::ServiceMode::kOrderedByTransport;
  return engine::ServiceMode::kOrderedByInitiator;
}

std::uint8_t modes_of(urma_transport_mode_t mode) {
  std::uint8_t modes = 0;
  for (const std::uint32_t order : {URMA_OI, URMA_OL, URMA_OT, URMA_NO}) {
    std::uint32_t normal = order;
    if (normalise_order(mode, normal)) modes |= ub::mask_of(service_of(mode, normal));
  }
  return modes;
}

namespace {

bool is_policy(std::uint32_t policy) { return policy == URMA_TOKEN_NONE || policy == URMA_TOKEN_PLAIN_TEXT; }

/// What the engine compares.
std::uint32_t token_of(std::uint32_t policy, urma_token_t value) {
  return policy == URMA_TOKEN_NONE ? 0 : value.token;
}

bool check(urma_jfs_cfg_t& cfg) {
  std::uint32_t order = cfg.flag.bs.order_type;
  if (cfg.depth == 0 || cfg.depth > kQueueDepthMost || cfg.max_sge > verbs::kMaxScatterEntries ||
      cfg.max_rsge > verbs::kMaxScatterEntries || cfg.max_inline_data > kInlineMost ||
      cfg.priority > URMA_MAX_PRIORITY || cfg.rnr_retry > URMA_TYPICAL_RNR_RETRY || cfg.err_timeout > 31 ||
      !normalise_order(cfg.trans_mode, order)) {
    return false;
  }
  cfg.flag.bs.order_type = order & 0xffU;
  return true;
}

}  // namespace

bool check_jfs(urma_jfs_cfg_t& cfg) { return check(cfg) && cfg.trans_mode != URMA_TM_RC; }

bool check(urma_jfr_cfg_t& cfg) {
  std::uint32_t order = cfg.flag.bs.order_type;
  if (cfg.depth == 0 || cfg.depth > kQueueDepthMost || cfg.max_sge > verbs::kMaxScatterEntries ||
      cfg.min_rnr_timer > 31 || !is_policy(cfg.flag.bs.token_policy) || cfg.flag.bs.tag_matching != 0 ||
      !normalise_order(cfg.trans_mode, order)) {
    return false;
  }
  cfg.flag.bs.order_type = order & 0xffU;
  return true;
}

bool check(const Context& context, urma_jetty_cfg_t& cfg) {
  // [URMA API] Devices of Unified Bus share their receive queue.
  if (cfg.flag.bs.share_jfr == 0 || !check(cfg.jfs_cfg)) return false;
  const Jfr* const jfr = tables().jfrs.find(cfg.shared.jfr);
  if (jfr == nullptr || jfr->context->interface != context.interface ||
      jfr->api.jfr_cfg.trans_mode != cfg.jfs_cfg.trans_mode ||
      jfr->api.jfr_cfg.flag.bs.order_type != cfg.jfs_cfg.flag.bs.order_type) {
    return false;
  }
  if (cfg.jetty_grp == nullptr) return true;
  // Its senders have one token for all members, and one mode, in which a target may be chosen.
  const JettyGroup* const group = tables().groups.find(cfg.jetty_grp);
  return group != nullptr && group->context->interface == context.interface &&
         cfg.jfs_cfg.trans_mode == URMA_TM_RM &&
         token_of(group->api.cfg.flag.bs.token_policy, group->api.cfg.token_value) ==
             token_of(jfr->api.jfr_cfg.flag.bs.token_policy, jfr->api.jfr_cfg.token_value);
}

}  // namespace wharf::live::urma
