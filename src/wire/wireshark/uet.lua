-- SPDX-License-Identifier: Apache-2.0
-- Ultra Ethernet Transport in Wireshark: UDP 4793, or IP protocol 253 with an entropy header. Layouts are those of
-- UE 1.0 3.4 (SES), 3.5.10 (PDS) and 3.7 (TSS) as docs/protocol/uet.md has them; what `wharf dissect` refuses is
-- refused here with the same words. A Wireshark that knows UET by itself keeps its own dissector.
-- Wireshark tells scripts of its own folder of plugins nothing of where they are.
local here = __DIR__ or debug.getinfo(1, "S").source:match("^@?(.*)[/\\]")
local common = dofile(here .. "/wharf_reader.lua")
local names = dofile(here .. "/wharf_names.lua").uet
local uet = common.protocol("uet", "Ultra Ethernet Transport")
if not uet then return end

local H = loadfile(here .. "/wharf_uet_headers.lua")(names, uet)

-- Packets ----------------------------------------------------------------------------------------------------------

local function hexed(value) return string.format("0x%x", value) end

-- The PDS header; returns its type and next header.
local function delivery(reader, state)
  if reader:left() < 2 then reader:refuse("truncated") end
  local word = reader.tvb(reader.at, 2)
  local kind, next = word:bitfield(0, 5), word:bitfield(5, 4)
  local rules = names.pds_rules[kind]
  if kind == 1 then
    local secured = reader.tvb(reader.at, 1):bitfield(5, 1) == 1 and H.TSS_SOURCE or H.TSS
    if reader:left() >= secured.length then
      reader:header(secured, function(r) return "secure domain " .. r:bits(8, 24) end)
    end
    reader:refuse("secured packet without keys")
  end
  if not rules then reader:refuse("unknown transport header") end
  local control = rules.kind == "control"
  state.name = names.pds_type[kind]
  if control then
    if next > 9 then reader:refuse("unknown opcode") end
  elseif next > 6 then
    reader:refuse("unknown header after the transport header")
  elseif not rules.next[next] then
    reader:refuse("header that may not follow")
  end
  reader:header(H.PDS[kind], names.pds_type[kind])
  local at = reader.start
  local function word16(offset) return reader.tvb(at + offset, 2):uint() end
  local function number(offset) return string.format("%.0f", reader.tvb(at + offset, 4):uint()) end
  if rules.kind == "request" then
    state.summary = ", PDC " .. hexed(word16(8)) ..
        (H.has_syn(reader) and " SYN" or " > " .. hexed(word16(10))) .. ", PSN " .. number(4)
  elseif rules.kind == "ack" then
    state.summary = ", PDC " .. hexed(word16(8)) .. " > " .. hexed(word16(10)) .. ", CACK " .. number(4)
  elseif rules.kind == "nack" then
    state.summary = " " .. (names.nack[reader:bits(16, 8)] or "unknown") .. ", PSN " .. number(4)
  elseif control then
    state.summary = " " .. names.control[next] .. ", PDC " .. hexed(word16(8)) .. " > " .. hexed(word16(10)) ..
        ", PSN " .. number(4)
  elseif rules.kind == "rudi" then
    state.summary = ", packet " .. number(4)
  end
  return kind, control and 0 or next, control and next == 9
end

-- What a request's summary says of its place: buffer offset, offset in the message, and length of the message.
local function place_text(reader, at, form)
  local function number(offset) return string.format("%.0f", reader.tvb(at + offset, 4):uint()) end
  local flags = reader.tvb(at + 1, 1)
  local offset = (form == 2 and flags:bitfield(5, 1) == 1) and "0" or tostring(reader.tvb(at + 12, 8):uint64())
  local first = form ~= 3 or flags:bitfield(7, 1) == 1
  local length = form == 3 and number(40) or tostring(reader.tvb(at + 2, 2):bitfield(2, 14))
  return string.format(", %s+%s of %s bytes", offset, first and "0" or number(36), length)
end

-- Operations whose packets carry no data.
local function carries_none(opcode, compare)
  return opcode == 0x00 or opcode == 0x02 or opcode == 0x0c or opcode == 0x0f or compare
end

-- SES request and extension; then its lengths against the bytes that are there, unless those are trimmed.
local function request(reader, form, state)
  local header = H.REQUEST[form]
  if reader:left() < header.length then reader:refuse("truncated") end
  local at = reader.at
  local opcode = reader.tvb(at, 1):bitfield(2, 6)
  local known = opcode <= 0x0f
  if reader.tvb(at + 1, 1):bitfield(0, 2) ~= 0 then reader:refuse("unknown header version") end
  if known and not names.forms[form][opcode] then reader:refuse("header that may not follow") end
  local extension = names.extension[opcode]
  local extended = header.length + (extension == "rendezvous" and 24 or extension == "atomic" and 4 or 0)
  if reader:left() < extended then reader:refuse("truncated") end
  local compare = false
  if extension == "atomic" then
    local operation = reader.tvb(at + header.length, 1):uint()
    compare = operation >= 0x0d and operation <= 0x13
    if compare and reader:left() < header.length + 36 then reader:refuse("truncated") end
  end
  local name = names.opcode[opcode] or "unknown"
  reader:header(header, names.next_header[form] .. " " .. name)
  local job = reader:bits(40, 24)
  state.summary = state.summary .. ", " .. name
  if extension == "rendezvous" then
    reader:header(H.RENDEZVOUS, function(r) return string.format("%.0f eager bytes", r.tvb(r.start, 4):uint()) end)
  elseif extension == "atomic" then
    local function word(table, position) return table[reader:bits(position, 8)] or "unknown" end
    reader:header(compare and H.COMPARE_SWAP or H.ATOMIC, function() return word(names.atomic, 0) end)
    state.summary = state.summary .. " " .. word(names.atomic, 0) .. " " .. word(names.datatype, 8)
  end
  state.summary = state.summary .. ", job " .. job
  if form == 3 then state.summary = state.summary .. ", message " .. reader.tvb(at + 2, 2):uint() end
  state.summary = state.summary .. place_text(reader, at, form)
  if state.trimmed then return end

  local payload = reader:left()
  local flags = reader.tvb(at + 1, 1)
  local first, last = flags:bitfield(7, 1) == 1, flags:bitfield(6, 1) == 1
  if payload > 16383 then reader:refuse("bad payload length") end
  if form ~= 3 and not (first and last) then reader:refuse("segment beyond its message") end
  if carries_none(opcode, compare) then
    if payload ~= 0 then reader:refuse("bad payload length") end
    return
  end
  if form ~= 3 then
    local announced = reader.tvb(at + 2, 2):bitfield(2, 14)
    local right = payload == announced or (payload == 0 and flags:bitfield(3, 1) == 1)
    if not right and known then reader:refuse("bad payload length") end
    return
  end
  if not first and reader.tvb(at + 34, 2):bitfield(2, 14) ~= payload then reader:refuse("bad payload length") end
  local offset = first and 0 or reader.tvb(at + 36, 4):uint()
  if offset + payload > reader.tvb(at + 40, 4):uint() and known then reader:refuse("segment beyond its message") end
end

local function answer(reader, form, state)
  local header = H.RESPONSE[form]
  if reader:left() < header.length then reader:refuse("truncated") end
  if reader.tvb(reader.at + 1, 1):bitfield(0, 2) ~= 0 then reader:refuse("unknown header version") end
  local word = reader.tvb(reader.at, 2)
  local name = names.response[word:bitfield(2, 6)] or "unknown"
  local code = names.return_code[word:bitfield(10, 6)] or "unknown"
  reader:header(header, names.next_header[form] .. " " .. name)
  state.summary = state.summary .. ", " .. name .. ", " .. code
  if state.trimmed then return end
  local announced = form == 5 and reader:bits(82, 14) or form == 6 and reader:bits(18, 14) or 0
  if announced ~= reader:left() then reader:refuse("bad payload length") end
end

-- A whole packet without its CRC.
local function packet(reader, state)
  local _, next, negotiation = delivery(reader, state)
  local data = negotiation
  if next >= 1 and next <= 3 then
    request(reader, next, state)
    data = true
  elseif next >= 4 then
    answer(reader, next, state)
    data = next ~= 4
  end
  local rest = reader:left()
  if rest == 0 then return end
  if not data then reader:refuse("bad payload length") end
  state.summary = state.summary .. ", payload " .. rest
  reader:lone(H.PAYLOAD, rest, "payload", common.preview)
end

-- A packet whose data a switch has cut off, and perhaps a part of its SES header.
local function trimmed_packet(reader, state)
  local _, next = delivery(reader, state)
  if next ~= 0 then
    local from, summary, tree = reader.at, state.summary, reader.tree
    local parse = next <= 3 and request or answer
    reader.tree = nil
    local cut = common.attempt(function() parse(reader, next, state) end)
    reader.at, reader.tree, state.summary = from, tree, summary
    if not cut then parse(reader, next, state) end
  end
  state.summary = state.summary .. state.trimmed
  local rest = reader:left()
  reader:lone(H.LEFT_OVER, rest, "left over", rest .. " bytes of what was trimmed")
end

-- Integrity and trimming -------------------------------------------------------------------------------------------

local seen = {
  v4_dscp = Field.new("ip.dsfield.dscp"), v6_dscp = Field.new("ipv6.tclass.dscp"),
  v4_source = Field.new("ip.src"), v4_destination = Field.new("ip.dst"),
  v6_source = Field.new("ipv6.src"), v6_destination = Field.new("ipv6.dst"),
  udp_source = Field.new("udp.srcport"), udp_destination = Field.new("udp.dstport"),
  udp_length = Field.new("udp.length"), udp_checksum = Field.new("udp.checksum"),
}
-- The innermost field of a name, where packets are in packets.
local function innermost(name)
  local all = {seen[name]()}
  return all[#all]
end

-- DSCPs as wharf assigns them; the operator of a network may have others. [3.6.17, 4.1]
uet.proto.prefs.trimmed = Pref.uint("DSCP of trimmed packets", 18, "Trimmed by a switch")
uet.proto.prefs.trimmed_last_hop = Pref.uint("DSCP of packets trimmed at the last hop", 20, "Trimmed at the last hop")

-- Which IP header is the innermost: "v4_" or "v6_".
local function ip_version()
  local v4, v6 = innermost("v4_source"), innermost("v6_source")
  return v6 and (not v4 or v6.offset > v4.offset) and "v6_" or "v4_"
end

-- How the summary says that the packet has been trimmed, or nil.
local function trim_state()
  local dscp = innermost(ip_version() .. "dscp")
  if not dscp then return nil end
  if dscp.value == uet.proto.prefs.trimmed then return ", trimmed" end
  if dscp.value == uet.proto.prefs.trimmed_last_hop then return ", trimmed at the last hop" end
  return nil
end

-- The bytes before `tvb` that the CRC covers: from the source IP address on. UDP and IP are known by their fields.
local function covered_before(native)
  local parts = {}
  local version = ip_version()
  local wanted = {version .. "source", version .. "destination"}
  if not native then
    for _, each in ipairs({"udp_source", "udp_destination", "udp_length", "udp_checksum"}) do
      table.insert(wanted, each)
    end
  end
  for _, each in ipairs(wanted) do
    local field = innermost(each)
    if not field then return nil end
    table.insert(parts, field.range:bytes():raw())
  end
  return table.concat(parts)
end

local function reversed(text) return text:reverse() end
local function big_endian(crc)
  return string.char(math.floor(crc / 2 ^ 24) % 256, math.floor(crc / 2 ^ 16) % 256, math.floor(crc / 256) % 256,
                     crc % 256)
end

-- Whether bytes `from` to `to` of a packet can be read, without showing anything.
local function readable(tvb, from, to)
  local state = {summary = ""}
  return common.attempt(function() packet(common.reader(uet, tvb, nil, from, to), state) end)
end

-- How the packet ends: "good" or "bad" CRC (and the two CRCs), or none. The packet does not say: a CRC that matches in
-- either byte order is one, and so are four bytes without which alone the lengths fit.
local function find_crc(tvb, from, native)
  local to = tvb:len()
  -- A secured packet ends with a tag.
  if to - from < 4 or tvb(from, 1):bitfield(0, 5) == 1 then return nil end
  local before = covered_before(native)
  local received = tvb(to - 4, 4):bytes():raw()
  local computed = before and
      big_endian(common.crc32c(before, to > 4 and tvb(0, to - 4):bytes():raw() or ""))
  if received == computed or (computed and received == reversed(computed)) then
    return "good", received == computed and received or reversed(received)
  end
  local reason = readable(tvb, from, to)
  if not reason then return nil end
  if readable(tvb, from, to - 4) then return nil end
  return "bad", received, computed
end

local function tohex(text)
  return "0x" .. (text:gsub(".", function(byte) return string.format("%02x", byte:byte()) end))
end

local function show(tvb, pinfo, tree, from, native)
  local state = {summary = "", trimmed = trim_state()}
  local cut = tvb:len() < tvb:reported_len()
  local crc, received, computed
  if not state.trimmed and not cut then crc, received, computed = find_crc(tvb, from, native) end
  local to = crc and tvb:len() - 4 or tvb:len()
  local reader = common.reader(uet, tvb, tree, from, to)
  local reason = common.attempt(function()
    if state.trimmed then trimmed_packet(reader, state) else packet(reader, state) end
  end)
  if cut and not state.trimmed then reason = "truncated" end
  if crc then
    local item = tree:add(H.CRC, tvb(to, 4))
    if crc == "good" then
      item:set_text("CRC: " .. tohex(received) .. " (good)")
    else
      state.summary = state.summary .. ", bad CRC"
      -- Read as wharf does: most significant byte first is the second order that is tried.
      item:set_text("CRC: " .. tohex(reversed(received)) .. " (bad" ..
                        (computed and ": expected " .. tohex(computed) or "") .. ")")
      item:add_proto_expert_info(uet.bad_checksum, "bad CRC")
    end
  end
  local summary = (state.name or "") .. state.summary
  if reason then
    common.show_refusal(uet, tree, pinfo, reason, summary)
  else
    pinfo.cols.info:set(summary)
  end
end

uet.finish(function(tvb, pinfo, tree)
  pinfo.cols.protocol:set("UET")
  show(tvb, pinfo, common.item(uet, tvb, tree), 0, false)
end)
common.claim_udp_port(4793, uet.proto, 4792)

-- 253 is for experiments (RFC 3692), until a number is assigned.
local native = Proto("uet_native", "Ultra Ethernet Transport over IP")
function native.dissector(tvb, pinfo, tree)
  pinfo.cols.protocol:set("UET")
  local item = common.item(uet, tvb, tree)
  local reader = common.reader(uet, tvb, item)
  local reason = common.attempt(function()
    reader:header(H.ENTROPY, function(r) return "entropy " .. r:bits(0, 16) end)
    if tvb:len() < 8 then reader:refuse("truncated") end
  end)
  if reason then return common.show_refusal(uet, item, pinfo, reason) end
  show(tvb, pinfo, item, 4, true)
end
DissectorTable.get("ip.proto"):add(253, native)
