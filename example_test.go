// SPDX-License-Identifier: Apache-2.0

package spangate_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"

	"github.com/spangate/spangate"
)

func ExampleMask() {
	m := spangate.PresetPerRollout.With(spangate.BitJob).Without(spangate.CrossProcessSpine)
	fmt.Println(m, m.Count(), spangate.Gym.Format(m))
	for bit := range m.Bits() {
		fmt.Println(bit, spangate.Gym.Format(bit))
	}

	// Output:
	// 0x3801 4 job,verify,agent,model_call
	// 0x1 job
	// 0x800 verify
	// 0x1000 agent
	// 0x2000 model_call
}

func ExampleParse() {
	for _, spec := range []string{"default", "default,sandbox,-job", "-sandbox, ALL", ""} {
		m, err := spangate.Parse(spec)
		fmt.Printf("%q is %v, %v\n", spec, m, err)
	}

	// Output:
	// "default" is 0x701, <nil>
	// "default,sandbox,-job" is 0x4700, <nil>
	// "-sandbox, ALL" is 0x3fff, <nil>
	// "" is 0x0, <nil>
}

func ExampleParseError() {
	_, err := spangate.Lens.Parse("default,stp")

	var e *spangate.ParseError
	if errors.As(err, &e) {
		for _, u := range e.Unknown {
			fmt.Printf("%s\n%*s did you mean %s?\n", e.Spec, u.Offset+1, "^", u.Suggestion)
		}
	}

	// Output:
	// default,stp
	//         ^ did you mean step?
}

// A program with groups of its own.
func ExampleNewCatalog() {
	const (
		BitQuery spangate.Mask = 1 << 0
		BitCache spangate.Mask = 1 << 1
		BitRetry spangate.Mask = 1 << 2
	)
	catalog, err := spangate.NewCatalog("mydb",
		[]spangate.Group{
			{Name: "query", Bit: BitQuery, Doc: "one query"},
			{Name: "cache", Bit: BitCache, Doc: "one cache lookup"},
			{Name: "retry", Bit: BitRetry, Doc: "one more attempt"},
		},
		[]spangate.Preset{{Name: "default", Mask: BitQuery | BitRetry}})
	if err != nil {
		panic(err)
	}

	m, err := catalog.Parse("all,-cache")
	fmt.Println(catalog.Format(m), err)
	_, err = catalog.Parse("querys")
	fmt.Println(err)

	// Output:
	// query,retry <nil>
	// spangate: spec "querys": unknown name "querys" at byte 0 (did you mean "query"?); mydb has default, all, query, cache, retry
}

// The groups of Gym and one more, with a preset of its own.
func ExampleCatalog_Extend() {
	const BitReward = spangate.BitSandbox << 1
	catalog, err := spangate.Gym.Extend("my_gym",
		[]spangate.Group{{Name: "reward", Bit: BitReward}},
		[]spangate.Preset{{Name: "default", Mask: spangate.CrossProcessSpine | BitReward}})
	if err != nil {
		panic(err)
	}
	m, _ := catalog.Parse("default,verify")
	fmt.Println(catalog.Format(m))

	// Output: server,http_client,rollout,verify,reward
}

// A job's spec may name groups of other processes.
func ExampleCatalog_Resolve() {
	m, unknown := spangate.Gym.Resolve("rollout,microbatch")
	fmt.Println(spangate.Gym.Format(m), unknown)

	// Output: rollout [microbatch]
}

func ExampleCatalog_Groups() {
	for g := range spangate.Lens.Groups() {
		fmt.Printf("%-5v %s: %s\n", g.Bit, g.Name, g.Doc)
	}

	// Output:
	// 0x1   job: the whole job, from start to exit
	// 0x2   checkpoint: saving a checkpoint
	// 0x4   evaluate: an evaluation or validation pass
	// 0x8   model_init: building the model
	// 0x10  load_checkpoint: restoring a checkpoint
	// 0x20  step: one training step
	// 0x40  forward_backward: the forward and backward passes of a step
	// 0x80  optimizer: the optimizer update of a step
}

// A selection as a flag.
func ExampleSelection_flag() {
	flags := flag.NewFlagSet("train", flag.ContinueOnError)
	spans := spangate.Lens.Select(spangate.LensPresetDefault)
	flags.Var(&spans, "spans", "span groups, as in default,step")

	err := flags.Parse([]string{"-spans", "default,step,-job"})
	fmt.Println(spans, err)

	var gate spangate.Gate
	gate.Store(spans.Mask)

	// Output: checkpoint,evaluate,step <nil>
}

// A selection in a configuration file and in a log.
func ExampleSelection_config() {
	config := struct {
		Spans spangate.Selection `json:"spans"`
	}{
		Spans: spangate.Gym.Select(spangate.PresetDefault), // unless the file says otherwise
	}
	if err := json.Unmarshal([]byte(`{"spans": "per_rollout,-agent"}`), &config); err != nil {
		panic(err)
	}
	doc, _ := json.Marshal(config)
	fmt.Println(string(doc))

	log := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	}))
	log.Info("starting", "spans", config.Spans)

	// Output:
	// {"spans":"server,http_client,rollout,verify,model_call"}
	// level=INFO msg=starting spans=server,http_client,rollout,verify,model_call
}
