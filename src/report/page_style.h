// SPDX-License-Identifier: Apache-2.0
// How pages look.
#pragma once

#include <string_view>

namespace wharf::report {

inline constexpr std::string_view kPageStyle = R"(
:root { --ink: #1c2733; --soft: #5d6b7a; --line: #dde3ea; --paper: #ffffff; --wash: #f5f7fa; }
:root { --good: #1a7f4b; --bad: #b3261e; --strong: #0072b2; --pale: #a9cbe2; }
* { box-sizing: border-box; }
body { margin: 0; color: var(--ink); background: var(--paper); font: 15px/1.55 system-ui, sans-serif; }
main { max-width: 72rem; margin: 0 auto; padding: 1.5rem 1.25rem 4rem; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0.5rem 0; }
h2 { font-size: 1.25rem; margin: 2.5rem 0 0.4rem; padding-top: 1rem; border-top: 1px solid var(--line); }
h2 code { color: var(--soft); font-size: 0.85em; font-weight: normal; margin-left: 0.5em; }
h3 { font-size: 1rem; margin: 1.2rem 0 0.2rem; }
p { max-width: 60rem; margin: 0.5rem 0; }
.quiet, .hint { color: var(--soft); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 0.9rem; margin: 0.6rem 0; }
th { text-align: left; font-weight: 600; background: var(--wash); }
th.sorts { cursor: pointer; }
th.up::after { content: " \25b4"; }
th.down::after { content: " \25be"; }
th, td { padding: 0.25rem 0.7rem; border-bottom: 1px solid var(--line); vertical-align: top; }
th.number, td.number { text-align: right; white-space: nowrap; }
tbody tr:hover { background: var(--wash); }
.pass { color: var(--good); font-weight: 600; }
.fail { color: var(--bad); font-weight: 600; }
dl { display: flex; flex-wrap: wrap; gap: 0.6rem 2rem; margin: 0.8rem 0; }
dt { color: var(--soft); font-size: 0.8rem; }
dd { margin: 0; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
pre { background: var(--wash); padding: 0.6rem 0.8rem; overflow-x: auto; font-size: 0.85rem; }
pre { margin: 0.5rem 0; }
details { margin: 0.6rem 0; }
summary { cursor: pointer; color: var(--soft); }
input.filter { font: inherit; padding: 0.15rem 0.5rem; border: 1px solid var(--line); margin-top: 0.5rem; }
figure { margin: 1.2rem 0; max-width: 60rem; }
figcaption { font-weight: 600; }
figure svg { max-width: 100%; height: auto; display: block; }
figure.live .drawing, figure.live .quiet { display: none; }
.chart { position: relative; touch-action: pan-y; user-select: none; }
.chart text { font-size: 12px; fill: var(--ink); }
.chart .faded { opacity: 0.12; }
.legend { display: flex; flex-wrap: wrap; gap: 0.2rem 0.9rem; font-size: 0.85rem; align-items: center; }
.legend button { font: inherit; color: inherit; background: none; border: 0; padding: 0; cursor: pointer; }
.legend button.off { opacity: 0.35; }
.legend i { display: inline-block; width: 0.8em; height: 0.8em; margin-right: 0.35em; border-radius: 2px; }
.legend .plain { color: var(--soft); text-decoration: underline; }
.tip { position: absolute; pointer-events: none; background: var(--ink); color: #fff; font-size: 0.8rem; }
.tip { padding: 0.2rem 0.5rem; border-radius: 3px; white-space: pre; z-index: 1; }
.bars { margin: 0.8rem 0; font-size: 0.85rem; }
.bars .row { display: grid; grid-template-columns: minmax(8rem, 16rem) 1fr 9rem; gap: 0.8rem; }
.bars .row:hover { background: var(--wash); }
.bars .line { position: relative; border-left: 1px solid var(--line); border-right: 1px solid var(--line); }
.bars i { position: absolute; top: 3px; bottom: 3px; min-width: 1px; border-radius: 1px; }
.bars .strong { background: var(--strong); }
.bars .pale { background: var(--pale); }
.bars .value { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
nav ul { columns: 2; padding-left: 1.2rem; }
footer { margin-top: 4rem; padding-top: 0.8rem; border-top: 1px solid var(--line); }
footer { color: var(--soft); font-size: 0.85rem; }
@media (max-width: 40rem) { nav ul { columns: 1; } .bars .row { grid-template-columns: 7rem 1fr 6rem; } }
@media print { figure.live .drawing { display: block; } figure.live .drawing ~ .chart { display: none; } }
)";

}  // namespace wharf::report
