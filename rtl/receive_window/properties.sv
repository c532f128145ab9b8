// SPDX-License-Identifier: Apache-2.0
// What holds for the receive window for ever: what was taken is in order or waits as one bit, nothing is lost, nothing
// counts twice.
// PROVE wharf_receive_window_safe induction 2
// PROVE wharf_receive_window_safe cover 10
module wharf_receive_window_safe (
  input logic clk_i, rst_i, arrive_valid_i,
  input logic [3:0] first_i, arrive_number_i
);
  logic [1:0] arrival;
  logic [2:0] advanced;
  logic [3:0] next, last, ahead;
  wharf_receive_window #(.NumberW(4), .Window(4)) dut (
    .clk_i, .rst_i, .first_i, .arrive_valid_i, .arrive_number_i, .arrival_o(arrival), .advanced_o(advanced),
    .next_o(next), .end_o(last), .ahead_o(ahead)
  );

  logic       started;
  logic [3:0] first, taken;  // The first number, and how many were taken.
  logic [2:0] waiting;
  initial started = 1'b0;
  assign waiting = 3'(ahead[0]) + 3'(ahead[1]) + 3'(ahead[2]) + 3'(ahead[3]);
  always_comb begin
    if (!started) assume (rst_i);
  end
  always_ff @(posedge clk_i) begin
    started <= 1'b1;
    if (rst_i) begin
      first <= first_i;
      taken <= '0;
    end else if (arrive_valid_i && (arrival == wharf_pkg::ArrivalNext || arrival == wharf_pkg::ArrivalAhead)) begin
      taken <= taken + 1'b1;
    end
  end
  logic [3:0] distance;
  assign distance = arrive_number_i - next;
  always_comb begin
    if (started) begin
      assert (taken == 4'(next - first) + 4'(waiting));
      assert (!ahead[0]);
      // The end is one past the highest bit.
      assert (4'(last - next) == (ahead[3] ? 4'd4 : ahead[2] ? 4'd3 : ahead[1] ? 4'd2 : 4'd0));
      if (arrive_valid_i) begin
        assert ((advanced != 0) == (distance == 0));
        if (distance > 0 && distance < 4) assert (arrival == (ahead[distance[1:0]] ? wharf_pkg::ArrivalDuplicate
                                                                                   : wharf_pkg::ArrivalAhead));
        if (distance >= 8) assert (arrival == wharf_pkg::ArrivalDuplicate);
        if (distance >= 4 && distance < 8) assert (arrival == wharf_pkg::ArrivalTooFar);
      end else begin
        assert (advanced == 0);
      end
    end
    cover (started && advanced == 4);
  end
endmodule
