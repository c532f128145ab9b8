// SPDX-License-Identifier: Apache-2.0
// The 42 bytes before a packet: Ethernet, IPv4 without options, UDP without a checksum. Reference:
// src/wire/ethernet.h, ipv4.h, udp.h.
module wharf_network_headers #(
  parameter logic [15:0] Port = 16'd4792  // Of UDP, of the destination.
) (
  input  logic                 clk_i,
  input  wharf_pkg::nic_route_t route_i,     // Two cycles before the first packet, but for the source port.
  input  logic [7:0]           service_i,    // TOS.
  input  logic [15:0]          transport_i,  // Bytes behind these headers.
  output logic [335:0]         headers_o
);
  // All words of the IP header but its length and TOS: summed in two cycles, for they do not change.
  logic [19:0] sum_q;
  logic [16:0] half_q;
  logic [15:0] base_q;
  always_ff @(posedge clk_i) begin
    sum_q  <= 20'h04500 + 20'h04000 + 20'h04011 + 20'(route_i.own_ip[31:16]) +
              20'(route_i.own_ip[15:0]) + 20'(route_i.peer_ip[31:16]) + 20'(route_i.peer_ip[15:0]);
    half_q <= 17'(sum_q[15:0]) + 17'(sum_q[19:16]);
  end
  assign base_q = half_q[15:0] + 16'(half_q[16]);

  logic [15:0] total, length;
  logic [17:0] sum;
  logic [15:0] checksum;
  assign total    = transport_i + 16'd28;
  assign length   = transport_i + 16'd8;
  assign sum      = 18'(base_q) + 18'(total) + 18'(service_i);
  assign checksum = ~(sum[15:0] + 16'(sum[17:16]));

  assign headers_o = {route_i.peer_mac, route_i.own_mac, 16'h0800,
                      8'h45, service_i, total, 16'h0000, 16'h4000, 8'd64, 8'd17, checksum, route_i.own_ip,
                      route_i.peer_ip,
                      route_i.source_port, Port, length, 16'h0000};
endmodule
