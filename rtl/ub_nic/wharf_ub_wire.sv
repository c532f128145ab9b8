// SPDX-License-Identifier: Apache-2.0
// Where frames go to the wire, and acknowledgements between them: TPACK and TPNAK, one flit each. They are not numbered
// and not sent again. Source: UB-Base 2.0.1, 6.4.
module wharf_ub_wire (
  input  logic                 clk_i,
  input  logic                 rst_i,
  input  wharf_pkg::ub_route_t route_i,

  // What is to be acknowledged, as it is in this cycle. It goes before the next frame.
  input  logic                 due_i,
  output logic                 due_taken_o,
  input  logic                 due_negative_i,
  input  logic [23:0]          due_number_i,
  input  logic [23:0]          due_tpmsn_i,

  input  logic                 in_valid_i,
  output logic                 in_ready_o,
  input  logic [511:0]         in_data_i,
  input  logic [6:0]           in_bytes_i,
  input  logic                 in_last_i,

  output logic                 tx_valid_o,
  input  logic                 tx_ready_i,
  output logic [511:0]         tx_data_o,
  output logic [6:0]           tx_bytes_o,
  output logic                 tx_last_o
);
  logic [335:0] network;
  // DSCP 40, that of acknowledgements.
  wharf_network_headers network_headers (
    .clk_i, .route_i(route_i.network), .service_i(8'd160), .transport_i(16'd16), .headers_o(network)
  );

  logic [127:0] tph;
  assign tph = {1'b1, 7'd2, 8'd0, route_i.own_tpn, route_i.peer_tpn, 8'd0, due_number_i,
                due_negative_i ? wharf_pkg::StatusError : wharf_pkg::StatusSuccess, 5'd0, due_tpmsn_i};

  logic inside_q, load;
  assign load        = !tx_valid_o || tx_ready_i;
  assign due_taken_o = load && due_i && !inside_q;
  assign in_ready_o  = load && !due_taken_o;
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      tx_valid_o <= 1'b0;
      inside_q   <= 1'b0;
    end else if (load) begin
      tx_valid_o <= due_taken_o || in_valid_i;
      if (in_valid_i && in_ready_o) inside_q <= !in_last_i;
    end
  end
  always_ff @(posedge clk_i) begin
    if (load) begin
      tx_data_o  <= due_taken_o ? {network, tph, 48'd0} : in_data_i;
      tx_bytes_o <= due_taken_o ? 7'd58 : in_bytes_i;
      tx_last_o  <= due_taken_o || in_last_i;
    end
  end
endmodule
