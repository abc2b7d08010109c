// SPDX-License-Identifier: Apache-2.0

package registry

// The operations that change a registry: the Op of a [Change] and of an [Error].
const (
	OpRegister   = "register"   // a namespace was added
	OpReplace    = "replace"    // a namespace was replaced, with Override
	OpUnregister = "unregister" // a namespace was removed
	OpSetSpec    = "set spec"   // SetSpec
	OpPin        = "pin"        // Pin
	OpUpdate     = "update"     // an Update of the Control
	OpControl    = "control"    // Control; only in an Error, since it changes nothing
)

// Change is one change of a [Registry]. It is a value and may be copied.
type Change struct {
	// Old and New are the states before and after the change.
	Old, New State
	// Op is the operation that made the change: [OpRegister] or another.
	Op string
	// Namespace is the one that was registered, replaced or unregistered. It is empty for
	// other operations.
	Namespace string
	// Cause is the cause that the function given to [Control.Update] returned. It is nil for
	// other operations.
	Cause any

	last bool // the Control is released with the change
}

// Control is the right to set the [Plan] of a [Registry]. Get one from [Registry.Control]; the
// methods of a nil or zero Control return an error. Its methods may be called from any
// goroutine.
type Control struct {
	r    *Registry
	see  func(Change)
	post func(report func())
}

// Control returns the right to set r's plan. r has at most one Control at a time. The call
// itself changes nothing.
//
// see is called for every change that r makes until the Control is released, in the order of
// the changes, by the goroutine that makes the change. The gates and [Registry.State] show
// the change by then. see runs with the registry's lock held: it may read r, must not change
// r, and must return soon. A panic in see reaches the caller that made the change; the change
// stays made, and the lock is released. A nil see is not called.
//
// post is called with each function that logs a record of r, so that no change of r waits for
// the logger. It must keep the function to be called later, in order and without the lock,
// and return soon; it may drop it. If post is nil, r logs as without a Control.
//
// The error is an [*Error] for [ErrNilRegistry], or for [ErrControlled] if another Control of
// r has not been released.
func (r *Registry) Control(see func(Change), post func(report func())) (*Control, error) {
	if r == nil {
		return nil, nilRegistry(OpControl)
	}
	if see == nil {
		see = func(Change) {}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.control != nil {
		return nil, &Error{Op: OpControl, Err: because(ErrControlled, "release the one that it has, by closing its controller")}
	}
	r.control = &Control{r: r, see: see, post: post}
	return r.control, nil
}

// Update replaces the spec or plan in force with the plan that next returns. The plan is kept as
// a spec is, and resolved again whenever a namespace comes or goes, until the next Update,
// SetSpec or Pin. While a pin is in force, Update still makes a change, with a generation of its
// own, but the pin stays in force and the plan is dropped.
//
// next is called with the state before the change; no other change comes in between. It runs
// with the registry's lock held, so it may read the registry, must not change it, and must
// return soon. The cause that it returns is the Cause of the [Change]. If it returns an error or
// panics, so does Update, and nothing is changed.
//
// Update costs time in proportion to the specs of the plan. The error is next's, or an
// [*Error] for [ErrReleased], or for [ErrNilFunc] if next is nil.
func (c *Control) Update(next func(now State) (p Plan, cause any, err error)) error {
	return c.update(next, false)
}

// Release updates as [Control.Update] does, and releases c in the same change, so that the
// registry can have another Control. If Update would return an error, Release does, and c is
// not released. If next is nil, c is released without a change. The plan stays in force.
func (c *Control) Release(next func(now State) (p Plan, cause any, err error)) error {
	if next != nil {
		return c.update(next, true)
	}
	if c == nil || c.r == nil {
		return released()
	}
	c.r.mu.Lock()
	defer c.r.mu.Unlock()
	if c.r.control != c {
		return released()
	}
	c.r.control = nil
	return nil
}

func (c *Control) update(next func(now State) (p Plan, cause any, err error), last bool) error {
	if c == nil || c.r == nil {
		return released()
	}
	if next == nil {
		return &Error{Op: OpUpdate, Err: because(ErrNilFunc, "pass the function that returns the plan")}
	}
	r := c.r
	return r.change(Change{Op: OpUpdate}, func(old *generation, ch *Change) (*generation, error) {
		if r.control != c {
			return nil, released()
		}
		p, cause, err := next(State{old})
		if err != nil {
			return nil, err
		}
		ch.Cause, ch.last = cause, last
		in := intent(planIntent(p))
		switch old.intent.(type) {
		case pinIntent:
			in = old.intent
		case planIntent:
			// One plan follows on another as leases come and go, which is no reason to
			// report the names that stay again.
		default:
			r.reports.newIntent()
		}
		return old.next(old.vocabulary, in), nil
	})
}

func released() error {
	return &Error{Op: OpUpdate, Err: because(ErrReleased, "get another from Registry.Control")}
}
