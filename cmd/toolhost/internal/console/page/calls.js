// Calls as they end, and one call whole.
import {call} from './api.js';
import {
  Table, h, put, set, heading, section, fields, to, code, pretty, bar, legend, phases, phasesOf, phaseTexts, number, count, duration, bytes, clock, since,
} from './dom.js';
import {store} from './store.js';

const result = (c) => h('span', {class: c.code ? 'bad' : 'good'}, c.code || 'ok');

export function calls({main}) {
  const filter = h('input', {type: 'search', id: 'filter', autocomplete: 'off', spellcheck: 'false'});
  const failed = h('input', {type: 'checkbox', id: 'failed'}), held = h('input', {type: 'checkbox', id: 'held'});
  const table = new Table('Calls that ended', [
    {title: 'Began', cell: (c) => clock(c.begun)},
    {title: 'Tool', cell: (c) => to('call', c.id, c.tool)},
    {title: 'Caller', cell: (c) => c.caller || c.client || '–'},
    {title: 'Result', cell: result},
    {title: 'Took', class: 'number', cell: (c) => duration(c.tookNs)},
    {title: 'Where the time went', class: 'wide bars', cell: (c) => bar(c)},
  ], {key: (c) => c.id, empty: 'No call has ended that this shows.'});
  const missing = h('p', {class: 'more'});
  put(main, heading('Calls'), h('form', {class: 'filter', role: 'search', onsubmit: (e) => e.preventDefault()},
    h('label', {for: 'filter'}, 'Find'), filter,
    h('span', {}, failed, h('label', {for: 'failed'}, 'only failed')), h('span', {}, held, h('label', {for: 'held'}, 'hold still'))),
  legend(), table.element, missing);
  const update = (now) => {
    if (held.checked && now !== true) return;
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    table.show(store.calls.filter((c) => (!failed.checked || c.code) && words.every((w) =>
      [c.id, c.tool, c.plugin, c.caller, c.account, c.client, c.via, c.code, c.message, c.trace].some((t) => t?.toLowerCase().includes(w)))).slice(0, 200));
    set(missing, 'Of each moment the calls that failed and the slowest are shown, the newest 200; the command toolhost audit has all.');
  };
  for (const input of [filter, failed, held]) input.addEventListener('input', () => update(true));
  return update;
}

// duration of a record, such as 1.5s or 250µs, in nanoseconds
const units = {h: 3.6e12, m: 6e10, s: 1e9, ms: 1e6, 'µs': 1e3, us: 1e3, ns: 1};
function parse(text) {
  if (typeof text === 'number') return text;
  let sum = 0;
  for (const [, n, unit] of String(text ?? '').matchAll(/([\d.]+)(h|ms|m|s|µs|us|ns)/g)) sum += n * units[unit];
  return sum;
}

// ofRecord is an ended call as the stream has it, of its line in the record.
function ofRecord(r) {
  const p = {};
  for (const [k, v] of Object.entries(r.phases ?? {})) {
    if (phases.includes(k) || k === 'handshake') p[k + 'Ns'] = parse(v);
    else p[k.replace(/_(.)/g, (_, c) => c.toUpperCase())] = v;
  }
  const tookNs = parse(r.duration);
  return {...r, id: r.call, tookNs, phases: p, begun: new Date(Date.parse(r.time) - tookNs / 1e6).toISOString()};
}

// why says in a sentence what took most of the time.
export function why(c) {
  const parts = phasesOf(c), most = phases.reduce((a, b) => parts[b] > parts[a] ? b : a), p = c.phases ?? {};
  if (!c.tookNs || !c.phases) return '';
  let text = 'Most of the time, ' + duration(parts[most]) + ' of ' + duration(c.tookNs) + ': ' + phaseTexts[most];
  if (most === 'queued' && p.ahead) {
    text += ', behind ' + p.ahead + (p.ahead === 1 ? ' call' : ' calls') + ', ' + number(p.own) + ' of them of the same caller';
  }
  return text + '.';
}

function timeline(c) {
  const parts = phasesOf(c), table = new Table('Phases', [
    {title: 'Phase', cell: (p) => p}, {title: 'What', cell: (p) => phaseTexts[p]},
    {title: 'Took', class: 'number', cell: (p) => duration(parts[p])},
    {title: 'Share', class: 'number', cell: (p) => number(c.tookNs) ? Math.round(100 * parts[p] / c.tookNs) + ' %' : '–'},
  ], {key: (p) => p});
  table.show(phases.filter((p) => parts[p] > 0));
  return [h('p', {class: 'why'}, why(c)), bar(c), legend(), table.element];
}

function whole(c, record = {}) {
  const p = c.phases ?? {};
  return [
    fields([
      ['result', result(c)], ['message', c.message], ['began', new Date(c.begun).toLocaleString()], ['took', duration(c.tookNs)],
      ['tool', to('tool', c.tool)], ['plugin', c.plugin && to('plugin', c.plugin)],
      ['caller', c.caller], ['account', c.account], ['via', c.via], ['client', c.client], ['session', c.session],
      ['decision', [c.decision, c.approver && 'by ' + c.approver].filter(Boolean).join(' ')], ['attempts', c.attempts],
      ['bytes in, out', p.bytesIn || p.bytesOut ? bytes(p.bytesIn) + ', ' + bytes(p.bytesOut) : ''],
      ['tokens, estimated', p.estimatedTokens && count(p.estimatedTokens)],
      ['made in the call', c.parent && to('call', c.parent)], ['trace', c.trace], ['call', c.id],
      ['line of the record', record.seq], ['digest of the arguments', record.arguments],
    ]),
    c.phases && section('Where the time went', ...timeline(c)),
    record.input && section('Arguments, as on record', code(pretty(JSON.stringify(record.input)))),
  ];
}

export function oneCall({main, name, signal, fail}) {
  const body = h('div', {}), inside = new Table('Calls made in it', [
    {title: 'Tool', cell: (c) => to('call', c.id, c.tool)}, {title: 'Result', cell: result},
    {title: 'Took', class: 'number', cell: (c) => duration(c.tookNs)}, {title: 'Where the time went', class: 'bars', cell: (c) => bar(c)},
  ], {key: (c) => c.id, empty: 'None is known.'});
  put(main, heading('Call ' + name), body);
  let ended = false, asked = false;
  const read = async () => {
    const {records = []} = await call('GetCall', {id: name}, signal);
    const lines = records.map((r) => JSON.parse(r)), own = lines.filter((r) => r.call === name && r.event === 'end');
    const rest = lines.filter((r) => r.parent === name && r.event === 'end').map(ofRecord);
    inside.show(rest);
    const questions = lines.filter((r) => r.call === name && r.event === 'question');
    put(body, own.length ? whole(ofRecord(own.at(-1)), own.at(-1)) : body.firstChild ? [...body.childNodes] : h('p', {}, 'It is not on record.'),
      own.length > 1 && section('More lines', own.slice(0, -1).map((r) => code(JSON.stringify(r, null, 2)))),
      questions.length && section('What it asked', code(questions.map((q) => clock(q.time) + ' ' + q.message + ': ' + q.decision).join('\n'))),
      rest.length && section('Calls made in it', inside.element));
  };
  return () => {
    const running = store.activity.running?.find((c) => c.id === name), over = store.calls.find((c) => c.id === name);
    if (ended) return;
    if (running && !over) {
      put(body, h('p', {}, 'It has run for ' + since(running.begun) + ', and is at: ' + (running.phase || 'nothing that takes time') + '.'),
        fields([['tool', to('tool', running.tool)], ['plugin', running.plugin && to('plugin', running.plugin)], ['caller', running.caller],
          ['via', running.via], ['client', running.client], ['session', running.session]]));
      return;
    }
    if (over) put(body, whole(over));
    if (over || !asked) {
      ended = Boolean(over);
      asked = true;
      if (!over) put(body, h('p', {}, 'Looking in the record.'));
      read().catch(fail);
    }
  };
}
