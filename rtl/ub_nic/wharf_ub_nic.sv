// SPDX-License-Identifier: Apache-2.0
// A NIC of the Unified Bus: doorbells in, frames out and back, memory behind it. This file shows the graph of its
// elements; what each does stands in its folder. Description: README.md.
module wharf_ub_nic #(
  parameter int unsigned Jetties     = 1024,  // A power of two from 2.
  parameter int unsigned QueueDepth  = 4,     // Requests of a jetty that wait for their turn, and as many for a response.
  parameter int unsigned Segments    = 1024,  // A power of two from 2.
  parameter int unsigned Mtu         = 1024,  // Data of a packet: a power of two from 128 to 4096.
  parameter int unsigned Window      = 64,    // Packets outstanding: a power of two.
  parameter int unsigned SendFlits   = 512,   // Flits kept until they are acknowledged,
  parameter int unsigned ReceiveFlits = 2048, // and between the wire and memory: powers of two. All that the peer may send.
  parameter int unsigned Responses   = 64,    // Requests outstanding at most, here and at the peer: a power of two.
  parameter int unsigned Completions = 4096,  // Entries of the ring in memory: a power of two.
  parameter int unsigned Timeout     = 6400,  // Cycles until packets are sent again.
  parameter int unsigned ReceiveDepth = 4,    // Receives of a jetty that wait: a power of two.
  parameter int unsigned DelayUnit   = 2500,  // Cycles of ten microseconds: what a peer that is not ready counts in.
  parameter int unsigned NotReadyCode     = 12,  // The delay that this side asks for: 0 to 31.
  parameter int unsigned NotReadyAttempts = 7,   // How often one that was not ready is asked again: 0 to 6, or 7 for ever.
  parameter int unsigned PageFaultCode     = 5,  // The same for a page that was missing at the peer,
  parameter int unsigned PageFaultAttempts = 16  // 0 to 31 times.
) (
  input  logic                        clk_i,
  input  logic                        rst_i,
  input  wharf_pkg::ub_route_t        route_i,
  input  logic [57:0]                 ring_i,          // First line of the ring of completions.

  // What the host sets. Always taken.
  input  logic                        open_valid_i,
  input  logic [$clog2(Jetties)-1:0]  open_jetty_i,
  input  logic                        open_value_i,
  input  logic [31:0]                 open_token_i,    // Of the jetty: Sends must show it, if it is not 0.
  input  logic                        segment_valid_i,
  input  logic [$clog2(Segments)-1:0] segment_index_i,
  input  wharf_pkg::ub_segment_t      segment_i,
  input  logic                        consumed_i,      // It has taken a completion.

  input  logic                        doorbell_valid_i,
  output logic                        doorbell_ready_o,
  input  logic [19:0]                 doorbell_jetty_i,
  input  wharf_pkg::nic_request_t     doorbell_i,
  output logic                        doorbell_refused_o,

  // Receives for Sends and immediates.
  input  logic                        post_valid_i,
  output logic                        post_ready_o,
  input  logic [19:0]                 post_jetty_i,
  input  wharf_pkg::nic_receive_t     post_i,
  output logic                        post_refused_o,

  // The wire: frames without their check sequence.
  output logic                        tx_valid_o,
  input  logic                        tx_ready_i,
  output logic [511:0]                tx_data_o,
  output logic [6:0]                  tx_bytes_o,
  output logic                        tx_last_o,
  input  logic                        rx_valid_i,      // Always taken.
  input  logic [511:0]                rx_data_i,
  input  logic [6:0]                  rx_bytes_i,
  input  logic                        rx_last_i,
  input  logic                        rx_bad_i,

  // Host memory: lines, in order.
  output logic                        memory_valid_o,
  input  logic                        memory_ready_i,
  output wharf_pkg::memory_request_t  memory_o,
  input  logic                        answer_valid_i,  // Always taken.
  input  logic                        answer_tag_i,
  input  logic [511:0]                answer_data_i,

  output logic                        failed_o,        // The channel has given up; only a reset helps.
  output wharf_pkg::nic_counters_t    counters_o,
  // For measuring: which stages show a beat. From bit 0, of the way out: request, job, headers, frame, kept, wire; of the
  // way in: frame, packet, packet at work, memory.
  output logic [9:0]                  stages_o
);
  localparam int unsigned LengthW     = $clog2(Mtu) + 1;
  localparam int unsigned PacketFlits = (42 + 80 + Mtu + 63) / 64;
  localparam int unsigned JettyW      = $clog2(Jetties);
  localparam int unsigned RequestW    = wharf_pkg::NicRequestW;
  localparam int unsigned EntryW      = wharf_pkg::NicTransactionW;
  localparam int unsigned JobW        = wharf_pkg::UbJobW;
  localparam int unsigned MemoryW     = wharf_pkg::MemoryRequestW;
  if (Mtu > 4096) begin : gen_refuse
    $error("wharf_ub_nic: Mtu must be at most 4096");
  end
  // The peer may have as many packets outstanding, each as long as can be, and as many acknowledgements of one flit.
  if (ReceiveFlits < Window * (PacketFlits + 1)) begin : gen_refuse_receive
    $error("wharf_ub_nic: ReceiveFlits must hold Window packets of Mtu bytes and as many acknowledgements");
  end
  if (NotReadyCode > 31 || NotReadyAttempts > 7 || PageFaultCode > 31 || PageFaultAttempts > 31) begin : gen_refuse_delay
    $error("wharf_ub_nic: codes of delays and PageFaultAttempts must be at most 31, NotReadyAttempts at most 7");
  end

  // ================================================================ From the doorbell to jobs

  // A request that no packet can carry never enters a queue.
  logic end_valid, end_known, end_ordered, end_fetches;  // A transaction is over.
  logic forgotten, dropped;                              // A response that nobody waits for.
  logic is_request, table_ready, table_refused;
  always_comb begin
    unique case (doorbell_i.operation)
      wharf_pkg::OperationSend, wharf_pkg::OperationSendImmediate, wharf_pkg::OperationWrite,
      wharf_pkg::OperationWriteImmediate: is_request = !doorbell_i.is_inline || doorbell_i.length <= 32'd16;
      wharf_pkg::OperationRead:  is_request = !doorbell_i.is_inline;
      // Atomics; others are none.
      default: is_request = doorbell_i.operation >= wharf_pkg::OperationCompareSwap && !doorbell_i.is_inline &&
                            doorbell_i.length == 32'd8;
    endcase
  end
  assign doorbell_ready_o   = table_ready;
  assign doorbell_refused_o = table_refused || (doorbell_valid_i && table_ready && !is_request);

  logic                    turn_valid, turn_ready, request_valid, request_ready;
  logic [JettyW-1:0]       turn_jetty, request_jetty;
  wharf_pkg::nic_request_t turn, request;
  wharf_jetty_table #(.Jetties(Jetties), .Depth(QueueDepth), .RequestW(RequestW)) jetty_table (
    .clk_i, .rst_i, .open_valid_i, .open_jetty_i, .open_value_i,
    .doorbell_valid_i(doorbell_valid_i && is_request), .doorbell_ready_o(table_ready), .doorbell_jetty_i,
    .doorbell_request_i(doorbell_i), .doorbell_order_i(doorbell_i.order), .doorbell_fence_i(doorbell_i.fence),
    .doorbell_fetches_i(doorbell_i.operation >= wharf_pkg::OperationRead), .doorbell_refused_o(table_refused),
    .request_valid_o(turn_valid), .request_ready_i(turn_ready), .request_jetty_o(turn_jetty), .request_o(turn),
    .done_valid_i(end_valid && end_known), .done_jetty_i(work.requester_id[JettyW-1:0]), .done_ordered_i(end_ordered),
    .done_fetches_i(end_fetches)
  );

  // The peer must have room for all its responses at any time. Else requests that it cannot take would stand, in both
  // directions, before the responses that make room. A request has its credit until it is
  // answered, one that is forgotten too; no other response gives one.
  localparam int unsigned CreditW = $clog2(Responses + 1);
  logic               credit_error;
  logic [CreditW-1:0] credits_left;
  wharf_credits #(.Limit(Responses), .Width(JettyW + RequestW)) outstanding_requests (
    .clk_i, .rst_i,
    .in_valid_i(turn_valid), .in_ready_o(turn_ready), .in_data_i({turn_jetty, turn}),
    .out_valid_o(request_valid), .out_ready_i(request_ready), .out_data_o({request_jetty, request}),
    .give_valid_i(end_valid), .give_count_i(CreditW'(1)), .error_o(credit_error), .credits_o(credits_left)
  );

  logic                        begin_ready, find_valid, found_valid, found_known, found_held, found_lost, jobs_ready, again_valid, keep_valid;
  logic [15:0]                 tassn;
  logic [EntryW-1:0]           found, again_entry;
  wharf_pkg::ub_headers_t      heard, work;  // The packet that the codec shows, and the one at work.
  assign request_ready = begin_ready && jobs_ready;
  wharf_transaction_table #(.Jetties(Jetties), .Depth(QueueDepth), .EntryW(EntryW)) transaction_table (
    .clk_i, .rst_i, .open_valid_i, .open_jetty_i,
    .begin_valid_i(request_valid && jobs_ready), .begin_ready_o(begin_ready), .begin_jetty_i(request_jetty),
    .begin_entry_i({(EntryW - RequestW)'(0), request}), .begin_number_o(tassn),
    .find_valid_i(find_valid), .find_jetty_i(heard.requester_id), .find_number_i(heard.tassn),
    .found_valid_o(found_valid), .found_known_o(found_known), .found_held_o(found_held), .found_lost_o(found_lost),
    .found_entry_o(found),
    .end_valid_i(end_valid), .keep_valid_i(keep_valid), .again_valid_i(again_valid), .again_entry_i(again_entry),
    .resume_valid_i(retry_valid && retry_taken), .resume_ready_o(resume_ready), .resume_jetty_i(retry_jetty[JettyW-1:0]),
    .resume_number_i(retry_tassn)
  );

  // Requests that the peer could not take yet. Each has its credit and is there once, so there is room for all that
  // a peer can honestly refuse.
  logic                    retry_valid, retry_taken, resume_ready, retry_room;
  logic [4:0]              again_code;
  logic [19:0]             retry_jetty;
  logic [15:0]             retry_tassn;
  wharf_pkg::nic_request_t retry;
  wharf_retry_queue #(.Depth(Responses), .EntryW(RequestW + 36), .Unit(DelayUnit)) retry_queue (
    .clk_i, .rst_i,
    .in_valid_i(again_valid), .in_ready_o(retry_room), .in_code_i(again_code),
    .in_entry_i({work.requester_id, work.tassn, again_entry[RequestW-1:0]}),
    .out_valid_o(retry_valid), .out_ready_i(retry_taken && resume_ready), .out_entry_o({retry_jetty, retry_tassn, retry})
  );

  wharf_pkg::ub_job_t request_job, retry_job, response_job, queued_job, job;
  wharf_ub_request_job fresh_request (
    .request_i(request), .jetty_i(20'(request_jetty)), .tassn_i(tassn), .retry_i(1'b0), .job_o(request_job)
  );
  wharf_ub_request_job retried_request (
    .request_i(retry), .jetty_i(retry_jetty), .tassn_i(retry_tassn), .retry_i(1'b1), .job_o(retry_job)
  );

  logic response_valid, response_room, queued_valid, queued_ready, job_valid, job_ready;
  logic [1:0] job_source;
  logic [$clog2(Responses):0] responses;
  logic [2:0] responses_waiting;  // The last ones, whose data memory does not have yet.
  logic       may_answer;
  assign may_answer = queued_valid && 32'(responses) != 32'(responses_waiting);
  wharf_fifo #(.Width(JobW), .Depth(Responses)) response_queue (
    .clk_i, .rst_i,
    .in_valid_i(response_valid), .in_ready_o(response_room), .in_data_i(response_job),
    .out_valid_o(queued_valid), .out_ready_i(queued_ready), .out_data_o(queued_job), .level_o(responses)
  );
  wharf_merge #(.Width(JobW), .Ports(3)) jobs (
    .clk_i, .rst_i,
    .in_valid_i({retry_valid && resume_ready, may_answer, request_valid && begin_ready}),
    .in_ready_o({retry_taken, queued_ready, jobs_ready}), .in_data_i({retry_job, queued_job, request_job}),
    .out_valid_o(job_valid), .out_ready_i(job_ready), .out_data_o(job), .out_port_o(job_source)
  );

  // ================================================================ From jobs to the wire

  logic                   number_valid, number_ready, send_valid, send_ready, about_valid, about_ready, about_inline;
  logic [23:0]            number;
  wharf_pkg::ub_headers_t send_headers;
  logic [LengthW-1:0]     send_length, about_length, ask_length;
  logic [127:0]           about_data;
  logic                   ask_valid, ask_ready;
  logic [63:0]            ask_address;
  wharf_ub_packetizer #(.Mtu(Mtu), .LengthW(LengthW)) packetizer (
    .clk_i, .rst_i, .route_i,
    .job_valid_i(job_valid), .job_ready_o(job_ready), .job_i(job),
    .number_valid_i(number_valid), .number_ready_o(number_ready), .number_i(number),
    .send_valid_o(send_valid), .send_ready_i(send_ready), .send_headers_o(send_headers), .send_length_o(send_length),
    .about_valid_o(about_valid), .about_ready_i(about_ready), .about_length_o(about_length),
    .about_inline_o(about_inline), .about_data_o(about_data),
    .ask_valid_o(ask_valid), .ask_ready_i(ask_ready), .ask_address_o(ask_address), .ask_length_o(ask_length)
  );

  logic               data_valid, data_ready, data_last;
  logic [511:0]       data_flit;
  logic [6:0]         data_bytes;
  logic               fetch_valid, fetch_ready;
  logic [57:0]        fetch_line;
  wharf_memory_reader #(.LengthW(LengthW), .Lines(32)) reader (
    .clk_i, .rst_i,
    .ask_valid_i(ask_valid), .ask_ready_o(ask_ready), .ask_address_i(ask_address), .ask_length_i(ask_length),
    .line_valid_o(fetch_valid), .line_ready_i(fetch_ready), .line_o(fetch_line),
    .answer_valid_i(answer_valid_i && !answer_tag_i), .answer_data_i,
    .out_valid_o(data_valid), .out_ready_i(data_ready), .out_data_o(data_flit), .out_bytes_o(data_bytes),
    .out_last_o(data_last)
  );

  logic               made_valid, made_ready, head_valid, head_ready, read_valid, read_ready;
  logic [639:0]       made_bytes, head_bytes;
  logic [6:0]         made_start, read_start;
  logic [1:0]         made_pad, read_pad;
  logic [3:0]         read_drop;
  logic [LengthW-1:0] head_length, read_length;
  wharf_ub_codec #(.LengthW(LengthW)) codec (
    .clk_i, .rst_i,
    .wire_valid_i(head_valid), .wire_ready_o(head_ready), .wire_length_i(head_length), .wire_bytes_i(head_bytes),
    .read_valid_o(read_valid), .read_ready_i(read_ready), .read_drop_o(read_drop), .read_headers_o(heard),
    .read_start_o(read_start), .read_payload_o(read_length), .read_pad_o(read_pad),
    .send_valid_i(send_valid), .send_ready_o(send_ready), .send_headers_i(send_headers), .send_payload_i(send_length),
    .made_valid_o(made_valid), .made_ready_i(made_ready), .made_bytes_o(made_bytes), .made_start_o(made_start),
    .made_pad_o(made_pad)
  );

  logic         frame_valid, frame_ready, frame_last;
  logic [511:0] frame_data;
  logic [6:0]   frame_bytes;
  wharf_frame_writer #(.LengthW(LengthW)) frame_writer (
    .clk_i, .rst_i, .route_i(route_i.network), .service_i(8'd0),
    .made_valid_i(made_valid), .made_ready_o(made_ready), .made_bytes_i(made_bytes), .made_start_i(made_start),
    .made_pad_i(made_pad),
    .about_valid_i(about_valid), .about_ready_o(about_ready), .about_length_i(about_length),
    .about_inline_i(about_inline), .about_data_i(about_data),
    .data_valid_i(data_valid), .data_ready_o(data_ready), .data_flit_i(data_flit),
    .out_valid_o(frame_valid), .out_ready_i(frame_ready), .out_data_o(frame_data), .out_bytes_o(frame_bytes),
    .out_last_o(frame_last)
  );

  logic         kept_valid, kept_ready, kept_last, ack_valid, ack_back, ack_inside, ack_refused, progress, sends, outstanding;
  logic         again, exhausted, timer_runs, back;
  logic [511:0] kept_data;
  logic [6:0]   kept_bytes;
  logic [23:0]  ack_number;
  logic [3:0]   attempts;
  assign back = again || (ack_inside && ack_back);
  wharf_tp_channel #(.Window(Window), .Flits(SendFlits), .PacketFlits(PacketFlits)) channel (
    .clk_i, .rst_i,
    .number_valid_o(number_valid), .number_ready_i(number_ready), .number_o(number),
    .in_valid_i(frame_valid), .in_ready_o(frame_ready), .in_data_i(frame_data), .in_bytes_i(frame_bytes),
    .in_last_i(frame_last),
    .out_valid_o(kept_valid), .out_ready_i(kept_ready), .out_data_o(kept_data), .out_bytes_o(kept_bytes),
    .out_last_o(kept_last),
    .ack_valid_i(ack_valid), .ack_number_i(ack_number), .ack_missing_i(ack_back), .ack_inside_o(ack_inside),
    .ack_refused_o(ack_refused), .ack_progress_o(progress),
    .back_valid_i(back), .sends_o(sends), .outstanding_o(outstanding)
  );
  wharf_retransmission_timer #(.Base(Timeout)) timer (
    .clk_i, .rst_i, .progress_i(progress), .outstanding_i(outstanding), .stop_i(1'b0), .start_i(sends),
    .again_o(again), .exhausted_o(exhausted), .running_o(timer_runs), .attempts_o(attempts)
  );

  logic         due, due_taken, due_negative;
  logic [23:0]  due_number, due_tpmsn;
  wharf_ub_wire wire_end (
    .clk_i, .rst_i, .route_i,
    .due_i(due), .due_taken_o(due_taken), .due_negative_i(due_negative), .due_number_i(due_number),
    .due_tpmsn_i(due_tpmsn),
    .in_valid_i(kept_valid), .in_ready_o(kept_ready), .in_data_i(kept_data), .in_bytes_i(kept_bytes),
    .in_last_i(kept_last),
    .tx_valid_o, .tx_ready_i, .tx_data_o, .tx_bytes_o, .tx_last_o
  );

  // ================================================================ From the wire to memory and back

  logic               take_valid, take_ready, take_data, foreign, no_room, got_valid, got_ready, got_last;
  logic [6:0]         take_start, got_bytes;
  logic [LengthW-1:0] take_length;
  logic [511:0]       got_flit;
  // What the peer may have outstanding finds room, and as many acknowledgements.
  wharf_frame_reader #(
    .LengthW(LengthW), .Flits(ReceiveFlits), .PacketFlits(PacketFlits), .Frames(2 * Window)
  ) frame_reader (
    .clk_i, .rst_i, .route_i(route_i.network),
    .wire_valid_i(rx_valid_i), .wire_data_i(rx_data_i), .wire_bytes_i(rx_bytes_i), .wire_last_i(rx_last_i),
    .wire_bad_i(rx_bad_i), .foreign_o(foreign), .no_room_o(no_room),
    .head_valid_o(head_valid), .head_ready_i(head_ready), .head_length_o(head_length), .head_bytes_o(head_bytes),
    .take_valid_i(take_valid), .take_ready_o(take_ready), .take_data_i(take_data), .take_start_i(take_start),
    .take_length_i(take_length),
    .data_valid_o(got_valid), .data_ready_i(got_ready), .data_flit_o(got_flit), .data_bytes_o(got_bytes),
    .data_last_o(got_last)
  );

  logic       asks, granted_valid, write_valid, write_ready, write_swaps, store_valid, store_ready, store_last;
  logic       line_valid, line_ready, completion_valid, completion_ready;
  logic       malformed, unknown, duplicate, ahead, deferred, refused, odd_ack;
  logic       written, receiver_busy;
  logic [1:0] asked_right;
  logic [2:0] granted;
  logic [63:0] write_address;
  wharf_pkg::memory_request_t line, store_line, report_line, fetch;
  wharf_pkg::nic_completion_t completion;
  logic       wants_receive, receive_checks, receive_valid, not_ready;
  logic [19:0] receive_jetty;
  logic [1:0] receive_result;
  wharf_pkg::nic_receive_t receive;
  wharf_ub_receiver #(
    .LengthW(LengthW), .Reach(Window < 64 ? 64 : Window), .NotReadyCode(NotReadyCode), .NotReadyAttempts(NotReadyAttempts), .PageFaultCode(PageFaultCode),
    .PageFaultAttempts(PageFaultAttempts)
  ) receiver (
    .clk_i, .rst_i, .route_i, .opening_i(open_valid_i),
    .read_valid_i(read_valid), .read_ready_o(read_ready), .read_drop_i(read_drop), .read_headers_i(heard),
    .read_start_i(read_start), .read_length_i(read_length), .work_o(work), .busy_o(receiver_busy),
    .take_valid_o(take_valid), .take_ready_i(take_ready), .take_data_o(take_data), .take_start_o(take_start),
    .take_length_o(take_length),
    .ack_valid_o(ack_valid), .ack_number_o(ack_number), .ack_back_o(ack_back), .odd_ack_o(odd_ack),
    .due_o(due), .due_taken_i(due_taken), .due_negative_o(due_negative), .due_number_o(due_number),
    .due_tpmsn_o(due_tpmsn),
    .ask_valid_o(asks), .ask_right_o(asked_right), .answer_i(granted), .changing_i(segment_valid_i),
    .find_valid_o(find_valid), .found_valid_i(found_valid), .found_known_i(found_known),
    .found_lost_i(found_lost), .found_i(found),
    .end_valid_o(end_valid), .end_known_o(end_known), .end_ordered_o(end_ordered), .end_fetches_o(end_fetches),
    .keep_valid_o(keep_valid), .again_room_i(retry_room), .again_valid_o(again_valid), .again_code_o(again_code),
    .again_entry_o(again_entry),
    .want_valid_o(wants_receive), .want_jetty_o(receive_jetty), .want_checks_o(receive_checks), .taken_valid_i(receive_valid),
    .taken_result_i(receive_result), .taken_i(receive),
    .write_valid_o(write_valid), .write_ready_i(write_ready), .write_address_o(write_address),
    .write_swaps_o(write_swaps), .written_i(written),
    .line_valid_o(line_valid), .line_ready_i(line_ready), .line_o(line),
    .line_answer_valid_i(answer_valid_i && answer_tag_i), .line_answer_i(answer_data_i),
    .job_valid_o(response_valid), .waiting_o(responses_waiting), .job_room_i(response_room), .job_o(response_job),
    .completion_valid_o(completion_valid), .completion_ready_i(completion_ready), .completion_o(completion),
    .malformed_o(malformed), .unknown_o(unknown), .duplicate_o(duplicate), .ahead_o(ahead), .deferred_o(deferred),
    .refused_o(refused), .not_ready_o(not_ready), .forgotten_o(forgotten),
    .dropped_o(dropped)
  );
  wharf_receive_table #(.Jetties(Jetties), .Depth(ReceiveDepth), .EntryW(wharf_pkg::NicReceiveW)) receive_table (
    .clk_i, .rst_i, .open_valid_i, .open_jetty_i, .open_value_i, .open_token_i,
    .post_valid_i, .post_ready_o, .post_jetty_i, .post_entry_i(post_i), .post_refused_o,
    .take_valid_i(wants_receive), .take_jetty_i(receive_jetty), .take_checks_i(receive_checks),
    .take_token_i(work.token_value),
    .taken_valid_o(receive_valid), .taken_result_o(receive_result), .taken_entry_o(receive)
  );
  wharf_segment_table #(.Segments(Segments)) segment_table (
    .clk_i, .rst_i, .set_valid_i(segment_valid_i), .set_index_i(segment_index_i), .set_segment_i(segment_i),
    .ask_valid_i(asks), .ask_token_id_i(heard.token_id), .ask_token_value_i(heard.token_value),
    .ask_right_i(asked_right), .ask_address_i(heard.address), .ask_length_i(heard.length),
    .answer_valid_o(granted_valid), .answer_o(granted)
  );

  // An operand is big-endian on the wire and little-endian in memory. When its data comes the next packet is at work.
  logic         swaps_q;
  always_ff @(posedge clk_i) if (write_valid && write_ready) swaps_q <= write_swaps;
  logic [511:0] turned_flit, store_data;
  logic [63:0]  store_enable, report_enable;
  logic [57:0]  store_at, report_at;
  logic [511:0] report_data;
  always_comb begin
    turned_flit = got_flit;
    for (int unsigned i = 0; i < 8; i++) if (swaps_q) turned_flit[511-8*i -: 8] = got_flit[448+8*i +: 8];
  end
  wharf_memory_writer #(.LengthW(LengthW)) writer (
    .clk_i, .rst_i,
    .start_valid_i(write_valid), .start_ready_o(write_ready), .start_address_i(write_address),
    .start_length_i(take_length),
    .in_valid_i(got_valid), .in_ready_o(got_ready), .in_data_i(turned_flit),
    .line_valid_o(store_valid), .line_ready_i(store_ready), .line_o(store_at), .line_data_o(store_data),
    .line_enable_o(store_enable), .line_last_o(store_last)
  );
  logic report_valid, report_ready, completion_lost;
  wharf_completion_writer #(.Entries(Completions)) completion_writer (
    .clk_i, .rst_i, .base_i(ring_i),
    .in_valid_i(completion_valid), .in_ready_o(completion_ready), .in_i(completion), .overrun_o(completion_lost),
    .consumed_i,
    .line_valid_o(report_valid), .line_ready_i(report_ready), .line_o(report_at), .line_data_o(report_data),
    .line_enable_o(report_enable)
  );

  // One port to memory. What enters first is done first: data is there before its completion. A response leaves when
  // memory has taken the data: the peer may tell somebody who looks.
  logic [1:0] memory_source;
  logic       memory_last;
  assign written = memory_valid_o && memory_ready_i && memory_o.is_write &&
                   ((memory_source == 2'd0 && memory_last) || memory_source == 2'd1);
  assign store_line  = {1'b1, 1'b0, store_at, store_data, store_enable};
  assign report_line = {1'b1, 1'b0, report_at, report_data, report_enable};
  assign fetch       = {1'b0, 1'b0, fetch_line, 512'd0, 64'd0};
  wharf_merge #(.Width(MemoryW + 1), .Ports(4)) memory_port (
    .clk_i, .rst_i,
    .in_valid_i({fetch_valid, report_valid, line_valid, store_valid}),
    .in_ready_o({fetch_ready, report_ready, line_ready, store_ready}),
    .in_data_i({1'b0, fetch, 1'b0, report_line, 1'b0, line, store_last, store_line}),
    .out_valid_o(memory_valid_o), .out_ready_i(memory_ready_i), .out_data_o({memory_last, memory_o}),
    .out_port_o(memory_source)
  );

  // ================================================================ What is counted

  localparam int unsigned Counters = wharf_pkg::NicCounterCount;
  logic [Counters-1:0] events;
  assign events = {forgotten, doorbell_refused_o, foreign, no_room, malformed, unknown, duplicate, ahead, deferred, ack_refused || odd_ack,
                   refused, dropped, back, completion_lost, post_refused_o, not_ready, again_valid};
  for (genvar i = 0; i < Counters; i++) begin : gen_count
    logic [31:0] count_q;
    assign counters_o[32*i +: 32] = count_q;
    always_ff @(posedge clk_i) begin
      if (rst_i) count_q <= '0;
      else if (events[i]) count_q <= count_q + 32'd1;
    end
  end
  always_ff @(posedge clk_i) begin
    if (rst_i) failed_o <= 1'b0;
    else if (exhausted) failed_o <= 1'b1;
  end
  assign stages_o = {memory_valid_o, receiver_busy, read_valid, head_valid, tx_valid_o, kept_valid, frame_valid, made_valid, job_valid, request_valid};
  logic unused;
  assign unused = &{1'b0, credit_error, credits_left, job_source, granted_valid, data_bytes, data_last, read_pad,
                    timer_runs, attempts, got_bytes, got_last, memory_source, heard, work, found_held};
endmodule
