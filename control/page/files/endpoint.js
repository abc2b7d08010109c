// What goes to the endpoint and comes back. It is wherever the page is: addresses are relative.

const timeout = 10_000;
const stranger = 'What answers is not the endpoint.'; // but a proxy's page, for one

// Refusal is an answer that is no: the status, and the JSON that says why.
export class Refusal extends Error {
  constructor(status, answer) {
    super(answer.error ?? `The answer was ${status}, without a reason that this page can read.`);
    this.status = status;
    this.answer = answer;
  }
}

// Unreachable is no answer at all.
export class Unreachable extends Error {}

async function send(path, options) {
  let response, answer;
  try {
    // Requests of the page's own origin carry Sec-Fetch-Site: same-origin, which is how the
    // endpoint knows them from those of other sites.
    response = await fetch(`./${path}`, {
      cache: 'no-store', credentials: 'same-origin', redirect: 'error', signal: AbortSignal.timeout(timeout), ...options,
    });
    answer = await response.text();
  } catch {
    throw new Unreachable('The program does not answer.');
  }
  if (response.status === 304) return { tag: response.headers.get('ETag') };
  try {
    answer = Object(JSON.parse(answer));
  } catch {
    if (response.ok) throw new Unreachable(stranger);
    answer = {};
  }
  if (response.status === 502 || response.status === 503 || response.status === 504) {
    throw new Unreachable(`Something on the way says ${response.status}: the program does not answer.`);
  }
  if (!response.ok) throw new Refusal(response.status, answer);
  return { tag: response.headers.get('ETag'), answer };
}

// read gives the state and its tag; no state if it still is the one with the tag given.
export async function read(tag) {
  const headers = { Accept: 'application/json' };
  if (tag) headers['If-None-Match'] = tag;
  const got = await send('', { headers });
  if (got.answer && !Array.isArray(got.answer.groups)) throw new Unreachable(stranger);
  return { tag: got.tag, state: got.answer };
}

// write asks for a change. The token goes into a header and nowhere else.
export async function write(method, path, { body, token = '', tag }) {
  const headers = { Accept: 'application/json' };
  if (body) headers['Content-Type'] = 'application/json';
  if (/[^\x21-\x7e]/.test(token)) throw new Refusal(401, { error: 'The token has a character that no header can carry.' });
  if (token) headers.Authorization = `Bearer ${token}`;
  if (tag) headers['If-Match'] = tag;
  return (await send(path, { method, headers, body: body && JSON.stringify(body) })).answer;
}
