// SPDX-License-Identifier: Apache-2.0
// How many beats the receiver has room for: a beat leaves with a credit or not at all. Description: README.md.
module wharf_credits #(
  parameter int unsigned Limit = 16,  // Credits at reset, and the most there ever are.
  parameter int unsigned Width = 8
) (
  input  logic                       clk_i,
  input  logic                       rst_i,

  input  logic                       in_valid_i,
  output logic                       in_ready_o,
  input  logic [Width-1:0]           in_data_i,

  output logic                       out_valid_o,
  input  logic                       out_ready_i,
  output logic [Width-1:0]           out_data_o,

  // Credits that come back, several at a time. Always taken.
  input  logic                       give_valid_i,
  input  logic [$clog2(Limit+1)-1:0] give_count_i,
  output logic                       error_o,     // This return exceeds what is out; the count stops at Limit.

  output logic [$clog2(Limit+1)-1:0] credits_o
);
  localparam int unsigned CountW = $clog2(Limit + 1);

  if (Limit < 1) begin : gen_refuse
    $error("wharf_credits: Limit must be 1 or more");
  end

  logic [CountW-1:0] credits_q, credits_d;
  logic [CountW:0]   given, sum;
  logic              spend;

  assign out_valid_o = in_valid_i && credits_q != '0;
  assign in_ready_o  = out_ready_i && credits_q != '0;
  assign out_data_o  = in_data_i;
  assign credits_o   = credits_q;

  assign spend   = out_valid_o && out_ready_i;
  assign given   = give_valid_i ? {1'b0, give_count_i} : '0;
  assign sum     = {1'b0, credits_q} + given - (CountW + 1)'(spend);
  assign error_o = give_valid_i && sum > (CountW + 1)'(Limit);

  assign credits_d = error_o ? CountW'(Limit) : sum[CountW-1:0];

  always_ff @(posedge clk_i) begin
    if (rst_i) credits_q <= CountW'(Limit);
    else credits_q <= credits_d;
  end
endmodule
