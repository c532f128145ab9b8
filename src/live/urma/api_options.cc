// SPDX-License-Identifier: Apache-2.0
// The C interface: options of objects that are allocated and not active yet, one by one. What only hardware
// has (addresses of rings and doorbells, indices) can be read and not set.
#include "live/urma/exported.h"
//
#include <cstring>

#include "live/urma/library.h"
#include "live/urma/lives.h"

using namespace wharf::live::urma;

namespace {

/// Copies an option in (`set`) or out; the length must be that of the field.
struct Option {
  void* buffer;
  std::uint32_t length;
  bool set;

  template <typename T>
  urma_status_t field(T& value) const {
    if (length != sizeof value) return URMA_EINVAL;
    if (set) {
      std::memcpy(&value, buffer, sizeof value);
    } else {
      std::memcpy(buffer, &value, sizeof value);
    }
    return URMA_SUCCESS;
  }
  template <typename T>
  urma_status_t read_only(T& value) const {
    return set ? URMA_FAIL : field(value);
  }
};

urma_status_t option(Jfs& jfs, std::uint64_t which, const Option& to) {
  urma_jfs_cfg_t& cfg = jfs.api.jfs_cfg;
  urma_jfs_opt_t& opt = jfs.api.urma_jfs_opt;
  switch (which) {
    case URMA_JFS_DEPTH:
      return to.field(cfg.depth);
    case URMA_JFS_FLAG:
      return to.field(cfg.flag);
    case URMA_JFS_TRANS_MODE:
      return to.field(cfg.trans_mode);
    case URMA_JFS_PRIORITY:
      return to.field(cfg.priority);
    case URMA_JFS_MAX_SGE:
      return to.field(cfg.max_sge);
    case URMA_JFS_MAX_RSGE:
      return to.field(cfg.max_rsge);
    case URMA_JFS_MAX_INLINE_DATA:
      return to.field(cfg.max_inline_data);
    case URMA_JFS_RNR_RETRY:
      return to.field(cfg.rnr_retry);
    case URMA_JFS_ERR_TIMEOUT:
      return to.field(cfg.err_timeout);
    case URMA_JFS_BIND_JFC:
      return to.field(cfg.jfc);
    case URMA_JFS_USER_CTX:
      return to.field(cfg.user_ctx);
    case URMA_JFS_SQE_BASE_ADDR:
      return to.read_only(opt.urma_jfs_sqe_base_addr);
    case URMA_JFS_ID:
      return to.read_only(jfs.api.jfs_id.id);
    case URMA_JFS_DB_ADDR:
      return to.read_only(opt.urma_jfs_db_addr);
    case URMA_JFS_DB_STATUS:
      return to.read_only(opt.urma_jfs_db_status);
    case URMA_JFS_PI:
      return to.read_only(opt.urma_jfs_pi);
    case URMA_JFS_PI_TYPE:
      return to.read_only(opt.urma_jfs_pi_type);
    case URMA_JFS_CI:
      return to.read_only(opt.urma_jfs_ci);
    case URMA_JFS_FULL_CTX:
      return to.set ? URMA_FAIL : to.field(cfg);
    default:
      return URMA_EINVAL;
  }
}

urma_status_t option(Jfr& jfr, std::uint64_t which, const Option& to) {
  urma_jfr_cfg_t& cfg = jfr.api.jfr_cfg;
  urma_jfr_opt_t& opt = jfr.api.urma_jfr_opt;
  switch (which) {
    case URMA_JFR_DEPTH:
      return to.field(cfg.depth);
    case URMA_JFR_FLAG:
      return to.field(cfg.flag);
    case URMA_JFR_TRANS_MODE:
      return to.field(cfg.trans_mode);
    case URMA_JFR_MAX_SGE:
      return to.field(cfg.max_sge);
    case URMA_JFR_MIN_RNR_TIMER:
      return to.field(cfg.min_rnr_timer);
    case URMA_JFR_BIND_JFC:
      return to.field(cfg.jfc);
    case URMA_JFR_TOKEN_VALUE:
      return to.field(cfg.token_value);
    case URMA_JFR_USER_CTX:
      return to.field(cfg.user_ctx);
    case URMA_JFR_RQE_BASE_ADDR:
      return to.read_only(opt.urma_jfr_rqe_base_addr);
    case URMA_JFR_ID:
      return to.set ? to.field(cfg.id) : to.field(jfr.api.jfr_id.id);
    case URMA_JFR_DB_ADDR:
      return to.read_only(opt.urma_jfr_db_addr);
    case URMA_JFR_DB_STATUS:
      return to.read_only(opt.urma_jfr_db_status);
    case URMA_JFR_PI:
      return to.read_only(opt.urma_jfr_pi);
    case URMA_JFR_PI_TYPE:
      return to.read_only(opt.urma_jfr_pi_type);
    case URMA_JFR_CI:
      return to.read_only(opt.urma_jfr_ci);
    case URMA_JFR_FULL_CTX:
      return to.set ? URMA_FAIL : to.field(cfg);
    default:
      return URMA_EINVAL;
  }
}

urma_status_t option(Jfc& jfc, std::uint64_t which, const Option& to) {
  urma_jfc_cfg_t& cfg = jfc.api.jfc_cfg;
  urma_jfc_opt_t& opt = jfc.api.urma_jfc_opt;
  switch (which) {
    case URMA_JFC_DEPTH: {
      std::uint32_t depth = cfg.depth;
      const urma_status_t status = to.field(depth);
      if (status != URMA_SUCCESS) return status;
      if (depth == 0 || depth > kJfcDepthMost) return URMA_EINVAL;
      cfg.depth = depth;
      return URMA_SUCCESS;
    }
    case URMA_JFC_CEQN:
      return to.field(cfg.ceqn);
    case URMA_JFC_FLAG:
      return to.field(cfg.flag);
    case URMA_JFC_BIND_JFCE:
      return to.field(cfg.jfce);
    case URMA_JFC_USER_CTX:
      return to.field(cfg.user_ctx);
    case URMA_JFC_CQE_BASE_ADDR:
      return to.read_only(opt.urma_jfc_cqe_base_addr);
    case URMA_JFC_ID:
      return to.read_only(jfc.api.jfc_id.id);
    case URMA_JFC_DB_ADDR:
      return to.read_only(opt.urma_jfc_db_addr);
    case URMA_JFC_DB_STATUS:
      return to.read_only(opt.urma_jfc_db_status);
    case URMA_JFC_PI:
      return to.read_only(opt.urma_jfc_pi);
    case URMA_JFC_PI_TYPE:
      return to.read_only(opt.urma_jfc_pi_type);
    case URMA_JFC_CI:
      return to.read_only(opt.urma_jfc_ci);
    case URMA_JFC_FULL_CTX:
      return to.set ? URMA_FAIL : to.field(cfg);
    default:
      return URMA_EINVAL;
  }
}

urma_status_t option(Jetty& jetty, std::uint64_t which, const Option& to) {
  urma_jetty_cfg_t& cfg = jetty.api.jetty_cfg;
  switch (which) {
    case URMA_JETTY_ID:
      return to.set ? to.field(cfg.id) : to.field(jetty.api.jetty_id.id);
    case URMA_JETTY_FLAG:
      return to.field(cfg.flag);
    case URMA_JETTY_BIND_JFR:
      return to.field(cfg.shared.jfr);
    case URMA_JETTY_BIND_RX_JFC:
      return to.field(cfg.shared.jfc);
    case URMA_JETTY_BIND_JTG:
      return to.field(cfg.jetty_grp);
    case URMA_JETTY_USER_CTX:
      return to.field(cfg.user_ctx);
    case URMA_JETTY_FULL_CTX:
      return to.set ? URMA_FAIL : to.field(cfg);
    default:
      return URMA_EINVAL;
  }
}

/// Options are set while the object is not active, and checked when it becomes so.
template <typename Table, typename Api>
urma_status_t change(Table& table, Api* object, std::uint64_t which, void* buffer, std::uint32_t length,
                     bool (*is_active)(const Api&)) {
  if (buffer == nullptr) return URMA_EINVAL;
  return with(table, object, [&](auto& found) -> urma_status_t {
    if (is_active(found.api)) return URMA_ENOPERM;
    return option(found, which, {buffer, length, true});
  });
}

template <typename Table, typename Api>
urma_status_t show(Table& table, Api* object, std::uint64_t which, void* buffer, std::uint32_t length) {
  if (buffer == nullptr) return URMA_EINVAL;
  return with(table, object, [&](auto& found) { return option(found, which, {buffer, length, false}); });
}

}  // namespace

extern "C" {

urma_status_t urma_set_jfc_opt(urma_jfc_t* jfc, uint64_t opt, void* buf, uint32_t len) {
  return change<decltype(Tables::jfcs), urma_jfc_t>(
      tables().jfcs, jfc, opt, buf, len, [](const urma_jfc_t& api) { return api.urma_jfc_opt.is_actived; });
}
urma_status_t urma_get_jfc_opt(urma_jfc_t* jfc, uint64_t opt, void* buf, uint32_t len) {
  return show(tables().jfcs, jfc, opt, buf, len);
}
urma_status_t urma_set_jfs_opt(urma_jfs_t* jfs, uint64_t opt, void* buf, uint32_t len) {
  return change<decltype(Tables::jfss), urma_jfs_t>(
      tables().jfss, jfs, opt, buf, len, [](const urma_jfs_t& api) { return api.urma_jfs_opt.is_actived; });
}
urma_status_t urma_get_jfs_opt(urma_jfs_t* jfs, uint64_t opt, void* buf, uint32_t len) {
  return show(tables().jfss, jfs, opt, buf, len);
}
urma_status_t urma_set_jfr_opt(urma_jfr_t* jfr, uint64_t opt, void* buf, uint32_t len) {
  return change<decltype(Tables::jfrs), urma_jfr_t>(
      tables().jfrs, jfr, opt, buf, len, [](const urma_jfr_t& api) { return api.urma_jfr_opt.is_actived; });
}
urma_status_t urma_get_jfr_opt(urma_jfr_t* jfr, uint64_t opt, void* buf, uint32_t len) {
  return show(tables().jfrs, jfr, opt, buf, len);
}
urma_status_t urma_set_jetty_opt(urma_jetty_t* jetty, uint64_t opt, void* buf, uint32_t len) {
  return change<decltype(Tables::jettys), urma_jetty_t>(
      tables().jettys, jetty, opt, buf, len,
      [](const urma_jetty_t& api) { return api.urma_jetty_opt.is_actived; });
}
urma_status_t urma_get_jetty_opt(urma_jetty_t* jetty, uint64_t opt, void* buf, uint32_t len) {
  return show(tables().jettys, jetty, opt, buf, len);
}

}  // extern "C"
