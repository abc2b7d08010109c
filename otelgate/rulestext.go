// SPDX-License-Identifier: Apache-2.0

package otelgate

import (
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.opentelemetry.io/otel/trace"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/internal/spec"
)

// MaxRulesLen is the length in bytes of the longest text that [ParseRules] reads: 64 KiB.
const MaxRulesLen = 64 << 10

// The reasons for which a text of rules is refused, besides [ErrInvalidRule].
var (
	// ErrUnknownGroup is a group of a rule that the find of [NamedRules.Rules] does not know.
	ErrUnknownGroup = errors.New("unknown group")
	// ErrRulesTooLong is a text of rules longer than [MaxRulesLen].
	ErrRulesTooLong = errors.New("rules too long")
)

// RulesError is a text of rules that was refused. It unwraps to [ErrInvalidRule],
// [ErrUnknownGroup] or [ErrRulesTooLong]. The zero value is an error without details.
type RulesError struct {
	// Line is the line of the rule, from 1; 0 if the rule was not parsed from a text.
	Line int
	// Column is the byte of the line where the error is, from 1; 0 if the error is not at one
	// place. A byte order mark at the beginning of the text is not counted.
	Column int
	// Text is the line; of a long one, its beginning and "…".
	Text string
	// Err says what is wrong and what to do.
	Err error
}

// Unwrap returns e.Err.
func (e *RulesError) Unwrap() error { return e.Err }

// Error says where the error is, what is wrong and what to do, and quotes the line.
func (e *RulesError) Error() string {
	b := []byte("otelgate: rules")
	if e.Line > 0 {
		b = fmt.Appendf(b, ", line %d", e.Line)
	}
	if e.Column > 0 {
		b = fmt.Appendf(b, ", column %d", e.Column)
	}
	if e.Err != nil {
		b = fmt.Appendf(b, ": %v", e.Err)
	}
	if e.Text != "" {
		b = fmt.Appendf(b, "; the rule is %q", e.Text)
	}
	return string(b)
}

// NamedRule is a [Rule] that has the names of its groups in place of gate and mask, so that it
// can be written as text. Its zero value has no group, and is refused.
type NamedRule struct {
	// Scope, Name, Kind and Transparent are those of [Rule].
	Scope, Name string
	Kind        trace.SpanKind
	Transparent bool
	// Groups are the names of the groups, at least one.
	Groups []string
	// Line is the line of the text that the rule was parsed from, from 1, for error messages.
	// It is 0 in a rule that was not parsed.
	Line int
}

// NamedRules is a list of rules with names of groups, as [ParseRules] returns it. It marshals to
// text and from it, so that a field of this type is read from JSON or YAML as one string, and
// flag.TextVar makes a flag of it. The zero value has no rules.
type NamedRules []NamedRule

var (
	_ encoding.TextAppender    = NamedRules(nil)
	_ encoding.TextMarshaler   = NamedRules(nil)
	_ encoding.TextUnmarshaler = (*NamedRules)(nil)
)

// ParseRules returns the rules that text has, one a line:
//
//	text   = [ byte order mark ] line { "\n" line }
//	line   = [ scope [ name ] [ kind ] [ "transparent" ] "=" group { "," group } ] [ "#" comment ] [ "\r" ]
//	scope  = word | quoted        see [Rule]; "" matches any
//	name   = word | quoted        of the span; "" matches any
//	kind   = "internal" | "server" | "client" | "producer" | "consumer"
//	word   = printable characters other than space, quotes, '=', ',', '#' and '\'
//	quoted = an interpreted string literal of Go
//	group  = the name of a group, in lower case
//
// Spaces and tabs separate words, and may stand around '=' and ','. A '*' at the end of a scope or
// name matches any rest, in quotes too.
//
//	github.com/XSAM/otelsql = sql             all spans of the scope
//	github.com/XSAM/otelsql* client = sql     client spans of all scopes that begin so
//	"" promqlInnerEval* = eval                spans of that name, in any scope
//	example.com/api "GET /users" = api,users  on while api or users is on
//	example.com/api "client" = api            spans of the name client
//	example.com/api transparent = api         Rule.Transparent is true
//	# nothing                                 no rule
//
// The first rule that matches a span decides. A span that no rule matches is in no group and always on,
// unless no rule names its scope and [Discover] gives that a group. ParseRules refuses text outside the
// grammar, and:
//   - a rule that can never match, since an earlier one matches all of its spans
//   - a scope without quotes that is a kind or "transparent"
//   - a scope or name without quotes that is nearly spelt as one of these words
//   - a group that a rule has twice
//   - text longer than [MaxRulesLen]
//
// The error is a [*RulesError] for the first line that is refused, and no rules are returned.
func ParseRules(text string) (NamedRules, error) {
	if len(text) > MaxRulesLen {
		return nil, &RulesError{Err: fmt.Errorf("%w: %d bytes, at most %d are read", ErrRulesTooLong, len(text), MaxRulesLen)}
	}
	var rules NamedRules
	number := 0
	for line := range strings.SplitSeq(strings.TrimPrefix(text, "\ufeff"), "\n") {
		number++
		p := ruleParser{line: strings.TrimSuffix(line, "\r")}
		r, err := p.rule()
		if err == nil && r.Groups != nil {
			p.column = 0
			err = rules.shadow(r)
			r.Line = number
			rules = append(rules, r)
		}
		if err != nil {
			return nil, &RulesError{number, p.column, spec.Head(p.line), fmt.Errorf("%w: %w", ErrInvalidRule, err)}
		}
	}
	return rules, nil
}

// shadow returns an error if a rule of l matches every span that r matches.
func (l NamedRules) shadow(r NamedRule) error {
	for _, first := range l {
		if covers(first.Scope, r.Scope) && covers(first.Name, r.Name) &&
			(first.Kind == trace.SpanKindUnspecified || first.Kind == r.Kind) {
			return fmt.Errorf("it can never match, since the rule of line %d matches all of its spans; write it above that one, or remove it", first.Line)
		}
	}
	return nil
}

// covers reports whether pattern a matches every name that b matches.
func covers(a, b string) bool {
	if b == "" {
		b = "*"
	}
	prefix, open := strings.CutSuffix(b, "*")
	return matches(a, prefix) && (!open || a == "" || strings.HasSuffix(a, "*"))
}

// ruleParser parses one line.
type ruleParser struct {
	line   string
	pos    int // of the first byte that next has not returned
	column int // of the latest token, or of an error in it; from 1
}

// token is a part of a line. The zero token is the end of the line.
type token struct {
	kind byte // 'w' for a word, '"' for quoted text, '=', ',', or 0 at the end
	text string
}

// space has the characters that separate words.
const space = " \t"

// next returns the next token of the line.
func (p *ruleParser) next() (token, error) {
	p.pos += len(p.line[p.pos:]) - len(strings.TrimLeft(p.line[p.pos:], space))
	p.column = p.pos + 1
	rest := p.line[p.pos:]
	var t token
	size := 0
	switch {
	case rest == "" || rest[0] == '#':
		return t, nil
	case rest[0] == '=' || rest[0] == ',':
		p.pos++
		return token{kind: rest[0], text: rest[:1]}, nil
	case rest[0] == '"':
		quoted, err := strconv.QuotedPrefix(rest)
		if err == nil {
			t.kind, size = '"', len(quoted)
			t.text, err = strconv.Unquote(quoted)
		}
		if err != nil {
			return t, errors.New(`the text that begins here is not a string literal of Go; end it with '"', and write '"' and '\' in it as \" and \\`)
		}
	default:
		size = strings.IndexFunc(rest, func(r rune) bool { return !inWord(r) })
		if size < 0 {
			size = len(rest)
		}
		t = token{'w', rest[:size]}
	}
	p.pos += size
	if after := rest[size:]; after != "" && !strings.ContainsRune(space+"=,#", rune(after[0])) {
		p.column = p.pos + 1
		r, _ := utf8.DecodeRuneInString(after)
		return t, fmt.Errorf("%q can't stand here; write text that has other characters than those of words in double quotes, and a space after it", r)
	}
	return t, nil
}

// inWord reports whether r may be in a word.
func inWord(r rune) bool {
	return unicode.IsPrint(r) && !strings.ContainsRune(" \"'`=,#\\", r)
}

// rule returns the rule of the line. Its Groups are nil if the line has none.
func (p *ruleParser) rule() (r NamedRule, err error) {
	for i, c := range p.line {
		if _, size := utf8.DecodeRuneInString(p.line[i:]); c == utf8.RuneError && size == 1 {
			p.column = i + 1
			return r, fmt.Errorf(`byte %#x is not UTF-8; save the text as UTF-8, or write the byte as \x%02x in double quotes`, p.line[i], p.line[i])
		}
	}
	t, err := p.next()
	if err != nil || t.kind == 0 {
		return r, err
	}
	if t.kind != '"' && (t.kind != 'w' || keyword(t.text) != "") {
		return r, fmt.Errorf(`no scope before %.256q; write "" to match any scope, or the scope in double quotes`, t.text)
	}
	r.Scope = t.text
	if err := r.rule(nil, 1).validate(); err != nil {
		return r, err
	}
	// The parts of a rule after the scope; left is the first that may still follow.
	const (
		name = iota
		kind
		transparent
		none
	)
	for left := name; ; {
		if t, err = p.next(); err != nil {
			return r, err
		}
		i := -1 // of the keyword
		if t.kind == 'w' {
			i = slices.Index(keywords, t.text)
		}
		switch {
		case t.kind == '=':
			r.Groups, err = p.groups()
			return r, err
		case t.kind == 0:
			return r, errors.New("no group; write '=' and the name of a group after the scope")
		case i >= 0 && t.text != wordTransparent && left <= kind:
			r.Kind, left = trace.SpanKindInternal+trace.SpanKind(i), transparent
		case i >= 0 && t.text == wordTransparent && left <= transparent:
			r.Transparent, left = true, none
		case t.kind == ',' || left != name:
			return r, fmt.Errorf("%.256q can't stand here; a rule is a scope, a span name, a kind and the word %s, in this order, then '=' and groups; write a name that has spaces or commas in double quotes", t.text, wordTransparent)
		case t.kind == 'w' && keyword(t.text) != "":
			return r, fmt.Errorf("%q is nearly %s; write that, or %q in double quotes for spans of that name", t.text, keyword(t.text), t.text)
		default:
			r.Name, left = t.text, kind
			if err := r.rule(nil, 1).validate(); err != nil {
				return r, err
			}
		}
	}
}

// groups returns the groups after the '='.
func (p *ruleParser) groups() (groups []string, err error) {
	for {
		t, err := p.next()
		if err != nil {
			return nil, err
		}
		if t.kind != 'w' {
			return nil, errors.New("no group here; write the name of a group after '=' and after each comma, without quotes")
		}
		if err := spec.CheckName(t.text); err != nil {
			return nil, fmt.Errorf("group %.256q can't be a name: %w", t.text, err)
		}
		if slices.Contains(groups, t.text) {
			return nil, fmt.Errorf("the rule has group %s twice; remove one", t.text)
		}
		groups = append(groups, t.text)
		if t, err = p.next(); err != nil || t.kind == 0 {
			return groups, err
		}
		if t.kind != ',' {
			return nil, fmt.Errorf("%.256q can't stand here; write a comma between two groups, and one rule a line", t.text)
		}
	}
}

// keywords are the words that mean themselves: the kinds in the order of [trace.SpanKind], which
// begins with the unspecified one, and the word for [Rule.Transparent].
var keywords = []string{"internal", "server", "client", "producer", "consumer", wordTransparent}

const wordTransparent = "transparent"

// keyword returns the keyword that word is or is nearly spelt like, in any case, or "". Were
// "clinet" or "Client" taken for the name of a span, the rule would match nothing.
func keyword(word string) string { return spec.Nearest(word, keywords) }

// rule returns r with a group of gate.
func (r NamedRule) rule(gate *spangate.Gate, group spangate.Mask) Rule {
	return Rule{Scope: r.Scope, Name: r.Name, Kind: r.Kind, Gate: gate, Group: group, Transparent: r.Transparent}
}

// String returns r as a line of the text that [ParseRules] reads, without a line end.
func (r NamedRule) String() string { return r.rule(nil, 0).Text(strings.Join(r.Groups, ",")) }

// Text returns r as a line of the text that [ParseRules] reads, with groups, such as
// [spangate.Catalog.Format] returns, as its groups. If groups is empty, the line ends before
// the '='.
func (r Rule) Text(groups string) string {
	b := appendPattern(nil, r.Scope)
	if r.Name != "" {
		b = appendPattern(append(b, ' '), r.Name)
	}
	if r.Kind != trace.SpanKindUnspecified {
		b = append(append(b, ' '), r.Kind.String()...)
	}
	if r.Transparent {
		b = append(b, " "+wordTransparent...)
	}
	if groups != "" {
		b = append(append(b, " = "...), groups...)
	}
	return string(b)
}

// appendPattern appends a scope or a name, in quotes where it must be.
func appendPattern(b []byte, pattern string) []byte {
	if pattern == "" || !utf8.ValidString(pattern) || keyword(pattern) != "" ||
		strings.ContainsFunc(pattern, func(r rune) bool { return !inWord(r) }) {
		return strconv.AppendQuote(b, pattern)
	}
	return append(b, pattern...)
}

// String returns l as text, each rule in its shortest form and followed by a line end. The text
// of rules that [ParseRules] returned parses to the same rules, [NamedRule.Line] aside.
func (l NamedRules) String() string {
	var b strings.Builder
	for _, r := range l {
		b.WriteString(r.String())
		b.WriteByte('\n')
	}
	return b.String()
}

// AppendText appends the text that String returns. It fails with a [*RulesError], and appends
// nothing, if that would not parse to the same rules: a group that is not a name, a rule that can
// never match, or a text longer than [MaxRulesLen].
func (l NamedRules) AppendText(b []byte) ([]byte, error) {
	text := l.String()
	parsed, err := ParseRules(text)
	if err != nil {
		return b, err
	}
	for i, r := range l {
		if r.Line = parsed[i].Line; !reflect.DeepEqual(r, parsed[i]) {
			return b, &RulesError{Line: l[i].Line, Text: spec.Head(r.String()),
				Err: fmt.Errorf("%w: its text means another rule; each group must be one name, and the kind one of OpenTelemetry's", ErrInvalidRule)}
		}
	}
	return append(b, text...), nil
}

// MarshalText is AppendText to a new slice.
func (l NamedRules) MarshalText() ([]byte, error) { return l.AppendText([]byte{}) }

// UnmarshalText sets l to the rules of text. On an error of [ParseRules], l stays as it was.
func (l *NamedRules) UnmarshalText(text []byte) error {
	parsed, err := ParseRules(string(text))
	if err == nil {
		*l = parsed
	}
	return err
}

// Groups returns the names of all groups of l, sorted, each once.
func (l NamedRules) Groups() []string {
	var names []string
	for _, r := range l {
		names = append(names, r.Groups...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Rules returns the rules for a provider. It calls find for each group of each rule; find
// returns the gate and the bit of the group, with a nil gate for that of the provider, or
// an empty mask if there is no such group. An unknown group is an error, and so are two groups of
// one rule that have different gates. The error is a [*RulesError]. A nil find knows no group.
func (l NamedRules) Rules(find func(group string) (*spangate.Gate, spangate.Mask)) (Rules, error) {
	rules := make(Rules, 0, len(l))
	for _, r := range l {
		fail := func(err error) (Rules, error) {
			return nil, &RulesError{Line: r.Line, Text: spec.Head(r.String()), Err: err}
		}
		var rule Rule
		for i, name := range r.Groups {
			var gate *spangate.Gate
			var group spangate.Mask
			if find != nil {
				gate, group = find(name)
			}
			if group == 0 {
				return fail(fmt.Errorf("%w %.256q; register a catalog that has it, or correct the rule", ErrUnknownGroup, name))
			}
			if i == 0 {
				rule = r.rule(gate, 0)
			} else if gate != rule.Gate {
				return fail(fmt.Errorf("%w: groups %.256q and %.256q have different gates; name groups of one namespace", ErrInvalidRule, r.Groups[0], name))
			}
			rule.Group |= group
		}
		rules = append(rules, rule)
	}
	return rules, nil
}
