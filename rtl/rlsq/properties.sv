// SPDX-License-Identifier: Apache-2.0
// What holds for the remote load-store queue, speculative, for the first cycles: a request that must take effect after a
// write does, whatever memory, snoops and stalls do meanwhile, and an answer leaves once.
// PROVE wharf_rlsq_order bmc 8
// PROVE wharf_rlsq_order cover 9

// Four entries, two lines, two threads. The solver chooses a write (info 1) and a later request (info 2) of one domain;
// one of them is an acquire, or the other a release.
module wharf_rlsq_order (
  input logic       clk_i, rst_i, request_valid_i, memory_ready_i, perform_ready_i, done_valid_i, snoop_valid_i,
  input logic       snoop_invalidate_i, snoop_line_i, answer_ready_i, request_thread_i, request_line_i, request_data_i,
  input logic       done_data_i,
  input logic [1:0] request_kind_i, request_number_i, request_info_i, done_entry_i,
  input logic [2:0] request_label_i
);
  logic       request_ready, memory_valid, memory_whole, memory_line, perform_valid, perform_atomic, perform_keeps;
  logic       perform_line, perform_data, snoop_ready, found_valid, answer_valid, answer_data, idle;
  logic [1:0] memory_operation, memory_entry, perform_entry, perform_info, found, answer_info;
  wharf_rlsq #(
    .Design(wharf_pkg::RlsqSpeculative), .Entries(4), .Reserve(1), .LineW(1), .RequesterW(1), .ThreadW(1), .NumberW(2),
    .InfoW(2), .DataW(1)
  ) dut (
    .clk_i, .rst_i, .request_valid_i, .request_ready_o(request_ready), .request_kind_i, .request_label_i,
    .request_whole_i(1'b0), .request_requester_i(1'b0), .request_thread_i, .request_number_i, .request_line_i,
    .request_info_i, .request_data_i, .memory_valid_o(memory_valid), .memory_ready_i,
    .memory_operation_o(memory_operation), .memory_whole_o(memory_whole), .memory_entry_o(memory_entry),
    .memory_line_o(memory_line), .perform_valid_o(perform_valid), .perform_ready_i, .perform_atomic_o(perform_atomic),
    .perform_keeps_o(perform_keeps), .perform_entry_o(perform_entry), .perform_line_o(perform_line),
    .perform_info_o(perform_info), .perform_data_o(perform_data), .done_valid_i, .done_entry_i, .done_data_i,
    .snoop_valid_i, .snoop_ready_o(snoop_ready), .snoop_invalidate_i, .snoop_line_i, .found_valid_o(found_valid),
    .found_o(found), .answer_valid_o(answer_valid), .answer_ready_i, .answer_info_o(answer_info),
    .answer_data_o(answer_data), .idle_o(idle)
  );

  logic       started, first_in, first_out, first_done, second_in, answered, thread, acquires;
  logic [1:0] number, first_entry;
  initial started = 1'b0;
  logic take;
  assign take = request_valid_i && request_ready;
  always_comb begin
    if (!started) assume (rst_i);
    else assume (!rst_i);
    if (request_valid_i && request_info_i == 1) assume (!first_in && request_kind_i == wharf_pkg::RequestWrite);
    if (request_valid_i && request_info_i == 2) begin
      assume (first_in && !second_in && request_thread_i == thread && request_number_i != number);
      assume (acquires || request_label_i == wharf_pkg::LabelRelease);
    end
  end
  always_ff @(posedge clk_i) begin
    started <= 1'b1;
    if (rst_i) begin
      first_in   <= 1'b0;
      first_out  <= 1'b0;
      first_done <= 1'b0;
      second_in  <= 1'b0;
      answered   <= 1'b0;
    end else begin
      if (take && request_info_i == 1) begin
        first_in <= 1'b1;
        thread   <= request_thread_i;
        number   <= request_number_i;
        acquires <= request_label_i == wharf_pkg::LabelAcquire;
      end
      if (take && request_info_i == 2) second_in <= 1'b1;
      // Offered is enough: memory may answer in the cycle in which it takes the write.
      if (perform_valid && perform_info == 1) begin
        first_out   <= 1'b1;
        first_entry <= perform_entry;
      end
      if (done_valid_i && (first_out ? done_entry_i == first_entry
                                     : perform_valid && perform_info == 1 && done_entry_i == perform_entry)) begin
        first_done <= 1'b1;
      end
      if (answer_valid && answer_ready_i && answer_info == 2) answered <= 1'b1;
    end
  end
  always_comb begin
    if (started && !rst_i) begin
      if (perform_valid && perform_info == 2) assert (second_in && first_done);
      if (answer_valid && answer_info == 2) assert (second_in && first_done && !answered);
      if (perform_valid && perform_info == 1) assert (first_in && !first_done || first_out);
      if (answer_valid) assert (answer_info != 1);
    end
    cover (started && answer_valid && answer_info == 2);
  end
endmodule
