// SPDX-License-Identifier: Apache-2.0

package control

import (
	"flag"
	"strings"
)

// Flag returns a flag that sets the spec of b, whose spec until then is the flag's default:
//
//	base, err := control.FromEnv()
//	…
//	flag.Var(control.Flag(&base), "spans", "span groups, as in default,sandbox")
//	flag.Parse()
//	c, err := control.New(registry.Default(), control.Start(base))
//
// It is configuration, and lenient as that is. A value that [Controller.Configure] would refuse
// is refused in the same words, and b is left as it was.
func Flag(b *Baseline) flag.Value { return (*baselineFlag)(b) }

// Flag returns a flag that makes its value the baseline of c, as [Controller.Configure]
// does.
func (c *Controller) Flag() flag.Value { return controllerFlag{c} }

// ofFlag returns what a flag of this value asks for.
func ofFlag(spec string) Baseline {
	return Baseline{Spec: strings.Clone(spec), AllowPending: true, Who: "flag"}
}

type baselineFlag Baseline

func (f *baselineFlag) String() string { return f.Spec }

func (f *baselineFlag) Set(spec string) error {
	if err := checkText(spec); err != nil {
		return err
	}
	*f = baselineFlag(ofFlag(spec))
	return nil
}

type controllerFlag struct{ c *Controller }

// String is asked of the zero value too, by package flag.
func (f controllerFlag) String() string {
	if f.c.usable() != nil {
		return ""
	}
	return f.c.view.Load().wanted.baseline.Spec
}

func (f controllerFlag) Set(spec string) error { return f.c.Configure(ofFlag(spec)) }
