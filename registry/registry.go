// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"log/slog"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/internal/plan"
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
	control *control // nil if there is none

	discovered discovered
}

// Option is an option of [New]. A nil one has no effect.
type Option func(*Registry)

// Logger makes the registry log to l. Without it, and where l is nil, it logs to what
// [slog.Default] is at the time.
//
// A record is logged by the goroutine that made the change, before the change returns and with
// no lock held. While one goroutine is logging, others queue their records for it, and it logs
// them in order. Up to 1024 records wait; more are dropped, and their number is logged. While
// the registry has a controller, the goroutine of the controller's change log logs them.
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

// Default returns the registry of the process, for programs that need only one. Package setup uses
// it unless the program gives it another; no other package of this module does.
func Default() *Registry { return &process }

// Register adds the namespace of c, with its groups and presets, and sets g by the spec, pin or
// plan in force. From then on the registry sets g's word; a word stored by other code lasts until
// the next change.
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
	if r == nil {
		return nilRegistry("register")
	}
	m, err := newMember(c, g, opts)
	if err != nil {
		return err
	}
	old := r.begin()
	defer r.end()
	i, err := old.vocabulary.admit(m)
	if err == nil {
		err = m.completePresets()
	}
	if err != nil {
		return err
	}
	if !gates.claim(g, r) {
		return m.refuse(because(ErrGateElsewhere, "two registries would both set its word; unregister it there first, or give it one registry"))
	}
	members, done := slices.Clone(old.vocabulary.members), "registered"
	if i >= 0 {
		members, done = slices.Delete(members, i, i+1), "replaced"
	}
	if !m.shared {
		r.reports.sharedNames(m, old.vocabulary)
	}
	r.publishAndNotify(old.next(newVocabulary(append(members, m)), old.intent, namespaceChange(m.namespace()+" "+done)))
	return nil
}

// Unregister removes the namespace, with its groups and presets, and sets its gate to zero. The
// gate can then be registered again. Names in the spec that no other
// namespace has are pending again.
//
// The error is an [*Error] for [ErrNilRegistry], [ErrEmptyNamespace] or
// [ErrNamespaceUnknown].
func (r *Registry) Unregister(namespace string) error {
	const op = "unregister"
	if r == nil {
		return nilRegistry(op)
	}
	name := canonical(namespace)
	if name == "" {
		return &Error{Op: op, Namespace: namespace, Err: because(ErrEmptyNamespace, "name the one to remove")}
	}
	old := r.begin()
	defer r.end()
	i := old.vocabulary.position(name)
	if i < 0 {
		return &Error{Op: op, Namespace: namespace, Err: because(ErrNamespaceUnknown, "it is not registered; Namespaces() lists those that are")}
	}
	members := slices.Delete(slices.Clone(old.vocabulary.members), i, i+1)
	r.publishAndNotify(old.next(newVocabulary(members), old.intent, namespaceChange(name+" unregistered")))
	return nil
}

// SetSpec turns on exactly what spec selects, and returns the names in it that are not
// registered, as [Registry.Pending] does. The spec is kept, in place of the spec or pin before
// it: it is resolved again whenever a namespace comes or goes.
//
// SetSpec has no error, since an unknown name may be registered later, or in another process that
// has the same spec. A spec longer than [spangate.MaxSpecLen] is treated as by [Registry.Resolve].
func (r *Registry) SetSpec(spec string) (pending []string) {
	if r == nil {
		_, pending = r.Resolve(spec)
		return pending
	}
	return r.set(newSpec(spec), "SetSpec was called on the registry itself").Pending()
}

// Pin turns on exactly these groups, and drops the spec: until the next SetSpec or Pin, no
// other group goes on, whatever registers and whatever a controller sets. Without
// groups, everything is off. [State.Pinned] reports it.
//
// Groups are single names, not presets or specs. One that is not registered is pending, as it
// is in a spec. The error is an [*Error] for [ErrNilRegistry], or for a name that no group can
// have: [ErrEmptyName], [ErrReservedName] or [spangate.ErrInvalidName]. Nothing is changed
// then.
func (r *Registry) Pin(groups ...string) error {
	const op = "pin"
	for _, name := range groups {
		if err := checkName(canonical(name)); err != nil {
			return &Error{Op: op, Name: name, Err: err}
		}
	}
	if r == nil {
		return nilRegistry(op)
	}
	r.set(intent{kind: byPin, pin: canonicalSet(groups)}, "Pin was called on the registry itself; it holds until SetSpec")
	return nil
}

// set replaces the intent with in and returns the new generation.
func (r *Registry) set(in intent, why string) *generation {
	old := r.begin()
	defer r.end()
	if !reflect.DeepEqual(in, old.intent) {
		r.reports.newIntent()
	}
	next := old.next(old.vocabulary, in, plan.Cause{Kind: plan.KindRegistry, Who: byRegistry, Why: why})
	r.publishAndNotify(next)
	return next
}

// byRegistry is the Who of the causes of the registry's own changes.
const byRegistry = "registry"

func namespaceChange(why string) plan.Cause {
	return plan.Cause{Kind: plan.KindNamespaces, Who: byRegistry, Why: why}
}

// begin locks the registry for a change and returns the current generation. end must follow.
func (r *Registry) begin() *generation {
	r.mu.Lock()
	return r.load()
}

// end unlocks the registry. Then it logs, since the logger may call the registry.
func (r *Registry) end() {
	r.mu.Unlock()
	r.log()
}

// publishAndNotify publishes g, and calls the observer of the controller.
func (r *Registry) publishAndNotify(g *generation) {
	r.publish(g)
	if r.control != nil {
		r.control.observe(g)
	}
}

// publish makes g, the next generation, the current one: it gives each gate its word, and
// queues the records about g. The gates and the current generation are set before any other code
// runs, so that they agree even if that code panics.
//
// A gate that is no longer registered gets the empty word, and is free for other registries
// after that. A word that stays is not stored again, since a store costs every reader its cached
// copy of the line.
func (r *Registry) publish(g *generation) {
	old, v := r.load(), g.vocabulary
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
	r.current.Store(g)
	r.reports.presets(old, g)
	if g.intent.kind != byPlan || r.control != nil { // the plan of a closed controller stays, but concerns no owner
		r.reports.intent(old, g)
	}
}

func store(gate *spangate.Gate, word spangate.Mask) {
	if gate.Load() != word {
		gate.Store(word)
	}
}
