// SPDX-License-Identifier: Apache-2.0
// What holds for the reorder unit while the window has not wrapped: no message covers a byte that has not come, each
// message begins where the one before it ended, and is as long as its length field in memory says.
// PROVE wharf_reorder_unit_rules bmc 10
// PROVE wharf_reorder_unit_rules cover 12

// Lines of 2 bytes, a buffer of 4, a window of 16; a length of one byte stands first. The solver chooses one byte that never
// comes, and one that is watched in memory.
module wharf_reorder_unit_rules (
  input logic        clk_i, rst_i, write_valid_i, message_ready_i,
  input logic [2:0]  write_line_i,
  input logic [1:0]  write_enabled_i,
  input logic [15:0] write_data_i
);
  logic        write_ready, result_valid, store_valid, message_valid, continued;
  logic [1:0]  result, store_enabled, fault;
  logic [31:0] too_far;
  logic [2:0]  store_line;
  logic [15:0] store_data;
  logic [3:0]  offset, start;
  logic [2:0]  length;
  wharf_reorder_unit #(.LineBytes(2), .BufferBytes(4), .WindowBytes(16), .LengthOffset(0), .LengthBytes(1)) dut (
    .clk_i, .rst_i, .write_valid_i, .write_ready_o(write_ready), .write_line_i, .write_enabled_i, .write_data_i,
    .result_valid_o(result_valid), .result_o(result), .too_far_o(too_far), .store_valid_o(store_valid),
    .store_line_o(store_line), .store_enabled_o(store_enabled), .store_data_o(store_data),
    .message_valid_o(message_valid), .message_ready_i, .message_offset_o(offset), .message_length_o(length),
    .message_continued_o(continued), .start_o(start), .fault_o(fault)
  );

  (* anyconst *) logic [3:0] absent;   // Never comes.
  (* anyconst *) logic [3:0] watched;  // Its value in memory is followed.
  logic       started, is_there;
  logic [7:0] value;
  logic [3:0] expected;  // Where the next message must begin.
  initial started = 1'b0;
  logic take;
  assign take = write_valid_i && write_ready;
  always_comb begin
    if (!started) assume (rst_i);
    else assume (!rst_i);
    // A copy of the length byte would change it under the unit: it is written once.
    assume (absent < 12);
    if (write_valid_i && write_line_i == absent[3:1]) assume (!write_enabled_i[absent[0]]);
    if (write_valid_i) assume (!(is_there && write_line_i == watched[3:1] && write_enabled_i[watched[0]]));
  end
  always_ff @(posedge clk_i) begin
    started <= 1'b1;
    if (rst_i) begin
      is_there <= 1'b0;
      expected <= '0;
    end else begin
      if (take && write_line_i == watched[3:1] && write_enabled_i[watched[0]]) begin
        is_there <= 1'b1;
        value    <= write_data_i[8*watched[0] +: 8];
      end
      if (message_valid && message_ready_i) expected <= offset + 4'(length);
    end
  end
  always_comb begin
    if (started && !rst_i) begin
      if (message_valid) begin
        assert (offset == expected);                                // No gap, no repetition, order.
        assert (length >= 1 && length <= 4);
        assert (5'(offset) + 5'(length) <= 5'(absent));             // Nothing that has not come.
        if (offset == watched) assert (is_there && value == 8'(length));
        assert (start == offset + 4'(length));
      end else begin
        assert (start == expected);
      end
      assert (start <= absent);
      // What is stored came with the write of the cycle before.
      if (store_valid) assert (!(store_line == absent[3:1] && store_enabled[absent[0]]));
    end
    cover (started && message_valid && expected == 4);
    cover (started && fault == wharf_pkg::ReorderFaultTooLong);
  end
endmodule
