// Durations as the endpoint writes them, and countdowns.

import { el } from './dom.js';

const units = { h: 3600e3, m: 60e3, s: 1e3, ms: 1, 'µs': 1e-3, us: 1e-3, ns: 1e-6 };

// milliseconds reads what Go's Duration.String writes, as in 4m30.5s.
export function milliseconds(duration) {
  let sum = 0;
  for (const [, n, unit] of duration.matchAll(/([\d.]+)(h|ms|m|s|µs|us|ns)/g)) sum += n * units[unit];
  return sum;
}

// clock shows what is left as 4:05 or 1:04:05, rounded up: 0:00 is over.
export function clock(ms) {
  const s = Math.max(0, Math.ceil(ms / 1000));
  const two = (n) => String(n).padStart(2, '0');
  const minutes = Math.floor(s / 60);
  return minutes < 60 ? `${minutes}:${two(s % 60)}` : `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(s % 60)}`;
}

// timeOfDay shows when something was, in the reader's own time; the date only if it is not today.
export function timeOfDay(iso) {
  const then = new Date(iso);
  const time = then.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit', second: '2-digit', hour12: false });
  if (then.toDateString() === new Date().toDateString()) return time;
  return `${then.toLocaleDateString([], { day: 'numeric', month: 'short' })} ${time}`;
}

const running = new Map(); // countdowns, each with its end by performance.now

// countdown makes an element that shows how long it is until end, by performance.now: the
// clock on the wall may be another here than where the program runs.
export function countdown(end) {
  const node = el('span', { class: 'left' }, clock(end - performance.now()));
  running.set(node, end);
  return node;
}

// tick moves all countdowns on, and reports whether one has just come to its end.
export function tick() {
  let ended = false;
  for (const [node, end] of running) {
    const left = end - performance.now();
    if (!node.isConnected || left <= 0) running.delete(node);
    if (!node.isConnected) continue;
    ended ||= left <= 0;
    node.textContent = clock(left);
  }
  return ended;
}
