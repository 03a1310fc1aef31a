// Plugins and servers: what they use, what their sandboxes give, enforce and refused, what they say.
import {call, stream} from './api.js';
import {Table, h, put, set, heading, section, fields, to, code, confirm, announce, count, number, duration, bytes, clock, bdi} from './dom.js';
import {store} from './store.js';

const maxLines = 500;
const state = (p) => h('span', {class: 'state s-' + (/^[a-z]+$/.test(p.state) ? p.state : '')}, p.state || '–');

export function plugins({main}) {
  const table = new Table('Plugins and servers', [
    {title: 'Name', cell: (p) => p.kind === 'host' ? p.name : to('plugin', p.name)}, {title: 'State', cell: state},
    {title: 'Calls', class: 'number', cell: (p) => count(p.calls)}, {title: 'Waiting', class: 'number', cell: (p) => count(p.waiting)},
    {title: 'CPU', class: 'number', cell: (p) => number(p.cpuNs) ? (store.cpu.get(p.name) ?? 0).toFixed(1) + ' %' : '–'},
    {title: 'Memory', class: 'number', cell: (p) => bytes(p.memoryBytes)},
    {title: 'p50', class: 'number wide', cell: (p) => duration(p.p50Ns)}, {title: 'p99', class: 'number', cell: (p) => duration(p.p99Ns)},
    {title: 'Files', class: 'number wide', cell: (p) => count(p.descriptors)},
    {title: 'Starts', class: 'number wide', cell: (p) => count(p.starts)}, {title: 'Crashes', class: 'number wide', cell: (p) => count(p.crashes)},
    {title: 'Refused', class: 'number wide', cell: (p) => count(p.refusedAccesses)},
  ], {key: (p) => p.name, empty: 'There are none.'});
  put(main, heading('Plugins'), table.element);
  return () => table.show(store.activity.plugins ?? []);
}

export function onePlugin({main, name, signal, fail}) {
  const facts = h('div', {}), use = h('div', {}), sandbox = h('div', {}), tools = h('div', {});
  const list = (label) => h('ol', {class: 'log', tabindex: 0, 'aria-label': label}), log = list('Log'), events = list('What happened');
  const act = (verb, method, done, detail) => h('button', {type: 'button', class: verb === 'Disable' && 'danger', onclick: async () => {
    if (!await confirm(verb + ' ' + name + '?', detail, verb)) return;
    try {
      await call(method, {name});
      announce(name + ' was ' + done + '.');
      await describe();
    } catch (e) { fail(e); }
  }}, verb);
  const actions = h('p', {class: 'actions'},
    act('Restart', 'RestartPlugin', 'restarted', 'Its process ends and starts again. Calls in progress may end.'),
    act('Disable', 'DisablePlugin', 'disabled', 'It has no tools and does not run until the command toolhost plugins enable. Calls in progress may end.'));
  put(main, heading(name), actions, facts, use, section('Sandbox', sandbox), section('Tools', tools),
    section('What happened', events), section('Log', log));

  const item = (l) => h('li', {class: l.host && 'ours'}, h('time', {}, clock(l.time)), ' ', l.event || l.level || '', ' ', bdi(l.text ?? ''),
    l.call && [' ', to('call', l.call, 'call')]);
  const describe = async () => {
    const {state: daemon} = await call('GetState', {}, signal);
    const p = (daemon.plugins ?? []).find((one) => one.name === name);
    if (!p) return put(facts, h('p', {}, 'The daemon has no such plugin.'));
    put(facts, fields([
      ['state', state(p)], ['reason', p.reason], ['kind', p.kind || 'plugin'], ['path', p.path], ['version', p.version], ['SDK', p.sdk],
      ['pid', p.pid], ['since', p.since && new Date(p.since).toLocaleString()], ['carrier', p.carrier],
      ['the last start took', p.startTookNs && duration(p.startTookNs)], ['output', p.output], ['upgrade', p.upgrade], ['rolled back', p.rolledBack],
      ['held', p.held], ['wants more', p.wantsMore?.text], ['signed by', p.signature?.publisher],
      ['last fault', p.lastFault && clock(p.lastFault.time) + ' ' + p.lastFault.text],
      ['names lost', (p.lost ?? []).map((l) => l.tool + ' to ' + (l.to || 'the program')).join(', ')],
    ]));
    const happened = []; // read once, as a browser has few connections
    for await (const {line} of stream('Watch', {plugin: name, events: true}, signal)) happened.push(item(line));
    put(events, happened.slice(-maxLines));
    events.scrollTop = events.scrollHeight;
    const {sandbox: box} = await call('GetSandbox', {name}, signal);
    put(sandbox, box ? boxed(box) : h('p', {}, 'It has no process of its own, and no sandbox.'));
    const {tools: all = []} = await call('ListTools', {}, signal);
    const own = all.filter((t) => t.plugin === name).map((t) => t.definition.tool.name);
    put(tools, own.length ? h('ul', {class: 'names'}, own.map((t) => h('li', {}, to('tool', t)))) : h('p', {class: 'none'}, 'It has none.'));
  };
  let seen = null; // its state
  describe().catch(fail);

  const read = async () => {
    for await (const {line} of stream('Watch', {plugin: name, follow: true}, signal)) {
      const low = log.scrollTop + log.clientHeight >= log.scrollHeight - 4;
      log.append(item(line));
      while (log.childElementCount > maxLines) log.firstElementChild.remove();
      if (low) log.scrollTop = log.scrollHeight;
    }
  };
  read().catch(fail);

  return () => {
    const p = store.activity.plugins?.find((one) => one.name === name);
    if (!p) return;
    if (p.state !== seen) { // by whomever it was changed
      seen = p.state;
      actions.hidden = seen === 'disabled';
      describe().catch(fail);
    }
    const cpu = number(p.cpuNs) ? (store.cpu.get(name) ?? 0).toFixed(1) + ' %' : '–';
    const text = [['calls', count(p.calls)], ['waiting', count(p.waiting)], ['CPU', cpu], ['memory', bytes(p.memoryBytes)],
      ['p50', duration(p.p50Ns)], ['p99', duration(p.p99Ns)], ['starts', count(p.starts)], ['crashes', count(p.crashes)],
      ['files', count(p.descriptors)], ['refused', count(p.refusedAccesses)]];
    if (!use.firstChild) put(use, h('dl', {class: 'figures'}, text.map(([k]) => h('div', {}, h('dt', {}, k), h('dd', {})))));
    text.forEach(([, v], i) => set(use.firstChild.children[i].lastChild, v));
  };
}

function boxed(box) {
  const lines = new Table('What it may do', [
    {title: 'Line', cell: (l) => l.name}, {title: 'Given', cell: (l) => l.given || '–'},
    {title: 'Enforced by', cell: (l) => (l.enforcedBy ?? []).join(', ') || '–'},
    {title: 'Open', cell: (l) => l.notEnforced ? h('span', {class: 'bad'}, bdi(l.notEnforced)) : '–'},
  ], {key: (l) => l.name, empty: box.fault || 'There is no sandbox.'});
  lines.show(box.lines ?? []);
  const denied = new Table('What was refused to it', [
    {title: 'What', cell: (d) => d.what}, {title: 'How often', class: 'number', cell: (d) => count(d.count)}, {title: 'Last', cell: (d) => clock(d.last)},
  ], {key: (d) => d.what, empty: 'Nothing was refused, as far as the system tells.'});
  denied.show(box.denied ?? []);
  return [
    fields([['level', box.level], ['in force', box.inForce ? 'yes' : 'not yet'], ['undeclared', box.undeclared && 'it does not say what it needs'], ['advice', box.advice],
      ['enforces less', (box.enforcesLess ?? []).map((f) => f.was?.name + ': ' + f.is?.notEnforced).join('; ')]]),
    lines.element, h('h3', {}, 'Refused'), denied.element,
  ];
}
