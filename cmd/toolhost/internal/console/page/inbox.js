// The questions that wait for the operator's answer.
import {call} from './api.js';
import {Table, h, put, set, heading, section, fields, to, code, pretty, diff, announce, since, bdi} from './dom.js';
import {store} from './store.js';

const left = (q) => q.until ? Math.max(0, Math.round((Date.parse(q.until) - Date.now()) / 1000)) + ' s' : 'as long as the call';

export function inbox({main, signal, fail}) {
  const table = new Table('Questions', [
    {title: 'Tool', cell: (q) => to('question', q.id, q.tool)}, {title: 'Safety', cell: (q) => q.safety},
    {title: 'Caller', cell: (q) => q.caller || '–'}, {title: 'Client', class: 'wide', cell: (q) => q.client || '–'},
    {title: 'Waits for', class: 'number', cell: (q) => since(q.since)}, {title: 'Left', class: 'number', cell: left},
    {title: 'Arguments', class: 'wide text', cell: (q) => (q.arguments || q.argumentsBegin || '').slice(0, 120)},
  ], {key: (q) => q.id, empty: 'No question waits.'});
  put(main, heading('Inbox'), table.element);
  return () => call('ListApprovals', {}, signal).then((r) => table.show(r.approvals ?? [])).catch(fail);
}

export function oneQuestion({main, name, signal, fail}) {
  const state = h('p', {role: 'status'}), body = h('div', {}), reason = h('input', {id: 'reason', maxlength: 400, autocomplete: 'off'});
  const answer = (verdict) => async () => {
    for (const b of form.querySelectorAll('button')) b.disabled = true;
    try {
      const {approval} = await call('DecideApproval', {id: name, verdict, reason: verdict === 'deny' ? reason.value : ''});
      announce('You have ' + (verdict === 'allow' ? 'approved' : 'denied') + ' ' + approval.tool + '.');
    } catch (e) { fail(e); } // another has answered, or the caller is gone: it says who
    show().catch(fail);
  };
  const form = h('form', {class: 'answer', onsubmit: (e) => e.preventDefault()},
    h('button', {type: 'button', onclick: answer('allow')}, 'Approve'),
    h('label', {for: 'reason'}, 'Reason, which the caller is told'), reason,
    h('button', {type: 'button', class: 'danger', onclick: answer('deny')}, 'Deny'));
  form.hidden = true;
  put(main, heading('Question ' + name), state, body, form);
  let open = false;
  const show = async () => {
    const {approval: q} = await call('GetApproval', {id: name}, signal);
    open = q.state === 'waiting';
    const focused = form.contains(document.activeElement);
    form.hidden = !open;
    if (focused && !open) main.querySelector('h1').focus();
    set(state, open ? 'It waits for your answer. Left: ' + left(q) + '.' :
      'It is closed: ' + q.state + (q.by ? ' by ' + q.by : '') + (q.reason ? ': ' + q.reason : '') + '.');
    if (body.firstChild) return;
    put(body,
      fields([['tool', to('tool', q.tool)], ['safety', q.safety], ['plugin', q.plugin && to('plugin', q.plugin)], ['what', q.description],
        ['caller', q.caller], ['via', q.via], ['client', q.client], ['session', q.session], ['call', q.call && to('call', q.call)], ['digest', q.argumentsDigest]]),
      section('Arguments', q.argumentsOmitted && h('p', {}, bdi(q.argumentsOmitted)), code(q.arguments ? pretty(q.arguments) : q.argumentsBegin ?? '{}')),
      q.previewError ? section('Preview', h('p', {class: 'bad'}, 'It could not be made: ', bdi(q.previewError))) :
        q.preview && section('Preview, as the plugin tells it', diff(q.preview)));
  };
  show().catch(fail);
  let seen = store.activity;
  return () => { // somebody else may have answered
    if (!open || seen === store.activity) return;
    seen = store.activity;
    show().catch(fail);
  };
}
