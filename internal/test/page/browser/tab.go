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

// Tab is a tab with a profile of its own. Its zero value must not be used, nor may it be copied.
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
	if err := chromedp.Listen(ctx, t.see); err != nil {
		cancel()
		return nil, nil, err
	}
	return t, cancel, nil
}

func (t *Tab) see(event any) {
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

// Requests returns what the tab has asked for, as in "GET http://…".
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

// Hosts returns the hosts that the tab has asked, each once.
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

// Complaints returns what was thrown, written to the console or logged by the browser: among
// it what the content security policy forbade.
func (t *Tab) Complaints() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.complaints)
}

// Patience is how long an action, or a wait for what should take a moment, may take.
const Patience = time.Minute

// Do does some actions in the tab.
func (t *Tab) Do(actions ...chromedp.Action[chromedp.Void]) error {
	ctx, cancel := context.WithTimeout(t.ctx, Patience)
	defer cancel()
	return chromedp.Do(ctx, actions...)
}

// Insert puts text where the focus is, as if pasted: keys don't give every character.
func (t *Tab) Insert(text string) error {
	_, err := chromedp.Call(t.ctx, input.InsertText, input.InsertTextParams{Text: text})
	return err
}

// Evaluate returns what a JavaScript expression is in the tab, or the promise of it becomes.
func Evaluate[T any](t *Tab, expression string) (T, error) {
	ctx, cancel := context.WithTimeout(t.ctx, Patience)
	defer cancel()
	return chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
}

// Size makes the tab's window so large, in CSS pixels.
func (t *Tab) Size(width, height int64, options ...chromedp.EmulateViewportOption) error {
	return t.Do(chromedp.EmulateViewport(width, height, options...))
}

// Prefer sets what the tab's user prefers, as in "prefers-color-scheme", "dark".
func (t *Tab) Prefer(feature, value string) error {
	_, err := chromedp.Call(t.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: feature, Value: value}},
	})
	return err
}

// WithoutScripts keeps the pages that the tab opens from now on from running any.
func (t *Tab) WithoutScripts() error {
	_, err := chromedp.Call(t.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	return err
}

// Screenshot returns what the window shows, as PNG.
func (t *Tab) Screenshot() ([]byte, error) {
	return chromedp.Run(t.ctx, chromedp.CaptureScreenshot())
}

// Node is what assistive technology is told of an element.
type Node struct{ Role, Name string }

// Accessible returns what assistive technology is told of the page.
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
