// The daemon's API as pages have it: Connect in JSON, at the path of this page, of which the browser adds the cookie.

const headers = {'Connect-Protocol-Version': '1'};
const largest = 64 << 20; // a frame, in bytes

// Failure is an error that the daemon sent.
export class Failure extends Error {
  constructor({code, message, details} = {}) {
    const fault = details?.[0]?.debug;
    const hint = fault?.operatorHint || fault?.error?.hint || '';
    super((message || 'the daemon refused this') + (hint ? ' (' + hint + ')' : ''));
    this.code = code;
  }
}

function post(method, type, body, signal) {
  const url = location.pathname + 'toolhost.daemon.v1.Daemon/' + method;
  return fetch(url, {method: 'POST', headers: {...headers, 'Content-Type': type}, body, signal});
}

async function failed(res) {
  return new Failure(await res.json().catch(() => ({message: 'status ' + res.status})));
}

// call sends a request that has one answer.
export async function call(method, message = {}, signal) {
  const res = await post(method, 'application/json', JSON.stringify(message), signal);
  if (!res.ok) throw await failed(res);
  return res.json();
}

// stream yields what a request is answered with, until the daemon has no more, or signal ends it.
export async function* stream(method, message, signal) {
  const text = new TextEncoder().encode(JSON.stringify(message));
  const body = new Uint8Array(5 + text.length);
  new DataView(body.buffer).setUint32(1, text.length);
  body.set(text, 5);
  const res = await post(method, 'application/connect+json', body, signal);
  if (!res.ok) throw await failed(res);
  const reader = res.body.getReader();
  let pieces = [], have = 0;
  const take = async (n) => { // the next n bytes
    while (have < n) {
      const {done, value} = await reader.read();
      if (done) return null;
      pieces.push(value);
      have += value.length;
    }
    const all = new Uint8Array(have);
    let at = 0;
    for (const p of pieces) { all.set(p, at); at += p.length; }
    pieces = [all.subarray(n)];
    have -= n;
    return all.subarray(0, n);
  };
  for (;;) {
    const head = await take(5);
    if (!head) return;
    const size = new DataView(head.buffer, head.byteOffset).getUint32(1), last = head[0] & 2;
    if (size > largest) throw new Failure({message: 'the daemon sent too much'});
    const frame = await take(size);
    if (!frame) return;
    const sent = JSON.parse(new TextDecoder().decode(frame));
    if (!last) yield sent;
    else if (sent.error) throw new Failure(sent.error);
    else return;
  }
}

// enter exchanges the link in the URL for a page, and leaves it, so that the link stays in no history.
export async function enter(link) {
  history.replaceState(null, '', '/');
  const res = await fetch('/open', {
    method: 'POST', headers: {...headers, 'Content-Type': 'application/json'}, body: JSON.stringify({link}),
  });
  if (!res.ok) throw await failed(res);
  location.replace((await res.json()).path);
}

// leave ends this page.
export const leave = () => fetch(location.pathname + 'close', {
  method: 'POST', headers: {...headers, 'Content-Type': 'application/json'}, body: '{}',
});

// decode reads bytes of the API as text.
export function decode(base64) {
  return new TextDecoder().decode(Uint8Array.from(atob(base64 || ''), (c) => c.charCodeAt(0)));
}
