// SPDX-License-Identifier: Apache-2.0
// A register in both directions of a stream: cuts the path of valid and data, and that of ready.
// Description: README.md.
module wharf_skid_buffer #(
  parameter int unsigned Width = 8
) (
  input  logic             clk_i,
  input  logic             rst_i,

  input  logic             in_valid_i,
  output logic             in_ready_o,
  input  logic [Width-1:0] in_data_i,

  output logic             out_valid_o,
  input  logic             out_ready_i,
  output logic [Width-1:0] out_data_o
);
  // Empty: both registers free. Busy: the output register holds a beat. Full: the spare one holds the next, too.
  localparam logic [1:0] Empty = 2'd0;
  localparam logic [1:0] Busy  = 2'd1;
  localparam logic [1:0] Full  = 2'd2;

  logic [1:0]       state_q, state_d;
  logic [Width-1:0] out_q, spare_q;

  assign in_ready_o  = state_q != Full;
  assign out_valid_o = state_q != Empty;
  assign out_data_o  = out_q;

  logic push, pop;
  assign push = in_valid_i && in_ready_o;
  assign pop  = out_valid_o && out_ready_i;

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      Empty:   if (push) state_d = Busy;
      Busy:    if (push && !pop) state_d = Full;
               else if (!push && pop) state_d = Empty;
      default: if (pop) state_d = Busy;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) state_q <= Empty;
    else state_q <= state_d;
  end

  // A beat that nobody is before goes to the output; one behind a beat that stays goes to the spare register.
  always_ff @(posedge clk_i) begin
    if (state_q == Full) begin
      if (pop) out_q <= spare_q;
    end else if (push) begin
      if (state_q == Empty || pop) out_q <= in_data_i;
      else spare_q <= in_data_i;
    end
  end
endmodule
