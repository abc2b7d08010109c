// SPDX-License-Identifier: Apache-2.0

// While the page is visible, this script fetches it again and takes over what differs. It filters
// the groups, and sends the change of a button that is clicked. All words come from the endpoint:
// those that only the script shows are in index.html, hidden.

const byID = (id) => document.getElementById(id);
const [main, spec, fault, person, owner, token, why, add, share, match, quiet, ttl, lease, filter, onOnly] =
  ['main', 'spec', 'spec-fault', 'person', 'owner', 'token', 'why', 'add', 'share', 'match', 'quiet', 'ttl', 'lease', 'filter', 'on-only'].map(byID);

// request returns the status of the answer, and its body as parse returns it; addresses are relative
// to the page. If the endpoint does not answer, it throws the ID of the text that says so.
async function request(method, path, headers, body, parse) {
  const options = { cache: 'no-store', credentials: 'same-origin', redirect: 'error', signal: AbortSignal.timeout(10_000) };
  let status, text;
  try {
    const response = await fetch(`./${path}`, { method, headers, body, ...options });
    ({ status } = response);
    text = await response.text();
    if (status === 502 || status === 503 || status === 504) throw status; // a proxy's
  } catch {
    throw 'no-answer';
  }
  try {
    return { status, answer: status === 304 ? null : parse(text) };
  } catch {
    throw 'not-endpoint';
  }
}

let timer, updates = Promise.resolve(), failures = 0, updated = new Date();

// update fetches the page, after any fetch under way, which may return an older state.
function update() {
  return updates = updates.then(async () => {
    clearTimeout(timer);
    try {
      const headers = { Accept: 'text/html', 'If-None-Match': main.dataset.tag };
      await request('GET', '', headers, null, (text) => show(new DOMParser().parseFromString(text, 'text/html')));
      if (failures > 0) setLost(false, 'answers-again');
      failures = 0;
      updated = new Date();
    } catch (id) {
      if (failures++ === 0) setLost(true, id);
    }
    if (!document.hidden) timer = setTimeout(update, Math.min(2_000 * 2 ** failures, 8_000));
  });
}

function setLost(lost, id) {
  byID('connection').textContent = byID('lost-why').textContent = byID(id).textContent;
  byID('lost-at').textContent = local(updated);
  byID('lost').hidden = !lost;
  document.body.classList.toggle('stale', lost);
}

// local writes a time in the reader's zone and format; the date only if it is not today.
function local(time) {
  return time.toDateString() === new Date().toDateString() ? time.toLocaleTimeString() : time.toLocaleString();
}

// show takes over what differs in a page that was fetched. No script in it runs. It throws if it is
// not the endpoint's.
function show(page) {
  prepare(page);
  for (const row of page.querySelectorAll('[data-state]')) {
    row.classList.toggle('changed', (byID(row.id) ?? row).dataset.state !== row.dataset.state);
  }
  const focus = document.activeElement;
  const heading = focus.closest('section')?.querySelector('h2');
  for (const id of ['summary', 'main']) morph(byID(id), page.getElementById(id));
  if (!focus.checkVisibility()) heading?.focus({ preventScroll: true });
  else if (document.activeElement !== focus) focus.focus(); // scrolls to where its row is now
  rove();
}

// rove makes one button of each row a tab stop: the one that has the focus, or the first.
function rove() {
  for (const row of document.querySelectorAll('.row')) {
    const buttons = [...row.querySelectorAll('button')];
    const stop = buttons.find((button) => button === document.activeElement) ?? buttons[0];
    for (const button of buttons) button.tabIndex = button === stop ? 0 : -1;
  }
}

let seen; // the baseline that the person who types in spec has seen; its defaultValue is the spec

// prepare applies to a page what the endpoint can't know: the filter, the reader's time zone, and
// whether the baseline has changed while one was being typed.
function prepare(page) {
  const text = filter.value.trim().toLowerCase();
  const rows = [...page.querySelectorAll('#groups > .row')];
  for (const row of rows) {
    const words = [...row.querySelectorAll('.name, .about')].map((e) => e.textContent).join(' ');
    row.hidden = !words.toLowerCase().includes(text) || onOnly.checked && row.dataset.state !== 'on';
  }
  page.getElementById('no-match').hidden = rows.length === 0 || rows.some((row) => !row.hidden);
  for (const time of page.querySelectorAll('#changes time')) time.textContent = local(new Date(time.dateTime));
  const news = page.getElementById('spec-news');
  const latest = page.getElementById('take').value;
  if (spec.value === spec.defaultValue || spec.value === latest) {
    spec.value = spec.defaultValue = latest;
    seen = news.dataset.baseline;
  }
  news.hidden = news.dataset.baseline === seen;
}

// morph gives old the attributes and the content of fresh. It keeps the nodes that both have,
// and so the focus, a selection and a click that has begun. Two elements are the same if they
// have the same ID, or none and the same place.
function morph(old, fresh) {
  if (old.isEqualNode(fresh) || old.dataset?.keep !== undefined) return;
  if (old.nodeType === Node.TEXT_NODE) {
    old.data = fresh.data;
    return;
  }
  for (const { name } of [...old.attributes]) {
    if (!fresh.hasAttribute(name) && !['aria-busy', 'open', 'tabindex'].includes(name)) old.removeAttribute(name);
  }
  for (const { name, value } of fresh.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  const content = (of) => [...of.childNodes].filter((node) => node.nodeType === Node.ELEMENT_NODE || node.data.trim());
  const nodes = content(fresh);
  const ids = new Set(nodes.map((node) => node.id));
  const rest = content(old).filter((node) => !node.id || ids.has(node.id) || node.remove());
  for (const node of nodes) {
    const i = rest.findIndex((other) => other.nodeName === node.nodeName && other.id === node.id);
    const [same] = i < 0 ? [node] : rest.splice(i, 1);
    if (i !== 0) old.insertBefore(same, rest[0] ?? null);
    if (same !== node) morph(same, node);
  }
  for (const node of rest) node.remove();
}

// setFault shows which names in the spec that was typed are unknown, with suggestions; without
// names it hides that. Offsets are in bytes.
function setFault(unknown, typed) {
  fault.hidden = !unknown;
  spec.ariaInvalid = unknown ? 'true' : null;
  if (!unknown) return;
  const line = [], hints = [];
  let end = 0;
  for (const { name, offset, suggestion } of unknown) {
    const before = new TextEncoder().encode(typed).subarray(0, offset);
    const start = new TextDecoder('utf-8', { ignoreBOM: true }).decode(before).length;
    const hint = byID('unknown-name').content.cloneNode(true);
    const [mark, data, bdi, button] = ['mark', 'data', 'bdi', 'button'].map((tag) => hint.querySelector(tag));
    line.push(typed.slice(end, start), mark);
    hints.push(hint);
    end = start + name.length;
    mark.textContent = bdi.textContent = name;
    data.textContent = offset;
    button.textContent = suggestion;
    button.value = typed.slice(0, start) + suggestion + typed.slice(end);
    if (!suggestion) button.parentNode.remove();
  }
  fault.querySelector('pre').replaceChildren(...line, typed.slice(end));
  fault.querySelector('ul').replaceChildren(...hints);
  spec.focus();
  spec.setSelectionRange(line[0].length, line[0].length + unknown[0].name.length);
}

let refused = null; // the button whose change was refused

// setRefused shows why the change of a button was refused; without a refusal it hides that.
function setRefused(button, refusal) {
  const { status, error, field } = refusal ?? {};
  const forbidden = status === 401 || status === 403;
  const wrong = { owner, who: owner, why, ...(button === lease && { spec: add, share, match, quiet, ttl }) }[field];
  for (const input of [owner, why, add, share, match, quiet, ttl]) input.ariaInvalid = input === wrong ? 'true' : null;
  const focused = byID('refused').contains(document.activeElement);
  refused = refusal ? button : null;
  byID('refused').hidden = !refusal;
  byID('unchanged').hidden = !status;
  byID('reason').textContent = error;
  byID('ask-token').hidden = !forbidden;
  (wrong ?? (forbidden ? token : focused && !refusal ? button : null))?.focus();
}

// send sends the change of a button: data-send has the method and the path, data-body the fields,
// unless the button submits those of its form.
async function send(button, tries = 4) {
  if (button.ariaBusy) return;
  const { dataset } = button.closest('[data-send]');
  const [method, path] = dataset.send.split(' ');
  const isPut = method === 'PUT';
  if (method === 'DELETE' && path && !owner.value.trim()) {
    setRefused(button, { error: byID('no-name').textContent, field: 'owner' });
    return;
  }
  button.ariaBusy = 'true';
  const form = new URLSearchParams(button.type === 'submit' ? new FormData(button.form) : dataset.body);
  if (button.name) form.set(button.name, button.value);
  for (const name of ['share', 'match']) if (form.get(name) === '') form.delete(name);
  if (method !== 'PATCH') {
    form.set(isPut ? 'who' : 'owner', owner.value.trim());
    form.set('why', why.value.trim());
  }
  if (isPut) {
    seen = byID('spec-news').dataset.baseline;
    setFault(null);
  }
  const secret = token.value.trim();
  let refusal = null;
  try {
    if (/[^\x21-\x7e]/.test(secret)) throw 'bad-token';
    const headers = secret ? { Authorization: `Bearer ${secret}` } : {};
    if (isPut) headers['If-Match'] = `"${main.dataset.generation}"`;
    const parse = (text) => ({ error: byID('not-endpoint').textContent, ...JSON.parse(text) });
    const { status, answer } = await request(method, path, headers, method === 'DELETE' ? null : form, parse);
    const ended = status === 404 && method === 'DELETE'; // the lease is gone already
    if (status >= 400 && !ended) refusal = { status, ...answer };
  } catch (id) {
    refusal = { error: byID(id).textContent };
  }
  button.ariaBusy = null;
  if (refusal?.status === 412) {
    await update();
    if (tries > 1 && byID('spec-news').hidden) return send(button, tries - 1); // the baseline has not changed
  }
  if (isPut && !refusal) spec.defaultValue = form.get('spec');
  if (button === lease && !refusal) add.value = share.value = match.value = quiet.value = '';
  if (isPut && refusal?.unknown) setFault(refusal.unknown, form.get('spec'));
  else setRefused(button, refusal);
  update();
}

let leasedAt = -Infinity; // when a lease was last requested

// press sends the change of a button, unless it is the second click of a double click, which would
// lease once more, whatever has moved there since.
function press(button, { timeStamp }) {
  if (button.name === 'ttl' || button === lease) {
    if (timeStamp - leasedAt < 500) return;
    leasedAt = timeStamp;
  }
  send(button);
}

document.addEventListener('click', (event) => {
  const button = event.target.closest('button[type="button"]'); // the others submit
  if (button?.closest('[data-send]')) {
    press(button, event);
  } else if (button?.id === 'again') {
    send(refused);
  } else if (button?.id === 'dismiss') {
    setRefused(refused, null);
  } else if (button?.name === 'spec') {
    spec.value = button.value;
    setFault(null);
    prepare(document);
    spec.focus();
  }
});
document.addEventListener('submit', (event) => {
  event.preventDefault();
  if (event.target === person && refused && !add.value && !quiet.value) send(refused);
  else press(event.submitter, event);
});
document.addEventListener('keydown', (event) => {
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  const buttons = step && event.target.matches('.row button') ? [...event.target.closest('.row').querySelectorAll('button')] : [];
  buttons.at((buttons.indexOf(event.target) + step) % buttons.length)?.focus();
});
document.addEventListener('focusin', rove);
const wake = () => document.hidden ? clearTimeout(timer) : update();
document.addEventListener('visibilitychange', wake);
addEventListener('online', wake);
spec.addEventListener('input', () => setFault(null));
for (const input of [filter, onOnly]) input.addEventListener('input', () => prepare(document));

byID('host').textContent = location.host;
document.title = document.querySelector('h1').textContent;
document.documentElement.classList.add('live');
prepare(document);
rove();
timer = setTimeout(update, 2_000);
