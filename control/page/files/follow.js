// Keeping up with the state: a gentle question every other second, whose answer is empty
// while nothing has changed; none while nobody looks; fewer while the program is away.

import { read } from './endpoint.js';

const every = 2_000;
const most = 8_000;

// follow calls state with every new state and its tag, alive after every answer, and lost with
// the error if there is none. It gives a function that asks at once, and whose promise is kept
// when what it asked for is shown.
export function follow({ state, alive, lost }) {
  let tag = null;
  let failures = 0;
  let timer = 0;
  let again = false;
  let asking = null;

  // ask asks at once, and once more if a question is on its way: its answer may be of before.
  function ask() {
    again = true;
    asking ??= answers().finally(() => { asking = null; });
    return asking;
  }

  async function answers() {
    clearTimeout(timer);
    while (again) {
      again = false;
      try {
        const got = await read(tag);
        failures = 0;
        tag = got.tag;
        if (got.state) state(got.state, tag);
        alive();
      } catch (error) {
        failures++;
        lost(error);
      }
    }
    if (!document.hidden) timer = setTimeout(ask, Math.min(every * 2 ** failures, most));
  }

  // Countdowns of a page that slept are wrong, so what it wakes up to is asked for anew.
  function wake() {
    clearTimeout(timer);
    if (document.hidden) return;
    tag = null;
    ask();
  }
  document.addEventListener('visibilitychange', wake);
  addEventListener('pageshow', (event) => event.persisted && wake());
  addEventListener('online', wake);
  ask();
  return ask;
}
