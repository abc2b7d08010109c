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
// The zero value is ready to use: nobody is registered, everything is off, and it logs as
// one from [New] without options does. A Registry must not be copied after first use; go
// vet reports a copy.
//
// Every method may be called from any goroutine, by a logger that the registry is logging
// to as well. What reads never waits, and answers from one generation of the registry: a
// state in which a whole change has been made or none of it. Changes are made one after
// the other. Each gives each gate its new word with a single Store, and none where the word
// stays, so a gate goes from one generation's word to the next one's; different gates
// change one after the other. When a change returns, every gate shows it, or a later one.
//
// Names that are returned are in slices that the caller may keep and change. None is nil.
type Registry struct {
	current atomic.Pointer[generation] // nil means nobody
	logger  *slog.Logger               // nil means slog.Default() at the time of use

	mu        sync.Mutex // held by whoever changes what is below, or current, or a gate
	reports   reports
	observers []*observer
}

// Option is an option of [New].
type Option func(*Registry)

// Logger makes the registry log to l. Without it, and where l is nil, it logs to what
// [slog.Default] is at the time. No lock is held meanwhile: while one goroutine is logging,
// others make their changes and leave it their records to log.
func Logger(l *slog.Logger) Option { return func(r *Registry) { r.logger = l } }

// New returns a registry in which nobody is registered and everything is off.
func New(opts ...Option) *Registry {
	r := new(Registry)
	for _, opt := range opts {
		opt(r)
	}
	return r
}

var process Registry

// Default returns the registry of the process, for programs that want one. Nothing in this
// module uses it by itself.
func Default() *Registry { return &process }

// Register adds the namespace that owns c, with its groups and presets, and gives g its
// part of what is on; the spec or pin in force holds for it at once. From then on the
// registry sets g's word, and whatever else is stored there lasts until the next change.
//
// The error is an [*Error] for [ErrNilCatalog], [ErrNilGate], [ErrEmptyNamespace] (c is the
// zero Catalog), [ErrNamespaceTaken] (unless [Override] is given), [ErrGateTaken] (g is the
// gate of another namespace of this registry), or a preset that is refused:
// [ErrEmptyName], [ErrReservedName], [spangate.ErrInvalidName], [spangate.ErrDuplicateName].
// Nothing is changed then.
func (r *Registry) Register(c *spangate.Catalog, g *spangate.Gate, opts ...RegisterOption) error {
	var reg registration
	for _, opt := range opts {
		opt(&reg)
	}
	return r.change(func(old *generation) (*generation, error) {
		m, err := old.admit(c, g, reg)
		if err != nil {
			return nil, err
		}
		members := slices.Clone(old.vocabulary.members)
		if i := old.vocabulary.position(m.namespace); i >= 0 {
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
		return nil, &Error{Op: opRegister, Err: because(ErrNilCatalog, "make one with spangate.NewCatalog")}
	}
	fail := func(err error) (*member, error) {
		return nil, &Error{Op: opRegister, Namespace: c.Namespace(), Err: err}
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
// behind its gate. Names in the spec that only it had are pending again.
//
// The error is an [*Error] for [ErrEmptyNamespace] or [ErrNamespaceUnknown].
func (r *Registry) Unregister(namespace string) error {
	fail := func(err error) (*generation, error) {
		return nil, &Error{Op: opUnregister, Namespace: namespace, Err: err}
	}
	return r.change(func(old *generation) (*generation, error) {
		name := canonical(namespace)
		if name == "" {
			return fail(because(ErrEmptyNamespace, "name the one that leaves"))
		}
		i := old.vocabulary.position(name)
		if i < 0 {
			return fail(because(ErrNamespaceUnknown, "it is not registered; Namespaces() says what is"))
		}
		members := slices.Clone(old.vocabulary.members)
		return old.next(newVocabulary(slices.Delete(members, i, i+1)), old.intent), nil
	})
}

// SetSpec turns on exactly what spec selects, and returns the names in it that nobody has,
// as [Registry.Pending] does. The spec is kept, in place of the one before or of a pin: it
// is resolved again whenever a namespace comes or goes.
//
// SetSpec has no error, since what is unknown here and now may be right elsewhere or later.
// A spec longer than [spangate.MaxSpecLen] is treated as by [Registry.Resolve].
func (r *Registry) SetSpec(spec string) (pending []string) {
	next := r.want(newSpec(spec))
	return slices.Clone(next.pending)
}

// Pin turns on exactly these groups, and drops the spec: until the next SetSpec or Pin, no
// other group goes on, whoever registers. Without groups, everything is off.
//
// Groups are single names, not presets or specs. One that nobody has is pending, as it is
// in a spec. The error is an [*Error] for a name that no group can have: [ErrEmptyName],
// [ErrReservedName] or [spangate.ErrInvalidName]. Nothing is changed then.
func (r *Registry) Pin(groups ...string) error {
	for _, name := range groups {
		if err := checkName(canonical(name)); err != nil {
			return &Error{Op: opPin, Name: name, Err: err}
		}
	}
	r.want(pinIntent(canonicalSet(groups)))
	return nil
}

// want makes in what is wanted, and returns the generation in which it first is.
func (r *Registry) want(in intent) (next *generation) {
	_ = r.change(func(old *generation) (*generation, error) {
		if !reflect.DeepEqual(in, old.intent) {
			r.reports.newIntent()
		}
		next = old.next(old.vocabulary, in)
		return next, nil
	})
	return next
}

// change makes one generation of another: the one way in which a registry changes. If next
// returns an error, nothing is changed.
func (r *Registry) change(next func(old *generation) (*generation, error)) error {
	defer r.log() // after the mutex is given back, since a logger or observer may call the registry
	r.mu.Lock()
	defer r.mu.Unlock()

	old := r.load()
	g, err := next(old)
	if err != nil {
		return err
	}
	g.publish(old)
	for _, o := range r.observers {
		if after := o.see(State{old}, State{g}); after != nil {
			r.reports.queue = append(r.reports.queue, func(*slog.Logger) { after() })
		}
	}
	r.current.Store(g)
	r.reports.change(old, g)
	return nil
}

// publish gives each gate its word in g: those that were registered in old and no longer
// are the empty one. A word that stays is not stored again, since a store costs every
// reader its cached copy of the line.
func (g *generation) publish(old *generation) {
	v := g.vocabulary
	if v != old.vocabulary {
		for _, m := range old.vocabulary.members {
			if v.owner(m.gate) == nil {
				store(m.gate, 0)
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
