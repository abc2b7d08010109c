// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"log/slog"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/spangate/spangate"
)

// Registry is the union of the catalogs of one process, each with its own gate, under one
// spec.
//
// The zero value is ready to use: no namespace is registered, everything is off, and it logs
// as one from [New] without options does. A Registry must not be copied after first use; go
// vet reports a copy. On a nil Registry, the methods that read return what they return for the
// zero value, SetSpec has no effect, and the other methods that change return [ErrNilRegistry].
//
// Every method may be called from any goroutine, and by a logger that the registry is calling.
// Reads never wait, and answer from one generation of the registry: a state in which a whole
// change has been made or none of it. Changes are made one after the other. Each gives each
// gate its new word with a single Store, and none where the word stays, so a gate goes from
// one generation's word to the next one's; different gates change one after the other. When a
// change returns, every gate shows it, or a later one.
//
// Names that are returned are in slices that the caller may keep and change. None is nil.
type Registry struct {
	current atomic.Pointer[generation] // nil means initial
	logger  *slog.Logger               // nil means slog.Default() at the time of use

	mu      sync.Mutex // guards what is below, and is held to change current or a gate
	reports reports
	control *Control // nil if there is none
}

// Option is an option of [New]. A nil one has no effect.
type Option func(*Registry)

// Logger makes the registry log to l. Without it, and where l is nil, it logs to what
// [slog.Default] is at the time.
//
// A record is logged by the goroutine that made the change, before the change returns and with
// no lock held. While one goroutine is logging, others queue their records for it, and it logs
// them in order. Up to 1024 records wait; more are dropped, and their number is logged. While
// the registry has a [Control] with a post function, its records go there instead.
func Logger(l *slog.Logger) Option { return func(r *Registry) { r.logger = l } }

// New returns a registry in which no namespace is registered and everything is off.
func New(opts ...Option) *Registry {
	r := new(Registry)
	for _, opt := range opts {
		if opt != nil {
			opt(r)
		}
	}
	return r
}

var process Registry

// Default returns the registry of the process, for programs that want one. Nothing in this
// module uses it by itself.
func Default() *Registry { return &process }

// Register adds the namespace that owns c, with its groups and presets, and gives g its
// part of what is on; the spec, pin or plan in force holds for it at once. From then on the
// registry sets g's word; a word stored by other code lasts until the next change.
//
// A gate belongs to one namespace of one registry, until the namespace is unregistered or
// replaced. The gates of a registry that is no longer reachable are free once the garbage
// collector has collected it; a program that goes on using a gate should unregister it first.
//
// The error is an [*Error] for [ErrNilRegistry], [ErrNilCatalog], [ErrNilGate],
// [ErrEmptyNamespace] (c is the zero Catalog), [ErrNamespaceTaken] (unless [Override] is
// given), [ErrGateTaken] (g is the gate of another namespace of this registry),
// [ErrGateElsewhere] (g is a gate of another registry), or a preset that is refused:
// [ErrEmptyName], [ErrReservedName], [spangate.ErrInvalidName], [spangate.ErrDuplicateName].
// Nothing is changed then.
func (r *Registry) Register(c *spangate.Catalog, g *spangate.Gate, opts ...RegisterOption) error {
	var reg registration
	for _, opt := range opts {
		if opt != nil {
			opt(&reg)
		}
	}
	return r.change(Change{Op: OpRegister}, func(old *generation, ch *Change) (*generation, error) {
		m, err := old.admit(c, g, reg)
		if err != nil {
			return nil, err
		}
		if !gates.claim(g, r) {
			return nil, &Error{Op: OpRegister, Namespace: m.namespace, Err: because(ErrGateElsewhere, "two registries would both set its word; unregister it there first, or give it one registry")}
		}
		ch.Namespace = m.namespace
		members := slices.Clone(old.vocabulary.members)
		if i := old.vocabulary.position(m.namespace); i >= 0 {
			ch.Op = OpReplace
			members = slices.Delete(members, i, i+1)
		}
		if !reg.override {
			r.reports.shared(m, old.vocabulary)
		}
		return old.next(newVocabulary(append(members, m)), old.intent), nil
	})
}

// admit returns the member that c, g and reg would be in the generation after old.
func (old *generation) admit(c *spangate.Catalog, g *spangate.Gate, reg registration) (*member, error) {
	if c == nil {
		return nil, &Error{Op: OpRegister, Err: because(ErrNilCatalog, "make one with spangate.NewCatalog")}
	}
	fail := func(err error) (*member, error) {
		return nil, &Error{Op: OpRegister, Namespace: c.Namespace(), Err: err}
	}
	v := old.vocabulary
	switch {
	case g == nil:
		return fail(because(ErrNilGate, "pass the gate that the library's sites read"))
	case c.Namespace() == "":
		return fail(because(ErrEmptyNamespace, "make the catalog with spangate.NewCatalog"))
	case v.position(c.Namespace()) >= 0 && !reg.override:
		return fail(because(ErrNamespaceTaken, "it is registered already; unregister it first, or pass Override() to replace it"))
	}
	if other := v.owner(g); other != nil && other.namespace != c.Namespace() {
		return fail(because(ErrGateTaken, "it is the gate of "+clip(other.namespace)+", whose bits mean other groups; give each namespace a gate of its own"))
	}
	return newMember(c, g, reg)
}

// Unregister removes the namespace, with its groups and presets, and turns everything off
// behind its gate, which is free to be registered again. Names in the spec that no other
// namespace has are pending again.
//
// The error is an [*Error] for [ErrNilRegistry], [ErrEmptyNamespace] or
// [ErrNamespaceUnknown].
func (r *Registry) Unregister(namespace string) error {
	fail := func(err error) (*generation, error) {
		return nil, &Error{Op: OpUnregister, Namespace: namespace, Err: err}
	}
	return r.change(Change{Op: OpUnregister}, func(old *generation, ch *Change) (*generation, error) {
		name := canonical(namespace)
		if name == "" {
			return fail(because(ErrEmptyNamespace, "name the one to remove"))
		}
		i := old.vocabulary.position(name)
		if i < 0 {
			return fail(because(ErrNamespaceUnknown, "it is not registered; Namespaces() says what is"))
		}
		ch.Namespace = name
		members := slices.Clone(old.vocabulary.members)
		return old.next(newVocabulary(slices.Delete(members, i, i+1)), old.intent), nil
	})
}

// SetSpec turns on exactly what spec selects, and returns the names in it that are not
// registered, as [Registry.Pending] does. The spec is kept, in place of the spec, pin or plan
// before it: it is resolved again whenever a namespace comes or goes.
//
// SetSpec has no error, since a name that is unknown here and now may be right elsewhere or
// later. A spec longer than [spangate.MaxSpecLen] is treated as by [Registry.Resolve].
func (r *Registry) SetSpec(spec string) (pending []string) {
	next, err := r.want(OpSetSpec, newSpec(spec))
	if err != nil { // r is nil
		_, pending = r.Resolve(spec)
		return pending
	}
	return slices.Clone(next.pending)
}

// Pin turns on exactly these groups, and drops the spec: until the next SetSpec or Pin, no
// other group goes on, whatever registers and whatever a [Control] plans. Without groups,
// everything is off. [State.Pinned] reports it.
//
// Groups are single names, not presets or specs. One that is not registered is pending, as it
// is in a spec. The error is an [*Error] for [ErrNilRegistry], or for a name that no group can
// have: [ErrEmptyName], [ErrReservedName] or [spangate.ErrInvalidName]. Nothing is changed
// then.
func (r *Registry) Pin(groups ...string) error {
	for _, name := range groups {
		if err := checkName(canonical(name)); err != nil {
			return &Error{Op: OpPin, Name: name, Err: err}
		}
	}
	_, err := r.want(OpPin, pinIntent(canonicalSet(groups)))
	return err
}

// want installs in as the intent and returns the resulting generation.
func (r *Registry) want(op string, in intent) (next *generation, err error) {
	err = r.change(Change{Op: op}, func(old *generation, _ *Change) (*generation, error) {
		if !reflect.DeepEqual(in, old.intent) {
			r.reports.newIntent()
		}
		next = old.next(old.vocabulary, in)
		return next, nil
	})
	return next, err
}

// change makes the next generation from the current one. It is the only way in which a
// registry changes. next completes ch, which has the operation; if next returns an error,
// nothing is changed.
//
// The gates and the current generation are set before any other code runs, so that they agree
// even if that code panics.
func (r *Registry) change(ch Change, next func(old *generation, ch *Change) (*generation, error)) error {
	if r == nil {
		return nilRegistry(ch.Op)
	}
	defer r.log() // after the mutex is unlocked, since the logger may call the registry
	r.mu.Lock()
	defer r.mu.Unlock()

	old := r.load()
	g, err := next(old, &ch)
	if err != nil {
		return err
	}
	g.publish(old)
	r.current.Store(g)
	r.reports.change(old, g)
	if c := r.control; c != nil {
		if ch.last {
			r.control = nil
		}
		ch.Old, ch.New = State{old}, State{g}
		c.see(ch)
		r.hand(c.post)
	}
	return nil
}

// publish gives each gate its word in g. A gate that was registered in old and no longer is
// gets the empty word, and is free for other registries after that. A word that stays is not
// stored again, since a store costs every reader its cached copy of the line.
func (g *generation) publish(old *generation) {
	v := g.vocabulary
	if v != old.vocabulary {
		for _, m := range old.vocabulary.members {
			if v.owner(m.gate) == nil {
				store(m.gate, 0)
				gates.release(m.gate)
			}
		}
	}
	for i, m := range v.members {
		store(m.gate, v.project(i, g.enabled))
	}
}

func store(gate *spangate.Gate, word spangate.Mask) {
	if gate.Load() != word {
		gate.Store(word)
	}
}
