// SPDX-License-Identifier: Apache-2.0
// A program that misuses the C interface gets the documented status, and nothing else breaks.
#include "live/urma/include/ub_numbers.h"
#include "live/urma/urma_test_support.h"

namespace wharf::live::urma {
namespace {

using Misuse = UrmaTest;

/// An address that is no object.
template <typename T>
T* nonsense() {
  static T object{};
  return &object;
}

TEST(MisuseBefore, NothingWorksWithoutInit) {
  int count = 0;
  EXPECT_EQ(urma_get_device_list(&count), nullptr);
  char name[] = "left";
  EXPECT_EQ(urma_get_device_by_name(name), nullptr);
  EXPECT_EQ(urma_uninit(), URMA_EINVAL);
  EXPECT_EQ(urma_create_context(nonsense<urma_device_t>(), 0), nullptr);
}

TEST(MisuseBefore, ADeviceThatCannotBeIsRefused) {
  ::setenv("WHARF_URMA_DEVICES", "a=127.0.0.1,a=127.0.0.2", 1);
  EXPECT_EQ(urma_init(nullptr), URMA_FAIL);
  ::setenv("WHARF_URMA_DEVICES", "no_such_interface", 1);
  EXPECT_EQ(urma_init(nullptr), URMA_FAIL);
  ::setenv("WHARF_URMA_DEVICES", "left=127.0.0.1", 1);
  urma_init_attr_t attributes{0, 0x1000000};
  EXPECT_EQ(urma_init(&attributes), URMA_EINVAL);
}

TEST_F(Misuse, InitTwice) { EXPECT_EQ(urma_init(nullptr), URMA_EEXIST); }

TEST_F(Misuse, NullAndWrongAddressesEverywhere) {
  urma_cr_t record{};
  urma_jfs_wr_t wr{};
  urma_jfs_wr_t* bad = nullptr;
  urma_jfr_wr_t receive{};
  urma_jfr_wr_t* bad_receive = nullptr;
  EXPECT_EQ(urma_create_context(nullptr, 0), nullptr);
  EXPECT_EQ(urma_delete_context(nonsense<urma_context_t>()), URMA_EINVAL);
  EXPECT_EQ(urma_create_jfce(nonsense<urma_context_t>()), nullptr);
  EXPECT_EQ(urma_delete_jfce(nullptr), URMA_EINVAL);
  EXPECT_EQ(urma_create_jfc(nullptr, nullptr), nullptr);
  EXPECT_EQ(urma_delete_jfc(nonsense<urma_jfc_t>()), URMA_EINVAL);
  EXPECT_EQ(urma_poll_jfc(nonsense<urma_jfc_t>(), 1, &record), -1);
  EXPECT_EQ(urma_rearm_jfc(nullptr, false), URMA_EINVAL);
  urma_jfc_t* ready = nullptr;
  EXPECT_EQ(urma_wait_jfc(nonsense<urma_jfce_t>(), 1, 0, &ready), -1);
  urma_ack_jfc(nullptr, nullptr, 1);
  EXPECT_EQ(urma_create_jfs(nullptr, nullptr), nullptr);
  EXPECT_EQ(urma_create_jfr(nullptr, nullptr), nullptr);
  EXPECT_EQ(urma_create_jetty(nullptr, nullptr), nullptr);
  EXPECT_EQ(urma_delete_jfs(nonsense<urma_jfs_t>()), URMA_EINVAL);
  EXPECT_EQ(urma_delete_jfr(nonsense<urma_jfr_t>()), URMA_EINVAL);
  EXPECT_EQ(urma_delete_jetty(nonsense<urma_jetty_t>()), URMA_EINVAL);
  EXPECT_EQ(urma_flush_jetty(nonsense<urma_jetty_t>(), 1, &record), -1);
  EXPECT_EQ(urma_import_jetty(nullptr, nullptr, nullptr), nullptr);
  EXPECT_EQ(urma_unimport_jetty(nonsense<urma_target_jetty_t>()), URMA_EINVAL);
  EXPECT_EQ(urma_bind_jetty(nonsense<urma_jetty_t>(), nonsense<urma_target_jetty_t>()), URMA_EINVAL);
  EXPECT_EQ(urma_unbind_jetty(nullptr), URMA_EINVAL);
  EXPECT_EQ(urma_register_seg(nullptr, nullptr), nullptr);
  EXPECT_EQ(urma_unregister_seg(nonsense<urma_target_seg_t>()), URMA_EINVAL);
  EXPECT_EQ(urma_import_seg(nullptr, nullptr, nullptr, 0, {}), nullptr);
  EXPECT_EQ(urma_free_token_id(nonsense<urma_token_id_t>()), URMA_EINVAL);
  EXPECT_EQ(urma_post_jfs_wr(nonsense<urma_jfs_t>(), &wr, &bad), URMA_EINVAL);
  EXPECT_EQ(urma_post_jetty_send_wr(nonsense<urma_jetty_t>(), &wr, &bad), URMA_EINVAL);
  EXPECT_EQ(urma_post_jfr_wr(nonsense<urma_jfr_t>(), &receive, &bad_receive), URMA_EINVAL);
  EXPECT_EQ(urma_post_jetty_recv_wr(nullptr, nullptr, nullptr), URMA_EINVAL);
  EXPECT_EQ(urma_get_async_event(nullptr, nullptr), URMA_EINVAL);
  urma_ack_async_event(nullptr);
  EXPECT_EQ(urma_create_jetty_grp(nullptr, nullptr), nullptr);
  EXPECT_EQ(urma_create_notifier(nullptr), nullptr);
  EXPECT_EQ(urma_wait_notify(nonsense<urma_notifier_t>(), 1, nullptr, 0), -1);
  EXPECT_LT(urma_get_tpn(nullptr), 0);
}

TEST_F(Misuse, DeletedTwiceAndUsedAfterwards) {
  char name[] = "left";
  urma_context_t* const context = urma_create_context(urma_get_device_by_name(name), 0);
  ASSERT_NE(context, nullptr);
  urma_jfc_cfg_t cfg{};
  cfg.depth = 16;
  urma_jfc_t* const jfc = urma_create_jfc(context, &cfg);
  ASSERT_NE(jfc, nullptr);
  EXPECT_EQ(urma_delete_context(context), URMA_EAGAIN);
  EXPECT_EQ(urma_delete_jfc(jfc), URMA_SUCCESS);
  EXPECT_EQ(urma_delete_jfc(jfc), URMA_EINVAL);
  urma_cr_t record{};
  EXPECT_EQ(urma_poll_jfc(jfc, 1, &record), -1);
  EXPECT_EQ(urma_delete_context(context), URMA_SUCCESS);
  EXPECT_EQ(urma_delete_context(context), URMA_EINVAL);
  EXPECT_EQ(urma_create_jfc(context, &cfg), nullptr);
}

TEST_F(Misuse, ConfigurationsThatCannotBe) {
  char name[] = "left";
  urma_context_t* const context = urma_create_context(urma_get_device_by_name(name), 0);
  urma_jfc_cfg_t cfg{};
  EXPECT_EQ(urma_create_jfc(context, &cfg), nullptr) << "depth 0";
  cfg.depth = 65537;
  EXPECT_EQ(urma_create_jfc(context, &cfg), nullptr);
  cfg.depth = 65536;
  urma_jfc_t* const jfc = urma_create_jfc(context, &cfg);
  ASSERT_NE(jfc, nullptr);
  EXPECT_EQ(urma_rearm_jfc(jfc, false), URMA_EINVAL) << "it has no channel";
  urma_jfr_cfg_t receive{};
  receive.depth = 16;
  receive.trans_mode = URMA_TM_RM;
  receive.jfc = jfc;
  receive.flag.bs.order_type = URMA_NO;
  EXPECT_EQ(urma_create_jfr(context, &receive), nullptr) << "RM has an order";
  receive.flag.bs.order_type = URMA_DEF_ORDER;
  receive.flag.bs.token_policy = URMA_TOKEN_SIGNED;
  EXPECT_EQ(urma_create_jfr(context, &receive), nullptr);
  receive.flag.bs.token_policy = URMA_TOKEN_NONE;
  urma_jfr_t* const jfr = urma_create_jfr(context, &receive);
  ASSERT_NE(jfr, nullptr);
  EXPECT_EQ(receive.flag.bs.order_type, URMA_OI) << "the normalised order is written back";
  urma_jetty_cfg_t jetty_cfg{};
  jetty_cfg.jfs_cfg.depth = 16;
  jetty_cfg.jfs_cfg.trans_mode = URMA_TM_RM;
  jetty_cfg.jfs_cfg.jfc = jfc;
  jetty_cfg.shared.jfr = jfr;
  EXPECT_EQ(urma_create_jetty(context, &jetty_cfg), nullptr) << "the receive queue is shared";
  jetty_cfg.flag.bs.share_jfr = 1;
  jetty_cfg.jfs_cfg.trans_mode = URMA_TM_RC;
  EXPECT_EQ(urma_create_jetty(context, &jetty_cfg), nullptr) << "another mode than its JFR";
  jetty_cfg.jfs_cfg.trans_mode = URMA_TM_RM;
  jetty_cfg.jfs_cfg.flag.bs.order_type = URMA_DEF_ORDER;
  urma_jetty_t* const jetty = urma_create_jetty(context, &jetty_cfg);
  ASSERT_NE(jetty, nullptr);
  EXPECT_EQ(urma_delete_jfr(jfr), URMA_EAGAIN);
  EXPECT_EQ(urma_delete_jfc(jfc), URMA_EAGAIN);
  urma_seg_cfg_t seg{};
  seg.va = 4096;
  seg.len = 64;
  seg.flag.bs.access = URMA_ACCESS_WRITE;
  EXPECT_EQ(urma_register_seg(context, &seg), nullptr) << "WRITE without READ";
  seg.flag.bs.access = URMA_ACCESS_READ;
  seg.flag.bs.token_id_valid = 1;
  EXPECT_EQ(urma_register_seg(context, &seg), nullptr) << "no token id";
  seg.flag.bs.token_id_valid = 0;
  seg.va = 0;
  EXPECT_EQ(urma_register_seg(context, &seg), nullptr);
  EXPECT_EQ(urma_delete_jetty(jetty), URMA_SUCCESS);
  EXPECT_EQ(urma_delete_jfr(jfr), URMA_SUCCESS);
  EXPECT_EQ(urma_delete_jfc(jfc), URMA_SUCCESS);
  EXPECT_EQ(urma_delete_context(context), URMA_SUCCESS);
}

TEST_F(Misuse, ProviderCallsFailCleanly) {
  EXPECT_LT(urma_register_provider_ops(nullptr), 0);
  EXPECT_LT(urma_cmd_create_jfc(nullptr, nullptr, nullptr, nullptr), 0);
  EXPECT_EQ(urma_cmd_get_async_event(nullptr, nullptr), URMA_FAIL);
}

TEST(Common, NumbersFromText) {
  std::uint8_t small = 0;
  std::uint64_t large = 0;
  int number = 0;
  bool truth = false;
  EXPECT_EQ(ub_str_to_u8("255", &small), 0);
  EXPECT_EQ(small, 255);
  EXPECT_NE(ub_str_to_u8("256", &small), 0);
  EXPECT_NE(ub_str_to_u8("1x", &small), 0);
  EXPECT_NE(ub_str_to_u8("-1", &small), 0);
  EXPECT_NE(ub_str_to_u8("", &small), 0);
  EXPECT_EQ(ub_str_to_u64("0xffffffffffffffff", &large), 0);
  EXPECT_EQ(large, ~0ULL);
  EXPECT_NE(ub_str_to_u64("18446744073709551616", &large), 0);
  EXPECT_EQ(ub_str_to_int("-2147483648", &number), 0);
  EXPECT_EQ(number, -2147483647 - 1);
  EXPECT_NE(ub_str_to_int("2147483648", &number), 0);
  EXPECT_EQ(ub_str_to_bool("true", &truth), 0);
  EXPECT_TRUE(truth);
  EXPECT_NE(ub_str_to_bool("maybe", &truth), 0);
  EXPECT_NE(ub_str_to_bool(nullptr, &truth), 0);
  EXPECT_EQ(ub_hugefree(nullptr, 0), -EINVAL);
}

}  // namespace
}  // namespace wharf::live::urma
