// SPDX-License-Identifier: Apache-2.0
// The C interface: the data path. A request of the program becomes one of the engine, or is refused whole.
#include "live/urma/exported.h"
//
#include <algorithm>
#include <cstring>

#include "live/urma/library.h"
#include "live/urma/lives.h"

using namespace wharf;
using namespace wharf::live::urma;

namespace wharf::live::urma {
namespace {

std::optional<verbs::Verb> verb_of(urma_opcode_t opcode) {
  switch (opcode) {
    case URMA_OPC_WRITE:
      return verbs::Verb::kWrite;
    case URMA_OPC_WRITE_IMM:
      return verbs::Verb::kWriteImm;
    case URMA_OPC_WRITE_NOTIFY:
      return verbs::Verb::kWriteNotify;
    case URMA_OPC_READ:
      return verbs::Verb::kRead;
    case URMA_OPC_CAS:
      return verbs::Verb::kCompareSwap;
    case URMA_OPC_SWAP:
      return verbs::Verb::kSwap;
    case URMA_OPC_FADD:
      return verbs::Verb::kFetchAdd;
    case URMA_OPC_FSUB:
      return verbs::Verb::kFetchSub;
    case URMA_OPC_FAND:
      return verbs::Verb::kFetchAnd;
    case URMA_OPC_FOR:
      return verbs::Verb::kFetchOr;
    case URMA_OPC_FXOR:
      return verbs::Verb::kFetchXor;
    case URMA_OPC_SEND:
      return verbs::Verb::kSend;
    case URMA_OPC_SEND_IMM:
      return verbs::Verb::kSendImm;
    case URMA_OPC_SEND_INVALIDATE:
      return verbs::Verb::kSendInvalidate;
    case URMA_OPC_NOP:
    case URMA_OPC_WRITE_ATOMIC:
    case URMA_OPC_FLUSH_DMA:
    case URMA_OPC_LAST:
      break;
  }
  return std::nullopt;
}

/// Pieces of this process's memory. Those of length zero are passed over.
bool take_local(const Interface& interface, const urma_sge_t* sges, std::uint32_t count,
                verbs::WorkRequest& out) {
  if (count > 0 && sges == nullptr) return false;
  std::uint64_t total = 0;
  for (std::uint32_t at = 0; at < count; ++at) {
    const urma_sge_t& sge = sges[at];
    if (sge.len == 0) continue;
    const Segment* const segment = tables().segments.find(sge.tseg);
    if (segment == nullptr || !segment->local || segment->context->interface != &interface) return false;
    if (out.local_count == verbs::kMaxScatterEntries) return false;
    out.local[out.local_count++] = {sge.addr, sge.len, segment->token.id};
    total += sge.len;
  }
  if (total > kMessageMost) return false;
  out.length = static_cast<std::uint32_t>(total);
  return true;
}

/// The credentials of one piece of remote memory.
bool take_token(const urma_sge_t& sge, verbs::SegmentToken& out) {
  if (sge.tseg != nullptr) {
    const Segment* const segment = tables().segments.find(sge.tseg);
    if (segment == nullptr) return false;
    out = segment->token;
    return true;
  }
  if (sge.user_tseg == nullptr || sge.user_tseg->token_id >= ub::kTokenIds) return false;
  out = {sge.user_tseg->token_id, sge.user_tseg->token_value.token};
  return true;
}

/// Remote memory: several pieces must lie back to back under one token, for a request has one address on the
/// wire.
bool take_remote(const urma_sge_t* sges, std::uint32_t count, std::uint64_t length, verbs::WorkRequest& out) {
  if (count == 0 || sges == nullptr || !take_token(sges[0], out.remote.token)) return false;
  out.remote.address = sges[0].addr;
  std::uint64_t room = sges[0].len;
  for (std::uint32_t at = 1; at < count; ++at) {
    verbs::SegmentToken token;
    if (!take_token(sges[at], token) || token != out.remote.token || sges[at].addr != sges[0].addr + room) {
      return false;
    }
    room += sges[at].len;
  }
  return room >= length;
}

/// Copies what travels in the request itself into a buffer of the pool, whose reference is the caller's.
bool take_inline(Interface& interface, const urma_sg_t& from, std::uint32_t most, verbs::WorkRequest& out) {
  if (from.num_sge > verbs::kMaxScatterEntries || (from.num_sge > 0 && from.sge == nullptr)) return false;
  std::uint64_t total = 0;
  for (std::uint32_t at = 0; at < from.num_sge; ++at) {
    if (from.sge[at].addr == 0 && from.sge[at].len != 0) return false;
    total += from.sge[at].len;
  }
  if (total > most) return false;
  out.length = static_cast<std::uint32_t>(total);
  if (total == 0) return true;
  const wire::BufferId buffer = interface.payloads().acquire(out.length);
  std::byte* at = interface.payloads().data(buffer);
  for (std::uint32_t i = 0; i < from.num_sge; ++i) {
    if (from.sge[i].len == 0) continue;
    std::memcpy(at, reinterpret_cast<const void*>(from.sge[i].addr), from.sge[i].len);
    at += from.sge[i].len;
  }
  out.inline_data = wire::bytes_payload(interface.payloads().data(buffer), out.length, buffer);
  return true;
}

bool take_data(Interface& interface, const urma_jfs_wr_t& wr, const urma_sg_t& from,
               std::uint32_t inline_most, verbs::WorkRequest& out) {
  return wr.flag.bs.inline_flag != 0 ? take_inline(interface, from, inline_most, out)
                                     : take_local(interface, from.sge, from.num_sge, out);
}

/// One of 16 bytes is given by its address. False: there is none.
bool take_operand(std::uint64_t value, std::uint32_t width, std::array<std::uint64_t, 2>& out) {
  if (width <= 8) {
    out[0] = value;
    return true;
  }
  if (value == 0) return false;
  std::memcpy(out.data(), reinterpret_cast<const void*>(value), 16);
  return true;
}

bool take_atomic(const Interface& interface, const urma_sge_t* dst, const urma_sge_t* src,
                 verbs::WorkRequest& out) {
  if (dst == nullptr || src == nullptr || dst->len != src->len || dst->len > 16) return false;
  out.width = static_cast<std::uint8_t>(dst->len);
  return take_local(interface, src, 1, out) && take_remote(dst, 1, dst->len, out);
}

/// Records come in the order of posting unless the queue allows otherwise.
bool reports_in_order(const urma_jfs_wr_t& wr, const urma_jfs_cfg_t& cfg) {
  return cfg.flag.bs.outorder_comp == 0 || wr.flag.bs.comp_order != 0;
}

/// Everything of `wr` but its target. False: it cannot be.
bool translate(Interface& interface, const urma_jfs_wr_t& wr, const urma_jfs_cfg_t& cfg, verbs::Verb verb,
               verbs::WorkRequest& out) {
  if (wr.flag.bs.place_order > URMA_STRONG_ORDER) return false;
  out.id = wr.user_ctx;
  out.verb = verb;
  out.order = static_cast<verbs::OrderTag>(wr.flag.bs.place_order);
  out.signaled = wr.flag.bs.complete_enable != 0;
  out.fence = wr.flag.bs.fence != 0;
  out.solicited = wr.flag.bs.solicited_enable != 0;
  out.completion_in_order = reports_in_order(wr, cfg);
  switch (verb) {
    case verbs::Verb::kWrite:
    case verbs::Verb::kWriteImm:
      out.immediate = wr.rw.notify_data;
      return take_data(interface, wr, wr.rw.src, cfg.max_inline_data, out) &&
             take_remote(wr.rw.dst.sge, wr.rw.dst.num_sge, out.length, out);
    case verbs::Verb::kWriteNotify: {
      // The second piece of remote memory is where the eight bytes land.
      const urma_sg_t& to = wr.rw.dst;
      if (to.num_sge != 2 || to.sge == nullptr || to.sge[1].len != 8) return false;
      out.immediate = wr.rw.notify_data;
      out.notify.address = to.sge[1].addr;
      return take_token(to.sge[1], out.notify.token) &&
             take_data(interface, wr, wr.rw.src, cfg.max_inline_data, out) &&
             take_remote(to.sge, 1, out.length, out);
    }
    case verbs::Verb::kRead:
      return take_local(interface, wr.rw.dst.sge, wr.rw.dst.num_sge, out) &&
             take_remote(wr.rw.src.sge, wr.rw.src.num_sge, out.length, out);
    case verbs::Verb::kSend:
    case verbs::Verb::kSendImm:
      out.immediate = wr.send.imm_data;
      out.hint = wr.send.target_hint;
      return take_data(interface, wr, wr.send.src, cfg.max_inline_data, out) && out.length <= kSendMost;
    case verbs::Verb::kSendInvalidate: {
      const Segment* const revoked = tables().segments.find(wr.send.tseg);
      if (revoked == nullptr) return false;
      out.invalidate = revoked->token;
      out.hint = wr.send.target_hint;
      return take_data(interface, wr, wr.send.src, cfg.max_inline_data, out) && out.length <= kSendMost;
    }
    case verbs::Verb::kCompareSwap:
      if (!take_atomic(interface, wr.cas.dst, wr.cas.src, out)) return false;
      return take_operand(wr.cas.cmp_data, out.width, out.compare) &&
             take_operand(wr.cas.swap_data, out.width, out.operand);
    case verbs::Verb::kSwap:
      if (!take_atomic(interface, wr.cas.dst, wr.cas.src, out) || out.width > 8) return false;
      return take_operand(wr.cas.swap_data, out.width, out.operand);
    case verbs::Verb::kFetchAdd:
    case verbs::Verb::kFetchSub:
    case verbs::Verb::kFetchAnd:
    case verbs::Verb::kFetchOr:
    case verbs::Verb::kFetchXor:
      if (!take_atomic(interface, wr.faa.dst, wr.faa.src, out) || out.width > 8) return false;
      return take_operand(wr.faa.operand, out.width, out.operand);
    case verbs::Verb::kLoad:
    case verbs::Verb::kStore:
    case verbs::Verb::kAtomicStore:
    case verbs::Verb::kAtomicLoad:
      break;
  }
  return false;
}

/// What this transport does not have ends with a record that says so, behind those of the requests before it.
urma_status_t refuse_one(QueueSide& side, const verbs::WorkRequest& request) {
  const bool room = side.context->interface->refuse(side.queue, request) == engine::PostStatus::kOk;
  return room ? URMA_SUCCESS : URMA_ENOMEM;
}

urma_status_t post_one(QueueSide& side, const urma_jfs_cfg_t& cfg, const TargetJetty* bound,
                       const urma_jfs_wr_t& wr) {
  Interface& interface = *side.context->interface;
  if (side.state != URMA_JETTY_STATE_READY) return URMA_EINVAL;
  const std::optional<verbs::Verb> verb = verb_of(wr.opcode);
  if (!verb) {
    verbs::WorkRequest request;
    request.id = wr.user_ctx;
    request.completion_in_order = reports_in_order(wr, cfg);
    return refuse_one(side, request);
  }
  const TargetJetty* const target = wr.tjetty == nullptr ? bound : tables().targets.find(wr.tjetty);
  if (target == nullptr || target->context->interface != &interface) return URMA_EINVAL;
  if (target->api.trans_mode != cfg.trans_mode) return URMA_EINVAL;
  if (cfg.trans_mode == URMA_TM_RC && target != bound) return URMA_EINVAL;
  verbs::WorkRequest request;
  bool sound = translate(interface, wr, cfg, *verb, request);
  if (sound && cfg.trans_mode == URMA_TM_UM) sound = request.length <= interface.mtu();
  urma_status_t status = URMA_EINVAL;
  if (sound) {
    // Without memory there is no room for it.
    switch (guarded(engine::PostStatus::kQueueFull,
                    [&] { return interface.post(side.queue, target->remote, request); })) {
      case engine::PostStatus::kOk:
        status = URMA_SUCCESS;
        break;
      case engine::PostStatus::kQueueFull:
        status = URMA_ENOMEM;
        break;
      case engine::PostStatus::kUnsupported:
        status = refuse_one(side, request);
        break;
      case engine::PostStatus::kBadQueue:
      case engine::PostStatus::kBadRequest:
        break;
    }
  }
  interface.payloads().release(request.inline_data.buffer);
  return status;
}

urma_status_t post_all(QueueSide& side, const urma_jfs_cfg_t& cfg, const TargetJetty* bound,
                       urma_jfs_wr_t* wr, urma_jfs_wr_t** bad) {
  for (; wr != nullptr; wr = wr->next) {
    const urma_status_t status =
        guarded(urma_status_t{URMA_ENOMEM}, [&] { return post_one(side, cfg, bound, *wr); });
    if (status != URMA_SUCCESS) {
      *bad = wr;
      return status;
    }
  }
  return URMA_SUCCESS;
}

urma_status_t receive_one(Jfr& jfr, const urma_jfr_wr_t& wr) {
  if (!jfr.api.urma_jfr_opt.is_actived || jfr.state == URMA_JFR_STATE_ERROR) return URMA_EINVAL;
  Interface& interface = *jfr.context->interface;
  verbs::WorkRequest pieces;
  for (std::uint32_t at = 0; at < wr.src.num_sge && wr.src.sge != nullptr; ++at) {
    if (wr.src.sge[at].addr == 0) return URMA_EINVAL;
  }
  if (!take_local(interface, wr.src.sge, wr.src.num_sge, pieces)) return URMA_EINVAL;
  verbs::ReceiveRequest request;
  request.id = wr.user_ctx;
  request.local_count = pieces.local_count;
  request.local = pieces.local;
  switch (interface.engine().post_receive(interface.now(), jfr.receives, request)) {
    case engine::PostStatus::kOk:
      return URMA_SUCCESS;
    case engine::PostStatus::kQueueFull:
      return URMA_ENOMEM;
    case engine::PostStatus::kBadQueue:
    case engine::PostStatus::kUnsupported:
    case engine::PostStatus::kBadRequest:
      break;
  }
  return URMA_EINVAL;
}

urma_status_t receive_all(Jfr& jfr, urma_jfr_wr_t* wr, urma_jfr_wr_t** bad) {
  for (; wr != nullptr; wr = wr->next) {
    const urma_status_t status = guarded(urma_status_t{URMA_ENOMEM}, [&] { return receive_one(jfr, *wr); });
    if (status != URMA_SUCCESS) {
      *bad = wr;
      return status;
    }
  }
  return URMA_SUCCESS;
}

/// The calls without a list: one piece on each side.
urma_status_t post_flat(urma_jfs_t* jfs, urma_target_jetty_t* target, urma_opcode_t opcode, urma_sge_t* local,
                        urma_sge_t* remote, urma_jfs_wr_flag_t flag, uint64_t user_ctx) {
  urma_jfs_wr_t wr{};
  wr.opcode = opcode;
  wr.flag = flag;
  wr.tjetty = target;
  wr.user_ctx = user_ctx;
  if (opcode == URMA_OPC_SEND) {
    wr.send.src = {local, 1};
  } else {
    wr.rw.src = {opcode == URMA_OPC_READ ? remote : local, 1};
    wr.rw.dst = {opcode == URMA_OPC_READ ? local : remote, 1};
  }
  urma_jfs_wr_t* bad = nullptr;
  return urma_post_jfs_wr(jfs, &wr, &bad);
}

}  // namespace
}  // namespace wharf::live::urma

extern "C" {

urma_status_t urma_post_jfs_wr(urma_jfs_t* jfs, urma_jfs_wr_t* wr, urma_jfs_wr_t** bad_wr) {
  if (wr == nullptr || bad_wr == nullptr) return URMA_EINVAL;
  const urma_status_t status = with(tables().jfss, jfs, [&](Jfs& found) {
    return post_all(found.side, found.api.jfs_cfg, nullptr, wr, bad_wr);
  });
  return status;
}

urma_status_t urma_post_jetty_send_wr(urma_jetty_t* jetty, urma_jfs_wr_t* wr, urma_jfs_wr_t** bad_wr) {
  if (wr == nullptr || bad_wr == nullptr) return URMA_EINVAL;
  return with(tables().jettys, jetty, [&](Jetty& found) {
    return post_all(found.side, found.api.jetty_cfg.jfs_cfg, found.bound, wr, bad_wr);
  });
}

urma_status_t urma_post_jfr_wr(urma_jfr_t* jfr, urma_jfr_wr_t* wr, urma_jfr_wr_t** bad_wr) {
  if (wr == nullptr || bad_wr == nullptr) return URMA_EINVAL;
  return with(tables().jfrs, jfr, [&](Jfr& found) { return receive_all(found, wr, bad_wr); });
}

urma_status_t urma_post_jetty_recv_wr(urma_jetty_t* jetty, urma_jfr_wr_t* wr, urma_jfr_wr_t** bad_wr) {
  if (wr == nullptr || bad_wr == nullptr) return URMA_EINVAL;
  return with(tables().jettys, jetty, [&](Jetty& found) -> urma_status_t {
    if (found.jfr == nullptr || found.side.state == URMA_JETTY_STATE_ERROR) {
      *bad_wr = wr;
      return URMA_EINVAL;
    }
    return receive_all(*found.jfr, wr, bad_wr);
  });
}

urma_status_t urma_write(urma_jfs_t* jfs, urma_target_jetty_t* target_jfr, urma_target_seg_t* dst_tseg,
                         urma_target_seg_t* src_tseg, uint64_t dst, uint64_t src, uint32_t len,
                         urma_jfs_wr_flag_t flag, uint64_t user_ctx) {
  urma_sge_t local{src, len, src_tseg, nullptr};
  urma_sge_t remote{dst, len, dst_tseg, nullptr};
  if (src_tseg == nullptr) flag.bs.inline_flag = 1;
  return post_flat(jfs, target_jfr, URMA_OPC_WRITE, &local, &remote, flag, user_ctx);
}

urma_status_t urma_write_affinity(urma_jfs_t* jfs, urma_target_jetty_t* target_jfr,
                                  urma_target_seg_t* dst_tseg, urma_target_seg_t* src_tseg, uint64_t dst,
                                  uint64_t src, uint32_t len, urma_jfs_wr_flag_t flag, uint64_t user_ctx,
                                  uint32_t, uint32_t) {
  // One address has one path: there is no chip to choose.
  return urma_write(jfs, target_jfr, dst_tseg, src_tseg, dst, src, len, flag, user_ctx);
}

urma_status_t urma_read(urma_jfs_t* jfs, urma_target_jetty_t* target_jfr, urma_target_seg_t* dst_tseg,
                        urma_target_seg_t* src_tseg, uint64_t dst, uint64_t src, uint32_t len,
                        urma_jfs_wr_flag_t flag, uint64_t user_ctx) {
  urma_sge_t local{dst, len, dst_tseg, nullptr};
  urma_sge_t remote{src, len, src_tseg, nullptr};
  return post_flat(jfs, target_jfr, URMA_OPC_READ, &local, &remote, flag, user_ctx);
}

urma_status_t urma_send(urma_jfs_t* jfs, urma_target_jetty_t* target_jfr, urma_target_seg_t* src_tseg,
                        uint64_t src, uint32_t len, urma_jfs_wr_flag_t flag, uint64_t user_ctx) {
  urma_sge_t local{src, len, src_tseg, nullptr};
  return post_flat(jfs, target_jfr, URMA_OPC_SEND, &local, nullptr, flag, user_ctx);
}

urma_status_t urma_recv(urma_jfr_t* jfr, urma_target_seg_t* recv_tseg, uint64_t buf, uint32_t len,
                        uint64_t user_ctx) {
  urma_sge_t piece{buf, len, recv_tseg, nullptr};
  urma_jfr_wr_t wr{};
  wr.src = {&piece, 1};
  wr.user_ctx = user_ctx;
  urma_jfr_wr_t* bad = nullptr;
  return urma_post_jfr_wr(jfr, &wr, &bad);
}

}  // extern "C"
