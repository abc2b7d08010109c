// The page: it follows the state of the program, and asks for changes.

import { setBaseline, showBaseline } from './baseline.js';
import { byID, el, text } from './dom.js';
import { Refusal, write } from './endpoint.js';
import { follow } from './follow.js';
import { diff, show } from './show.js';
import { tick, timeOfDay } from './time.js';

const owner = byID('owner');
const why = byID('why');
const token = byID('token');

text(byID('at'), `at ${location.host}`);
document.title = `Spans at ${location.host}`;

// What comes from the program.

let last = null; // the state that is shown
let seen = null; // when it last was known to be so

const ask = follow({
  state(state, tag) {
    show(state, { lease, release });
    showBaseline(state, tag);
    if (last && last.generation !== state.generation) announce(state.changes[0]);
    last = state;
  },
  alive() {
    if (byID('lost').hasChildNodes()) text(byID('said'), 'The program answers again.');
    byID('lost').replaceChildren();
    document.body.classList.remove('stale');
    seen = new Date();
  },
  lost(error) {
    if (document.body.classList.contains('stale')) return;
    document.body.classList.add('stale');
    const since = seen ? ` What is below is how it was at ${timeOfDay(seen)}.` : '';
    byID('lost').replaceChildren(el('p', {}, el('b', {}, error.message), `${since} The page keeps asking.`));
    text(byID('said'), error.message);
  },
});

setInterval(() => tick() && setTimeout(ask, 100), 500);

// announce tells who listens rather than looks what has changed, by whomever.
function announce(change) {
  if (change) text(byID('said'), `${change.kind} by ${change.who}. ${diff(change)}`);
}

// What goes to it.

const lease = (what, minutes, button) => act(button, () =>
  write('POST', 'leases', { body: { ...what, owner: owner.value.trim(), ttl: `${minutes}m`, why: why.value.trim() }, token: token.value.trim() }));

const release = (l, button) => act(button, async () => {
  try {
    await write('DELETE', `leases/${encodeURIComponent(l.id)}`, { token: token.value.trim() });
  } catch (error) {
    if (error.status !== 404) throw error; // it ended by itself just now
  }
});

const reset = (button) => act(button, () => write('DELETE', '', { token: token.value.trim() }));

const set = (button) => act(button, () =>
  setBaseline({ who: owner.value.trim(), why: why.value.trim(), token: token.value.trim(), refresh: ask }));

let refused = null; // what was asked for and refused, to be asked for again: the form Who asks does

// act asks for a change that a button stands for, and says so if it is refused.
async function act(button, change) {
  if (button.ariaBusy) return;
  button.ariaBusy = 'true';
  for (const field of [owner, why]) field.removeAttribute('aria-invalid');
  try {
    await change();
    settle(button);
  } catch (error) {
    refuse(error, button, () => act(button, change));
  }
  button.removeAttribute('aria-busy');
  ask();
}

// settle takes away what was said of a refusal, and the focus back from there.
function settle(button) {
  refused = null;
  const focused = byID('refused').contains(document.activeElement);
  byID('refused').replaceChildren();
  if (focused) button.focus();
}

function refuse(error, button, again) {
  refused = again;
  const forbidden = error instanceof Refusal && (error.status === 401 || error.status === 403);
  byID('refused').replaceChildren(
    el('p', {}, el('b', {}, 'Nothing was changed: '), error.message),
    ...forbidden ? [el('p', {}, 'If the program wants a token, type it into the field Token and press Enter.')] : [],
    el('div', { class: 'do' },
      el('button', { form: 'person' }, 'Try again'),
      el('button', { type: 'button', onclick: () => settle(button) }, 'Dismiss')));
  const at = { owner, why }[error.answer?.field] ?? (forbidden ? token : null);
  at?.focus();
  if (at && !forbidden) at.setAttribute('aria-invalid', 'true');
}

byID('person').addEventListener('submit', (event) => {
  event.preventDefault();
  refused?.();
});
byID('baseline').addEventListener('submit', (event) => {
  event.preventDefault();
  set(event.submitter ?? byID('baseline').querySelector('button'));
});
byID('reset').addEventListener('click', () => reset(byID('reset')));
