// The editor of the baseline: as strict as the endpoint, and never in the way of who types.

import { Refusal, write } from './endpoint.js';
import { byID, el, said, text } from './dom.js';

const form = byID('baseline');
const spec = byID('spec');
const pending = byID('allow-pending');
const fault = byID('spec-fault');
const news = byID('spec-news');

let shown = null; // the baseline that whoever types has seen
let latest = null; // the one in force, with the tag of its state
let tag = null;

const same = (a, b) => a.spec === b.spec && a.allow_pending === b.allow_pending && a.who === b.who && a.why === b.why;
const typing = () => shown !== null && spec.value !== shown.spec;

// showBaseline takes a new state in: into the field, unless somebody has typed there.
export function showBaseline(state, newTag) {
  form.hidden = !state.writable;
  latest = state;
  tag = newTag;
  if (typing() && spec.value !== state.spec) {
    if (!same(shown, latest)) tell();
    return;
  }
  take();
}

function take() {
  shown = latest;
  if (spec.value !== shown.spec) spec.value = shown.spec;
  clear();
  news.replaceChildren();
}

// tell says that the baseline has changed under the hands of who types.
function tell() {
  if (news.dataset.of === JSON.stringify([latest.spec, latest.who, latest.why]) && news.hasChildNodes()) return;
  news.dataset.of = JSON.stringify([latest.spec, latest.who, latest.why]);
  news.replaceChildren(
    el('p', {}, 'Meanwhile the baseline is ', el('code', {}, latest.spec || 'nothing'), ', by ', ...said(latest.who, latest.why), '. '),
    el('button', { type: 'button', onclick: () => { take(); spec.focus(); } }, 'Take that'));
  text(byID('said'), news.firstChild.textContent);
}

function clear() {
  fault.replaceChildren();
  spec.removeAttribute('aria-invalid');
}

// setBaseline asks for what has been typed, if the baseline still is the one that was seen.
// Other changes than to the baseline, such as the end of a lease, are in nobody's way.
export async function setBaseline({ who, why, token, refresh }) {
  clear();
  const body = { spec: spec.value, allow_pending: pending.checked, who, why };
  for (let tries = 0; ; tries++) {
    if (!same(shown, latest)) shown = latest; // tell() has said so, and Set was pressed since
    try {
      await write('PUT', '', { body, token, tag });
      shown = { ...shown, spec: body.spec };
      news.replaceChildren();
      return;
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      if (error.answer.unknown?.length > 0) return point(body.spec, error.answer);
      if (error.status !== 412 || tries === 3) throw error;
      await refresh();
      if (!same(shown, latest)) {
        tell();
        throw error;
      }
    }
  }
}

// point shows where in the spec the unknown names are, and what they might have been.
function point(asked, { unknown }) {
  const bytes = new TextEncoder().encode(asked);
  const slice = (from, to) => new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes.subarray(from, to));
  const length = (s) => new TextEncoder().encode(s).length;
  const line = el('pre');
  const hints = el('ul');
  let at = 0;
  for (const { name, offset, suggestion } of unknown) {
    line.append(slice(at, offset), el('mark', {}, name));
    at = offset + length(name);
    const hint = el('li', {}, `Byte ${offset}: nobody has registered `, el('bdi', {}, name), '. ');
    if (suggestion) {
      const replace = () => {
        spec.value = slice(0, offset) + suggestion + slice(offset + length(name));
        clear();
        spec.focus();
      };
      hint.append('Did you mean ', el('button', { type: 'button', onclick: replace }, suggestion), '?');
    }
    hints.append(hint);
  }
  line.append(slice(at));
  fault.replaceChildren(el('p', {}, 'Nothing was changed.'), line, hints);
  spec.setAttribute('aria-invalid', 'true');
  spec.focus();
  const start = slice(0, unknown[0].offset).length;
  spec.setSelectionRange(start, start + unknown[0].name.length);
}

spec.addEventListener('input', clear);
