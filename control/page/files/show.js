// The state, shown: the same words in the same places as in index.html, and buttons.

import { byID, el, keep, said, text } from './dom.js';
import { countdown, milliseconds, timeOfDay } from './time.js';

const maxLeases = 100;
const maxReasons = 4;
const minutes = [1, 5, 30];

// show shows a state. lease(what, minutes, button), where what is { spec } or { quiet }, and
// release(lease, button) are what the buttons do.
export function show(state, { lease, release }) {
  const now = performance.now();
  const view = {
    state,
    ends: new Map(state.leases.map((l) => [l.id, now + milliseconds(l.left)])),
    leases: new Map(state.leases.map((l) => [l.id, l])),
    longest: milliseconds(state.max_ttl),
  };
  text(byID('summary'), summary(state));
  byID('readonly').hidden = state.writable;
  byID('you').hidden = !state.writable;

  keep(byID('leases'), state.leases.slice(0, maxLeases), (l) => l.id, (l) => leaseRow(l, release), view);
  const more = state.leases.length - maxLeases;
  byID('leases-none').hidden = state.leases.length > 0;
  text(byID('leases-more'), more > 0 ? `and ${more} more, which end later` : '');

  keep(byID('presets'), state.presets, (p) => p.name, (p) => presetRow(p, lease), view);

  keep(byID('groups'), state.groups, (g) => g.name, (g) => groupRow(g, lease), view);
  byID('groups-none').hidden = state.groups.length > 0;
  text(byID('pending'), state.pending.length > 0 ? `Asked for and not registered: ${state.pending.join(', ')}` : '');
  text(byID('limits'), limits(state));

  text(byID('spec-now'), state.spec || 'nothing');
  byID('spec-who').replaceChildren(...said(state.who, state.why));
  text(byID('spec-startup'), state.startup.spec || 'nothing');
  byID('startup-who').replaceChildren(...said(state.startup.who, state.startup.why));

  keep(byID('changes'), state.changes, (c) => c.generation, changeRow, view);
}

function summary({ enabled, groups, leases }) {
  const s = `${enabled.length} of ${groups.length} groups on`;
  if (leases.length === 0) return s;
  return leases.length === 1 ? `${s} · 1 lease` : `${s} · ${leases.length} leases`;
}

function limits({ pinned, deny, ceiling, roots, enabled }) {
  return [
    pinned && 'Pinned by the program: baseline, leases and limits have no effect',
    deny && `Never on: ${deny}`,
    ceiling && `Nothing on but: ${ceiling}`,
    roots.length > 0 && enabled.length > 0 && `Traces begin in ${roots.join(', ')}, which is off: spans beneath begin a trace each, or are not started`,
  ].filter(Boolean).join(' · ');
}

// does says what a lease does.
function does({ spec, quiet }) {
  if (!quiet) return spec || 'nothing';
  return spec ? `${spec} · quiet ${quiet}` : `quiet ${quiet}`;
}

function leaseRow(l, release) {
  const withheld = el('p', { class: 'hint' });
  const pending = el('p', { class: 'hint' });
  const button = el('button', { type: 'button', 'aria-label': `Release ${does(l)} of ${l.owner}`, onclick: () => release(l, button) }, 'Release');
  const actions = el('div', { class: 'do' }, button);
  let end;
  const node = el('li', { class: 'row' },
    el('div', { class: 'name' }, el('bdi', {}, does(l))),
    el('div', { class: 'about' }, el('p', {}, ...said(l.owner, l.why)), withheld, pending),
    actions);
  return {
    node,
    show(l, { state, ends }) {
      text(withheld, l.withheld.length > 0 ? `kept off: ${l.withheld.join(', ')}` : '');
      text(pending, l.pending.length > 0 ? `not registered: ${l.pending.join(', ')}` : '');
      end?.remove();
      actions.prepend(end = countdown(ends.get(l.id)));
      button.hidden = !state.writable;
    },
  };
}

let pressed = -Infinity; // when a lease was last asked for

// leaseButtons make a row's buttons to lease name, or to quiet it.
function leaseButtons(name, lease, quiet = false) {
  const buttons = minutes.map((m) => {
    const label = `${quiet ? 'Quiet' : 'Lease'} ${name} for ${m} ${m === 1 ? 'minute' : 'minutes'}`;
    // The second click of a double one would be a second lease, and of what has moved under
    // the pointer since.
    const onclick = (event) => {
      if (event.timeStamp - pressed < 500) return;
      pressed = event.timeStamp;
      lease(quiet ? { quiet: name } : { spec: name }, m, button);
    };
    const button = el('button', { type: 'button', 'aria-label': label, onclick }, `${m} min`);
    return button;
  });
  const node = el('div', { class: quiet ? 'do quiet' : 'do' }, ...buttons);
  return {
    node,
    show({ state, longest }, possible) {
      node.hidden = !state.writable || !possible;
      buttons.forEach((button, i) => { button.hidden = minutes[i] * 60e3 > longest; });
    },
  };
}

// states makes the word for on, off or mixed, and marks the row when it changes.
function states() {
  const word = el('span', { class: 'state' });
  return {
    word,
    show(row, state) {
      row.classList.toggle('changed', row.dataset.state !== undefined && row.dataset.state !== state);
      row.dataset.state = state;
      text(word, state);
    },
  };
}

function presetRow(p, lease) {
  const mark = states();
  const doc = el('p');
  const groups = el('p', { class: 'hint' });
  const buttons = leaseButtons(p.name, lease);
  const node = el('li', { class: 'row' },
    el('div', { class: 'name' }, mark.word, ' ', el('bdi', {}, p.name)),
    el('div', { class: 'about' }, doc, groups),
    buttons.node);
  return {
    node,
    show(p, view) {
      mark.show(node, p.state);
      text(doc, p.doc);
      text(groups, p.groups.join(', '));
      buttons.show(view, true);
    },
  };
}

function groupRow(g, lease) {
  const mark = states();
  const about = el('div', { class: 'about' });
  const buttons = leaseButtons(g.name, lease);
  const quiet = leaseButtons(g.name, lease, true);
  const node = el('li', { class: 'row' },
    el('div', { class: 'name' }, mark.word, ' ', el('bdi', {}, g.name)),
    about,
    el('div', {}, buttons.node, quiet.node));
  return {
    node,
    show(g, view) {
      mark.show(node, g.on ? 'on' : 'off');
      about.replaceChildren(...g.members.map(member), because(g, view));
      buttons.show(view, !g.withheld);
      quiet.show(view, g.baseline && !g.withheld);
    },
  };
}

function member({ namespace, doc }) {
  return el('p', {}, doc ? `${doc} ` : '', el('span', { class: 'namespace' }, namespace));
}

// because says why a group is on or off.
function because(g, { state, ends, leases }) {
  const why = [];
  if (g.baseline) why.push(['baseline']);
  const list = (ids, what, more) => {
    for (const id of ids.slice(0, maxReasons)) why.push([`${what} ${leases.get(id).owner}, `, countdown(ends.get(id))]);
    if (ids.length > maxReasons) why.push([`${more}${ids.length - maxReasons} more leases`]);
  };
  list(g.quiet, 'quieted by lease of', 'quieted by ');
  list(g.leases, 'lease of', '');
  const asked = g.baseline && g.quiet.length === 0 || g.leases.length > 0;
  if (g.withheld && !state.ceiling) why.push(['kept off by the deny list']);
  else if (g.withheld && !state.deny) why.push(['kept off by the ceiling']);
  else if (g.withheld) why.push(['kept off by the deny list or the ceiling']);
  else if (g.on !== asked) why.push(['set on the registry itself']);
  return el('p', { class: 'hint because' }, ...why.flatMap((parts, i) => [i > 0 ? ' · ' : '', el('bdi', {}, ...parts)]));
}

function changeRow(c) {
  const node = el('li', { class: 'row' },
    el('div', { class: 'name' }, el('time', { datetime: c.time }, timeOfDay(c.time)), ' ', c.kind),
    el('div', { class: 'about' }, el('p', {}, ...said(c.who, c.why)), el('p', { class: 'hint' }, diff(c))));
  return { node, show() {} }; // what happened stays so
}

// diff says which groups a change turned on and off.
export function diff(change) {
  const on = change.new.filter((name) => !change.old.includes(name));
  const off = change.old.filter((name) => !change.new.includes(name));
  return [on.length > 0 && `on: ${on.join(', ')}`, off.length > 0 && `off: ${off.join(', ')}`]
    .filter(Boolean).join(' · ') || 'nothing went on or off';
}
