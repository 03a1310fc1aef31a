// The page: which view is shown, what the daemon says to all of them, and how it is left.
import {enter, leave, Failure} from './api.js';
import {h, put, set, number, announce, heading} from './dom.js';
import {store, watch, follow} from './store.js';
import {now} from './now.js';
import {calls, oneCall} from './calls.js';
import {plugins, onePlugin} from './plugins.js';
import {tools, oneTool} from './tools.js';
import {inbox, oneQuestion} from './inbox.js';

// A view gets the name in the URL behind its own, puts its elements into main, and returns how it is updated.
const views = {
  now: {title: 'Now', show: now}, calls: {title: 'Calls', show: calls}, plugins: {title: 'Plugins', show: plugins},
  tools: {title: 'Tools', show: tools}, inbox: {title: 'Inbox', show: inbox},
};
const details = {call: ['calls', oneCall], plugin: ['plugins', onePlugin], tool: ['tools', oneTool], question: ['inbox', oneQuestion]};

const main = document.getElementById('main');
let current = null; // the view that is shown: its title, update, and what ends it
let done = false; // there is nothing to see any more

function route(first) {
  if (done) return;
  const [view, ...rest] = location.hash.slice(1).split('/');
  let name = '';
  try { name = decodeURIComponent(rest.join('/')); } catch { /* not ours */ }
  current?.end.abort();
  const [menu, show] = details[view] ?? (views[view] ? [view, views[view].show] : ['now', now]);
  const end = new AbortController();
  current = {menu, title: name || views[menu].title, end, update: () => {}};
  put(main);
  try {
    current.update = show({main, name, signal: end.signal, fail, again: () => route()}) ?? current.update;
  } catch (e) { fail(e); }
  for (const a of document.querySelectorAll('#nav a')) {
    if (a.dataset.view === menu) a.setAttribute('aria-current', 'page');
    else a.removeAttribute('aria-current');
  }
  if (!first) (main.querySelector('h1') ?? main).focus();
  scrollTo(0, 0);
  update();
}

// fail shows why what a person wanted was not done. A view that was left has nothing to say.
function fail(e) {
  if (e.name === 'AbortError') return;
  const text = e instanceof Failure ? e.message : 'The daemon does not answer: ' + e.message;
  let place = main.querySelector('.failure');
  if (!place) main.append(place = h('p', {class: 'failure', role: 'alert'}));
  set(place, text);
}

const links = {connecting: 'connecting', live: 'live', lost: 'no answer, trying again', over: 'over'};

function update() {
  if (done) return;
  const waiting = number(store.activity.approvals);
  set(document.getElementById('link'), links[store.link]).className = 'link ' + store.link;
  set(document.getElementById('waiting'), waiting ? String(waiting) : '').hidden = !waiting;
  document.title = (waiting ? '(' + waiting + ') ' : '') + current.title + ' – toolhost';
  const lost = document.getElementById('lost');
  set(lost, store.link === 'lost' ? 'The daemon does not answer; this page goes on trying. If it was started again, the command toolhost console opens another page.' : '');
  lost.hidden = store.link !== 'lost';
  if (store.link === 'over') return over('This page is over. The command toolhost console opens another.');
  current.update();
}

// over shows why there is nothing to see.
function over(text) {
  done = true;
  current?.end?.abort();
  set(document.getElementById('link'), '');
  document.getElementById('nav').replaceChildren();
  put(main, heading('toolhost console'), h('p', {}, text));
}

async function start() {
  if (location.pathname === '/') {
    current = {title: 'console', update: () => {}};
    if (location.hash.length < 2) return over('The command toolhost console opens this page.');
    return enter(location.hash.slice(1)).catch((e) => over(e.message));
  }
  put(document.getElementById('nav'), Object.entries(views).map(([view, {title}]) => h('li', {},
    h('a', {href: '#' + view, 'data-view': view}, title,
      view === 'inbox' && h('span', {id: 'waiting', class: 'badge', hidden: true, 'aria-label': 'questions'})))),
    h('li', {}, h('button', {type: 'button', onclick: () => leave().then(() => over('You have left. The command toolhost console opens another page.'), fail)}, 'Leave')));
  addEventListener('hashchange', () => route());
  document.querySelector('.skip').addEventListener('click', (e) => { e.preventDefault(); main.focus(); });
  watch(update);
  route(true);
  await follow();
}

start().catch((e) => { announce(e.message); over(e.message); });
