// SPDX-License-Identifier: Apache-2.0
// A RoCEv2 NIC with reliable connections to one peer: doorbells in, frames out and back, memory behind it. This file shows
// the graph of its elements; what each does stands in its folder. Description: README.md.
module wharf_roce_nic #(
  parameter int unsigned QueuePairs  = 1024,  // A power of two from 2.
  parameter int unsigned QueueDepth  = 4,     // Requests of a queue pair that are not over: a power of two from 2.
  parameter int unsigned Segments    = 1024,  // Memory regions: a power of two from 2.
  parameter int unsigned Mtu         = 1024,  // Data of a packet: a power of two from 256 to 4096.
  parameter int unsigned Window      = 64,    // PSNs of a queue pair outstanding: a power of two.
  parameter int unsigned Fetches     = 4,     // Reads and atomics of a queue pair outstanding, and saved for the peer.
  parameter int unsigned Answers     = 64,    // Answers that wait for the wire: a power of two.
  parameter int unsigned SendFlits   = 64,    // Of frames that are not whole yet: a power of two from twice the longest.
  parameter int unsigned ReceiveFlits  = 2048,  // Between the wire and memory: a power of two.
  parameter int unsigned ReceiveFrames = 128,   // The same, in frames.
  parameter int unsigned ReceiveDepth  = 4,   // Receives of a queue pair that wait: a power of two.
  parameter int unsigned Completions = 4096,  // Entries of the ring in memory: a power of two.
  parameter int unsigned Tick        = 250,   // Cycles of a microsecond.
  parameter int unsigned Timeout     = 26,    // Ticks until packets are sent again.
  parameter int unsigned Retries     = 7,     // How often that may be for nothing: 0 to 7.
  parameter int unsigned NotReadyCode    = 12,  // The delay that this side asks for: 0 to 31.
  parameter int unsigned NotReadyRetries = 7    // How often a peer may be not ready: 0 to 6, or 7 for ever.
) (
  input  logic                          clk_i,
  input  logic                          rst_i,
  input  wharf_pkg::nic_route_t         route_i,
  input  logic [57:0]                   ring_i,          // First line of the ring of completions.

  // What the host sets. Always taken.
  input  logic                          open_valid_i,
  input  logic [$clog2(QueuePairs)-1:0] open_pair_i,
  input  logic [23:0]                   open_remote_i,   // The peer's queue pair,
  input  logic [23:0]                   open_send_psn_i, // the first PSN of this side
  input  logic [23:0]                   open_receive_psn_i,  // and of the peer.
  input  logic                          segment_valid_i,
  input  logic [$clog2(Segments)-1:0]   segment_index_i,
  input  wharf_pkg::ub_segment_t        segment_i,
  input  logic                          consumed_i,      // It has taken a completion.

  input  logic                          doorbell_valid_i,
  output logic                          doorbell_ready_o,
  input  logic [19:0]                   doorbell_pair_i,
  input  wharf_pkg::nic_request_t       doorbell_i,
  output logic                          doorbell_refused_o,

  // Receives for Sends and immediates.
  input  logic                          post_valid_i,
  output logic                          post_ready_o,
  input  logic [19:0]                   post_pair_i,
  input  wharf_pkg::nic_receive_t       post_i,
  output logic                          post_refused_o,

  // The wire: frames without their check sequence.
  output logic                          tx_valid_o,
  input  logic                          tx_ready_i,
  output logic [511:0]                  tx_data_o,
  output logic [6:0]                    tx_bytes_o,
  output logic                          tx_last_o,
  input  logic                          rx_valid_i,      // Always taken.
  input  logic [511:0]                  rx_data_i,
  input  logic [6:0]                    rx_bytes_i,
  input  logic                          rx_last_i,
  input  logic                          rx_bad_i,

  // Host memory: lines, in order.
  output logic                          memory_valid_o,
  input  logic                          memory_ready_i,
  output wharf_pkg::memory_request_t    memory_o,
  input  logic                          answer_valid_i,  // Always taken.
  input  logic                          answer_tag_i,
  input  logic [511:0]                  answer_data_i,

  output wharf_pkg::roce_counters_t     counters_o,
  // For measuring: which stages of the way out show a beat. From bit 0: request, job, frame, wire.
  output logic [3:0]                    stages_o
);
  localparam int unsigned LengthW     = $clog2(Mtu) + 1;
  localparam int unsigned PacketFlits = (42 + 40 + Mtu + 4 + 63) / 64;
  localparam int unsigned PairW       = $clog2(QueuePairs);
  localparam int unsigned JobW        = wharf_pkg::RoceJobW;
  localparam int unsigned MemoryW     = wharf_pkg::MemoryRequestW;
  localparam int unsigned CompletionW = wharf_pkg::NicCompletionW;
  localparam logic [15:0] Port        = 16'd4791;
  if (Mtu < 256 || Mtu > 4096) begin : gen_refuse
    $error("wharf_roce_nic: Mtu must be 256 to 4096");
  end
  if (SendFlits < 2 * PacketFlits) begin : gen_refuse_send
    $error("wharf_roce_nic: SendFlits must hold two frames with Mtu bytes of data");
  end

  // ================================================================ From the doorbell to jobs

  logic                        ask_job_valid, ask_job_ready, answer_job_valid, answer_job_ready, lives, opened;
  logic                        kill_valid, kill_ready, heard_valid, heard_ready, verdict_valid, verdict_wants;
  logic                        placed_valid, placed_ready, end_valid, end_ready;
  logic                        resent, timed_out, sequence_nak, implied_nak, peer_not_ready, exhausted, stale;
  logic [PairW-1:0]            pair;
  logic [63:0]                 verdict_address;
  wharf_pkg::roce_job_t        ask_job, answer_job;
  wharf_pkg::roce_heard_t      heard;
  wharf_pkg::nic_completion_t  end_completion;
  wharf_roce_requester #(
    .QueuePairs(QueuePairs), .Depth(QueueDepth), .Mtu(Mtu), .Window(Window), .Fetches(Fetches), .Tick(Tick),
    .Timeout(Timeout), .Retries(Retries), .NotReadyRetries(NotReadyRetries)
  ) requester (
    .clk_i, .rst_i, .open_valid_i, .open_pair_i, .open_remote_i, .open_psn_i(open_send_psn_i),
    .doorbell_valid_i, .doorbell_ready_o, .doorbell_pair_i, .doorbell_i, .doorbell_refused_o,
    .kill_valid_i(kill_valid), .kill_ready_o(kill_ready), .kill_pair_i(pair),
    .lives_pair_i(pair), .lives_opened_o(opened), .lives_o(lives),
    .job_valid_o(ask_job_valid), .job_ready_i(ask_job_ready), .job_o(ask_job),
    .heard_valid_i(heard_valid), .heard_ready_o(heard_ready), .heard_pair_i(pair), .heard_i(heard),
    .verdict_valid_o(verdict_valid), .verdict_wants_o(verdict_wants), .verdict_address_o(verdict_address),
    .placed_valid_i(placed_valid), .placed_ready_o(placed_ready),
    .completion_valid_o(end_valid), .completion_ready_i(end_ready), .completion_o(end_completion),
    .resent_o(resent), .timeout_o(timed_out), .sequence_nak_o(sequence_nak), .implied_nak_o(implied_nak),
    .not_ready_o(peer_not_ready), .exhausted_o(exhausted), .stale_o(stale)
  );

  logic                    push_valid, push_room, merged, acknowledged, nak, not_ready_nak;
  wharf_pkg::roce_answer_t push;
  wharf_roce_answers #(.QueuePairs(QueuePairs), .Depth(Answers), .Mtu(Mtu)) answer_queue (
    .clk_i, .rst_i, .push_valid_i(push_valid), .push_i(push), .push_pair_i(pair), .room_o(push_room),
    .job_valid_o(answer_job_valid), .job_ready_i(answer_job_ready), .job_o(answer_job),
    .merged_o(merged), .acknowledged_o(acknowledged), .nak_o(nak), .not_ready_o(not_ready_nak)
  );

  // Requests and answers take turns; nothing stands between a request and the queue of jobs.
  logic                 answered_q, is_answer, offers, job_room, about_room, goes, job_valid, job_ready;
  wharf_pkg::roce_job_t next_job, job;
  logic [3:0]           jobs, asks;
  assign is_answer        = answer_job_valid && (!ask_job_valid || !answered_q);
  assign next_job         = is_answer ? answer_job : ask_job;
  assign offers           = answer_job_valid || ask_job_valid;
  assign goes             = offers && job_room && about_room;
  assign answer_job_ready = job_room && about_room && is_answer;
  // Not by is_answer, which waits for what the request is.
  assign ask_job_ready    = job_room && about_room && (!answer_job_valid || answered_q);
  always_ff @(posedge clk_i) begin
    if (rst_i) answered_q <= 1'b0;
    else if (goes) answered_q <= is_answer;
  end
  wharf_fifo #(.Width(JobW), .Depth(8)) job_queue (
    .clk_i, .rst_i,
    .in_valid_i(goes), .in_ready_o(job_room), .in_data_i(next_job),
    .out_valid_o(job_valid), .out_ready_i(job_ready), .out_data_o(job), .level_o(jobs)
  );

  // ================================================================ From jobs to the wire

  logic               ask_valid, ask_ready, data_valid, data_ready, data_last, fetch_valid, fetch_ready;
  logic [63:0]        ask_address;
  logic [LengthW-1:0] ask_length;
  logic [511:0]       data_flit;
  logic [6:0]         data_bytes;
  logic [57:0]        fetch_line;
  wharf_fifo #(.Width(64 + LengthW), .Depth(8)) ask_queue (
    .clk_i, .rst_i,
    .in_valid_i(goes && !next_job.is_inline && next_job.bytes != '0), .in_ready_o(about_room),
    .in_data_i({next_job.address, next_job.bytes[LengthW-1:0]}),
    .out_valid_o(ask_valid), .out_ready_i(ask_ready), .out_data_o({ask_address, ask_length}), .level_o(asks)
  );
  wharf_memory_reader #(.LengthW(LengthW), .Lines(32)) reader (
    .clk_i, .rst_i,
    .ask_valid_i(ask_valid), .ask_ready_o(ask_ready), .ask_address_i(ask_address), .ask_length_i(ask_length),
    .line_valid_o(fetch_valid), .line_ready_i(fetch_ready), .line_o(fetch_line),
    .answer_valid_i(answer_valid_i && !answer_tag_i), .answer_data_i,
    .out_valid_o(data_valid), .out_ready_i(data_ready), .out_data_o(data_flit), .out_bytes_o(data_bytes),
    .out_last_o(data_last)
  );

  logic [639:0]           made_bytes;
  logic [6:0]             made_start;
  logic [1:0]             made_pad;
  logic [7:0]             service;
  logic                   made_ready;
  wharf_pkg::nic_route_t  route;
  wharf_roce_encoder encoder (
    .job_i(job), .bytes_o(made_bytes), .start_o(made_start), .pad_o(made_pad), .service_o(service),
    .source_port_o(route.source_port)
  );
  assign route.own_mac  = route_i.own_mac;
  assign route.peer_mac = route_i.peer_mac;
  assign route.own_ip   = route_i.own_ip;
  assign route.peer_ip  = route_i.peer_ip;

  logic         frame_valid, frame_ready, frame_last;
  logic [511:0] frame_data;
  logic [6:0]   frame_bytes;
  wharf_frame_writer #(.LengthW(LengthW), .Port(Port), .Trailer(16'd4), .Short(1'b1)) frame_writer (
    .clk_i, .rst_i, .route_i(route), .service_i(service),
    .made_valid_i(job_valid), .made_ready_o(made_ready), .made_bytes_i(made_bytes), .made_start_i(made_start),
    .made_pad_i(made_pad),
    .about_valid_i(job_valid), .about_ready_o(job_ready), .about_length_i(job.bytes[LengthW-1:0]),
    .about_inline_i(job.is_inline), .about_data_i(job.data),
    .data_valid_i(data_valid), .data_ready_o(data_ready), .data_flit_i(data_flit),
    .out_valid_o(frame_valid), .out_ready_i(frame_ready), .out_data_o(frame_data), .out_bytes_o(frame_bytes),
    .out_last_o(frame_last)
  );
  wharf_icrc_writer #(.Flits(SendFlits)) icrc_writer (
    .clk_i, .rst_i,
    .in_valid_i(frame_valid), .in_ready_o(frame_ready), .in_data_i(frame_data), .in_bytes_i(frame_bytes),
    .in_last_i(frame_last),
    .out_valid_o(tx_valid_o), .out_ready_i(tx_ready_i), .out_data_o(tx_data_o), .out_bytes_o(tx_bytes_o),
    .out_last_o(tx_last_o)
  );

  // ================================================================ From the wire to memory and back

  logic         wire_valid, wire_last, wire_bad;
  logic [511:0] wire_data;
  logic [6:0]   wire_bytes;
  wharf_icrc_checker icrc_checker (
    .clk_i, .rst_i,
    .in_valid_i(rx_valid_i), .in_data_i(rx_data_i), .in_bytes_i(rx_bytes_i), .in_last_i(rx_last_i), .in_bad_i(rx_bad_i),
    .out_valid_o(wire_valid), .out_data_o(wire_data), .out_bytes_o(wire_bytes), .out_last_o(wire_last), .out_bad_o(wire_bad)
  );

  logic               head_valid, head_ready, take_valid, take_ready, take_data, foreign, no_room;
  logic               got_valid, got_ready, got_last, read_valid, read_ready;
  logic [6:0]         take_start, got_bytes, read_start;
  logic [LengthW-1:0] head_length, take_length, read_bytes;
  logic [639:0]       head_bytes;
  logic [511:0]       got_flit;
  logic [2:0]         read_verdict;
  wharf_pkg::roce_headers_t read_headers;
  wharf_frame_reader #(
    .LengthW(LengthW), .Flits(ReceiveFlits), .PacketFlits(PacketFlits), .Frames(ReceiveFrames), .Port(Port), .Trailer(4),
    .Short(1'b1)
  ) frame_reader (
    .clk_i, .rst_i, .route_i,
    .wire_valid_i(wire_valid), .wire_data_i(wire_data), .wire_bytes_i(wire_bytes), .wire_last_i(wire_last),
    .wire_bad_i(wire_bad), .foreign_o(foreign), .no_room_o(no_room),
    .head_valid_o(head_valid), .head_ready_i(head_ready), .head_length_o(head_length), .head_bytes_o(head_bytes),
    .take_valid_i(take_valid), .take_ready_o(take_ready), .take_data_i(take_data), .take_start_i(take_start),
    .take_length_i(take_length),
    .data_valid_o(got_valid), .data_ready_i(got_ready), .data_flit_o(got_flit), .data_bytes_o(got_bytes),
    .data_last_o(got_last)
  );
  wharf_roce_decoder #(.LengthW(LengthW)) decoder (
    .clk_i, .rst_i,
    .head_valid_i(head_valid), .head_ready_o(head_ready), .head_length_i(head_length), .head_bytes_i(head_bytes),
    .read_valid_o(read_valid), .read_ready_i(read_ready), .read_verdict_o(read_verdict), .read_headers_o(read_headers),
    .read_start_o(read_start), .read_bytes_o(read_bytes)
  );

  logic        asks_segment, granted_valid, wants_receive, receive_valid, write_valid, write_ready, write_swaps, written;
  logic        line_valid, line_ready, notice_valid, notice_ready, store_valid, store_ready, store_last;
  logic        received, malformed, unknown_opcode, version, service_drop, congestion, unknown_queue, not_ready, partition;
  logic        duplicate, out_of_order, dropped_duplicate, no_resources;
  logic [31:0] asked_key, asked_length;
  logic [1:0]  asked_right, receive_result;
  logic [2:0]  granted;
  logic [63:0] asked_address, write_address;
  wharf_pkg::nic_receive_t    receive;
  wharf_pkg::nic_completion_t notice;
  wharf_pkg::memory_request_t line, store_line, report_line, fetch;
  wharf_roce_receiver #(
    .QueuePairs(QueuePairs), .LengthW(LengthW), .Mtu(Mtu), .Saved(Fetches), .NotReadyCode(NotReadyCode)
  ) receiver (
    .clk_i, .rst_i, .open_valid_i, .open_pair_i, .open_remote_i, .open_psn_i(open_receive_psn_i),
    .read_valid_i(read_valid), .read_ready_o(read_ready), .read_verdict_i(read_verdict), .read_headers_i(read_headers),
    .read_start_i(read_start), .read_bytes_i(read_bytes),
    .take_valid_o(take_valid), .take_ready_i(take_ready), .take_data_o(take_data), .take_start_o(take_start),
    .take_length_o(take_length),
    .pair_o(pair), .opened_i(opened), .lives_i(lives), .kill_valid_o(kill_valid), .kill_ready_i(kill_ready),
    .heard_valid_o(heard_valid), .heard_ready_i(heard_ready), .heard_o(heard),
    .verdict_valid_i(verdict_valid), .verdict_wants_i(verdict_wants), .verdict_address_i(verdict_address),
    .placed_valid_o(placed_valid), .placed_ready_i(placed_ready),
    .ask_valid_o(asks_segment), .ask_key_o(asked_key), .ask_right_o(asked_right), .ask_address_o(asked_address),
    .ask_length_o(asked_length), .answer_valid_i(granted_valid), .answer_i(granted),
    .want_valid_o(wants_receive), .taken_valid_i(receive_valid), .taken_result_i(receive_result), .taken_i(receive),
    .write_valid_o(write_valid), .write_ready_i(write_ready), .write_address_o(write_address),
    .write_swaps_o(write_swaps), .written_i(written),
    .line_valid_o(line_valid), .line_ready_i(line_ready), .line_o(line),
    .line_answer_valid_i(answer_valid_i && answer_tag_i), .line_answer_i(answer_data_i),
    .push_valid_o(push_valid), .push_o(push), .push_room_i(push_room),
    .completion_valid_o(notice_valid), .completion_ready_i(notice_ready), .completion_o(notice),
    .received_o(received), .foreign_o(malformed), .unknown_opcode_o(unknown_opcode), .version_o(version),
    .service_o(service_drop), .congestion_o(congestion), .unknown_queue_o(unknown_queue), .not_ready_o(not_ready),
    .partition_o(partition), .duplicate_o(duplicate), .out_of_order_o(out_of_order),
    .dropped_duplicate_o(dropped_duplicate), .no_resources_o(no_resources)
  );
  wharf_receive_table #(.Jetties(QueuePairs), .Depth(ReceiveDepth), .EntryW(wharf_pkg::NicReceiveW)) receive_table (
    .clk_i, .rst_i, .open_valid_i, .open_jetty_i(open_pair_i), .open_value_i(1'b1), .open_token_i('0),
    .post_valid_i, .post_ready_o, .post_jetty_i(post_pair_i), .post_entry_i(post_i), .post_refused_o,
    .take_valid_i(wants_receive), .take_jetty_i(20'(pair)), .take_checks_i(1'b0), .take_token_i('0),
    .taken_valid_o(receive_valid), .taken_result_o(receive_result), .taken_entry_o(receive)
  );
  // Key: the number of the region in bits 27:8, and all of it is compared.
  wharf_segment_table #(.Segments(Segments)) segment_table (
    .clk_i, .rst_i, .set_valid_i(segment_valid_i), .set_index_i(segment_index_i), .set_segment_i(segment_i),
    .ask_valid_i(asks_segment), .ask_token_id_i(asked_key[27:8]), .ask_token_value_i(asked_key),
    .ask_right_i(asked_right), .ask_address_i(asked_address), .ask_length_i(asked_length),
    .answer_valid_o(granted_valid), .answer_o(granted)
  );

  // What an atomic has found is big-endian on the wire and little-endian in memory.
  logic [511:0] turned_flit, store_data, report_data;
  logic [63:0]  store_enable, report_enable;
  logic [57:0]  store_at, report_at;
  always_comb begin
    turned_flit = got_flit;
    for (int unsigned i = 0; i < 8; i++) if (write_swaps) turned_flit[511-8*i -: 8] = got_flit[448+8*i +: 8];
  end
  wharf_memory_writer #(.LengthW(LengthW)) writer (
    .clk_i, .rst_i,
    .start_valid_i(write_valid), .start_ready_o(write_ready), .start_address_i(write_address),
    .start_length_i(take_length),
    .in_valid_i(got_valid), .in_ready_o(got_ready), .in_data_i(turned_flit),
    .line_valid_o(store_valid), .line_ready_i(store_ready), .line_o(store_at), .line_data_o(store_data),
    .line_enable_o(store_enable), .line_last_o(store_last)
  );

  logic                       completion_valid, completion_ready, report_valid, report_ready, completion_lost;
  logic                       completion_source;
  wharf_pkg::nic_completion_t completion;
  wharf_merge #(.Width(CompletionW), .Ports(2)) completions (
    .clk_i, .rst_i,
    .in_valid_i({notice_valid, end_valid}), .in_ready_o({notice_ready, end_ready}), .in_data_i({notice, end_completion}),
    .out_valid_o(completion_valid), .out_ready_i(completion_ready), .out_data_o(completion), .out_port_o(completion_source)
  );
  wharf_completion_writer #(.Entries(Completions)) completion_writer (
    .clk_i, .rst_i, .base_i(ring_i),
    .in_valid_i(completion_valid), .in_ready_o(completion_ready), .in_i(completion), .overrun_o(completion_lost),
    .consumed_i,
    .line_valid_o(report_valid), .line_ready_i(report_ready), .line_o(report_at), .line_data_o(report_data),
    .line_enable_o(report_enable)
  );

  // One port to memory. What enters first is done first. An acknowledgement leaves when memory has taken the data: the peer
  // may tell somebody who looks.
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

  // A frame that is not ours is there once more, as a packet of no bytes.
  logic sent;
  assign sent = goes;
  localparam int unsigned Counters = wharf_pkg::RoceCounterCount;
  logic [Counters-1:0] events;
  assign events = {sent, received, resent, acknowledged, merged, nak, not_ready_nak, timed_out, sequence_nak, implied_nak,
                   peer_not_ready, exhausted, duplicate, congestion, malformed, unknown_opcode, version, unknown_queue,
                   not_ready, partition, out_of_order, stale, dropped_duplicate, no_resources, service_drop, no_room,
                   completion_lost, doorbell_refused_o, post_refused_o};
  for (genvar i = 0; i < Counters; i++) begin : gen_count
    logic [31:0] count_q;
    assign counters_o[32*i +: 32] = count_q;
    always_ff @(posedge clk_i) begin
      if (rst_i) count_q <= '0;
      else if (events[i]) count_q <= count_q + 32'd1;
    end
  end
  assign stages_o = {tx_valid_o, frame_valid, job_valid, ask_job_valid};
  logic unused;
  assign unused = &{1'b0, jobs, asks, data_bytes, data_last, made_ready, got_bytes, got_last, foreign, completion_source,
                    memory_source, route_i.source_port};
endmodule
