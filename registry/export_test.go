// SPDX-License-Identifier: Apache-2.0

package registry

// Intent returns what is wanted of r: a spec, or else a pin.
func Intent(r *Registry) (spec string, pin []string, pinned bool) {
	switch in := r.load().intent.(type) {
	case specIntent:
		return string(in), nil, false
	case pinIntent:
		return "", in, true
	}
	panic("not a spec or pin")
}
