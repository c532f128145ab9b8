// SPDX-License-Identifier: Apache-2.0
// Records and events on their way to the program.
#include "live/urma/objects.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>

#include "live/urma/identity.h"
#include "live/urma/lives.h"

namespace wharf::live::urma {

Tables& tables() {
  // Programs may call until the very end, and when there is no memory.
  alignas(Tables) static std::byte place[sizeof(Tables)];
  static Tables* const all = ::new (place) Tables;
  return *all;
}

void signal(int descriptor) {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(descriptor, &one, sizeof one);
}

// The program may have made the descriptor block.
void quiet(int descriptor) {
  pollfd there{descriptor, POLLIN, 0};
  if (::poll(&there, 1, 0) != 1) return;
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = ::read(descriptor, &count, sizeof count);
}

urma_cr_status_t status_of(verbs::CompletionStatus status) {
  using verbs::CompletionStatus;
  switch (status) {
    case CompletionStatus::kSuccess:
      return URMA_CR_SUCCESS;
    case CompletionStatus::kUnsupportedOpcode:
      return URMA_CR_UNSUPPORTED_OPCODE_ERR;
    case CompletionStatus::kLocalLength:
      return URMA_CR_LOC_LEN_ERR;
    case CompletionStatus::kLocalOperation:
      return URMA_CR_LOC_OPERATION_ERR;
    case CompletionStatus::kLocalAccess:
      return URMA_CR_LOC_ACCESS_ERR;
    case CompletionStatus::kResponseLength:
      return URMA_CR_REM_RESP_LEN_ERR;
    case CompletionStatus::kRemoteUnsupportedRequest:
      return URMA_CR_REM_UNSUPPORTED_REQ_ERR;
    case CompletionStatus::kRemoteOperation:
      return URMA_CR_REM_OPERATION_ERR;
    case CompletionStatus::kRemoteAccess:
      return URMA_CR_REM_ACCESS_ABORT_ERR;
    case CompletionStatus::kRetryExhausted:
      return URMA_CR_ACK_TIMEOUT_ERR;
    case CompletionStatus::kReceiverNotReady:
      return URMA_CR_RNR_RETRY_CNT_EXC_ERR;
    case CompletionStatus::kFlushed:
    case CompletionStatus::kCancelled:
      return URMA_CR_WR_FLUSH_ERR;
    case CompletionStatus::kLocalPoison:
      return URMA_CR_LOC_DATA_POISON;
    case CompletionStatus::kRemotePoison:
      return URMA_CR_REM_DATA_POISON;
    case CompletionStatus::kUnhandled:
      return URMA_CR_WR_UNHANDLED;
    case CompletionStatus::kSuspendDone:
      return URMA_CR_WR_SUSPEND_DONE;
    case CompletionStatus::kFlushDone:
      return URMA_CR_WR_FLUSH_ERR_DONE;
  }
  return URMA_CR_LOC_OPERATION_ERR;
}

urma_cr_t record_of(const QueueSide& side, const verbs::Completion& completion) {
  urma_cr_t record{};
  record.status = status_of(completion.status);
  record.user_ctx = completion.id;
  record.flag.bs.s_r = completion.kind == verbs::CompletionKind::kReceive;
  record.flag.bs.jetty = side.kind == QueueSide::Kind::kJetty;
  record.flag.bs.suspend_done = completion.drain == verbs::DrainMark::kSuspendDone;
  record.flag.bs.flush_err_done = completion.drain == verbs::DrainMark::kFlushDone;
  record.completion_len = completion.length;
  record.local_id = side.id;
  if (completion.kind != verbs::CompletionKind::kReceive) return record;
  record.opcode = completion.verb == verbs::Verb::kSendImm          ? URMA_CR_OPC_SEND_WITH_IMM
                  : completion.verb == verbs::Verb::kSendInvalidate ? URMA_CR_OPC_SEND_WITH_INV
                  : completion.verb == verbs::Verb::kWriteImm       ? URMA_CR_OPC_WRITE_WITH_IMM
                                                                    : URMA_CR_OPC_SEND;
  if (completion.verb == verbs::Verb::kSendInvalidate) {
    record.invalid_token = {static_cast<std::uint32_t>(completion.immediate), {0}};
  } else {
    record.imm_data = completion.immediate;
  }
  if (const Peer* peer = side.context->interface->peer(completion.remote_host)) {
    record.remote_id.eid = eid_of(peer->endpoint.address);
    record.remote_id.uasid = peer->uasid;
    record.remote_id.id = peer->name_of(completion.remote_queue);
  }
  return record;
}

bool Jfc::grow() {
  if (count == api.jfc_cfg.depth) return false;
  const std::size_t room =
      std::min<std::size_t>(std::max<std::size_t>(ring.size() * 2, 64), api.jfc_cfg.depth);
  std::vector<urma_cr_t> grown;
  if (!attempted([&] { grown.resize(room); })) return false;
  for (std::size_t at = 0; at < count; ++at) grown[at] = ring[(head + at) % ring.size()];
  ring.swap(grown);
  head = 0;
  return true;
}

bool Jfc::push(const urma_cr_t& record, bool solicited) {
  if (count == ring.size() && !grow()) {
    // [IBTA vol 1 10.2.6] The record is lost; the program is told once.
    if (!overrun) raise(*context, URMA_EVENT_JFC_ERR, &api);
    overrun = true;
    return false;
  }
  ring[(head + count) % ring.size()] = record;
  ++count;
  if (armed == Armed::kNo) return true;
  const bool counts = armed == Armed::kAll || solicited || record.status != URMA_CR_SUCCESS;
  if (!counts) return true;
  ++unannounced;
  announce();
  return true;
}

void Jfc::announce() {
  armed = Armed::kNo;
  unannounced = 0;
  if (jfce == nullptr || signalled) return;
  jfce->add_ready(*this);
  signal(jfce->api.fd);
}

void Jfce::add_ready(Jfc& jfc) {
  jfc.signalled = true;
  jfc.next_ready = nullptr;
  (first_ready == nullptr ? first_ready : last_ready->next_ready) = &jfc;
  last_ready = &jfc;
}

Jfc* Jfce::take_ready() {
  Jfc* const taken = first_ready;
  first_ready = taken->next_ready;
  taken->signalled = false;
  return taken;
}

void Jfce::forget_ready(Jfc& jfc) {
  Jfc* before = nullptr;
  for (Jfc* each = first_ready; each != &jfc; each = each->next_ready) before = each;
  (before == nullptr ? first_ready : before->next_ready) = jfc.next_ready;
  if (last_ready == &jfc) last_ready = before;
  jfc.signalled = false;
}

void QueueSide::completed(const verbs::Completion& completion) {
  const bool receive = completion.kind == verbs::CompletionKind::kReceive;
  Jfc* const to = receive ? receive_jfc : send_jfc;
  if (to == nullptr) return;
  if (completion.drain == verbs::DrainMark::kFlushDone && !queue.parked.empty()) {
    // What waits for its process is younger than all that the engine had, and older than the mark.
    Interface& waits_at = *context->interface;
    if (completion.status == verbs::CompletionStatus::kFlushDone) {
      waits_at.flush_parked(queue, verbs::DrainMark::kNone);
    } else {
      verbs::Completion unmarked = completion;
      unmarked.drain = verbs::DrainMark::kNone;
      completed(unmarked);
      waits_at.flush_parked(queue, verbs::DrainMark::kFlushDone);
      return;
    }
  }
  const bool lost = !to->push(record_of(*this, completion), completion.solicited);
  if (!lost || kind == Kind::kJfr || state != URMA_JETTY_STATE_READY) return;
  // [IBTA vol 1 10.2.6] A queue whose record was lost cannot go on.
  Interface& interface = *context->interface;
  if (interface.engine().fail_queue(interface.now(), queue.queue).ok()) {
    happened(engine::AsyncEventKind::kQueueError);
  }
}

void QueueSide::happened(engine::AsyncEventKind what) {
  switch (what) {
    case engine::AsyncEventKind::kQueueError:
      state = URMA_JETTY_STATE_ERROR;
      queue.held = false;
      break;
    case engine::AsyncEventKind::kQueueSuspended:
      state = URMA_JETTY_STATE_SUSPENDED;
      queue.held = true;
      break;
    case engine::AsyncEventKind::kPeerUnreachable:
      // Before it was ever reached; afterwards the engine says what comes of it.
      if (state != URMA_JETTY_STATE_READY) return;
      if (change_state(*this, suspends ? URMA_JETTY_STATE_SUSPENDED : URMA_JETTY_STATE_ERROR) != URMA_SUCCESS)
        return;
      break;
    case engine::AsyncEventKind::kReceiveLimit: {
      // Choice: who set the limit is told.
      Jetty* const by = tables().jfrs.find(static_cast<urma_jfr_t*>(object))->limit_set_by;
      if (by == nullptr) {
        raise(*context, URMA_EVENT_JFR_LIMIT, object);
      } else {
        raise(*by->context, URMA_EVENT_JETTY_LIMIT, &by->api);
      }
      return;
    }
    case engine::AsyncEventKind::kCompletionError:
    case engine::AsyncEventKind::kCompletionQueueFull:
    case engine::AsyncEventKind::kCompletionReady:
    case engine::AsyncEventKind::kQueueDrained:
      return;
  }
  raise(*context,
        kind == Kind::kJetty ? URMA_EVENT_JETTY_ERR
                             : (kind == Kind::kJfs ? URMA_EVENT_JFS_ERR : URMA_EVENT_JFR_ERR),
        object);
}

void raise(Context& context, urma_async_event_type_t type, void* element) {
  urma_async_event_t event{};
  event.urma_ctx = &context.api;
  event.event_type = type;
  event.element.jetty = static_cast<urma_jetty_t*>(element);  // Of all pointers in the union.
  // Without memory the event is lost. What it is about says the same when it is used next.
  if (!attempted([&] { context.events.push_back(event); })) return;
  signal(context.api.async_fd);
}

void withdraw(Context& context, const void* element) {
  std::erase_if(context.events,
                [&](const urma_async_event_t& event) { return event.element.jetty == element; });
  if (context.events.empty()) quiet(context.api.async_fd);
}

}  // namespace wharf::live::urma
