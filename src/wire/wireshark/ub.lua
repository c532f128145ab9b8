-- SPDX-License-Identifier: Apache-2.0
-- Unified Bus in Wireshark: over UDP 4792 with or without OPtag (profile P1), on native links in captures of link type
-- USER0 (P1 and P3), and OpenURMA's Ethernet type 0x88b5 (P2). Layouts are those of UB-Base 2.0.1 5 to 8 as
-- docs/protocol/ub.md has them; what `wharf dissect` refuses is refused here with the same words.
-- Wireshark tells scripts of its own folder of plugins nothing of where they are.
local here = __DIR__ or debug.getinfo(1, "S").source:match("^@?(.*)[/\\]")
local common = dofile(here .. "/wharf_reader.lua")
local names = dofile(here .. "/wharf_names.lua").ub
local number = common.number
local ub = common.protocol("ub", "Unified Bus")
if not ub then return end

local H = loadfile(here .. "/wharf_ub_headers.lua")(names, ub)

-- Packets ----------------------------------------------------------------------------------------------------------

-- What stands between link and transport header, and which profile's layouts follow.
local UDP = {ip = true}
local CNA24 = {nth = H.NTH_CNA24}
local CNA16 = {nth = H.NTH_CNA16, compact = true}
local MEMORY = {nth = H.NTH_CNA16, compact = true, short = true}
local OPENURMA = {nth = H.NTH_OPENURMA, openurma = true}

local function status_word(code)
  return names.status[code] or "reserved status " .. code
end

-- UPIH and EIDH after a transport header [6.2]; sets state.entities.
local function entities(reader, next, state)
  if next == 0 then return end
  if next == 1 then
    if reader:left() < 36 then reader:refuse("truncated") end
    reader:lone(H.UPIH_FULL, 4)
    reader:header(H.EIDH_FULL, function(r)
      return common.hex(r.tvb(r.start, 16)) .. " > " .. common.hex(r.tvb(r.start + 16, 16))
    end)
    state.entities = "full"
    return
  end
  if next ~= 2 or state.transport ~= "CTP" then
    reader:refuse("unknown header after the transport header")
  end
  if reader:left() < 7 then reader:refuse("truncated") end
  local range = reader.tvb(reader.at, 2)
  reader:lone(H.UPIH_COMPACT, 2, "UPIH", function() return number(range:bitfield(1, 15)) end)
  reader:header(H.EIDH_COMPACT, function(r) return number(r:bits(0, 20)) .. " > " .. number(r:bits(20, 20)) end)
  state.entities = "compact"
end

local function congestion_echo(reader)
  reader:header(H.CETPH, function(r) return string.format("%.0f bytes acknowledged", r.tvb(r.start, 4):uint()) end)
end

local function selective(reader)
  local first = reader:take(4):bitfield(0, 8)
  if first > 4 then reader:refuse("bad selective-acknowledgement size") end
  reader.at = reader.start
  reader:header(H.SAETPH[first], math.floor(64 * 2 ^ first) .. " bits")
end

-- RTPH or UTPH with the extensions after it.
local function reliable(reader, state)
  if reader:left() < 16 then reader:refuse("truncated") end
  local opcode = reader.tvb(reader.at, 1):bitfield(1, 7)
  if state.carrier.ip and opcode == 0 then state.transport = "UTP" end
  local unreliable = state.transport == "UTP"
  if unreliable then
    reader:header(H.UTPH, "unreliable")
  else
    reader:header(H.RTPH, names.tp_opcode[opcode] or "unknown")
  end
  if reader:bits(8, 2) ~= 0 then reader:refuse("unknown header version") end
  state.pad = reader:bits(10, 2)
  local next = reader:bits(12, 4)
  if unreliable then
    if opcode ~= 0 then reader:refuse("unknown transport header") end
    entities(reader, next, state)
    return
  end
  if opcode == 0 or not names.tp_opcode[opcode] then reader:refuse("unknown transport header") end
  local status = reader:bits(96, 3)
  state.name = opcode ~= 1 and names.tp_opcode[opcode] or nil
  state.summary = string.format(", TP %d > %d, PSN %d", reader:bits(16, 24), reader:bits(40, 24), reader:bits(72, 24))
  if status ~= 0 then state.summary = state.summary .. ", " .. status_word(status) end
  state.acknowledgement = opcode ~= 1 and opcode ~= 8
  state.notification = opcode == 8
  if opcode == 3 or opcode == 6 or (opcode == 8 and state.carrier.openurma) then congestion_echo(reader) end
  if opcode == 5 or opcode == 6 then selective(reader) end
  entities(reader, next, state)
end

local function compact_transport(reader, state)
  local opcode = reader:take(1):bitfield(0, 2)
  reader.at = reader.start
  reader:header(H.CTPH, names.ctp_opcode[opcode] or "reserved")
  if opcode > 1 then reader:refuse("unknown transport header") end
  state.pad = reader:bits(2, 2)
  state.notification = opcode == 1
  entities(reader, reader:bits(4, 4), state)
end

-- Whether it is CTPH that stands behind UDP: it announces compact entity ids, and its UPI has bits where RTPH has an NLP
-- that is none.
local function compact_behind_udp(reader)
  if reader:left() < 2 then return false end
  local range = reader.tvb(reader.at, 2)
  return range:bitfield(0, 1) == 0 and range:bitfield(4, 4) == 2 and range:bitfield(12, 4) > 3
end

-- The bytes of a packet that has no data: none, or the zeros that fill a short P2 frame up.
local function no_data(reader, state)
  local rest = reader:left()
  if rest == 0 then return end
  local zeros = not reader.tvb(reader.at, rest):bytes():tohex():find("[^0]")
  if not (state.carrier.openurma and reader.to - state.from + 26 == 60 and zeros) then
    reader:refuse("bad payload length")
  end
  reader:lone(H.FILL, rest, "Ethernet padding", rest .. " bytes")
end

-- Data and its pad; returns how many bytes of data.
local function data(reader, state)
  local rest, pad = reader:left(), state.pad
  local padded = not state.carrier.openurma and state.transport ~= "bypass"
  local wanted = padded and (4 - (rest - pad) % 4) % 4 or 0
  if pad > rest or pad ~= wanted or
      (pad > 0 and reader.tvb(reader.to - pad, pad):bytes():tohex():find("[^0]")) then
    reader:refuse("bad padding")
  end
  if rest > pad then
    state.summary = state.summary .. ", payload " .. rest - pad
    reader:lone(H.PAYLOAD, rest - pad, "payload", common.preview)
    reader:lone(H.PAD, pad, "pad", pad .. " bytes")
  end
  return rest - pad
end

-- A number of 4, 8 or 16 bytes.
local function operand(reader, field, title, width)
  reader:lone(field, width, title, function(range)
    local digits = common.hex(range):gsub("^0+", "")
    return "0x" .. (digits == "" and "0" or digits)
  end)
end

-- MAETAH in its form; sets state.address and state.length.
local function address(reader, state)
  local form = state.short and H.MAETAH_COMPACT or state.carrier.openurma and H.MAETAH_OPENURMA or H.MAETAH
  reader:header(form, function(r)
    local place = r.tvb(r.start, 8)
    local where = state.short and H.line_address(place) or place:uint64()
    local length = state.short and H.compact_length(place(7, 1)) or r.tvb(r.start + 12, 4):uint()
    return string.format("%s+%.0f", number(where, 16), length)
  end)
  local place = reader.tvb(reader.start, 8)
  state.address = state.short and H.line_address(place) or place:uint64()
  state.length = state.short and H.compact_length(place(7, 1)) or reader.tvb(reader.start + 12, 4):uint()
  state.summary = state.summary .. string.format(", address %s, %.0f bytes", number(state.address), state.length)
end

local function atomic_operands(reader, opcode, layout, state)
  if state.carrier.openurma then
    local compare = opcode == 7
    operand(reader, compare and H.COMPARE or H.OPERAND, compare and "compare" or "operand", 8)
    return
  end
  local width = state.length
  if width ~= 4 and width ~= 8 and width ~= 16 then reader:refuse("bad payload length") end
  operand(reader, H.OPERAND, layout.compare and "swap" or "operand", width)
  if layout.compare then operand(reader, H.COMPARE, "compare", width) end
end

-- What follows BTAH, whose TV_EN and MT_EN are `token` and `target`. They must be whole before any is read.
local function request_extensions(reader, opcode, token, target, layout, state)
  token = token and (not state.carrier.openurma or layout.address)
  target = target or layout.target
  local needed = (layout.address and (state.short and 12 or 16) or 0) + (token and 4 or 0) + (target and 4 or 0)
  if reader:left() < needed then reader:refuse("truncated") end
  if layout.address then address(reader, state) end
  if token then reader:lone(H.TVETAH, 4) end
  if target then
    reader:header(H.MTETAH, function(r)
      return (names.target_type[r:bits(8, 2)] or "reserved") .. " " .. r:bits(12, 20)
    end)
  end
  -- OpenURMA's loads have an operand too.
  if layout.operand or (state.carrier.openurma and layout.atomic) then
    atomic_operands(reader, opcode, layout, state)
  end
  if layout.immediate then
    reader:lone(H.IMMEDIATE, 8)
  elseif layout.notify then
    reader:header(H.NOTIFY, function(r)
      return number(r.tvb(r.start + 16, 8):uint64()) .. " to " .. number(r.tvb(r.start, 8):uint64(), 16)
    end)
  elseif layout.invalidate then
    reader:header(H.INVALIDATE, function(r) return number(r:bits(4, 20)) end)
  elseif layout.message then
    reader:header(H.MESSAGE, function(r)
      return string.format("code %d.%d, %s", r:bits(4, 3), r:bits(0, 4), r:bits(7, 1) == 1 and "response" or "request")
    end)
  end
end

local function check_transaction(reader, requester_type)
  if reader:bits(8, 2) ~= 0 then reader:refuse("unknown header version") end
  if requester_type == 3 then reader:refuse("reserved requester context type") end
end

-- INI_RC_Type of the header that was taken last.
local function requester_type(reader, state)
  if state.short then return 0 end
  return reader:bits(state.carrier.openurma and 41 or 42, 2)
end

local function response(reader, opcode, state)
  local form = state.short and H.ATAH_COMPACT or state.carrier.openurma and H.ATAH_OPENURMA or H.ATAH
  reader:header(form, names.ta_opcode[opcode])
  state.name = state.name or names.ta_opcode[opcode]
  local status = state.short and reader:bits(10, 2) or reader:bits(32, 3)
  state.summary = state.summary .. string.format(", TASSN %d, %s", reader:bits(16, 16), status_word(status))
  check_transaction(reader, requester_type(reader, state))
end

local function request(reader, opcode, state)
  local form = state.short and H.BTAH_COMPACT or state.carrier.openurma and H.BTAH_OPENURMA or H.BTAH
  reader:header(form, names.ta_opcode[opcode] or "unknown")
  state.name = state.name or names.ta_opcode[opcode] or "unknown"
  state.summary = state.summary .. ", TASSN " .. reader:bits(16, 16)
  check_transaction(reader, requester_type(reader, state))
  if reader:bits(15, 1) == 1 then reader:refuse("user-defined extension header") end
end

-- Everything from the transport header on; `state.name` and `state.summary` become what is known of the packet.
local function packet(reader, state)
  state.from, state.summary, state.pad = reader.at, "", 0
  if state.transport == "RTP" and state.carrier.ip and compact_behind_udp(reader) then state.transport = "CTP" end
  if state.transport == "CTP" then
    compact_transport(reader, state)
  elseif state.transport ~= "bypass" then
    reliable(reader, state)
  end
  state.short = state.carrier.short or (state.transport == "CTP" and not state.entities)

  if state.notification then
    state.name = state.name or "UB CNP"
    if state.pad ~= 0 then reader:refuse("bad padding") end
    if not state.carrier.openurma then
      reader:header(H.CNPETPH, function(r) return "ECN " .. r:bits(0, 2) end)
    end
    return no_data(reader, state)
  end

  local header = state.carrier.openurma and 16 or state.short and 4 or 8
  local opcode = reader:left() >= header and reader.tvb(reader.at, 1):uint()
  local layout = opcode and names.layout[opcode]
  local answer = layout and layout.response
  if state.acknowledgement and not answer then
    if state.pad ~= 0 then reader:refuse("bad padding") end
    return no_data(reader, state)
  end
  if not opcode then reader:refuse("truncated") end
  local payload = true
  if answer then
    response(reader, opcode, state)
    payload = layout.payload and not state.acknowledgement
  else
    local at = reader.at
    request(reader, opcode, state)
    if layout then
      local token = reader.tvb(at, 2):bitfield(12, 1) == 1
      local target = not state.short and reader.tvb(at, 5):bitfield(36, 1) == 1
      request_extensions(reader, opcode, token, target, layout, state)
      payload = layout.payload
    end
  end
  if not payload then
    if state.pad ~= 0 then reader:refuse("bad padding") end
    return no_data(reader, state)
  end
  local length = data(reader, state)
  if layout and layout.byte_enable and length ~= state.length + math.ceil(state.length / 32) * 4 then
    reader:refuse("bad payload length")
  end
end

-- Shows a packet from byte `from` of `tvb` on, `to` being where it ends.
local function show(tvb, pinfo, tree, from, carrier, transport)
  local state = {carrier = carrier, transport = transport, name = nil, summary = ""}
  local reader = common.reader(ub, tvb, tree, from)
  local reason = common.attempt(function() packet(reader, state) end)
  if tvb:len() < tvb:reported_len() then reason = "truncated" end
  local summary = (state.name or "") .. state.summary
  if reason then
    common.show_refusal(ub, tree, pinfo, reason, summary)
  else
    pinfo.cols.info:set(summary)
  end
end

-- Where packets are found ------------------------------------------------------------------------------------------

local function begin(tvb, pinfo, tree)
  pinfo.cols.protocol:set("UB")
  return common.item(ub, tvb, tree)
end

-- A network header with CNAs, which says what transport follows.
local function show_cna(tvb, pinfo, tree, from, carrier)
  local reader = common.reader(ub, tvb, tree, from)
  local next
  local reason = common.attempt(function()
    reader:header(carrier.nth, function(r)
      local wide = carrier.nth ~= H.NTH_CNA16 and 24 or 16
      local first = carrier.openurma and 8 or 0
      return "CNA " .. number(r:bits(first, wide)) .. " > " .. number(r:bits(first + wide, wide))
    end)
    local wide = carrier.nth ~= H.NTH_CNA16 and 24 or 16
    local first = carrier.openurma and 8 or 0
    pinfo.cols.src:set("CNA " .. number(reader:bits(first, wide)))
    pinfo.cols.dst:set("CNA " .. number(reader:bits(first + wide, wide)))
    next = reader:bits(8 * (carrier.nth.length - (carrier.openurma and 2 or 1)) + 5, 3)
    if next > 3 or (next == 0 and carrier.openurma) or (next > 1 and carrier.compact) then
      reader:refuse("unknown transport header")
    end
  end)
  if reason then return common.show_refusal(ub, tree, pinfo, reason) end
  show(tvb, pinfo, tree, reader.at, carrier, ({[0] = "CTP", "bypass", "RTP", "UTP"})[next])
end

ub.finish(function(tvb, pinfo, tree)
  -- From port 4792, which may be an entropy value, to that of UET.
  local other = pinfo.dst_port == 4793 and Dissector.get("uet")
  if other then return common.hand_over(function() return other:call(tvb, pinfo, tree) end) end
  show(tvb, pinfo, begin(tvb, pinfo, tree), 0, UDP, "RTP")
end)
common.claim_udp_port(4792, ub.proto)

local raw = Proto("ub_openurma", "Unified Bus over Ethernet (OpenURMA)")
function raw.dissector(tvb, pinfo, tree)
  show_cna(tvb, pinfo, begin(tvb, pinfo, tree), 0, OPENURMA)
end
DissectorTable.get("ethertype"):add(0x88b5, raw)

-- The Ethernet type of the OPtag stands before the tag; that of the IP header after it.
local tag = Proto("ub_optag", "Unified Bus operator tag")
function tag.dissector(tvb, pinfo, tree)
  local item = tree:add(ub.proto, tvb(0, math.min(6, tvb:len())))
  if tvb:len() < 8 then return common.show_refusal(ub, item, pinfo, "truncated") end
  local reader = common.reader(ub, tvb, item)
  reader:header(H.OPTAG, function(r) return "NPI " .. number(r:bits(22, 26)) end)
  if tvb:len() == 8 then return end
  common.hand_over(function()
    return DissectorTable.get("ethertype"):try(tvb(6, 2):uint(), tvb(8):tvb(), pinfo, tree)
  end)
end
DissectorTable.get("ethertype"):add(0x88b6, tag)

-- Native links: link type USER0 is taken from whatever the user's preferences give it to.
local link = Proto("ub_link", "Unified Bus link")
function link.dissector(tvb, pinfo, tree)
  local item = begin(tvb, pinfo, tree)
  local reader = common.reader(ub, tvb, item)
  local config
  local reason = common.attempt(function()
    reader:header(H.LPH, function(r) return "config " .. r:bits(12, 4) end)
    config = reader:bits(12, 4)
    if config == 3 or config == 4 then
      reader:header(H.NTH_IP, function(r) return "NPI " .. number(r:bits(23, 25)) end)
    elseif config ~= 6 and config ~= 7 and config ~= 9 then
      reader:refuse("link header that carries no packet")
    end
  end)
  if reason then return common.show_refusal(ub, item, pinfo, reason) end
  if config == 3 or config == 4 then
    item:set_len(10)
    if tvb:len() == 10 then return common.show_refusal(ub, item, pinfo, "truncated") end
    common.hand_over(function()
      return Dissector.get(config == 3 and "ip" or "ipv6"):call(tvb(10):tvb(), pinfo, tree)
    end)
    return
  end
  show_cna(tvb, pinfo, item, 4, config == 6 and CNA16 or config == 7 and CNA24 or MEMORY)
end
DissectorTable.get("wtap_encap"):add(wtap.USER0, link)
