// Elements, and lists of them that keep their place. Whatever is shown becomes a text node or
// an attribute's value, never markup: what people and programs call things is theirs to choose.

// el makes an element. An attribute on… is a listener; a child is an element or text.
export function el(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === 'function') node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value);
  }
  node.append(...children);
  return node;
}

export const byID = (id) => document.getElementById(id);

// text makes s the text of a node, which is left alone if it has it already: somebody may be
// selecting in it.
export function text(node, s) {
  if (node.textContent !== s) node.textContent = s;
}

// said is what somebody said, which may be in any script and direction, and for what reason.
export function said(who, why) {
  return why ? [el('bdi', {}, who), ': ', el('bdi', {}, why)] : [el('bdi', {}, who)];
}

const rows = new WeakMap(); // of each list, its rows by key

// keep shows items as the children of list. make makes the row of an item: its element, and a
// function that shows what the item has become, in its view. An item that was there before keeps its element, so that the focus
// stays where it is; if its element is gone, the focus goes to the heading above.
export function keep(list, items, keyOf, make, view) {
  const focus = list.contains(document.activeElement) ? document.activeElement : null;
  const old = rows.get(list) ?? new Map();
  const now = new Map();
  for (const item of items) {
    const row = old.get(keyOf(item)) ?? make(item);
    row.show(item, view);
    now.set(keyOf(item), row);
  }
  rows.set(list, now);
  const nodes = [...now.values()].map((row) => row.node);
  const staying = new Set(nodes);
  for (const node of [...list.children]) if (!staying.has(node)) node.remove();
  let at = list.firstElementChild;
  for (const node of nodes) {
    if (node === at) at = at.nextElementSibling;
    else list.insertBefore(node, at);
  }
  if (focus && focus !== document.activeElement) {
    (focus.isConnected ? focus : list.closest('section').querySelector('h2')).focus({ preventScroll: true });
  }
}
