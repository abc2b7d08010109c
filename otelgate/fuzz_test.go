// SPDX-License-Identifier: Apache-2.0

package otelgate_test

import (
	"errors"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"go.opentelemetry.io/otel/trace"

	"github.com/spangate/spangate/internal/spec"
	"github.com/spangate/spangate/otelgate"
)

// ruleSeeds are texts with a special case each. testdata/fuzz has the inputs that fuzzing found.
var ruleSeeds = []string{
	"",                                      // no rule
	"github.com/XSAM/otelsql* client = sql", // a usual rule
	"\"\" promqlInnerEval* = eval\n",        // any scope
	"\ufeffa = b\r\n# c\r\n\r\nd = e",       // byte order mark, line ends of Windows, comment
	"a x server transparent = b , c#d",      // every part
	"a \"x\\xff\\\"\\u00e9 #=\" = b",        // escapes
	"a \"client\" = b\na clinet = b",        // a name like a kind, quoted and not
	"\"a\"b = c\na\"b\" = c",                // no space at quotes
	"a*b = c\na \"*\" = c",                  // '*' inside, and alone
	"a* = b\nab x client = c",               // never reached
	"a x = b\na client = b\na = c",          // each reached
	"a\u00a0= b\na\u200b = c\na\rb = c",     // space that is none
	"# c\ra = b",                            // a line end of old Macs
	"a = b,b\na = B\na = -b\na = b.c-d_0",   // names of groups
	"a \xff = b",                            // not UTF-8
	"client client = client,transparent",    // keywords everywhere
	"a \ufffd = b\n\"\ufffd\" = b",          // the replacement character itself
}

var (
	printed   = regexp.MustCompile(`^[\pL\pM\pN\pP\pS]+$`)
	quoted    = regexp.MustCompile(`^"(?:[^"\\]|\\.)*"`)
	groupName = regexp.MustCompile(`^[a-z0-9_.][a-z0-9_.-]{0,62}$`)
	// lineForm is a line with a letter for each token: q is quoted, k a kind, t transparent, n nearly
	// one of these, w another word.
	lineForm = regexp.MustCompile(`^([qw])([qw]?)(k?)(t?)=([wktn](?:,[wktn])*)$`)
	kindName = regexp.MustCompile(`^(internal|server|client|producer|consumer)$`)
)

// naiveRules is an independent ParseRules. It returns the line of the first error, or 0.
func naiveRules(text string) (rules otelgate.NamedRules, bad int) {
	for i, line := range strings.Split(strings.TrimPrefix(text, "\ufeff"), "\n") {
		r, ok := naiveRule(strings.TrimSuffix(line, "\r"))
		if r.Line = i + 1; !ok {
			return nil, r.Line
		}
		if r.Groups == nil {
			continue
		}
		for _, first := range rules {
			if naiveCovers(first.Scope, r.Scope) && naiveCovers(first.Name, r.Name) && (first.Kind == 0 || first.Kind == r.Kind) {
				return nil, r.Line
			}
		}
		rules = append(rules, r)
	}
	return rules, 0
}

func naiveRule(line string) (r otelgate.NamedRule, ok bool) {
	if !utf8.ValidString(line) {
		return r, false
	}
	form, values := "", []string{}
	apart := true // from a word or quoted text before
	for rest := line; ; {
		trimmed := strings.Trim(rest, " \t")
		apart = apart || !strings.HasPrefix(rest, trimmed)
		rest = strings.TrimLeft(rest, " \t")
		if strings.HasPrefix(rest, "#") && strings.Contains(rest, "\r") {
			return r, false
		}
		if rest == "" || rest[0] == '#' {
			break
		}
		letter, token, value := "w", rest, ""
		switch {
		case rest[0] == '=' || rest[0] == ',':
			letter, token, apart = rest[:1], rest[:1], true
		case rest[0] == '"':
			token = quoted.FindString(rest)
			var err error
			if value, err = strconv.Unquote(token); err != nil || !apart {
				return r, false
			}
			letter, apart = "q", false
		default:
			if end := strings.IndexAny(rest, " \t\"'`=,#\\"); end >= 0 {
				token = rest[:end]
			}
			if value = token; !printed.MatchString(token) || !apart {
				return r, false
			}
			switch {
			case kindName.MatchString(token):
				letter = "k"
			case token == "transparent":
				letter = "t"
			case spec.Nearest(token, []string{"internal", "server", "client", "producer", "consumer", "transparent"}) != "":
				letter = "n"
			}
			apart = false
		}
		form, values, rest = form+letter, append(values, value), rest[len(token):]
	}
	if form == "" {
		return r, true
	}
	part := lineForm.FindStringSubmatch(form)
	if part == nil {
		return r, false
	}
	next := func(n int) (value string) {
		for range n {
			value, values = values[0], values[1:]
		}
		return value
	}
	r.Scope, r.Name = next(1), next(len(part[2]))
	kind := next(len(part[3]))
	for k := trace.SpanKindInternal; k <= trace.SpanKindConsumer; k++ {
		if k.String() == kind {
			r.Kind = k
		}
	}
	r.Transparent = next(len(part[4])) != ""
	for _, pattern := range []string{r.Scope, r.Name} {
		if pattern != "" && strings.Contains(pattern[:len(pattern)-1], "*") {
			return r, false
		}
	}
	for range strings.Count(part[5], ",") + 1 {
		group := next(2) // '=' or ',', and the name
		if !groupName.MatchString(group) || slices.Contains(r.Groups, group) {
			return r, false
		}
		r.Groups = append(r.Groups, group)
	}
	return r, true
}

// naiveCovers reports whether a matches the shortest name that b matches, and a longer one if b does.
func naiveCovers(a, b string) bool {
	match := func(pattern, name string) bool {
		if pattern == "" || strings.HasSuffix(pattern, "*") {
			return strings.HasPrefix(name, strings.TrimSuffix(pattern, "*"))
		}
		return name == pattern
	}
	shortest := strings.TrimSuffix(b, "*")
	longer := shortest + "\x00"
	return match(a, shortest) && (!match(b, longer) || match(a, longer))
}

func FuzzParseRules(f *testing.F) {
	for _, s := range ruleSeeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > otelgate.MaxRulesLen {
			return
		}
		rules, err := otelgate.ParseRules(text)
		naive, bad := naiveRules(text)
		if !reflect.DeepEqual(rules, naive) || (err == nil) != (bad == 0) {
			t.Fatalf("%q: %#v, %v; naive %#v, line %d", text, rules, err, naive, bad)
		}
		if err != nil {
			var e *otelgate.RulesError
			if !errors.As(err, &e) || !errors.Is(err, otelgate.ErrInvalidRule) || e.Line != bad {
				t.Fatalf("%q: %#v, naive finds line %d", text, err, bad)
			}
			line := strings.TrimSuffix(strings.Split(strings.TrimPrefix(text, "\ufeff"), "\n")[bad-1], "\r")
			if e.Column < 0 || e.Column > len(line)+1 || e.Text != spec.Head(line) {
				t.Fatalf("%q: line %q, column %d", text, e.Text, e.Column)
			}
			return
		}
		canonical, err := rules.MarshalText()
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		back, err := otelgate.ParseRules(string(canonical))
		for i := range back {
			back[i].Line = rules[i].Line
		}
		if err != nil || !reflect.DeepEqual(back, rules) || back.String() != string(canonical) {
			t.Fatalf("%q is written %q, which parses to %#v, %v", text, canonical, back, err)
		}
	})
}

// A rule marshals if its fields are valid, and only then, and parses back.
func FuzzNamedRuleMarshals(f *testing.F) {
	f.Add("github.com/XSAM/otelsql*", "", int8(3), false, "sql") // a usual rule
	f.Add("", "client", int8(0), true, "a b")                    // any scope, a name that is a keyword
	f.Add("a*b", "*", int8(6), false, "a\n#")                    // what can't be written
	f.Add("\xff\n\"", "\ufeff \\", int8(-1), true, "")           // escapes, no group
	f.Add("=", "#", int8(5), true, "transparent = ")             // what separates, in the names
	f.Fuzz(func(t *testing.T, scope, name string, kind int8, transparent bool, group string) {
		rule := otelgate.NamedRule{Scope: scope, Name: name, Kind: trace.SpanKind(kind), Transparent: transparent, Groups: []string{group}}
		valid := groupName.MatchString(group) && kind >= 0 && kind <= 5 &&
			!strings.Contains(strings.TrimSuffix(scope, "*"), "*") && !strings.Contains(strings.TrimSuffix(name, "*"), "*")
		text, err := otelgate.NamedRules{rule}.MarshalText()
		if len(rule.String()) >= otelgate.MaxRulesLen {
			valid = false
		}
		if (err == nil) != valid {
			t.Fatalf("%#v: %q, %v", rule, text, err)
		}
		if err != nil {
			return
		}
		back, err := otelgate.ParseRules(string(text))
		if rule.Line = 1; err != nil || !reflect.DeepEqual(back, otelgate.NamedRules{rule}) {
			t.Fatalf("%#v is written %q, which parses to %#v, %v", rule, text, back, err)
		}
	})
}
