// SPDX-License-Identifier: Apache-2.0
// Example of docs/guides/urma-ping-pong.md: the client writes into the server's memory and reads it back,
// sends a message, and gets an answer. Start it without arguments, then once more with the address of the
// first.
//
//   $ urma_ping_pong [--port PORT]
//   $ urma_ping_pong 127.0.0.1 [--port PORT]
#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <urma_api.h>

enum { kBytes = 1 << 16, kMessage = 64 };

/* What each side tells the other over TCP. */
struct address {
  urma_rjetty_t jetty;
  urma_seg_t segment;
};

struct end {
  urma_context_t* context;
  urma_jfce_t* channel;
  urma_jfc_t* queue;
  urma_jfr_t* receives;
  urma_jetty_t* jetty;
  urma_target_seg_t* segment;
  urma_target_seg_t* their_segment;
  urma_target_jetty_t* their_jetty;
  char* memory;
};

static void fail(const char* what) {
  fprintf(stderr, "urma_ping_pong: %s failed\n", what);
  exit(1);
}

static void* got(void* object, const char* what) {
  if (object == NULL) fail(what);
  return object;
}

static void done(urma_status_t status, const char* what) {
  if (status != URMA_SUCCESS) fail(what);
}

static const urma_token_t kToken = {0xACFE};

static void open_end(struct end* end) {
  urma_init_attr_t attributes = {0};
  done(urma_init(&attributes), "urma_init");
  int count = 0;
  urma_device_t** devices = got(urma_get_device_list(&count), "urma_get_device_list");
  end->context = got(urma_create_context(devices[0], 0), "urma_create_context");
  urma_free_device_list(devices);
  end->channel = got(urma_create_jfce(end->context), "urma_create_jfce");
  urma_jfc_cfg_t queue = {.depth = 256, .jfce = end->channel};
  end->queue = got(urma_create_jfc(end->context, &queue), "urma_create_jfc");
  urma_jfr_cfg_t receives = {.depth = 16,
                             .trans_mode = URMA_TM_RM,
                             .max_sge = 1,
                             .min_rnr_timer = URMA_TYPICAL_MIN_RNR_TIMER,
                             .jfc = end->queue,
                             .token_value = kToken};
  receives.flag.bs.token_policy = URMA_TOKEN_PLAIN_TEXT;
  end->receives = got(urma_create_jfr(end->context, &receives), "urma_create_jfr");
  urma_jetty_cfg_t jetty = {.jfs_cfg = {.depth = 16,
                                        .trans_mode = URMA_TM_RM,
                                        .max_sge = 1,
                                        .max_rsge = 1,
                                        .rnr_retry = URMA_TYPICAL_RNR_RETRY,
                                        .err_timeout = URMA_TYPICAL_ERR_TIMEOUT,
                                        .jfc = end->queue},
                            .shared = {.jfr = end->receives}};
  jetty.flag.bs.share_jfr = URMA_SHARE_JFR;
  end->jetty = got(urma_create_jetty(end->context, &jetty), "urma_create_jetty");
  end->memory = got(aligned_alloc(4096, kBytes), "aligned_alloc");
  memset(end->memory, 0, kBytes);
  urma_seg_cfg_t segment = {.va = (uint64_t)(uintptr_t)end->memory, .len = kBytes, .token_value = kToken};
  segment.flag.bs.token_policy = URMA_TOKEN_PLAIN_TEXT;
  segment.flag.bs.access = URMA_ACCESS_READ | URMA_ACCESS_WRITE | URMA_ACCESS_ATOMIC;
  end->segment = got(urma_register_seg(end->context, &segment), "urma_register_seg");
}

static void transfer(int socket, void* data, size_t length, int out) {
  for (size_t at = 0; at < length;) {
    const ssize_t n =
        out ? send(socket, (char*)data + at, length - at, 0) : recv(socket, (char*)data + at, length - at, 0);
    if (n <= 0) fail("the TCP connection");
    at += (size_t)n;
  }
}

/* Tells the other side what it needs, and imports what it tells. */
// guide: begin
static void meet(struct end* end, int socket) {
  struct address own = {0};
  urma_rjetty_t* jetty = NULL;
  uint32_t length = 0;
  done(urma_get_rjetty(end->jetty, &jetty, &length), "urma_get_rjetty");
  own.jetty = *jetty;
  urma_put_rjetty(jetty);
  own.segment = end->segment->seg;
  transfer(socket, &own, sizeof own, 1);
  struct address their;
  transfer(socket, &their, sizeof their, 0);
  urma_token_t token = kToken;
  urma_import_seg_flag_t flag = {0};
  end->their_segment = got(urma_import_seg(end->context, &their.segment, &token, 0, flag), "urma_import_seg");
  end->their_jetty = got(urma_import_jetty(end->context, &their.jetty, &token), "urma_import_jetty");
}
// guide: end

static void barrier(int socket) {
  char byte = 1;
  transfer(socket, &byte, 1, 1);
  transfer(socket, &byte, 1, 0);
}

// guide: begin
static void post(struct end* end, urma_opcode_t opcode, char* at, uint64_t their, uint32_t length) {
  urma_sge_t here = {.addr = (uint64_t)(uintptr_t)at, .len = length, .tseg = end->segment};
  urma_sge_t there = {.addr = their, .len = length, .tseg = end->their_segment};
  urma_jfs_wr_t wr = {.opcode = opcode, .tjetty = end->their_jetty, .user_ctx = (uint64_t)opcode};
  wr.flag.bs.complete_enable = URMA_COMPLETE_ENABLE;
  if (opcode == URMA_OPC_SEND) {
    wr.send.src = (urma_sg_t){&here, 1};
  } else {
    wr.rw.src = (urma_sg_t){opcode == URMA_OPC_READ ? &there : &here, 1};
    wr.rw.dst = (urma_sg_t){opcode == URMA_OPC_READ ? &here : &there, 1};
  }
  urma_jfs_wr_t* bad = NULL;
  done(urma_post_jetty_send_wr(end->jetty, &wr, &bad), "urma_post_jetty_send_wr");
}
// guide: end

static void post_receive(struct end* end, char* at) {
  urma_sge_t here = {.addr = (uint64_t)(uintptr_t)at, .len = kMessage, .tseg = end->segment};
  urma_jfr_wr_t wr = {.src = {&here, 1}, .user_ctx = 7};
  urma_jfr_wr_t* bad = NULL;
  done(urma_post_jetty_recv_wr(end->jetty, &wr, &bad), "urma_post_jetty_recv_wr");
}

/* Sleeps until there is a record: arm, look once more, wait. */
// guide: begin
static urma_cr_t next(struct end* end) {
  urma_cr_t record;
  for (;;) {
    int count = urma_poll_jfc(end->queue, 1, &record);
    if (count == 0) {
      done(urma_rearm_jfc(end->queue, false), "urma_rearm_jfc");
      count = urma_poll_jfc(end->queue, 1, &record);
    }
    if (count < 0) fail("urma_poll_jfc");
    if (count == 1) break;
    urma_jfc_t* ready = NULL;
    if (urma_wait_jfc(end->channel, 1, 10000, &ready) != 1) fail("urma_wait_jfc");
    uint32_t events = 1;
    urma_ack_jfc(&ready, &events, 1);
  }
  if (record.status != URMA_CR_SUCCESS) {
    fprintf(stderr, "urma_ping_pong: a request ended with status %d\n", record.status);
    exit(1);
  }
  return record;
}
// guide: end

// guide: begin
static void close_end(struct end* end) {
  done(urma_unimport_jetty(end->their_jetty), "urma_unimport_jetty");
  done(urma_unimport_seg(end->their_segment), "urma_unimport_seg");
  done(urma_unregister_seg(end->segment), "urma_unregister_seg");
  done(urma_delete_jetty(end->jetty), "urma_delete_jetty");
  done(urma_delete_jfr(end->receives), "urma_delete_jfr");
  done(urma_delete_jfc(end->queue), "urma_delete_jfc");
  done(urma_delete_jfce(end->channel), "urma_delete_jfce");
  done(urma_delete_context(end->context), "urma_delete_context");
  done(urma_uninit(), "urma_uninit");
  free(end->memory);
}
// guide: end

static void serve(struct end* end, int socket) {
  post_receive(end, end->memory + 4096);
  barrier(socket);
  urma_cr_t record = next(end); /* The message. */
  printf("server: \"%s\" from jetty %u of process %u; in memory lies \"%s\"\n", end->memory + 4096,
         record.remote_id.id, record.remote_id.uasid, end->memory);
  snprintf(end->memory + 8192, kMessage, "pong");
  post(end, URMA_OPC_SEND, end->memory + 8192, 0, kMessage);
  next(end);
  barrier(socket);
}

static void ask(struct end* end, int socket) {
  const uint64_t their = end->their_segment->seg.ubva.va;
  barrier(socket);
  snprintf(end->memory, kMessage, "written from afar");
  post(end, URMA_OPC_WRITE, end->memory, their, kMessage);
  next(end);
  post(end, URMA_OPC_READ, end->memory + 1024, their, kMessage);
  next(end);
  if (strcmp(end->memory, end->memory + 1024) != 0) fail("reading back what was written");
  post_receive(end, end->memory + 4096);
  snprintf(end->memory + 8192, kMessage, "ping");
  post(end, URMA_OPC_SEND, end->memory + 8192, 0, kMessage);
  next(end); /* The record of the Send, and the answer, in the order in which they come. */
  next(end);
  printf("client: wrote and read \"%s\", sent \"ping\", got \"%s\"\n", end->memory + 1024,
         end->memory + 4096);
  barrier(socket);
}

int main(int argc, char** argv) {
  const char* server = NULL;
  int port = 13857;
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "--port") == 0 && i + 1 < argc) {
      port = atoi(argv[++i]);
    } else {
      server = argv[i];
    }
  }
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (server != NULL && inet_pton(AF_INET, server, &address.sin_addr) != 1) fail("reading the address");
  const int on = 1;
  int socket_ = socket(AF_INET, SOCK_STREAM, 0);
  if (server == NULL) {
    setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    address.sin_addr.s_addr = htonl(INADDR_ANY);
    if (bind(socket_, (struct sockaddr*)&address, sizeof address) != 0 || listen(socket_, 1) != 0)
      fail("listening");
    socklen_t length = sizeof address;
    getsockname(socket_, (struct sockaddr*)&address, &length);
    printf("listening on port %d\n", ntohs(address.sin_port));
    fflush(stdout);
    const int listener = socket_;
    socket_ = accept(listener, NULL, NULL);
    close(listener);
  } else if (connect(socket_, (struct sockaddr*)&address, sizeof address) != 0) {
    fail("connecting");
  }
  if (socket_ < 0) fail("the TCP connection");
  struct end end = {0};
  open_end(&end);
  meet(&end, socket_);
  if (server == NULL) {
    serve(&end, socket_);
  } else {
    ask(&end, socket_);
  }
  close_end(&end);
  close(socket_);
  return 0;
}
