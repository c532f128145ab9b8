// SPDX-License-Identifier: Apache-2.0
// The 42 bytes before a UBoE packet: Ethernet, IPv4 without options, UDP without a checksum. Reference:
// src/wire/ethernet.h, ipv4.h, udp.h.
module wharf_ub_network (
  input  logic                 clk_i,
  input  wharf_pkg::ub_route_t route_i,      // Two cycles before the first packet.
  input  logic [7:0]           service_i,    // TOS, as long before.
  input  logic [15:0]          transport_i,  // Bytes behind these headers.
  output logic [335:0]         headers_o
);
  // All words of the IP header but its length: summed in two cycles, for they do not change.
  logic [19:0] sum_q;
  logic [16:0] half_q;
  logic [15:0] base_q;
  always_ff @(posedge clk_i) begin
    sum_q  <= {4'd0, 8'h45, service_i} + 20'h04000 + 20'h04011 + 20'(route_i.own_ip[31:16]) +
              20'(route_i.own_ip[15:0]) + 20'(route_i.peer_ip[31:16]) + 20'(route_i.peer_ip[15:0]);
    half_q <= 17'(sum_q[15:0]) + 17'(sum_q[19:16]);
  end
  assign base_q = half_q[15:0] + 16'(half_q[16]);

  logic [15:0] total, length;
  logic [16:0] sum;
  logic [15:0] checksum;
  assign total    = transport_i + 16'd28;
  assign length   = transport_i + 16'd8;
  assign sum      = 17'(base_q) + 17'(total);
  assign checksum = ~(sum[15:0] + 16'(sum[16]));

  assign headers_o = {route_i.peer_mac, route_i.own_mac, 16'h0800,
                      8'h45, service_i, total, 16'h0000, 16'h4000, 8'd64, 8'd17, checksum, route_i.own_ip,
                      route_i.peer_ip,
                      route_i.source_port, 16'd4792, length, 16'h0000};
  logic unused;
  assign unused = &{1'b0, route_i.own_tpn, route_i.peer_tpn};
endmodule
