// SPDX-License-Identifier: Apache-2.0
// Addresses and keys, true ones and changed ones. What is taken is given to UCX, at the end of a page, in a
// process of its own: none of it may end that process.
#include "live/rdmo/peer_blobs.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "live/rdmo/child_process.h"
#include "live/rdmo/ucx_memory.h"
#include "live/rdmo/ucx_port.h"

namespace wharf::live {
namespace {

using Bytes = std::vector<std::byte>;

struct Blobs {
  Bytes address;
  Bytes key;
};

class NoMessages : public MessageTaker {
  rdmo::Taken take(ucp_ep_h, std::uint32_t, std::span<const std::byte>, const rdmo::Payload&) override {
    return rdmo::Taken::kDone;
  }
};

/// UCX's own, of a process that stays.
class Writer {
 public:
  explicit Writer(const std::string& transports)
      : child_(*Child::start([&](int report) {
          NoMessages nobody;
          const auto port = *UcxPort::create(transports, nobody);
          const auto memory = *UcxMemory::allocate(*port, 1U << 16U);
          for (const Bytes* each : {&port->address(), &memory.key()}) {
            const std::uint64_t length = each->size();
            Child::report(report, &length, sizeof length);
            Child::report(report, each->data(), length);
          }
          ::pause();
        })) {
    for (Bytes* each : {&blobs_.address, &blobs_.key}) {
      std::uint64_t length = 0;
      EXPECT_TRUE(child_.read(&length, sizeof length));
      each->resize(length);
      EXPECT_TRUE(child_.read(each->data(), length));
    }
  }
  const Blobs& blobs() const { return blobs_; }

 private:
  Child child_;
  Blobs blobs_;
};

Bytes changed(Bytes bytes, std::mt19937_64& random) {
  const auto below = [&](std::size_t most) { return static_cast<std::ptrdiff_t>(random() % most); };
  for (std::uint64_t left = 1 + random() % 3; left > 0; --left) {
    const auto size = bytes.size();
    switch (random() % 6) {
      case 0:
        bytes.resize(random() % (size + 1));
        break;
      case 1:
        bytes.insert(bytes.begin() + below(size + 1), 1 + random() % 20, std::byte(random()));
        break;
      default:
        if (size > 0) bytes[random() % size] = std::byte(random());
    }
  }
  return bytes;
}

TEST(PeerBlobs, WhatUcxWritesIsTaken) {
  const Writer plain("tcp,self");
  const Writer full("tcp,posix,sysv,cma,self");
  const auto known = PeerBlobs::learn(plain.blobs().address, plain.blobs().key);
  ASSERT_TRUE(known) << known.error().message;
  for (const Writer* each : {&plain, &full}) {
    EXPECT_TRUE(known->is_address(each->blobs().address));
    EXPECT_TRUE(known->is_key(each->blobs().key));
  }
  EXPECT_TRUE(PeerBlobs::learn(full.blobs().address, full.blobs().key));
  EXPECT_FALSE(PeerBlobs::learn(Bytes(100, std::byte{1}), plain.blobs().key)) << "another UCX";
}

TEST(PeerBlobs, WhatEndsTooEarlyOrTooLateIsRefused) {
  const Writer writer("tcp,self");
  const Blobs& blobs = writer.blobs();
  const auto known = PeerBlobs::learn(blobs.address, blobs.key);
  ASSERT_TRUE(known);
  for (std::size_t length = 0; length < blobs.address.size(); ++length)
    EXPECT_FALSE(known->is_address(std::span(blobs.address).first(length))) << length;
  for (std::size_t length = 0; length < blobs.key.size(); ++length)
    EXPECT_FALSE(known->is_key(std::span(blobs.key).first(length))) << length;
  Bytes longer = blobs.address;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(known->is_address(longer));
  longer = blobs.key;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(known->is_key(longer));
}

// UCX 1.13 ends the process of whoever gives it a cost below zero, and reads on behind what has no end.
TEST(PeerBlobs, WhatIsTakenDoesNotEndTheProcess) {
  const Writer plain("tcp,self");
  const Writer full("tcp,posix,sysv,cma,self");
  const char* const text = std::getenv("WHARF_RDMO_BLOBS");
  const int count = text == nullptr ? 300 : std::atoi(text);
  Child reader = *Child::start([&](int report) {
    NoMessages nobody;
    const auto port = *UcxPort::create("tcp,self", nobody);
    const auto known = *PeerBlobs::learn(plain.blobs().address, plain.blobs().key);
    const auto endpoint = *port->connect(plain.blobs().address);
    constexpr std::size_t kPage = 4096;
    auto* const pages = static_cast<std::byte*>(
        ::mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ::mprotect(pages + kPage, kPage, PROT_NONE);
    std::mt19937_64 random(7);
    std::uint64_t taken[2] = {};
    for (int i = 0; i < count; ++i) {
      const Blobs& from = (i % 2 == 0 ? plain : full).blobs();
      const bool address = i % 4 < 2;
      const Bytes bytes = changed(address ? from.address : from.key, random);
      if (bytes.size() > kPage || !(address ? known.is_address(bytes) : known.is_key(bytes))) continue;
      std::byte* const at = pages + kPage - bytes.size();
      std::copy(bytes.begin(), bytes.end(), at);
      ++taken[address ? 0 : 1];
      if (address) {
        const auto made = port->connect({at, bytes.size()});
        for (int rounds = 0; rounds < 5; ++rounds) port->progress();
        if (made) port->close(*made);
        ucp_ep_h failed = nullptr;
        while (port->take_failed(failed)) {
        }
      } else {
        ucp_rkey_h key = nullptr;
        if (ucp_ep_rkey_unpack(endpoint, at, &key) == UCS_OK) ucp_rkey_destroy(key);
      }
    }
    Child::report(report, taken, sizeof taken);
    ::_exit(0);  // Endpoints to nobody need not be closed.
  });
  std::uint64_t taken[2] = {};
  ASSERT_TRUE(reader.read(taken, sizeof taken)) << "UCX ended the process";
  EXPECT_GT(taken[0], 0U);
  EXPECT_GT(taken[1], 0U);
}

}  // namespace
}  // namespace wharf::live
