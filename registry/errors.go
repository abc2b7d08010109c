// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/internal/spec"
)

// The reasons for which a [Registry] refuses a change. A preset's or pinned group's name
// that breaks the rule of [spangate.Group] is [spangate.ErrInvalidName], and a preset named
// like a group of its own namespace is [spangate.ErrDuplicateName], as in a catalog.
var (
	// ErrNilRegistry is a method of a nil registry that would change it.
	ErrNilRegistry = errors.New("nil registry")
	// ErrNilCatalog is a nil catalog.
	ErrNilCatalog = errors.New("nil catalog")
	// ErrNilGate is a nil gate.
	ErrNilGate = errors.New("nil gate")
	// ErrEmptyNamespace is a namespace without a name.
	ErrEmptyNamespace = errors.New("empty namespace")
	// ErrEmptyName is a group or preset without a name.
	ErrEmptyName = errors.New("empty name")
	// ErrReservedName is a group or preset called [spangate.NameAll]. It is
	// [spangate.ErrReservedName].
	ErrReservedName = spangate.ErrReservedName
	// ErrNamespaceTaken is a namespace that is registered already.
	ErrNamespaceTaken = errors.New("namespace taken")
	// ErrNamespaceUnknown is a namespace that is not registered.
	ErrNamespaceUnknown = errors.New("unknown namespace")
	// ErrGateTaken is a gate that belongs to another namespace.
	ErrGateTaken = errors.New("gate taken")
	// ErrGateElsewhere is a gate that belongs to another registry. It unwraps to
	// [ErrGateTaken].
	ErrGateElsewhere = fmt.Errorf("%w by another registry", ErrGateTaken)
)

// Error says why a [Registry] refused a change; nothing was changed. It unwraps to its
// reason, such as [ErrNamespaceTaken]. The zero Error has no reason.
type Error struct {
	// Op is what was refused: "register", "unregister" or "pin".
	Op string
	// Namespace is the one to be registered or unregistered, as given. It is empty for
	// other operations, and where no catalog was given.
	Namespace string
	// Name is the invalid preset or group name, as given, or empty if no such name is invalid.
	Name string
	// Err wraps the reason and has the details.
	Err error
}

var _ error = (*Error)(nil)

// Error names the operation, what it was given, the reason and what to do.
func (e *Error) Error() string {
	s := "spangate/registry: " + e.Op
	if e.Op == "register" || e.Op == "unregister" {
		s += " " + clip(e.Namespace)
	}
	if e.Name != "" {
		s += ": " + clip(e.Name)
	}
	return fmt.Sprintf("%s: %v", s, e.Err) // the zero Error has no reason
}

// Unwrap returns e.Err.
func (e *Error) Unwrap() error { return e.Err }

func nilRegistry(op string) *Error {
	return &Error{Op: op, Err: because(ErrNilRegistry, "make one with registry.New, or use registry.Default()")}
}

// because returns an error that wraps reason and adds an explanation.
func because(reason error, explanation string) error {
	return fmt.Errorf("%w: %s", reason, explanation)
}

// clip quotes s, and of a long s its beginning.
func clip(s string) string { return strconv.Quote(spec.Head(s)) }
