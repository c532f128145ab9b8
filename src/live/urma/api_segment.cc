// SPDX-License-Identifier: Apache-2.0
// The C interface: token ids, segments of this process, and those of others.
#include "live/urma/exported.h"
//
#include <cstdlib>

#include "live/urma/identity.h"
#include "live/urma/library.h"
#include "live/urma/lives.h"

using namespace wharf;
using namespace wharf::live::urma;

namespace wharf::live::urma {
namespace {

/// [URMA API] LOCAL_ONLY stands alone, WRITE needs READ, ATOMIC needs both.
bool is_access(std::uint32_t access) {
  if (access == URMA_ACCESS_LOCAL_ONLY) return true;
  const bool read = (access & URMA_ACCESS_READ) != 0;
  const bool write = (access & URMA_ACCESS_WRITE) != 0;
  const bool atomic = (access & URMA_ACCESS_ATOMIC) != 0;
  if ((access & ~std::uint32_t{URMA_ACCESS_READ | URMA_ACCESS_WRITE | URMA_ACCESS_ATOMIC}) != 0) return false;
  return (!write || read) && (!atomic || (read && write));
}

TokenId* make_token_id(Context& context, std::uint32_t flag) {
  TokenId* const made = tables().token_ids.make([&](TokenId& each) { each.context = &context; });
  if (made == nullptr) return refuse<TokenId>(ENOMEM);
  made->api.urma_ctx = &context.api;
  // Its number is that of the segment, which has none yet.
  made->api.token_id = URMA_SEG_TOKEN_ID_INVALID;
  made->api.handle = reinterpret_cast<std::uintptr_t>(made);
  made->api.ref.atomic_cnt = 1;
  made->api.flag.value = flag;
  ++context.children;
  return made;
}

urma_status_t end_token_id(TokenId& token_id) {
  if (token_id.users != 0) return URMA_EAGAIN;
  --token_id.context->children;
  return tables().token_ids.end(&token_id) ? URMA_SUCCESS : URMA_EINVAL;
}

Segment* register_segment(Context& context, const urma_seg_cfg_t& cfg) {
  const std::uint32_t access = cfg.flag.bs.access;
  const std::uint32_t policy = cfg.flag.bs.token_policy;
  const bool given = cfg.flag.bs.token_id_valid == URMA_TOKEN_ID_VALID;
  if (cfg.va == 0 || cfg.va + cfg.len < cfg.va || !is_access(access) || given != (cfg.token_id != nullptr)) {
    return refuse<Segment>(EINVAL);
  }
  if (policy > URMA_TOKEN_PLAIN_TEXT || cfg.flag.bs.dsva != 0 ||
      (cfg.flag.bs.user_iova != 0 && cfg.iova != cfg.va)) {
    return refuse<Segment>(ENOTSUP);
  }
  TokenId* token_id = given ? tables().token_ids.find(cfg.token_id) : make_token_id(context, 0);
  if (token_id == nullptr) return given ? refuse<Segment>(EINVAL) : nullptr;
  // One segment for each token id: feature.muti_seg_per_token_id is 0.
  if (given && (token_id->users != 0 || token_id->context->interface != context.interface)) {
    return refuse<Segment>(token_id->users != 0 ? EEXIST : EINVAL);
  }
  Interface& interface = *context.interface;
  verbs::SegmentConfig config;
  config.base = cfg.va;
  config.length = cfg.len;
  config.rights.remote_read = (access & URMA_ACCESS_READ) != 0;
  config.rights.remote_write = (access & URMA_ACCESS_WRITE) != 0;
  config.rights.remote_atomic = (access & URMA_ACCESS_ATOMIC) != 0;
  config.token_value = cfg.token_value.token;
  config.check_value = policy != URMA_TOKEN_NONE;
  Result<verbs::SegmentToken> token = Error{ErrorKind::kEnvironment, "no memory"};
  attempted([&] { token = interface.engine().register_segment(interface.now(), config); });
  Segment* made = nullptr;
  if (token) {
    attempted([&] { made = tables().segments.make([&](Segment& each) { each.context = &context; }); });
  }
  if (made == nullptr) {
    if (token) (void)interface.engine().deregister_segment(interface.now(), *token);
    if (!given) end_token_id(*token_id);
    return refuse<Segment>(ENOMEM);
  }
  made->local = true;
  made->token = *token;
  made->token_id = token_id;
  made->owns_token_id = !given;
  ++token_id->users;
  token_id->api.token_id = token->id;
  urma_target_seg_t& api = made->api;
  api.seg.ubva.eid = context.api.eid;
  api.seg.ubva.uasid = context.api.uasid;
  api.seg.ubva.va = cfg.va;
  api.seg.len = cfg.len;
  api.seg.attr.bs.token_policy = policy & 7U;
  api.seg.attr.bs.cacheable = cfg.flag.bs.cacheable;
  api.seg.attr.bs.access = access & 63U;
  api.seg.attr.bs.non_pin = cfg.flag.bs.non_pin;
  api.seg.attr.bs.user_iova = cfg.flag.bs.user_iova;
  api.seg.attr.bs.user_token_id = given ? 1 : 0;
  api.seg.token_id = token->id;
  api.user_ctx = cfg.user_ctx;
  api.mva = cfg.va;
  api.urma_ctx = &context.api;
  api.token_id = &token_id->api;
  api.handle = reinterpret_cast<std::uintptr_t>(made);
  ++context.children;
  return made;
}

}  // namespace
}  // namespace wharf::live::urma

extern "C" {

urma_token_id_t* urma_alloc_token_id(urma_context_t* ctx) { return urma_alloc_token_id_ex(ctx, {}); }

urma_token_id_t* urma_alloc_token_id_ex(urma_context_t* ctx, urma_token_id_flag_t flag) {
  if (flag.bs.multi_seg != 0 && tables().contexts.find(ctx) != nullptr)
    return refuse<urma_token_id_t>(ENOTSUP);
  return made_in(ctx, [&](Context& context) -> urma_token_id_t* {
    TokenId* const made = make_token_id(context, flag.value);
    return made == nullptr ? nullptr : &made->api;
  });
}

urma_status_t urma_free_token_id(urma_token_id_t* token_id) {
  return with(tables().token_ids, token_id, [](TokenId& found) { return end_token_id(found); });
}

urma_target_seg_t* urma_register_seg(urma_context_t* ctx, urma_seg_cfg_t* seg_cfg) {
  if (seg_cfg == nullptr) return refuse<urma_target_seg_t>(EINVAL);
  return made_in(ctx, [&](Context& context) -> urma_target_seg_t* {
    Segment* const made = register_segment(context, *seg_cfg);
    return made == nullptr ? nullptr : &made->api;
  });
}

urma_status_t urma_unregister_seg(urma_target_seg_t* target_seg) {
  return with(tables().segments, target_seg, [](Segment& found) -> urma_status_t {
    if (!found.local) return URMA_EINVAL;
    Interface& interface = *found.context->interface;
    // A Send with invalidate of a peer may have revoked it already.
    (void)interface.engine().deregister_segment(interface.now(), found.token);
    TokenId& token_id = *found.token_id;
    --token_id.users;
    if (found.owns_token_id) end_token_id(token_id);
    --found.context->children;
    return tables().segments.end(&found) ? URMA_SUCCESS : URMA_EINVAL;
  });
}

urma_target_seg_t* urma_import_seg(urma_context_t* ctx, urma_seg_t* seg, urma_token_t* token_value,
                                   uint64_t addr, urma_import_seg_flag_t flag) {
  const Context* const found = tables().contexts.find(ctx);
  if (found == nullptr || seg == nullptr) return refuse<urma_target_seg_t>(EINVAL);
  const auto endpoint = endpoint_of(seg->ubva.eid, seg->ubva.uasid);
  if (!endpoint || !same_way(found->interface->endpoint().address, endpoint->address) ||
      seg->token_id >= ub::kTokenIds) {
    return refuse<urma_target_seg_t>(EINVAL);
  }
  // Remote memory is not mapped into the process.
  if (flag.bs.mapping == URMA_SEG_MAPPED || addr != 0) return refuse<urma_target_seg_t>(ENOTSUP);
  if (token_value == nullptr && seg->attr.bs.token_policy != URMA_TOKEN_NONE) {
    return refuse<urma_target_seg_t>(EINVAL);
  }
  return made_in(ctx, [&](Context& context) -> urma_target_seg_t* {
    Segment* const made = tables().segments.make([&](Segment& each) { each.context = &context; });
    if (made == nullptr) return refuse<urma_target_seg_t>(ENOMEM);
    made->token = {seg->token_id, token_value == nullptr ? 0 : token_value->token};
    made->api.seg = *seg;
    made->api.mva = seg->ubva.va;
    made->api.urma_ctx = ctx;
    made->api.handle = reinterpret_cast<std::uintptr_t>(made);
    ++context.children;
    return &made->api;
  });
}

urma_status_t urma_unimport_seg(urma_target_seg_t* tseg) {
  return with(tables().segments, tseg, [](Segment& found) -> urma_status_t {
    if (found.local) return URMA_EINVAL;
    --found.context->children;
    return tables().segments.end(&found) ? URMA_SUCCESS : URMA_EINVAL;
  });
}

urma_status_t urma_get_seg_ctx(urma_target_seg_t* tseg, urma_seg_t** seg, uint32_t* size) {
  if (seg == nullptr || size == nullptr) return URMA_EINVAL;
  return with(tables().segments, tseg, [&](Segment& found) -> urma_status_t {
    auto* const out = static_cast<urma_seg_t*>(std::calloc(1, sizeof(urma_seg_t)));
    if (out == nullptr) return URMA_ENOMEM;
    *out = found.api.seg;
    *seg = out;
    *size = sizeof(urma_seg_t);
    return URMA_SUCCESS;
  });
}
void urma_put_seg_ctx(urma_seg_t* seg) { std::free(seg); }

}  // extern "C"
