// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Tab is a tab with a profile of its own, made by Open. It must not be copied.
type Tab struct {
	ctx context.Context

	mu         sync.Mutex
	requests   []string
	statuses   []int64
	complaints []string
}

// Open opens a tab.
func Open(browser context.Context) (*Tab, context.CancelFunc, error) {
	ctx, cancel := chromedp.NewContext(browser, chromedp.WithNewBrowserContext())
	t := &Tab{ctx: ctx}
	if err := chromedp.Listen(ctx, t.record); err != nil {
		cancel()
		return nil, nil, err
	}
	return t, cancel, nil
}

func (t *Tab) record(event any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		t.requests = append(t.requests, e.Request.Method+" "+e.Request.URL)
	case *network.EventResponseReceived:
		t.statuses = append(t.statuses, e.Response.Status)
	case *runtime.EventExceptionThrown:
		text := e.ExceptionDetails.Text
		if e.ExceptionDetails.Exception != nil {
			text += " " + e.ExceptionDetails.Exception.Description
		}
		t.complaints = append(t.complaints, "exception: "+text)
	case *runtime.EventConsoleAPICalled:
		t.complaints = append(t.complaints, fmt.Sprintf("console.%s", e.Type))
	case *log.EventEntryAdded:
		t.complaints = append(t.complaints, fmt.Sprintf("%s: %s %s", e.Entry.Source, e.Entry.Text, e.Entry.URL))
	}
}

// Requests returns the requests that the tab has sent, as in "GET http://…".
func (t *Tab) Requests() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.requests)
}

// Answers returns how many of the answers had this status.
func (t *Tab) Answers(status int64) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := 0
	for _, s := range t.statuses {
		if s == status {
			n++
		}
	}
	return n
}

// Hosts returns the hosts that the tab has sent requests to, each once.
func (t *Tab) Hosts() []string {
	var hosts []string
	for _, request := range t.Requests() {
		_, address, _ := strings.Cut(request, " ")
		if u, err := url.Parse(address); err == nil && !slices.Contains(hosts, u.Host) {
			hosts = append(hosts, u.Host)
		}
	}
	return hosts
}

// Complaints returns uncaught exceptions, calls of console methods, and the browser's own log,
// which has the violations of the content security policy.
func (t *Tab) Complaints() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.complaints)
}

// Timeout is the longest that an action or a wait may take.
const Timeout = time.Minute

// Do runs actions in the tab.
func (t *Tab) Do(actions ...chromedp.Action[chromedp.Void]) error {
	ctx, cancel := context.WithTimeout(t.ctx, Timeout)
	defer cancel()
	return chromedp.Do(ctx, actions...)
}

// Insert inserts text at the caret, as if pasted: keys can't type every character.
func (t *Tab) Insert(text string) error {
	_, err := chromedp.Call(t.ctx, input.InsertText, input.InsertTextParams{Text: text})
	return err
}

// Evaluate returns the value of a JavaScript expression in the tab. It awaits a promise.
func Evaluate[T any](t *Tab, expression string) (T, error) {
	ctx, cancel := context.WithTimeout(t.ctx, Timeout)
	defer cancel()
	return chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
}

// Size sets the size of the tab's window, in CSS pixels.
func (t *Tab) Size(width, height int64, options ...chromedp.EmulateViewportOption) error {
	return t.Do(chromedp.EmulateViewport(width, height, options...))
}

// Prefer sets a media feature, as in "prefers-color-scheme", "dark".
func (t *Tab) Prefer(feature, value string) error {
	_, err := chromedp.Call(t.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: feature, Value: value}},
	})
	return err
}

// WithoutScripts disables scripts in the pages that the tab opens from now on.
func (t *Tab) WithoutScripts() error {
	_, err := chromedp.Call(t.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	return err
}

// Screenshot returns the content of the window as PNG.
func (t *Tab) Screenshot() ([]byte, error) {
	return chromedp.Run(t.ctx, chromedp.CaptureScreenshot())
}

// Node is an element of the accessibility tree.
type Node struct{ Role, Name string }

// Accessible returns the accessibility tree of the page, without ignored nodes.
func (t *Tab) Accessible() ([]Node, error) {
	tree, err := chromedp.Call(t.ctx, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
	if err != nil {
		return nil, err
	}
	var nodes []Node
	for _, n := range tree.Nodes {
		if n.Ignored || n.Role == nil {
			continue
		}
		var node Node
		_ = json.Unmarshal(n.Role.Value, &node.Role) // a role is a string
		if n.Name != nil {
			_ = json.Unmarshal(n.Name.Value, &node.Name) // and a name too
		}
		nodes = append(nodes, node)
	}
	return nodes, nil
}
