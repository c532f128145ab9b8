// SPDX-License-Identifier: Apache-2.0
// Headers of a packet from what it is to say. No state. Reference: encode_roce_headers() of src/wire/roce_codec.h.
// Source: IBTA vol 1 9.2, 9.3.
module wharf_roce_encoder (
  input  wharf_pkg::roce_job_t job_i,
  output logic [639:0]         bytes_o,       // From the BTH on, zero beyond its end.
  output logic [6:0]           start_o,       // Bytes of headers,
  output logic [1:0]           pad_o,         // and zeros behind the data.
  output logic [7:0]           service_o,     // TOS
  output logic [15:0]          source_port_o  // The same for all packets of a queue pair.
);
  logic known, reth, atomic, aeth, immediate, data;
  logic [4:0] extension;
  wharf_roce_opcode opcode (
    .opcode_i(job_i.opcode), .known_o(known), .reth_o(reth), .atomic_o(atomic), .aeth_o(aeth), .immediate_o(immediate),
    .data_o(data), .bytes_o(extension)
  );
  assign start_o       = 7'd12 + 7'(extension);
  assign pad_o         = 2'd0 - job_i.bytes[1:0];
  assign source_port_o = {2'b11, job_i.destination[13:0]};
  always_comb begin
    // DSCP, and ECT(0): everything is ECN-capable.
    unique case (job_i.urgency)
      wharf_pkg::UrgencyRepeated:        service_o = {6'd32, 2'd2};
      wharf_pkg::UrgencyAcknowledgement: service_o = {6'd40, 2'd2};
      default:                           service_o = {6'd0, 2'd2};
    endcase
  end
  logic [95:0]  bth;
  logic [223:0] rest;
  assign bth = {job_i.opcode, 2'd0, pad_o, 4'd0, 16'hffff, 8'd0, job_i.destination, job_i.acknowledge, 7'd0, job_i.psn};
  always_comb begin
    rest = '0;
    if (reth) rest = {job_i.remote_address, job_i.key, job_i.length, immediate ? job_i.immediate : 32'd0, 64'd0};
    else if (atomic) rest = {job_i.remote_address, job_i.key, job_i.data};
    else if (aeth) rest = {job_i.syndrome, job_i.msn, extension[3] ? job_i.data[127:64] : 64'd0, 128'd0};
    else if (immediate) rest = {job_i.immediate, 192'd0};
  end
  assign bytes_o = {bth, rest, 320'd0};
  logic unused;
  assign unused = &{1'b0, known, data, job_i};
endmodule
