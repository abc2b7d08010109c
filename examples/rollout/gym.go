// SPDX-License-Identifier: Apache-2.0

package main

// Task is what a rollout is about.
type Task struct {
	Prompt   string `json:"prompt"`
	Expected string `json:"expected"`
}

// tasks is the dataset. The model has not learnt "squared": one answer in three is wrong.
var tasks = [...]Task{
	{Prompt: "What is 6 times 7?", Expected: "42"},
	{Prompt: "What is 128 minus 59 plus 3?", Expected: "72"},
	{Prompt: "What is 9 squared?", Expected: "81"},
}

// Message is one turn of a conversation between the agent, the model and its tools.
type Message struct {
	Role    string `json:"role"` // user, assistant or tool
	Content string `json:"content,omitempty"`
	Call    *Call  `json:"call,omitempty"` // the assistant wants the tool run before it goes on
}

// Call is a call of the one tool there is, a calculator.
type Call struct {
	Expression string `json:"expression"`
}

// Attempt is an answer to be verified.
type Attempt struct {
	Answer   string `json:"answer"`
	Expected string `json:"expected"`
}

// Outcome is what a rollout comes to.
type Outcome struct {
	Answer string  `json:"answer"`
	Reward float64 `json:"reward"`
}
