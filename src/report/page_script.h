// SPDX-License-Identifier: Apache-2.0
// What pages do in a browser: plots with values under the pointer, zoom and choice of lines; tables that sort
// and filter. It reads the numbers beside each plot and loads nothing. Texts become text, never elements.
#pragma once

#include <string_view>

namespace wharf::report {

inline constexpr std::string_view kPageScript = R"js(
'use strict';
(() => {
const W = 820, H = 400, LEFT = 74, RIGHT = 16, TOP = 14, BOTTOM = 52;
const SVG = 'http://www.w3.org/2000/svg';
function shape(parent, name, attributes, text) {
  const element = document.createElementNS(SVG, name);
  for (const key in attributes) element.setAttribute(key, attributes[key]);
  if (text !== undefined) element.textContent = text;
  parent.appendChild(element);
  return element;
}
function html(parent, name, look, text) {
  const element = document.createElement(name);
  if (look) element.className = look;
  if (text !== undefined) element.textContent = text;
  parent.appendChild(element);
  return element;
}
function number(value) {
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size >= 1e7 || size < 1e-4) return value.toExponential(3).replace(/\.?0+e/, 'e').replace('e+', 'e');
  return String(Number(value.toPrecision(6)));
}
function ticks(low, high, log) {
  const all = [];
  if (log) {
    const decades = Math.log10(high / low);
    const steps = decades > 2.5 ? [1] : decades > 1 ? [1, 2, 5] : [1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9];
    for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); ++power)
      for (const step of steps) {
        const value = step * Math.pow(10, power);
        if (value >= low * 0.9999 && value <= high * 1.0001) all.push(value);
      }
    if (all.length > 1) return all;
    all.length = 0;
  }
  const raw = (high - low) / 6, power = Math.pow(10, Math.floor(Math.log10(raw)));
  const step = [1, 2, 5, 10].map(s => s * power).find(s => s >= raw * 0.999);
  for (let i = Math.ceil(low / step - 1e-6); i * step <= high + step * 1e-6; ++i) all.push(i * step);
  return all;
}
function draw(figure, data) {
  const series = data.series;
  const lines = data.kind === 'lines', stacked = data.kind === 'stacked';
  const labels = [];
  if (!lines) for (const each of series)
    for (const point of each.points) if (!labels.includes(point[0])) labels.push(point[0]);
  const wide = (W - LEFT - RIGHT) / labels.length;
  const turned = labels.some(label => String(label).length * 6.6 > wide);
  const TALL = H + (turned ? 64 : 0);  // Turned labels need room.
  const chosen = new Set();
  let zoom = null;
  const chart = html(figure, 'div', 'chart');
  const tip = html(chart, 'div', 'tip');
  tip.hidden = true;
  const legend = html(figure, 'div', 'legend');
  const seen = i => chosen.size === 0 || chosen.has(i);
  const shown = (value, log) => value !== null && (!log || value > 0);

  function extent() {
    let xs = [], ys = [];
    series.forEach((each, i) => {
      if (!seen(i)) return;
      for (const [x, y] of each.points) {
        if (!shown(y, data.ylog) || (lines && !shown(x, data.xlog))) continue;
        xs.push(x);
        ys.push(y);
      }
    });
    const low = list => list.reduce((a, b) => Math.min(a, b), Infinity);
    const high = list => list.reduce((a, b) => Math.max(a, b), -Infinity);
    if (stacked) ys = labels.map(label => series.reduce((sum, each, i) => sum + (seen(i) ?
      each.points.filter(p => p[0] === label).reduce((s, p) => s + (p[1] || 0), 0) : 0), 0));
    if (ys.length === 0) return null;
    let [x0, x1] = lines ? [low(xs), high(xs)] : [0, labels.length];
    let [y0, y1] = [low(ys), high(ys)];
    if (x0 === x1) {
      const room = Math.abs(x0) * 0.2 || 1;
      x0 -= room;
      x1 += room;
    }
    if (data.ylog) {
      y0 /= 1.12;
      y1 *= 1.12;
    } else {
      y0 = Math.min(0, y0);
      y1 = y1 <= y0 ? y0 + 1 : y1 + (y1 - y0) * 0.04;
    }
    return {x0, x1, y0, y1};
  }

  let svg = null, range = null, marks = [];
  const put = (v, low, high, log) =>
    log ? Math.log(v / low) / Math.log(high / low) : (v - low) / (high - low);
  const take = (s, low, high, log) => log ? low * Math.pow(high / low, s) : low + s * (high - low);
  const px = x => LEFT + put(x, range.x0, range.x1, data.xlog && lines) * (W - LEFT - RIGHT);
  const py = y => H - BOTTOM - put(y, range.y0, range.y1, data.ylog) * (H - TOP - BOTTOM);

  function axes(clip) {
    for (const y of ticks(range.y0, range.y1, data.ylog)) {
      shape(svg, 'line', {x1: LEFT, x2: W - RIGHT, y1: py(y), y2: py(y), stroke: '#e3e8ee'});
      shape(svg, 'text', {x: LEFT - 6, y: py(y) + 4, 'text-anchor': 'end'}, number(y));
    }
    if (lines) for (const x of ticks(range.x0, range.x1, data.xlog)) {
      shape(svg, 'line', {x1: px(x), x2: px(x), y1: TOP, y2: H - BOTTOM, stroke: '#eef1f5'});
      shape(svg, 'text', {x: px(x), y: H - BOTTOM + 17, 'text-anchor': 'middle'}, number(x));
    }
    shape(svg, 'path', {d: `M${LEFT} ${TOP}V${H - BOTTOM}H${W - RIGHT}`, fill: 'none', stroke: '#8896a5'});
    shape(svg, 'text', {x: (LEFT + W - RIGHT) / 2, y: TALL - 8, 'text-anchor': 'middle'}, data.x);
    const middle = (TOP + H - BOTTOM) / 2;
    shape(svg, 'text', {x: 14, y: middle, 'text-anchor': 'middle', transform: `rotate(-90 14 ${middle})`},
      data.y);
    const box = shape(shape(svg, 'clipPath', {id: clip}), 'rect', {});
    for (const [key, value] of [['x', LEFT], ['y', TOP - 4], ['width', W - LEFT - RIGHT + 4],
      ['height', H - TOP - BOTTOM + 5]]) box.setAttribute(key, value);
  }
  function curves(inside) {
    series.forEach((each, i) => {
      const group = shape(inside, 'g', seen(i) ? {} : {class: 'faded'});
      const points = each.points.filter(p => shown(p[1], data.ylog) && shown(p[0], data.xlog));
      const at = points.map(p => [px(p[0]), py(p[1])]);
      if (at.length > 1)
        shape(group, 'polyline', {points: at.map(p => p[0].toFixed(1) + ',' + p[1].toFixed(1)).join(' '),
          fill: 'none', stroke: each.colour, 'stroke-width': 1.8,
          'stroke-dasharray': each.published ? '6 4' : 'none'});
      if (at.length <= 60)
        for (const p of at) shape(group, 'circle', {cx: p[0], cy: p[1], r: each.published ? 3.2 : 2.6,
          fill: each.published ? '#ffffff' : each.colour, stroke: each.colour});
      if (seen(i)) points.forEach((p, k) => marks.push({x: at[k][0], y: at[k][1], colour: each.colour,
        text: (each.name ? each.name + '\n' : '') + data.x + ': ' + number(p[0]) + '\n' + data.y +
          ': ' + number(p[1])}));
    });
  }
  function columns(inside) {
    const visible = stacked ? [0] : series.map((_, i) => i).filter(seen);
    labels.forEach((label, k) => {
      let sum = 0;
      series.forEach((each, i) => {
        const point = each.points.find(p => p[0] === label);
        if (!point || !shown(point[1], data.ylog) || !seen(i)) return;
        const thick = wide * 0.8 / (stacked ? 1 : visible.length);
        const x = LEFT + k * wide + wide * 0.1 + (stacked ? 0 : visible.indexOf(i) * thick);
        const from = stacked ? sum : range.y0, to = stacked ? sum + point[1] : point[1];
        sum = to;
        const top = py(Math.max(from, to)), tall = Math.abs(py(from) - py(to));
        shape(inside, 'rect',
          each.published ? {x: x + 1, y: top, width: Math.max(0.5, thick - 2.5), height: tall,
            fill: '#ffffff', stroke: each.colour, 'stroke-width': 2} :
            {x, y: top, width: Math.max(0.5, thick - 0.5), height: tall, fill: each.colour});
        marks.push({x: x + thick / 2, y: top, box: [x, top, thick, tall], colour: each.colour,
          text: label + (each.name ? '\n' + each.name : '') + ': ' + number(point[1])});
      });
      const cx = LEFT + (k + 0.5) * wide, every = Math.ceil(labels.length / 40);
      if (k % every !== 0) return;
      const cut = String(label).length > 22 ? String(label).slice(0, 21) + '…' : label;
      shape(svg, 'text', turned ? {x: cx, y: H - BOTTOM + 14, 'text-anchor': 'end', 'font-size': 10,
        transform: `rotate(-40 ${cx} ${H - BOTTOM + 14})`} :
        {x: cx, y: H - BOTTOM + 17, 'text-anchor': 'middle'}, cut);
    });
  }
  function render() {
    if (svg) svg.remove();
    marks = [];
    svg = shape(chart, 'svg', {viewBox: `0 0 ${W} ${TALL}`, role: 'img'});
    range = zoom || extent();
    if (!range) { shape(svg, 'text', {x: W / 2, y: H / 2, 'text-anchor': 'middle'}, 'no values'); return; }
    const clip = 'clip' + (draw.count = (draw.count || 0) + 1);
    axes(clip);
    const inside = shape(svg, 'g', {'clip-path': 'url(#' + clip + ')'});
    if (lines) curves(inside); else columns(inside);
    listen();
    controls();
  }
  function controls() {
    legend.textContent = '';
    series.forEach((each, i) => {
      if (series.length === 1) return;
      const button = html(legend, 'button', seen(i) ? '' : 'off');
      const look = html(button, 'i', '').style;
      look.background = each.published ? '#ffffff' : each.colour;
      look.border = '2px solid ' + each.colour;
      button.appendChild(document.createTextNode(each.name));
      button.addEventListener('click', () => {
        if (chosen.has(i)) chosen.delete(i); else chosen.add(i);
        render();
      });
    });
    if (chosen.size || zoom) {
      html(legend, 'button', 'plain', 'show all').addEventListener('click', () => {
        chosen.clear();
        zoom = null;
        render();
      });
    } else if (lines || series.length > 1) {
      const hints = [];
      if (lines) hints.push('drag to zoom');
      if (series.length > 1) hints.push('click a name to choose');
      html(legend, 'span', 'hint', hints.join(', '));
    }
  }
  function listen() {
    const dot = shape(svg, 'circle', {r: 4.5, fill: 'none', 'stroke-width': 2, visibility: 'hidden'});
    const band = shape(svg, 'rect', {y: TOP, height: H - TOP - BOTTOM, fill: '#0072b2', opacity: 0.12,
      visibility: 'hidden'});
    const inView = mark => mark.x >= LEFT - 1 && mark.x <= W - RIGHT + 1 && mark.y >= TOP - 2 &&
      mark.y <= H - BOTTOM + 2;
    const place = event => {
      const box = svg.getBoundingClientRect();
      return [(event.clientX - box.left) * W / box.width, (event.clientY - box.top) * TALL / box.height];
    };
    let start = null;
    svg.addEventListener('pointermove', event => {
      const [x, y] = place(event);
      if (start !== null) {
        band.setAttribute('x', Math.min(start, x));
        band.setAttribute('width', Math.abs(x - start));
        band.setAttribute('visibility', 'visible');
      }
      let best = null, least = lines ? 60 * 60 : Infinity;
      for (const mark of marks) {
        if (!inView(mark)) continue;
        const box = mark.box;
        if (box && (x < box[0] || x > box[0] + box[2] || (stacked && (y < box[1] || y > box[1] + box[3]))))
          continue;
        const far = (mark.x - x) ** 2 + (box ? 0 : (mark.y - y) ** 2);
        if (far < least) { least = far; best = mark; }
      }
      tip.hidden = !best;
      dot.setAttribute('visibility', best ? 'visible' : 'hidden');
      if (!best) return;
      dot.setAttribute('cx', best.x);
      dot.setAttribute('cy', best.y);
      dot.setAttribute('stroke', best.colour);
      tip.textContent = best.text;
      const scale = svg.getBoundingClientRect().width / W;
      const left = best.x * scale + 12, room = chart.clientWidth - tip.offsetWidth;
      tip.style.left = (left > room ? Math.max(0, best.x * scale - 12 - tip.offsetWidth) : left) + 'px';
      tip.style.top = Math.max(0, best.y * scale - tip.offsetHeight - 8) + 'px';
    });
    svg.addEventListener('pointerleave', () => {
      tip.hidden = true;
      dot.setAttribute('visibility', 'hidden');
    });
    if (!lines) return;
    svg.addEventListener('pointerdown', event => { start = place(event)[0]; event.preventDefault(); });
    svg.addEventListener('pointerup', event => {
      const end = place(event)[0], from = start;
      start = null;
      band.setAttribute('visibility', 'hidden');
      if (from === null || Math.abs(end - from) < 8) return;
      const share = x => Math.min(1, Math.max(0, (x - LEFT) / (W - LEFT - RIGHT)));
      const [a, b] = [share(Math.min(from, end)), share(Math.max(from, end))];
      if (b <= a) return;
      const x0 = take(a, range.x0, range.x1, data.xlog), x1 = take(b, range.x0, range.x1, data.xlog);
      const before = extent();
      let high = -Infinity;
      series.forEach((each, i) => { if (seen(i)) for (const [x, y] of each.points)
        if (x >= x0 && x <= x1 && y !== null) high = Math.max(high, y); });
      zoom = {x0, x1, y0: before.y0, y1: high > before.y0 && !data.ylog ? high * 1.05 : before.y1};
      tip.hidden = true;
      render();
    });
    svg.addEventListener('dblclick', () => { zoom = null; render(); });
  }
  render();
  figure.classList.add('live');
}
for (const figure of document.querySelectorAll('figure.plot'))
  draw(figure, JSON.parse(figure.querySelector('script[type="application/json"]').textContent));

for (const table of document.querySelectorAll('.scroll > table')) {
  const body = table.tBodies[0], heads = [...table.querySelectorAll('thead th')];
  if (!body || body.rows.length < 3) continue;
  heads.forEach((head, column) => {
    head.classList.add('sorts');
    head.title = 'sort';
    head.addEventListener('click', () => {
      const up = !head.classList.contains('up');
      for (const other of heads) other.classList.remove('up', 'down');
      head.classList.add(up ? 'up' : 'down');
      const key = row => row.cells[column].textContent, value = row => parseFloat(key(row));
      const rows = [...body.rows].sort((a, b) => {
        const order = isNaN(value(a)) || isNaN(value(b)) ? key(a).localeCompare(key(b)) : value(a) - value(b);
        return up ? order : -order;
      });
      for (const row of rows) body.appendChild(row);
    });
  });
  if (body.rows.length < 20) continue;
  const filter = document.createElement('input');
  filter.className = 'filter';
  filter.placeholder = 'rows with ...';
  filter.addEventListener('input', () => {
    for (const row of body.rows)
      row.hidden = ![...row.cells].some(cell => cell.textContent.includes(filter.value));
  });
  table.parentElement.before(filter);
}
})();
)js";

}  // namespace wharf::report
