// What runs and waits at this moment, and for whom.
import {Table, h, put, set, heading, section, to, count, number, duration, since, spark, emptySpark} from './dom.js';
import {store} from './store.js';

const shown = 50;

export function now({main}) {
  const figures = h('dl', {class: 'figures'}), sparks = h('div', {class: 'sparks'});
  const drawings = [
    ['calls a second', (s) => number(s.ended), count], ['failures a second', (s) => number(s.failed), count],
    ['99 of 100 calls took less than', (s) => number(s.p99Ns), duration],
  ].map(([title, value, text]) => {
    const svg = emptySpark(), last = h('span', {class: 'last'});
    sparks.append(h('figure', {}, svg, h('figcaption', {}, title + ': ', last)));
    return () => {
      const values = store.seconds.map(value);
      set(last, text(values.at(-1)));
      spark(svg, values, title + ', the last ' + values.length + ' seconds: now ' + text(values.at(-1)) + ', at most ' + text(Math.max(0, ...values)));
    };
  });
  const running = new Table('Calls that run or wait', [
    {title: 'Tool', cell: (c) => to('call', c.id, c.tool)},
    {title: 'Caller', cell: (c) => c.caller || c.client || '–'},
    {title: 'At', cell: (c) => h('span', {class: 'phase ' + (c.phase === 'asked' ? 'waits' : '')}, c.phase || '–')},
    {title: 'Since', class: 'number', cell: (c) => since(c.begun)},
    {title: 'Plugin', class: 'wide', cell: (c) => c.plugin ? to('plugin', c.plugin) : '–'},
    {title: 'Client', class: 'wide', cell: (c) => [c.via, c.client].filter(Boolean).join(', ') || '–'},
  ], {key: (c) => c.id, empty: 'Nothing runs, and nothing waits.'});
  const more = h('p', {class: 'more'});
  const callers = new Table('Callers', [
    {title: 'Caller', cell: (c) => c.name || '(no name)'},
    {title: 'Running', class: 'number', cell: (c) => count(c.running)},
    {title: 'Waiting', class: 'number', cell: (c) => count(c.waiting)},
    {title: 'Ended', class: 'number', cell: (c) => count(c.ended)},
    {title: 'Failed', class: 'number', cell: (c) => count(c.failed)},
  ], {key: (c) => c.name ?? '', empty: 'Nobody has called since this page was opened.'});
  put(main, heading('Now'), figures, sparks, section('Calls that run or wait', running.element, more),
    section('Callers, since this page was opened', callers.element));
  const names = ['running', 'at a question', 'questions in the inbox', 'ended', 'failed', 'not counted'];
  const cells = names.map((name) => {
    const value = h('dd', {});
    figures.append(h('div', {}, h('dt', {}, name), value));
    return value;
  });
  return () => {
    const a = store.activity, all = a.running ?? [];
    [a.runningTotal, all.filter((c) => c.phase === 'asked').length, a.approvals, a.endedTotal, a.failedTotal, a.droppedTotal]
      .forEach((n, i) => set(cells[i], number(n).toLocaleString('en')));
    cells[5].parentElement.hidden = !number(a.droppedTotal);
    drawings.forEach((draw) => draw());
    running.show(all.slice(0, shown));
    const rest = number(a.runningTotal) - Math.min(shown, all.length);
    set(more, rest > 0 ? 'and ' + rest.toLocaleString('en') + ' more' : '');
    const live = new Map((a.callers ?? []).map((c) => [c.name, c]));
    callers.show([...store.callers.values()].map((c) => ({...c, running: live.get(c.name)?.running, waiting: live.get(c.name)?.waiting}))
      .sort((x, y) => number(y.running) + number(y.waiting) - number(x.running) - number(x.waiting) || y.ended - x.ended).slice(0, shown));
  };
}
