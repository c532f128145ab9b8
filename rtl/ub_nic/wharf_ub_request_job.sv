// SPDX-License-Identifier: Apache-2.0
// What a request asks of the packetizer. No state. Source: UB-Base 2.0.1, 7.2. Description: README.md.
module wharf_ub_request_job (
  input  wharf_pkg::nic_request_t request_i,
  input  logic [19:0]             jetty_i,
  input  logic [15:0]             tassn_i,
  input  logic                    retry_i,   // It has been sent before, under that number.
  output wharf_pkg::ub_job_t      job_o
);
  // Data that is inline ends where its length says.
  logic [127:0] inline_data;
  always_comb begin
    for (int unsigned i = 0; i < 16; i++)
      inline_data[127-8*i -: 8] =
          request_i.data[127-8*i -: 8] & {8{!request_i.is_inline || 5'(i) < request_i.length[4:0]}};
  end
  always_comb begin
    job_o                = '0;
    job_o.kind           = wharf_pkg::UbRequest;
    job_o.requester_id   = jetty_i;
    job_o.tassn          = tassn_i;
    job_o.remote_address = request_i.remote_address;
    job_o.token_id       = request_i.token_id;
    job_o.token_value    = request_i.token_value;
    job_o.order          = request_i.order;
    job_o.retry          = retry_i;
    job_o.target         = request_i.target;
    job_o.immediate      = request_i.immediate;
    job_o.length         = request_i.length;
    job_o.address        = request_i.local_address;
    job_o.data           = inline_data;
    job_o.is_inline      = request_i.is_inline;
    job_o.opcode         = {4'd0, request_i.operation};
    job_o.has_data       = request_i.operation < wharf_pkg::OperationRead;
  end
  logic unused;
  assign unused = &{1'b0, request_i};
endmodule
