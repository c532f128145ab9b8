// SPDX-License-Identifier: Apache-2.0
// Two threads of a program that end, use and make objects at the same time.
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <mutex>

#include "live/urma/library.h"
#include "live/urma/objects.h"
#include "live/urma/urma_test_support.h"

namespace wharf::live::urma {
namespace {

class TwoThreads : public UrmaTest {
 protected:
  /// Runs both when each has found its objects, as far as waiting a little makes sure of that, and before
  /// either has the interface.
  template <typename First, typename Second>
  static void at_once(urma_context_t* context, First&& first, Second&& second) {
    std::unique_lock lock(tables().contexts.find(context)->interface->mutex());
    std::thread one(first);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    std::thread two(second);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    lock.unlock();
    one.join();
    two.join();
  }
};

TEST_F(TwoThreads, DeleteOneChannelOnce) {
  char name[] = "left";
  urma_context_t* const context = urma_create_context(urma_get_device_by_name(name), 0);
  for (int at = 0; at < 8; ++at) {
    urma_jfce_t* const jfce = urma_create_jfce(context);
    urma_status_t status[2] = {};
    at_once(
        context, [&] { status[0] = urma_delete_jfce(jfce); }, [&] { status[1] = urma_delete_jfce(jfce); });
    EXPECT_EQ(status[0] + status[1], URMA_SUCCESS + URMA_EINVAL);
    ASSERT_EQ(tables().contexts.find(context)->children, 0U);
  }
  EXPECT_EQ(urma_delete_context(context), URMA_SUCCESS);
}

// Whoever looked the object up before it went looks once more when it has the interface.
// Which of the two comes first is open: a wait finds nothing new (0), or finds its object gone (-1).
TEST_F(TwoThreads, WaitForWhatAnotherDeletes) {
  char name[] = "left";
  urma_context_t* const context = urma_create_context(urma_get_device_by_name(name), 0);
  for (int at = 0; at < 4; ++at) {
    urma_jfce_t* const jfce = urma_create_jfce(context);
    urma_jfc_t* gone[1] = {};
    at_once(
        context, [&] { EXPECT_EQ(urma_delete_jfce(jfce), URMA_SUCCESS); },
        [&] { EXPECT_LE(urma_wait_jfc(jfce, 1, 0, gone), 0); });
    // One that sleeps there already.
    urma_jfce_t* const other = urma_create_jfce(context);
    std::thread sleeper([&] { EXPECT_EQ(urma_wait_jfc(other, 1, -1, gone), -1); });
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_EQ(urma_delete_jfce(other), URMA_SUCCESS);
    const int reused = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);  // By the number that the channel had.
    sleeper.join();
    ::close(reused);
    urma_notifier_t* const notifier = urma_create_notifier(context);
    urma_notify_t note{};
    at_once(
        context, [&] { EXPECT_EQ(urma_delete_notifier(notifier), URMA_SUCCESS); },
        [&] { EXPECT_LE(urma_wait_notify(notifier, 1, &note, 0), 0); });
    urma_jfc_cfg_t cfg{};
    cfg.depth = 64;
    urma_jfc_t* const jfc = urma_create_jfc(context, &cfg);
    urma_cr_t record{};
    at_once(
        context, [&] { EXPECT_EQ(urma_delete_jfc(jfc), URMA_SUCCESS); },
        [&] { EXPECT_LE(urma_poll_jfc(jfc, 1, &record), 0); });
  }
  EXPECT_EQ(urma_delete_context(context), URMA_SUCCESS);
}

// Either nothing can be made in it any more, or it is still used.
TEST_F(TwoThreads, MakeAnObjectInAContextThatGoes) {
  char name[] = "left";
  for (int at = 0; at < 8; ++at) {
    urma_context_t* const context = urma_create_context(urma_get_device_by_name(name), 0);
    urma_jfc_cfg_t cfg{};
    cfg.depth = 64;
    urma_jfc_t* made = nullptr;
    urma_status_t status = URMA_FAIL;
    std::atomic<bool> tried{false};
    std::unique_lock lock(tables().contexts.find(context)->interface->mutex());
    std::thread deleter([&] { status = urma_delete_context(context); });
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    std::thread maker([&] {
      made = urma_create_jfc(context, &cfg);
      tried = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    // No context ends meanwhile: whoever deletes it stays between its look and the end.
    tables().contexts.for_each([&](Context&) {
      lock.unlock();
      for (int turn = 0; turn < 50 && !tried; ++turn)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
    deleter.join();
    maker.join();
    ASSERT_EQ(made == nullptr, status == URMA_SUCCESS) << status;
    if (made == nullptr) continue;
    ASSERT_EQ(status, URMA_EAGAIN);
    EXPECT_EQ(urma_delete_jfc(made), URMA_SUCCESS);
    EXPECT_EQ(urma_delete_context(context), URMA_SUCCESS);
  }
}

// An event wakes all who wait, and one of them takes it: the others wait on, as long as they said.
TEST_F(TwoThreads, WaitForEventsOfWhichEachTakesOne) {
  using Clock = std::chrono::steady_clock;
  char name[] = "left";
  urma_context_t* const context = urma_create_context(urma_get_device_by_name(name), 0);
  urma_jfce_t* const jfce = urma_create_jfce(context);
  urma_jfc_cfg_t cfg{};
  cfg.depth = 64;
  cfg.jfce = jfce;
  urma_jfc_t* const jfc = urma_create_jfc(context, &cfg);
  std::mutex& interface = tables().contexts.find(context)->interface->mutex();
  const auto wait = [&](int time_out) {
    urma_jfc_t* ready[1] = {};
    return urma_wait_jfc(jfce, 1, time_out, ready);
  };
  const auto raise_one = [&] {
    const std::lock_guard lock(interface);
    signal(jfce->fd);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // All are awake, and want the interface.
    tables().jfces.find(jfce)->add_ready(*tables().jfcs.find(jfc));
  };
  int taken[2] = {};
  Clock::duration took[2] = {};
  const auto waiter = [&](int at, int time_out) {
    const auto begun = Clock::now();
    taken[at] = wait(time_out);
    took[at] = Clock::now() - begun;
  };
  {
    std::thread one(waiter, 0, 300);
    std::thread two(waiter, 1, 300);
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    raise_one();
    one.join();
    two.join();
    EXPECT_EQ(taken[0] + taken[1], 1);
    EXPECT_GE(taken[0] == 0 ? took[0] : took[1], std::chrono::milliseconds(300));
  }
  {
    std::thread one(waiter, 0, -1);
    std::thread two(waiter, 1, -1);
    for (int at = 0; at < 2; ++at) {
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
      raise_one();
    }
    one.join();
    two.join();
    EXPECT_EQ(taken[0], 1) << "-1 is for ever";
    EXPECT_EQ(taken[1], 1) << "-1 is for ever";
  }
  urma_jfc_t* acknowledged[1] = {jfc};
  std::uint32_t events[1] = {3};
  urma_ack_jfc(acknowledged, events, 1);
  EXPECT_EQ(urma_delete_jfc(jfc), URMA_SUCCESS);
  EXPECT_EQ(urma_delete_jfce(jfce), URMA_SUCCESS);
  EXPECT_EQ(urma_delete_context(context), URMA_SUCCESS);
}

TEST_F(TwoThreads, WaitForNotesOfWhichEachTakesOne) {
  char name[] = "left";
  urma_context_t* const context = urma_create_context(urma_get_device_by_name(name), 0);
  urma_notifier_t* const notifier = urma_create_notifier(context);
  std::mutex& interface = tables().contexts.find(context)->interface->mutex();
  int taken[2] = {};
  const auto waiter = [&](int at) {
    urma_notify_t note{};
    taken[at] = urma_wait_notify(notifier, 1, &note, -1);
  };
  std::thread one(waiter, 0);
  std::thread two(waiter, 1);
  for (int at = 0; at < 2; ++at) {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    const std::lock_guard lock(interface);
    signal(notifier->fd);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    tables().notifiers.find(notifier)->notes.emplace_back();
  }
  one.join();
  two.join();
  EXPECT_EQ(taken[0], 1);
  EXPECT_EQ(taken[1], 1);
  EXPECT_EQ(urma_delete_notifier(notifier), URMA_SUCCESS);
  EXPECT_EQ(urma_delete_context(context), URMA_SUCCESS);
}

// The child walks through devices, interfaces and objects: none of them is half made.
TEST_F(TwoThreads, ForkWhenNothingIsHalfMade) {
  std::atomic<bool> forked{false};
  std::atomic<int> status{-1};
  std::unique_lock lock(Library::get().mutex());  // As urma_init() or urma_create_context() has it.
  std::thread other([&] {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(urma_init(nullptr) == URMA_SUCCESS ? 0 : 1);
    forked = true;
    int ended = 0;
    ::waitpid(child, &ended, 0);
    status = ended;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(forked);
  lock.unlock();
  other.join();
  EXPECT_EQ(status, 0);
  char name[] = "left";
  urma_context_t* const context = urma_create_context(urma_get_device_by_name(name), 0);
  ASSERT_NE(context, nullptr);
  EXPECT_EQ(urma_delete_context(context), URMA_SUCCESS);
}

TEST_F(TwoThreads, BindAJettyToATargetThatGoes) {
  End left({.mode = URMA_TM_RC});
  End right({.device = "right", .mode = URMA_TM_RC});
  for (int at = 0; at < 8; ++at) {
    urma_rjetty_t* rjetty = nullptr;
    std::uint32_t length = 0;
    ASSERT_EQ(urma_get_rjetty(right.jetty, &rjetty, &length), URMA_SUCCESS);
    urma_token_t none{0};
    urma_target_jetty_t* const target = urma_import_jetty(left.context, rjetty, &none);
    urma_put_rjetty(rjetty);
    at_once(
        left.context, [&] { EXPECT_EQ(urma_unimport_jetty(target), URMA_SUCCESS); },
        [&] { urma_bind_jetty(left.jetty, target); });
    ASSERT_EQ(left.jetty->remote_jetty, nullptr);
    ASSERT_EQ(tables().jettys.find(left.jetty)->bound, nullptr);
  }
}

// Of all objects of a kind an import that ends looks at those of other addresses too.
TEST(ObjectTables, ShowAnObjectWhenItIsReady) {
  struct Object {
    int* context = nullptr;
  };
  ObjectTable<Object, 1024> table;
  int context = 0;
  std::atomic<bool> looked{false};
  std::thread other;
  Object* const made = table.make([&](Object& object) {
    EXPECT_EQ(table.find(&object), nullptr);
    other = std::thread([&] {
      table.for_each([&](Object& each) { EXPECT_EQ(each.context, &context); });
      looked = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    object.context = &context;
  });
  other.join();
  EXPECT_TRUE(looked);
  ASSERT_NE(made, nullptr);
  EXPECT_EQ(table.find(made), made);
  EXPECT_TRUE(table.end(made));
  EXPECT_FALSE(table.end(made));
  table.for_each([](Object&) { ADD_FAILURE() << "it has ended"; });
}

TEST_F(TwoThreads, MakeJettysAndEndImportsOfAnotherAddress) {
  End left;
  End right({.device = "right"});
  urma_rjetty_t* rjetty = nullptr;
  std::uint32_t length = 0;
  ASSERT_EQ(urma_get_rjetty(right.jetty, &rjetty, &length), URMA_SUCCESS);
  std::atomic<bool> done{false};
  std::thread maker([&] {
    for (int at = 0; at < 2000; ++at) {
      urma_jetty_cfg_t cfg = right.jetty->jetty_cfg;
      urma_jetty_t* const made = urma_create_jetty(right.context, &cfg);
      EXPECT_NE(made, nullptr);
      EXPECT_EQ(urma_delete_jetty(made), URMA_SUCCESS);
    }
    done = true;
  });
  while (!done) {
    urma_token_t none{0};
    urma_target_jetty_t* const target = urma_import_jetty(left.context, rjetty, &none);
    EXPECT_EQ(urma_unimport_jetty(target), URMA_SUCCESS);
  }
  maker.join();
  urma_put_rjetty(rjetty);
}

}  // namespace
}  // namespace wharf::live::urma
