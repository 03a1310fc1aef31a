// Tools: what they are, what they take, and how dangerous they are.
import {call, decode} from './api.js';
import {Table, h, put, heading, section, fields, to, code, pretty, bytes, number} from './dom.js';

const levels = ['safe', 'cautious', 'dangerous'];
const safety = (level) => h('span', {class: 'level l-' + (levels.includes(level) ? level : 'dangerous')}, level || 'dangerous');
const firstLine = (text = '') => text.split('\n', 1)[0].slice(0, 160);

export function tools({main, signal, fail}) {
  const filter = h('input', {type: 'search', id: 'filter', autocomplete: 'off', spellcheck: 'false'}), status = h('p', {class: 'more', role: 'status'});
  const table = new Table('Tools', [
    {title: 'Name', cell: (t) => to('tool', t.definition.tool.name)}, {title: 'Safety', cell: (t) => safety(t.definition.tool.safety)},
    {title: 'Plugin', cell: (t) => t.plugin ? to('plugin', t.plugin) : '–'}, {title: 'Approval', class: 'wide', cell: (t) => t.approval || '–'},
    {title: 'What', class: 'wide text', cell: (t) => firstLine(t.definition.tool.description)},
  ], {key: (t) => t.definition.tool.name, empty: 'No tool has these words.'});
  put(main, heading('Tools'), h('form', {class: 'filter', role: 'search', onsubmit: (e) => e.preventDefault()}, h('label', {for: 'filter'}, 'Find'), filter),
    status, table.element);
  let all = [];
  const show = () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = all.filter(({plugin = '', definition: {tool}}) => words.every((w) =>
      [tool.name, tool.title, tool.description, plugin, tool.safety, ...(tool.categories ?? [])].some((t) => t?.toLowerCase().includes(w))));
    table.show(found.slice(0, 500));
    put(status, found.length + ' of ' + all.length + (found.length > 500 ? ', the first 500' : ''));
  };
  filter.addEventListener('input', show);
  call('ListTools', {}, signal).then((r) => { all = r.tools ?? []; show(); }).catch(fail);
}

export function oneTool({main, name, signal, fail}) {
  const body = h('div', {}, h('p', {}, 'Looking.'));
  put(main, heading(name), body);
  call('ListTools', {name}, signal).then(({tools: [t] = []}) => {
    if (!t) return put(body, h('p', {}, 'The daemon has no such tool.'));
    const d = t.definition.tool, claimed = t.claimed?.tool ?? {};
    const schema = (title, text) => text && section(title, code(pretty(decode(text))));
    put(body,
      fields([
        ['title', d.title !== d.name && d.title], ['alias', t.definition.alias], ['plugin', t.plugin && to('plugin', t.plugin)],
        ['safety', safety(d.safety)], ['its plugin says', claimed.safety && claimed.safety !== d.safety && safety(claimed.safety)],
        ['approval', t.approval], ['permission', d.permission], ['categories', (d.categories ?? []).join(', ')],
        ['idempotent', d.idempotent && 'yes'], ['retries', d.maxRetries], ['time limit', number(d.timeoutMs) && number(d.timeoutMs) / 1000 + ' s'],
        ['rate limit', d.rateLimit && (d.rateLimit.calls ?? '') + ' calls'], ['redacted arguments', (d.sensitive ?? []).join(', ')],
        ['not checked', (t.warnings ?? []).join('; ')],
      ]),
      section('What it says of itself', code(d.description ?? '')),
      schema('Arguments', d.inputSchemaJson), schema('Result', d.outputSchemaJson),
      d.iconsJson && h('p', {class: 'more'}, 'It has icons of ' + bytes(d.iconsJson.length * 3 / 4) + ', which this page does not load.'));
  }).catch(fail);
}
