// SPDX-License-Identifier: Apache-2.0
// Objects of the C interface made in steps, changed, asked, deleted one by one and many at once, in right and
// in wrong order.
#include <limits>

#include "live/urma/urma_test_support.h"

namespace wharf::live::urma {
namespace {

class ObjectLife : public UrmaTest {
 protected:
  void SetUp() override {
    UrmaTest::SetUp();
    char name[] = "left";
    context_ = urma_create_context(urma_get_device_by_name(name), 0);
    ASSERT_NE(context_, nullptr);
    jfc_ = make_jfc();
    ASSERT_NE(jfc_, nullptr);
  }
  void TearDown() override {
    EXPECT_EQ(urma_delete_jfc(jfc_), URMA_SUCCESS);
    EXPECT_EQ(urma_delete_context(context_), URMA_SUCCESS);
    UrmaTest::TearDown();
  }

  urma_jfc_t* make_jfc() {
    urma_jfc_cfg_t cfg{};
    cfg.depth = 64;
    return urma_create_jfc(context_, &cfg);
  }
  urma_jfs_cfg_t jfs_cfg() {
    urma_jfs_cfg_t cfg{};
    cfg.depth = 16;
    cfg.trans_mode = URMA_TM_RM;
    cfg.max_sge = cfg.max_rsge = 1;
    cfg.rnr_retry = 7;
    cfg.jfc = jfc_;
    return cfg;
  }
  urma_jfr_cfg_t jfr_cfg() {
    urma_jfr_cfg_t cfg{};
    cfg.depth = 16;
    cfg.trans_mode = URMA_TM_RM;
    cfg.max_sge = 1;
    cfg.jfc = jfc_;
    return cfg;
  }
  urma_jetty_cfg_t jetty_cfg(urma_jfr_t* jfr) {
    urma_jetty_cfg_t cfg{};
    cfg.flag.bs.share_jfr = 1;
    cfg.shared.jfr = jfr;
    cfg.jfs_cfg = jfs_cfg();
    return cfg;
  }
  urma_jfs_t* make_jfs() {
    urma_jfs_cfg_t cfg = jfs_cfg();
    return urma_create_jfs(context_, &cfg);
  }
  urma_jfr_t* make_jfr() {
    urma_jfr_cfg_t cfg = jfr_cfg();
    return urma_create_jfr(context_, &cfg);
  }
  urma_jetty_t* make_jetty(urma_jfr_t* jfr) {
    urma_jetty_cfg_t cfg = jetty_cfg(jfr);
    return urma_create_jetty(context_, &cfg);
  }

  urma_context_t* context_ = nullptr;
  urma_jfc_t* jfc_ = nullptr;
};

TEST_F(ObjectLife, AJfsThatOptionsMadeImpossibleDoesNotBecomeActive) {
  urma_jfs_cfg_t cfg = jfs_cfg();
  urma_jfs_t* jfs = nullptr;
  ASSERT_EQ(urma_alloc_jfs(context_, &cfg, &jfs), URMA_SUCCESS);
  EXPECT_EQ(urma_deactive_jfs(jfs), URMA_EINVAL) << "it is not active";
  for (const std::uint32_t depth : {0U, 0xffffffffU, 0x80000001U}) {
    std::uint32_t wrong = depth;
    ASSERT_EQ(urma_set_jfs_opt(jfs, URMA_JFS_DEPTH, &wrong, sizeof wrong), URMA_SUCCESS);
    EXPECT_EQ(urma_active_jfs(jfs), URMA_EINVAL) << depth;
  }
  std::uint32_t depth = 32;
  ASSERT_EQ(urma_set_jfs_opt(jfs, URMA_JFS_DEPTH, &depth, sizeof depth), URMA_SUCCESS);
  std::uint8_t retries = 8;
  ASSERT_EQ(urma_set_jfs_opt(jfs, URMA_JFS_RNR_RETRY, &retries, sizeof retries), URMA_SUCCESS);
  EXPECT_EQ(urma_active_jfs(jfs), URMA_EINVAL);
  retries = 3;
  ASSERT_EQ(urma_set_jfs_opt(jfs, URMA_JFS_RNR_RETRY, &retries, sizeof retries), URMA_SUCCESS);
  urma_jfc_t* nobody = reinterpret_cast<urma_jfc_t*>(jfs);
  ASSERT_EQ(urma_set_jfs_opt(jfs, URMA_JFS_BIND_JFC, &nobody, sizeof nobody), URMA_SUCCESS);
  EXPECT_EQ(urma_active_jfs(jfs), URMA_EINVAL);
  ASSERT_EQ(urma_set_jfs_opt(jfs, URMA_JFS_BIND_JFC, &jfc_, sizeof jfc_), URMA_SUCCESS);
  ASSERT_EQ(urma_active_jfs(jfs), URMA_SUCCESS);
  EXPECT_EQ(urma_active_jfs(jfs), URMA_EEXIST);
  std::uint8_t shown = 0;
  EXPECT_EQ(urma_get_jfs_opt(jfs, URMA_JFS_RNR_RETRY, &shown, sizeof shown), URMA_SUCCESS);
  EXPECT_EQ(shown, 3);
  std::uint64_t address = 1;
  EXPECT_EQ(urma_get_jfs_opt(jfs, URMA_JFS_DB_ADDR, &address, sizeof address), URMA_SUCCESS);
  EXPECT_EQ(urma_set_jfs_opt(jfs, URMA_JFS_DEPTH, &depth, sizeof depth), URMA_ENOPERM) << "it is active";
  EXPECT_EQ(urma_get_jfs_opt(jfs, URMA_JETTY_ID, &depth, sizeof depth), URMA_EINVAL) << "of a jetty";
  EXPECT_EQ(urma_free_jfs(jfs), URMA_EAGAIN);
  ASSERT_EQ(urma_deactive_jfs(jfs), URMA_SUCCESS);
  EXPECT_EQ(urma_set_jfs_opt(jfs, URMA_JFS_DB_ADDR, &address, sizeof address), URMA_FAIL);
  ASSERT_EQ(urma_active_jfs(jfs), URMA_SUCCESS) << "again";
  EXPECT_EQ(urma_delete_jfs(jfs), URMA_SUCCESS);
  EXPECT_EQ(urma_free_jfs(jfs), URMA_EINVAL) << "it is gone";
}

TEST_F(ObjectLife, AJfrInSteps) {
  urma_jfr_cfg_t cfg = jfr_cfg();
  urma_jfr_t* jfr = nullptr;
  EXPECT_EQ(urma_alloc_jfr(context_, &cfg, nullptr), URMA_EINVAL);
  ASSERT_EQ(urma_alloc_jfr(context_, &cfg, &jfr), URMA_SUCCESS);
  std::uint8_t timer = 32;
  ASSERT_EQ(urma_set_jfr_opt(jfr, URMA_JFR_MIN_RNR_TIMER, &timer, sizeof timer), URMA_SUCCESS);
  EXPECT_EQ(urma_active_jfr(jfr), URMA_EINVAL);
  timer = 5;
  ASSERT_EQ(urma_set_jfr_opt(jfr, URMA_JFR_MIN_RNR_TIMER, &timer, sizeof timer), URMA_SUCCESS);
  EXPECT_EQ(urma_set_jfr_opt(jfr, URMA_JFR_MIN_RNR_TIMER, &timer, 4), URMA_EINVAL);
  urma_transport_mode_t mode = static_cast<urma_transport_mode_t>(3);
  ASSERT_EQ(urma_set_jfr_opt(jfr, URMA_JFR_TRANS_MODE, &mode, sizeof mode), URMA_SUCCESS);
  EXPECT_EQ(urma_active_jfr(jfr), URMA_EINVAL) << "there is no such mode";
  mode = URMA_TM_RM;
  ASSERT_EQ(urma_set_jfr_opt(jfr, URMA_JFR_TRANS_MODE, &mode, sizeof mode), URMA_SUCCESS);
  urma_sge_t piece{};
  urma_jfr_wr_t receive{};
  receive.src = {&piece, 1};
  urma_jfr_wr_t* bad = nullptr;
  EXPECT_EQ(urma_post_jfr_wr(jfr, &receive, &bad), URMA_EINVAL) << "it is not active";
  ASSERT_EQ(urma_active_jfr(jfr), URMA_SUCCESS);
  EXPECT_EQ(urma_active_jfr(jfr), URMA_EEXIST);
  std::uint32_t id = 0;
  EXPECT_EQ(urma_get_jfr_opt(jfr, URMA_JFR_ID, &id, sizeof id), URMA_SUCCESS);
  EXPECT_EQ(id, jfr->jfr_id.id);
  urma_jetty_t* const jetty = make_jetty(jfr);
  ASSERT_NE(jetty, nullptr);
  EXPECT_EQ(urma_deactive_jfr(jfr), URMA_EAGAIN) << "a jetty uses it";
  EXPECT_EQ(urma_delete_jfr(jfr), URMA_EAGAIN);
  EXPECT_EQ(urma_delete_jetty(jetty), URMA_SUCCESS);
  EXPECT_EQ(urma_free_jfr(jfr), URMA_EAGAIN) << "it is active";
  ASSERT_EQ(urma_deactive_jfr(jfr), URMA_SUCCESS);
  EXPECT_EQ(urma_deactive_jfr(jfr), URMA_EINVAL);
  EXPECT_EQ(urma_free_jfr(jfr), URMA_SUCCESS);
  EXPECT_EQ(urma_free_jfr(jfr), URMA_EINVAL);
}

TEST_F(ObjectLife, AJettyInSteps) {
  urma_jfr_t* const jfr = make_jfr();
  urma_jetty_cfg_t cfg = jetty_cfg(jfr);
  urma_jetty_t* jetty = nullptr;
  ASSERT_EQ(urma_alloc_jetty(context_, &cfg, &jetty), URMA_SUCCESS);
  urma_jfr_t* nobody = nullptr;
  ASSERT_EQ(urma_set_jetty_opt(jetty, URMA_JETTY_BIND_JFR, &nobody, sizeof nobody), URMA_SUCCESS);
  EXPECT_EQ(urma_active_jetty(jetty), URMA_EINVAL) << "without a JFR";
  urma_jfr_t* same = jfr;
  ASSERT_EQ(urma_set_jetty_opt(jetty, URMA_JETTY_BIND_JFR, &same, sizeof same), URMA_SUCCESS);
  auto* group = reinterpret_cast<urma_jetty_grp_t*>(jfr);
  ASSERT_EQ(urma_set_jetty_opt(jetty, URMA_JETTY_BIND_JTG, &group, sizeof group), URMA_SUCCESS);
  EXPECT_EQ(urma_active_jetty(jetty), URMA_EINVAL) << "that is no group";
  group = nullptr;
  ASSERT_EQ(urma_set_jetty_opt(jetty, URMA_JETTY_BIND_JTG, &group, sizeof group), URMA_SUCCESS);
  urma_jetty_flag_t flag{};
  ASSERT_EQ(urma_set_jetty_opt(jetty, URMA_JETTY_FLAG, &flag, sizeof flag), URMA_SUCCESS);
  EXPECT_EQ(urma_active_jetty(jetty), URMA_EINVAL) << "it does not share its JFR";
  flag.bs.share_jfr = 1;
  ASSERT_EQ(urma_set_jetty_opt(jetty, URMA_JETTY_FLAG, &flag, sizeof flag), URMA_SUCCESS);
  std::uint32_t id = 7;
  ASSERT_EQ(urma_set_jetty_opt(jetty, URMA_JETTY_ID, &id, sizeof id), URMA_SUCCESS);
  urma_rjetty_t* rjetty = nullptr;
  std::uint32_t length = 0;
  EXPECT_EQ(urma_get_rjetty(jetty, &rjetty, &length), URMA_EINVAL) << "it is not active";
  urma_jetty_attr_t attr{JETTY_STATE, 0, URMA_JETTY_STATE_ERROR};
  EXPECT_EQ(urma_modify_jetty(jetty, &attr), URMA_EINVAL);
  ASSERT_EQ(urma_active_jetty(jetty), URMA_SUCCESS);
  EXPECT_EQ(jetty->jetty_id.id, 7U);
  EXPECT_EQ(urma_get_jetty_opt(jetty, URMA_JETTY_ID, &id, 2), URMA_EINVAL);
  EXPECT_EQ(urma_set_jetty_opt(jetty, URMA_JETTY_ID, &id, sizeof id), URMA_ENOPERM);
  urma_jetty_t* second = nullptr;
  ASSERT_EQ(urma_alloc_jetty(context_, &cfg, &second), URMA_SUCCESS);
  ASSERT_EQ(urma_set_jetty_opt(second, URMA_JETTY_ID, &id, sizeof id), URMA_SUCCESS);
  EXPECT_EQ(urma_active_jetty(second), URMA_EEXIST) << "the number is taken";
  EXPECT_EQ(urma_free_jetty(second), URMA_SUCCESS);
  EXPECT_EQ(urma_free_jetty(jetty), URMA_EAGAIN);
  ASSERT_EQ(urma_deactive_jetty(jetty), URMA_SUCCESS);
  EXPECT_EQ(urma_deactive_jetty(jetty), URMA_EINVAL);
  EXPECT_EQ(urma_free_jetty(jetty), URMA_SUCCESS);
  EXPECT_EQ(urma_free_jetty(jetty), URMA_EINVAL);
  EXPECT_EQ(urma_delete_jfr(jfr), URMA_SUCCESS);
}

// A JFC and its channel are of one address: both are changed with that one locked.
TEST_F(ObjectLife, AJfcTakesNoChannelOfAnotherAddress) {
  char name[] = "right";
  urma_context_t* const other = urma_create_context(urma_get_device_by_name(name), 0);
  urma_jfce_t* const channel = urma_create_jfce(other);
  urma_jfc_cfg_t cfg{};
  cfg.depth = 16;
  urma_jfc_t* jfc = nullptr;
  ASSERT_EQ(urma_alloc_jfc(context_, &cfg, &jfc), URMA_SUCCESS);
  urma_jfce_t* wrong = channel;
  ASSERT_EQ(urma_set_jfc_opt(jfc, URMA_JFC_BIND_JFCE, &wrong, sizeof wrong), URMA_SUCCESS);
  EXPECT_EQ(urma_active_jfc(jfc), URMA_EINVAL);
  EXPECT_EQ(urma_free_jfc(jfc), URMA_SUCCESS);
  EXPECT_EQ(urma_delete_jfce(channel), URMA_SUCCESS);
  EXPECT_EQ(urma_delete_context(other), URMA_SUCCESS);
}

TEST_F(ObjectLife, ManyAreDeletedAtOnceUpToTheFirstThatCannotBe) {
  urma_jfr_t* jfrs[3] = {make_jfr(), make_jfr(), make_jfr()};
  urma_jetty_t* jettys[2] = {make_jetty(jfrs[1]), make_jetty(jfrs[2])};
  urma_jfr_t* bad = nullptr;
  EXPECT_EQ(urma_delete_jfr_batch(jfrs, 0, &bad), URMA_EINVAL);
  EXPECT_EQ(urma_delete_jfr_batch(jfrs, 3, nullptr), URMA_EINVAL);
  EXPECT_EQ(urma_delete_jfr_batch(jfrs, 3, &bad), URMA_EAGAIN);
  EXPECT_EQ(bad, jfrs[1]) << "a jetty uses it; the one before is gone";
  EXPECT_EQ(urma_delete_jfr(jfrs[0]), URMA_EINVAL);
  urma_jetty_t* bad_jetty = nullptr;
  EXPECT_EQ(urma_delete_jetty_batch(jettys, 2, &bad_jetty), URMA_SUCCESS);
  EXPECT_EQ(urma_delete_jetty_batch(jettys, 2, &bad_jetty), URMA_EINVAL);
  EXPECT_EQ(bad_jetty, jettys[0]) << "gone";
  EXPECT_EQ(urma_delete_jfr_batch(jfrs + 1, 2, &bad), URMA_SUCCESS);
  urma_jfs_t* jfss[2] = {make_jfs(), nullptr};
  urma_jfs_t* bad_jfs = jfss[0];
  EXPECT_EQ(urma_delete_jfs_batch(jfss, 2, &bad_jfs), URMA_EINVAL);
  EXPECT_EQ(bad_jfs, nullptr);
  urma_jfc_t* jfcs[2] = {make_jfc(), make_jfc()};
  urma_jfc_t* bad_jfc = nullptr;
  EXPECT_EQ(urma_delete_jfc_batch(jfcs, 2, &bad_jfc), URMA_SUCCESS);
  EXPECT_EQ(urma_delete_jfc_batch(jfcs, -1, &bad_jfc), URMA_EINVAL);
}

TEST_F(ObjectLife, StatesAreChangedAndAsked) {
  urma_jfs_t* const jfs = make_jfs();
  urma_jfs_cfg_t cfg{};
  urma_jfs_attr_t attr{};
  ASSERT_EQ(urma_query_jfs(jfs, &cfg, &attr), URMA_SUCCESS);
  EXPECT_EQ(cfg.depth, 16U);
  EXPECT_EQ(cfg.flag.bs.order_type, URMA_OI);
  EXPECT_EQ(attr.state, URMA_JETTY_STATE_READY);
  urma_cr_t record{};
  EXPECT_EQ(urma_flush_jfs(jfs, 1, &record), 0) << "nothing is kept";
  EXPECT_EQ(urma_flush_jfs(jfs, 0, &record), -1);
  attr = {0, URMA_JETTY_STATE_ERROR};
  EXPECT_EQ(urma_modify_jfs(jfs, &attr), URMA_EINVAL) << "no mask";
  attr = {JFS_STATE, URMA_JETTY_STATE_RESET};
  EXPECT_EQ(urma_modify_jfs(jfs, &attr), URMA_EINVAL) << "from READY";
  attr.state = URMA_JETTY_STATE_SUSPENDED;
  EXPECT_EQ(urma_modify_jfs(jfs, &attr), URMA_SUCCESS);
  EXPECT_EQ(next_record(jfc_).status, URMA_CR_WR_SUSPEND_DONE);
  EXPECT_EQ(urma_flush_jfs(jfs, 1, &record), 0);
  EXPECT_EQ(urma_flush_jfs(jfs, std::numeric_limits<int>::max(), &record), 0) << "of room for any number";
  attr.state = URMA_JETTY_STATE_ERROR;
  EXPECT_EQ(urma_modify_jfs(jfs, &attr), URMA_SUCCESS);
  ASSERT_EQ(urma_query_jfs(jfs, &cfg, &attr), URMA_SUCCESS);
  EXPECT_EQ(attr.state, URMA_JETTY_STATE_ERROR);
  attr = {JFS_STATE, URMA_JETTY_STATE_RESET};
  EXPECT_EQ(urma_modify_jfs(jfs, &attr), URMA_SUCCESS);
  EXPECT_EQ(urma_active_jfs(jfs), URMA_EEXIST) << "RESET is a state of an active queue";
  attr.state = URMA_JETTY_STATE_READY;
  EXPECT_EQ(urma_modify_jfs(jfs, &attr), URMA_SUCCESS);
  EXPECT_EQ(urma_delete_jfs(jfs), URMA_SUCCESS);

  urma_jfr_t* const jfr = make_jfr();
  urma_jfr_cfg_t receive{};
  urma_jfr_attr_t of_jfr{JFR_RX_THRESHOLD, 4, URMA_JFR_STATE_READY};
  EXPECT_EQ(urma_modify_jfr(jfr, &of_jfr), URMA_SUCCESS);
  ASSERT_EQ(urma_query_jfr(jfr, &receive, &of_jfr), URMA_SUCCESS);
  EXPECT_EQ(of_jfr.rx_threshold, 4U);
  EXPECT_EQ(of_jfr.state, URMA_JFR_STATE_READY);
  EXPECT_EQ(receive.depth, 16U);
  of_jfr = {8, 0, URMA_JFR_STATE_READY};
  EXPECT_EQ(urma_modify_jfr(jfr, &of_jfr), URMA_EINVAL) << "an unknown bit";
  of_jfr = {JFR_STATE, 0, URMA_JFR_STATE_RESET};
  EXPECT_EQ(urma_modify_jfr(jfr, &of_jfr), URMA_EINVAL) << "from READY";
  of_jfr.state = URMA_JFR_STATE_ERROR;
  EXPECT_EQ(urma_modify_jfr(jfr, &of_jfr), URMA_SUCCESS);
  of_jfr.state = URMA_JFR_STATE_READY;
  EXPECT_EQ(urma_modify_jfr(jfr, &of_jfr), URMA_EINVAL) << "RESET lies between";
  of_jfr.state = URMA_JFR_STATE_RESET;
  EXPECT_EQ(urma_modify_jfr(jfr, &of_jfr), URMA_SUCCESS);
  of_jfr.state = URMA_JFR_STATE_READY;
  EXPECT_EQ(urma_modify_jfr(jfr, &of_jfr), URMA_SUCCESS);
  EXPECT_EQ(urma_delete_jfr(jfr), URMA_SUCCESS);

  urma_jfc_attr_t moderation{JFC_MODERATE_COUNT | JFC_MODERATE_PERIOD, 8, 16};
  EXPECT_EQ(urma_modify_jfc(jfc_, &moderation), URMA_SUCCESS);
  moderation.mask = 0;
  EXPECT_EQ(urma_modify_jfc(jfc_, &moderation), URMA_EINVAL);
  moderation.mask = 4;
  EXPECT_EQ(urma_modify_jfc(jfc_, &moderation), URMA_EINVAL);
}

// [URMA API, jetty, jetty group] What cannot work together is refused as a wrong value, with a number that is
// asked for or without.
TEST_F(ObjectLife, AJettyDoesNotContradictItsReceivesAndItsGroup) {
  urma_jfr_cfg_t receive = jfr_cfg();
  receive.trans_mode = URMA_TM_RC;
  receive.flag.bs.order_type = URMA_OL;
  urma_jfr_t* const ordered = urma_create_jfr(context_, &receive);
  urma_jfr_t* const plain = make_jfr();
  receive = jfr_cfg();
  receive.flag.bs.token_policy = URMA_TOKEN_PLAIN_TEXT;
  receive.token_value.token = 5;
  urma_jfr_t* const closed = urma_create_jfr(context_, &receive);
  urma_jetty_grp_cfg_t group_cfg{};
  std::strcpy(group_cfg.name, "workers");
  group_cfg.policy = URMA_JETTY_GRP_POLICY_RR;
  urma_jetty_grp_t* const group = urma_create_jetty_grp(context_, &group_cfg);
  ASSERT_NE(group, nullptr);
  for (const std::uint32_t id : {0U, 7U}) {
    urma_jetty_cfg_t cfg = jetty_cfg(ordered);
    cfg.id = id;
    cfg.jfs_cfg.trans_mode = URMA_TM_RC;
    const auto expect_refused = [&](const char* why) {
      errno = 0;
      EXPECT_EQ(urma_create_jetty(context_, &cfg), nullptr) << why;
      EXPECT_EQ(errno, EINVAL) << why;
    };
    cfg.jfs_cfg.flag.bs.order_type = URMA_OT;
    expect_refused("another order than its receives");
    cfg.jfs_cfg.flag.bs.order_type = URMA_DEF_ORDER;
    cfg.jetty_grp = group;
    expect_refused("a member of a group is RM");
    cfg = jetty_cfg(closed);
    cfg.id = id;
    cfg.jetty_grp = group;
    expect_refused("another token than its group");
    cfg = jetty_cfg(plain);
    cfg.id = id;
    cfg.jetty_grp = group;
    urma_jetty_t* const member = urma_create_jetty(context_, &cfg);
    EXPECT_NE(member, nullptr);
    EXPECT_EQ(urma_delete_jetty(member), URMA_SUCCESS);
  }
  EXPECT_EQ(urma_delete_jetty_grp(group), URMA_SUCCESS);
  for (urma_jfr_t* const each : {ordered, plain, closed}) EXPECT_EQ(urma_delete_jfr(each), URMA_SUCCESS);
}

}  // namespace
}  // namespace wharf::live::urma
