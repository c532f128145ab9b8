// SPDX-License-Identifier: Apache-2.0
// Calls of the C interface beside objects and data: addresses, transport channels, hints, options of the
// context, the log, numbers, and names of constants. And how patient each queue is.
#include <arpa/inet.h>

#include "live/urma/include/ub_numbers.h"
#include "live/urma/include/urma_perf.h"
#include "live/urma/include/urma_types_str.h"
#include "live/urma/include/urma_ubagg.h"
#include "live/urma/urma_test_support.h"

namespace wharf::live::urma {
namespace {

class SmallCalls : public UrmaTest {};

TEST_F(SmallCalls, DevicesByEid) {
  urma_eid_t eid{};
  urma_u32_to_eid(0x7f000002, &eid);
  urma_device_t* const right = urma_get_device_by_eid(eid, URMA_TRANSPORT_UB);
  ASSERT_NE(right, nullptr);
  EXPECT_STREQ(right->name, "right");
  EXPECT_EQ(urma_get_device_by_eid(eid, URMA_TRANSPORT_IB), nullptr);
  EXPECT_EQ(errno, ENODEV);
  urma_eid_t parsed{};
  for (const char* text : {"127.0.0.2", "::ffff:127.0.0.2", "0x7f000002"}) {
    EXPECT_EQ(urma_str_to_eid(text, &parsed), 0) << text;
    EXPECT_EQ(std::memcmp(&parsed, &eid, sizeof eid), 0) << text;
  }
  for (const char* text : {"", "127.0.0", "0x100000000", "left", "1 "})
    EXPECT_LT(urma_str_to_eid(text, &parsed), 0) << text;
  urma_u32_to_eid(0x01020304, &eid);
  EXPECT_EQ(urma_get_device_by_eid(eid, URMA_TRANSPORT_UB), nullptr);
  std::uint32_t uasid = 0;
  EXPECT_EQ(urma_get_uasid(&uasid), URMA_SUCCESS);
  EXPECT_NE(uasid, 0U);
}

TEST_F(SmallCalls, AddressesOfAContext) {
  End left;
  std::uint32_t count = 0;
  urma_net_addr_info_t* const list = urma_get_net_addr_list(left.context, &count);
  ASSERT_NE(list, nullptr);
  ASSERT_EQ(count, 1U);
  EXPECT_EQ(list[0].netaddr.in4.s_addr, htonl(0x7f000001));
  urma_eid_t eid{};
  EXPECT_EQ(urma_get_eid_by_ip(left.context, &list[0].netaddr, &eid), URMA_SUCCESS);
  EXPECT_EQ(std::memcmp(&eid, &left.context->eid, sizeof eid), 0);
  urma_net_addr_t back{};
  EXPECT_EQ(urma_get_ip_by_eid(left.context, &eid, &back), URMA_SUCCESS);
  EXPECT_EQ(back.in4.s_addr, list[0].netaddr.in4.s_addr);
  std::uint8_t mac[6] = {9, 9, 9, 9, 9, 9};
  EXPECT_EQ(urma_get_smac(left.context, mac), URMA_SUCCESS);
  EXPECT_EQ(urma_get_dmac(left.context, &list[0].netaddr, mac), URMA_SUCCESS) << "this machine's own";
  back.in4.s_addr = htonl(0xc0000201);
  EXPECT_EQ(urma_get_dmac(left.context, &back, mac), URMA_FAIL);
  back.sin_family = AF_INET6;
  EXPECT_EQ(urma_get_eid_by_ip(left.context, &back, &eid), URMA_FAIL);
  std::memset(&eid, 0x20, sizeof eid);
  EXPECT_EQ(urma_get_ip_by_eid(left.context, &eid, &back), URMA_FAIL) << "no IPv4 address";
  EXPECT_EQ(urma_get_smac(left.context, nullptr), URMA_EINVAL);
  EXPECT_EQ(urma_get_dmac(left.context, nullptr, mac), URMA_EINVAL);
  EXPECT_EQ(urma_get_net_addr_list(left.context, nullptr), nullptr);
  urma_free_net_addr_list(list);
}

TEST_F(SmallCalls, OptionsAndCommandsOfAContext) {
  End left;
  urma_context_aggr_mode_t mode = URMA_AGGR_MODE_STANDALONE;
  EXPECT_EQ(urma_set_context_opt(left.context, URMA_OPT_AGGR_MODE, &mode, sizeof mode), URMA_SUCCESS);
  EXPECT_EQ(urma_set_context_opt(left.context, URMA_OPT_AGGR_MODE, &mode, 1), URMA_EINVAL);
  EXPECT_EQ(urma_set_context_opt(left.context, URMA_OPT_AGGR_MODE, nullptr, sizeof mode), URMA_EINVAL);
  mode = URMA_AGGR_MODE_BALANCE;
  EXPECT_EQ(urma_set_context_opt(left.context, URMA_OPT_AGGR_MODE, &mode, sizeof mode), URMA_FAIL);
  urma_user_ctl_in_t in{};
  urma_user_ctl_out_t out{};
  EXPECT_EQ(urma_user_ctl(left.context, &in, &out), URMA_FAIL);
  EXPECT_EQ(urma_user_ctl(left.context, &in, nullptr), URMA_EINVAL);
  urma_token_id_flag_t flag{};
  urma_token_id_t* const token_id = urma_alloc_token_id_ex(left.context, flag);
  ASSERT_NE(token_id, nullptr);
  EXPECT_EQ(urma_free_token_id(token_id), URMA_SUCCESS);
  EXPECT_EQ(urma_free_token_id(token_id), URMA_EINVAL);
  flag.bs.multi_seg = 1;
  EXPECT_EQ(urma_alloc_token_id_ex(left.context, flag), nullptr);
  EXPECT_EQ(errno, ENOTSUP);
}

TEST_F(SmallCalls, TransportChannels) {
  End left;
  End right({.device = "right"});
  urma_get_tp_cfg_t cfg{};
  cfg.flag.bs.rtp = 1;
  cfg.trans_mode = URMA_TM_RM;
  cfg.local_eid = left.context->eid;
  cfg.peer_eid = right.context->eid;
  std::uint32_t count = 1;
  urma_tp_info_t info{};
  ASSERT_EQ(urma_get_tp_list(left.context, &cfg, &count, &info), URMA_SUCCESS);
  std::uint8_t attributes = 0;
  std::uint32_t bitmap = 0;
  urma_tp_attr_value_t value{};
  ASSERT_EQ(urma_get_tp_attr(left.context, info.tp_handle, &attributes, &bitmap, &value), URMA_SUCCESS);
  EXPECT_EQ(attributes, 2);
  EXPECT_EQ(value.dip[15], 2) << "127.0.0.2";
  EXPECT_EQ(urma_set_tp_attr(left.context, info.tp_handle, attributes, bitmap, &value), URMA_SUCCESS)
      << "what is";
  EXPECT_EQ(urma_set_tp_attr(left.context, info.tp_handle, 1, bitmap, &value), URMA_EINVAL)
      << "the count is not that of the bits";
  value.sip[15] = 9;
  EXPECT_EQ(urma_set_tp_attr(left.context, info.tp_handle, attributes, bitmap, &value), URMA_FAIL);
  EXPECT_EQ(urma_set_tp_attr(left.context, 1, attributes, bitmap, &value), URMA_EINVAL) << "no handle";
  EXPECT_EQ(urma_get_tp_attr(left.context, info.tp_handle, nullptr, &bitmap, &value), URMA_EINVAL);
  EXPECT_EQ(urma_modify_tp(left.context, 1, nullptr, nullptr, {}), -ENOTSUP);
  cfg.local_eid = right.context->eid;
  EXPECT_EQ(urma_get_tp_list(left.context, &cfg, &count, &info), URMA_EINVAL) << "another's address";
}

TEST_F(SmallCalls, HintsAndImportsWithHandles) {
  End left({.mode = URMA_TM_RC});
  End right({.device = "right", .mode = URMA_TM_RC});
  left.reach(right);
  EXPECT_EQ(urma_advise_jetty(left.jetty, left.target), URMA_SUCCESS);
  EXPECT_EQ(urma_unadvise_jetty(left.jetty, left.target), URMA_SUCCESS);
  EXPECT_EQ(urma_advise_jetty(left.jetty, nullptr), URMA_EINVAL);
  urma_bind_jetty_ex_cfg_t cfg{};
  EXPECT_EQ(urma_bind_jetty_ex(left.jetty, left.target, nullptr), URMA_EINVAL);
  EXPECT_EQ(urma_bind_jetty_ex(left.jetty, left.target, &cfg), URMA_EEXIST);
  EXPECT_EQ(urma_unbind_jetty_async(left.jetty), URMA_SUCCESS);
  EXPECT_EQ(urma_unbind_jetty_async(left.jetty), URMA_EINVAL);
  EXPECT_EQ(urma_bind_jetty_ex(left.jetty, left.target, &cfg), URMA_SUCCESS);
  EXPECT_EQ(urma_unbind_jetty(left.jetty), URMA_SUCCESS);
  EXPECT_EQ(urma_unimport_jetty_async(left.target), URMA_SUCCESS);
  EXPECT_EQ(urma_unimport_jetty_async(left.target), URMA_EINVAL);
  left.target = nullptr;
}

TEST_F(SmallCalls, ASimplexQueueAndItsTarget) {
  End left;
  End right({.device = "right"});
  left.reach(right);
  urma_jfs_cfg_t cfg{};
  cfg.depth = 16;
  cfg.trans_mode = URMA_TM_RM;
  cfg.max_sge = cfg.max_rsge = 1;
  cfg.rnr_retry = 7;
  cfg.jfc = left.send_jfc;
  urma_jfs_t* const jfs = urma_create_jfs(left.context, &cfg);
  ASSERT_NE(jfs, nullptr);
  urma_rjfr_t rjfr{};
  rjfr.jfr_id = right.jfr->jfr_id;
  rjfr.trans_mode = URMA_TM_RM;
  urma_import_jfr_ex_cfg_t handles{};
  EXPECT_EQ(urma_import_jfr_ex(left.context, &rjfr, nullptr, nullptr), nullptr);
  urma_target_jetty_t* const target = urma_import_jfr_ex(left.context, &rjfr, nullptr, &handles);
  ASSERT_NE(target, nullptr);
  EXPECT_EQ(urma_advise_jfr(jfs, target), URMA_SUCCESS);
  EXPECT_EQ(urma_unadvise_jfr(jfs, target), URMA_SUCCESS);
  EXPECT_EQ(urma_unadvise_jfr(nullptr, target), URMA_EINVAL);
  urma_status_t told = URMA_FAIL;
  const auto tell = [](urma_status_t status, void* argument) {
    *static_cast<urma_status_t*>(argument) = status;
  };
  EXPECT_EQ(urma_advise_jfr_async(jfs, target, tell, &told), URMA_SUCCESS);
  EXPECT_EQ(told, URMA_SUCCESS);
  EXPECT_EQ(urma_advise_jfr_async(jfs, target, nullptr, &told), URMA_EINVAL);
  left.memory[0] = std::byte{0x5a};
  urma_jfs_wr_flag_t flag{};
  flag.bs.complete_enable = 1;
  const auto here = reinterpret_cast<std::uint64_t>(left.memory.data());
  EXPECT_EQ(urma_write_affinity(jfs, target, left.remote, left.segment, left.remote->seg.ubva.va, here, 64,
                                flag, 3, 0, 0),
            URMA_SUCCESS);
  EXPECT_EQ(next_record(left.send_jfc).user_ctx, 3U);
  EXPECT_EQ(right.memory[0], std::byte{0x5a});
  EXPECT_EQ(urma_write_affinity(jfs, nullptr, left.remote, left.segment, left.remote->seg.ubva.va, here, 64,
                                flag, 3, 0, 0),
            URMA_EINVAL);
  EXPECT_EQ(urma_unimport_jfr(target), URMA_SUCCESS);
  EXPECT_EQ(urma_unimport_jfr(target), URMA_EINVAL);
  EXPECT_EQ(urma_delete_jfs(jfs), URMA_SUCCESS);
}

// [URMA API, rnr_retry] 0 to 6 are tries, 7 is for ever: of one queue, whatever another of the process has.
TEST_F(SmallCalls, EachQueueHasItsOwnRetries) {
  End patient;
  End hasty({.rnr_retry = 1});
  End right({.device = "right"});
  patient.reach(right);
  hasty.reach(right);
  ASSERT_EQ(patient.post(URMA_OPC_SEND, patient.local(0, 8), {}, 1), URMA_SUCCESS);
  ASSERT_EQ(hasty.post(URMA_OPC_SEND, hasty.local(0, 8), {}, 2), URMA_SUCCESS);
  const urma_cr_t refused = next_record(hasty.send_jfc);
  EXPECT_EQ(refused.status, URMA_CR_RNR_RETRY_CNT_EXC_ERR);
  EXPECT_EQ(refused.user_ctx, 2U);
  urma_cr_t record{};
  EXPECT_EQ(urma_poll_jfc(patient.send_jfc, 1, &record), 0) << "it still asks";
  ASSERT_EQ(right.receive(4096, 64, 9), URMA_SUCCESS);
  EXPECT_EQ(next_record(patient.send_jfc).status, URMA_CR_SUCCESS);
  urma_jetty_cfg_t cfg{};
  urma_jetty_attr_t attr{};
  ASSERT_EQ(urma_query_jetty(hasty.jetty, &cfg, &attr), URMA_SUCCESS);
  EXPECT_EQ(attr.state, URMA_JETTY_STATE_ERROR);
}

std::string last_message;
int last_level = -1;

TEST_F(SmallCalls, TheLogGoesWhereTheProgramSays) {
  const auto take = [](int level, char* message) {
    last_level = level;
    last_message = message;
  };
  const auto take_located = [](int level, const char*, const char*, int, const char* message) {
    last_level = level;
    last_message = std::string("located ") + message;
  };
  const auto level = urma_log_get_level();
  urma_log_set_level(URMA_VLOG_LEVEL_DEBUG);
  EXPECT_EQ(urma_log_get_level(), URMA_VLOG_LEVEL_DEBUG);
  urma_log_set_level(URMA_VLOG_LEVEL_MAX);
  EXPECT_EQ(urma_log_get_level(), URMA_VLOG_LEVEL_DEBUG) << "there is no such level";
  EXPECT_EQ(urma_register_log_func(nullptr), URMA_EINVAL);
  EXPECT_EQ(urma_register_log_func(take), URMA_SUCCESS);
  const std::string tag(200, 't');
  urma_log_set_thread_tag(tag.c_str());
  EXPECT_EQ(std::strlen(urma_log_get_thread_tag()), 63U);
  urma_log_set_thread_tag("tester");
  EXPECT_STREQ(urma_log_get_thread_tag(), "tester");
  End left;
  urma_jfr_cfg_t cfg{};
  cfg.depth = 16;
  cfg.trans_mode = URMA_TM_RM;
  cfg.id = 5;
  cfg.jfc = left.receive_jfc;
  urma_jfr_t* const first = urma_create_jfr(left.context, &cfg);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(urma_create_jfr(left.context, &cfg), nullptr);
  EXPECT_EQ(errno, EEXIST);
  EXPECT_EQ(last_level, URMA_VLOG_LEVEL_ERR);
  EXPECT_NE(last_message.find("tester"), std::string::npos) << last_message;
  EXPECT_EQ(urma_register_loc_log_func(take_located), URMA_SUCCESS);
  EXPECT_EQ(urma_create_jfr(left.context, &cfg), nullptr);
  EXPECT_EQ(last_message.rfind("located", 0), 0U) << last_message;
  EXPECT_EQ(urma_unregister_log_func(), URMA_SUCCESS);
  last_message.clear();
  EXPECT_EQ(urma_create_jfr(left.context, &cfg), nullptr);
  EXPECT_TRUE(last_message.empty());
  EXPECT_EQ(urma_delete_jfr(first), URMA_SUCCESS);
  urma_log_set_thread_tag("");
  urma_log_set_level(level);
}

TEST_F(SmallCalls, CallsAreNotTimed) {
  EXPECT_EQ(urma_start_perf(), URMA_FAIL);
  EXPECT_EQ(urma_stop_perf(), URMA_FAIL);
  char text[64];
  std::uint32_t length = sizeof text;
  EXPECT_EQ(urma_get_perf_info(text, &length), URMA_FAIL);
  EXPECT_EQ(length, 0U);
  EXPECT_EQ(urma_get_perf_info(nullptr, &length), URMA_EINVAL);
}

TEST(SmallNames, OfConstants) {
  EXPECT_STREQ(urma_mtu_to_string(URMA_MTU_4096), "MTU_4096");
  EXPECT_STREQ(urma_mtu_to_string(static_cast<urma_mtu_t>(7)), "Invalid Value");
  EXPECT_STREQ(urma_port_state_to_string(URMA_PORT_ACTIVE), "ACTIVE");
  EXPECT_STREQ(urma_speed_to_string(URMA_SP_2_5G), "SP_2.5G");
  EXPECT_STREQ(urma_link_width_to_string(URMA_LINK_X1), "LINK_X1");
  EXPECT_STREQ(urma_device_feat_to_string(6), "JFC_INLINE");
  EXPECT_STREQ(urma_device_feat_to_string(9), "Invalid Value");
  EXPECT_STREQ(urma_atomic_feat_to_string(0), "compare_and_swap");
  EXPECT_STREQ(urma_trans_mode_to_string(URMA_TM_RM), "RM(Reliable message)");
  EXPECT_EQ(urma_trans_mode_to_string(static_cast<urma_transport_mode_t>(3)), nullptr);
  EXPECT_STREQ(urma_tp_type_to_string(URMA_TRANSPORT_UB), "UB");
  EXPECT_STREQ(urma_jfc_state_to_string(1), "VALID");
  EXPECT_STREQ(urma_jetty_state_to_string(2), "SUSPENDED");
  EXPECT_STREQ(urma_jfr_state_to_string(2), "ERROR");
  EXPECT_STREQ(urma_congestion_ctrl_alg_to_string(200), "Invalid Value");
  union urma_tp_type_en one {};
  one.value = 1;
  EXPECT_STREQ(urma_tp_type_en_to_string(one), "RTP");
  one.value = 3;
  EXPECT_STREQ(urma_tp_type_en_to_string(one), "Invalid Value");
}

TEST(SmallNumbers, OfSixteenAndThirtyTwoBitsAndPages) {
  std::uint16_t half = 0;
  std::uint32_t word = 0;
  EXPECT_EQ(ub_str_to_u16("65535", &half), 0);
  EXPECT_EQ(half, 65535);
  EXPECT_NE(ub_str_to_u16("65536", &half), 0);
  EXPECT_NE(ub_str_to_u16("1", nullptr), 0);
  EXPECT_EQ(ub_str_to_u32("0xffffffff", &word), 0);
  EXPECT_EQ(word, 0xffffffffU);
  EXPECT_NE(ub_str_to_u32("4294967296", &word), 0);
  EXPECT_NE(ub_str_to_u32("-1", &word), 0);
  // Machines without huge pages give none, and say so.
  void* const pages = ub_hugemalloc(2U << 20U, URMA_HUGE_PAGE_SIZE_2M, nullptr);
  if (pages != nullptr) {
    EXPECT_EQ(ub_hugefree(pages, 2U << 20U), 0);
  }
}

}  // namespace
}  // namespace wharf::live::urma
