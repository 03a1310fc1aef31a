// What the stream of the daemon has told, bounded: views read it, and are told when it changes.
import {stream} from './api.js';
import {number, announce} from './dom.js';

const maxCalls = 500, maxSeconds = 120, maxCallers = 200;
const firstPause = 500, longestPause = 10_000; // between two attempts, in milliseconds

export const store = {
  activity: {}, // the newest
  calls: [], // that ended, the newest first
  seconds: [], // what happened in each
  callers: new Map(), // sums since this page was opened
  cpu: new Map(), // of plugins: the share of a processor, in percent
  link: 'connecting', // or live, lost, over
};

const watchers = new Set();
export function watch(f) {
  watchers.add(f);
  return () => watchers.delete(f);
}
const tell = () => watchers.forEach((f) => f());

function setLink(to, text) {
  if (store.link === to) return;
  const before = store.link;
  store.link = to;
  if (text && before !== 'connecting') announce(text);
  tell();
}

function take(now) {
  const before = store.activity;
  store.activity = now;
  if (now.ended) {
    const known = new Set(store.calls.map((c) => c.id));
    store.calls = [...now.ended.filter((c) => !known.has(c.id)), ...store.calls]
      .sort((a, b) => end(b) - end(a)).slice(0, maxCalls);
  }
  store.seconds = [...store.seconds, ...(now.latency ?? [])].slice(-maxSeconds);
  for (const c of now.callers ?? []) {
    const sum = store.callers.get(c.name) ?? {ended: 0, failed: 0};
    store.callers.delete(c.name); // to be the newest
    store.callers.set(c.name, {name: c.name, ended: sum.ended + number(c.ended), failed: sum.failed + number(c.failed)});
    if (store.callers.size > maxCallers) store.callers.delete(store.callers.keys().next().value);
  }
  const passed = (Date.parse(now.time) - Date.parse(before.time)) * 1e6;
  const used = new Map((before.plugins ?? []).map((p) => [p.name, number(p.cpuNs)]));
  store.cpu = new Map((now.plugins ?? []).filter((p) => used.has(p.name) && passed > 0)
    .map((p) => [p.name, Math.max(0, 100 * (number(p.cpuNs) - used.get(p.name)) / passed)]));
  if (number(now.approvals) > number(before.approvals)) announce('A question waits for your answer.');
  tell();
}

const end = (c) => Date.parse(c.begun) + number(c.tookNs) / 1e6;

const pause = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

// follow reads the stream for as long as there is one. A page that is hidden reads it seldom.
export async function follow() {
  let wait = firstPause;
  for (;;) {
    const stop = new AbortController();
    const turn = () => stop.abort();
    document.addEventListener('visibilitychange', turn);
    try {
      const activityMs = document.hidden ? 5000 : 1000;
      for await (const r of stream('Watch', {follow: true, activityMs}, stop.signal)) {
        wait = firstPause;
        setLink('live', 'The daemon answers again.');
        if (r.activity) take(r.activity);
      }
    } catch (e) {
      if (e.code === 'unauthenticated') {
        setLink('over', 'This page is over. The command toolhost console opens another.');
        return;
      }
    } finally {
      document.removeEventListener('visibilitychange', turn);
    }
    if (stop.signal.aborted) continue;
    setLink('lost', 'The daemon does not answer. This page goes on trying.');
    await pause(wait);
    wait = Math.min(longestPause, 2 * wait);
  }
}
