// What the views are made of. All text passes clean and becomes text: nothing here makes markup of it.

const hides = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Variation_Selector}\p{Default_Ignorable_Code_Point}\p{Cs}]/gu;
const joined = /[\p{L}\p{M}\p{So}\p{Sk}\p{Sm}\ufe0f]/u;

// clean shows what an eye would not see, or what changes the order of what it sees, as the terminal does: joiners and
// variations are left where writing needs them.
export function clean(value) {
  return String(value ?? '').replace(hides, (c, at, all) => {
    const before = [...all.slice(Math.max(0, at - 2), at)].pop() ?? ' ', after = all.codePointAt(at + c.length);
    switch (c) {
      case '\n': case '\t': return c;
      case '\u200c': case '\u200d':
        if (before > '\x7f' && joined.test(before) && after > 0x7f && joined.test(String.fromCodePoint(after))) return c;
        break;
      case '\ufe0e': case '\ufe0f':
        if (/[\p{S}\p{P}\p{Nd}]/u.test(before)) return c;
    }
    const n = c.codePointAt(0);
    return n > 0xffff ? '\\U' + n.toString(16).padStart(8, '0') : n > 0x7f ? '\\u' + n.toString(16).padStart(4, '0') : '\\x' + n.toString(16).padStart(2, '0');
  });
}

const svgNames = ['svg', 'path', 'rect', 'title'];

// h makes an element: attributes that begin with "on" are listeners. Links stay on this page.
export function h(name, attributes = {}, ...children) {
  const e = svgNames.includes(name) ? document.createElementNS('http://www.w3.org/2000/svg', name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith('on')) e.addEventListener(key.slice(2), value);
    else if (key === 'href' && !String(value).startsWith('#')) throw new Error('a link to elsewhere');
    else e.setAttribute(key, value === true ? '' : clean(value));
  }
  put(e, ...children);
  return e;
}

// put replaces what is in an element.
export function put(e, ...children) {
  e.replaceChildren(...children.flat().filter((c) => c !== null && c !== undefined && c !== false)
    .map((c) => c instanceof Node ? c : document.createTextNode(clean(c))));
}

// bdi is text of strangers inside of ours.
export const bdi = (text) => h('bdi', {}, text);

// set changes text only if it is another, so that what is selected or read out stays.
export function set(e, text) {
  const now = clean(text);
  if (e.textContent !== now) e.textContent = now;
  return e;
}

const kept = new WeakMap(); // of keyed: the rows of a parent

// keyed has parent's children be those of items, by key, each made once and updated then.
export function keyed(parent, items, key, make, update) {
  if (!kept.has(parent)) kept.set(parent, new Map());
  const rows = kept.get(parent), seen = new Set();
  let at = parent.firstElementChild;
  for (const item of items) {
    const k = key(item);
    if (seen.has(k)) continue;
    seen.add(k);
    let row = rows.get(k);
    if (!row) rows.set(k, row = make(item));
    update?.(row, item);
    if (row === at) at = at.nextElementSibling;
    else parent.insertBefore(row, at);
  }
  for (const [k, row] of rows) {
    if (!seen.has(k)) { row.remove(); rows.delete(k); }
  }
}

// Table has a row for each item. A column has a title, a cell (text or a node) of an item, and a class.
export class Table {
  constructor(caption, columns, {key, empty = 'none'}) {
    Object.assign(this, {columns, key});
    this.body = h('tbody');
    this.none = h('p', {class: 'none'}, empty);
    const head = h('tr', {}, columns.map((c) => h('th', {scope: 'col', class: c.class}, c.title)));
    this.frame = h('div', {class: 'frame', role: 'region', tabindex: 0, 'aria-label': caption},
      h('table', {}, h('caption', {class: 'unseen'}, caption), h('thead', {}, head), this.body));
    this.element = h('div', {}, this.frame, this.none);
  }

  show(items) {
    this.none.hidden = items.length > 0;
    this.frame.hidden = items.length === 0;
    keyed(this.body, items, this.key,
      () => h('tr', {}, this.columns.map((c) => h('td', {class: c.class}))),
      (row, item) => this.columns.forEach((c, i) => {
        const value = c.cell(item), cell = row.children[i];
        if (value instanceof Node) {
          if (!cell.firstChild?.isEqualNode(value)) cell.replaceChildren(value);
        } else if (cell.firstChild?.localName === 'bdi') set(cell.firstChild, value);
        else cell.replaceChildren(bdi(value));
      }));
  }
}

// fields is a list of names and values; those without a value are left out.
export function fields(pairs) {
  return h('dl', {}, pairs.filter(([, v]) => v !== '' && v !== null && v !== undefined && v !== false && v !== 0)
    .map(([k, v]) => h('div', {}, h('dt', {}, k), h('dd', {}, v instanceof Node || Array.isArray(v) ? v : bdi(v)))));
}

export const heading = (text) => h('h1', {tabindex: -1}, text instanceof Node ? text : bdi(text));
export const section = (title, ...children) => h('section', {}, h('h2', {}, title), ...children);
export const to = (view, name, text = name) => h('a', {href: '#' + view + (name ? '/' + encodeURIComponent(name) : '')}, bdi(text));
export const code = (text) => h('pre', {tabindex: 0, dir: 'auto'}, text);

// pretty indents JSON, or returns other text as it is.
export function pretty(text) {
  try { return JSON.stringify(JSON.parse(text), null, 2); } catch { return text; }
}

// diff colours a preview's lines, whose first characters say the same.
export function diff(text) {
  const kinds = {'+': 'added', '-': 'removed', '@': 'place'};
  return h('pre', {tabindex: 0}, String(text).split('\n').map((line) => h('span', {class: kinds[line[0]] ?? 'same', dir: 'auto'}, line + '\n')));
}

export const announce = (text) => set(document.getElementById('said'), text);

// confirm asks in a dialog of its own, and resolves to whether the answer is yes.
export function confirm(question, detail, yes) {
  return new Promise((resolve) => {
    const answer = (value) => () => dialog.close(value);
    const dialog = h('dialog', {'aria-labelledby': 'ask', onclose: () => { dialog.remove(); resolve(dialog.returnValue === 'yes'); }},
      h('h2', {id: 'ask'}, question), h('p', {}, detail), h('p', {class: 'actions'},
        h('button', {type: 'button', class: 'danger', onclick: answer('yes')}, yes),
        h('button', {type: 'button', autofocus: true, onclick: answer('no')}, 'Cancel')));
    document.body.append(dialog);
    dialog.showModal();
  });
}

// Numbers.

export const number = (n) => Number(n || 0);
export const count = (n) => number(n) ? number(n).toLocaleString('en') : '–';

export function duration(ns) {
  const n = number(ns);
  if (n < 1e3) return n ? n + ' ns' : '–';
  if (n < 1e6) return Math.round(n / 1e3) + ' µs';
  if (n < 1e9) return (n / 1e6).toPrecision(3) + ' ms';
  if (n < 6e10) return (n / 1e9).toPrecision(3) + ' s';
  return Math.floor(n / 6e10) + ' min ' + Math.round(n % 6e10 / 1e9) + ' s';
}

export function bytes(value) {
  let n = number(value), unit = 0;
  if (!n) return '–';
  for (; n >= 1000 && unit < 4; unit++) n /= 1024;
  return (unit ? n.toPrecision(3) : n) + ' ' + ['B', 'KiB', 'MiB', 'GiB', 'TiB'][unit];
}

export const since = (time) => duration(Math.max(0, Date.now() - Date.parse(time)) * 1e6);

export function clock(time) {
  const d = new Date(time), two = (n) => String(n).padStart(2, '0');
  return isNaN(d) ? '–' : two(d.getHours()) + ':' + two(d.getMinutes()) + ':' + two(d.getSeconds()) + '.' + String(d.getMilliseconds()).padStart(3, '0');
}

// Drawings.

// Phases in the order in which a call passes them, with what they say in the Phases of the API.
export const phases = ['asked', 'retried', 'started', 'queued', 'sent', 'ran', 'checked', 'host'];
export const phaseTexts = {
  asked: 'a person or program took to answer', retried: 'earlier attempts, and pauses', started: 'its plugin was started',
  queued: 'it waited for its turn', sent: 'its arguments were sent', ran: 'the tool worked', checked: 'its answer was checked',
  host: 'the host did the rest',
};

// phasesOf returns how long each phase took, in nanoseconds.
export function phasesOf(c) {
  const out = {}, took = number(c.tookNs);
  let sum = 0;
  for (const p of phases) sum += out[p] = number(c.phases?.[p + 'Ns']);
  out.host = Math.max(0, took - sum);
  return out;
}

// bar draws phases next to each other, on a scale of whole nanoseconds.
export function bar(c, whole = number(c.tookNs)) {
  const parts = phasesOf(c), svg = h('svg', {class: 'bar', viewBox: '0 0 100 10', preserveAspectRatio: 'none', role: 'img'});
  let x = 0;
  const said = [];
  for (const p of phases) {
    const width = whole ? 100 * parts[p] / whole : 0;
    if (width > 0.2) svg.append(h('rect', {class: 'p-' + p, x: x.toFixed(2), y: 0, width: width.toFixed(2), height: 10}));
    if (width >= 1) said.push(p + ' ' + duration(parts[p]));
    x += width;
  }
  svg.setAttribute('aria-label', said.join(', ') || 'no time');
  return svg;
}

export const legend = () => h('ul', {class: 'legend'}, phases.map((p) => h('li', {},
  h('svg', {viewBox: '0 0 10 10', 'aria-hidden': 'true'}, h('rect', {class: 'p-' + p, width: 10, height: 10})), p)));

// spark draws the newest values.
export function spark(svg, values, text) {
  const most = Math.max(1, ...values), step = 100 / Math.max(1, values.length - 1);
  const line = values.map((v, i) => (i ? 'L' : 'M') + (i * step).toFixed(2) + ' ' + (29 - 27 * v / most).toFixed(2)).join('');
  svg.firstElementChild.setAttribute('d', line);
  svg.setAttribute('aria-label', text);
}
export const emptySpark = () => h('svg', {class: 'spark', viewBox: '0 0 100 30', preserveAspectRatio: 'none', role: 'img', 'aria-label': 'no values yet'},
  h('path', {d: ''}));
