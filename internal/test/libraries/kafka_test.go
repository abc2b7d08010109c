// SPDX-License-Identifier: Apache-2.0

package libraries

import (
	"context"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/dnwe/otelsarama"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/plugin/kotel"
	"go.opentelemetry.io/otel"

	"github.com/spangate/spangate/otelgate"
)

const topic = "things"

// kafka serves Kafka's protocol from memory, with one topic, and returns the brokers' addresses.
func kafka(t *testing.T) []string {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, topic))
	require.NoError(t, err)
	t.Cleanup(cluster.Close)
	return cluster.ListenAddrs()
}

func openKotel(t *testing.T, inner func(context.Context)) func(context.Context) error {
	tracer := kotel.NewTracer()
	c, err := kgo.NewClient(
		kgo.SeedBrokers(kafka(t)...),
		kgo.ConsumeTopics(topic),
		kgo.WithHooks(kotel.NewKotel(kotel.WithTracer(tracer)).Hooks()...))
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return func(ctx context.Context) error {
		if err := c.ProduceSync(ctx, &kgo.Record{Topic: topic, Value: []byte("one")}).FirstErr(); err != nil {
			return err
		}
		fetches := c.PollRecords(ctx, 1)
		if err := fetches.Err(); err != nil {
			return err
		}
		for _, record := range fetches.Records() {
			ctx, span := tracer.WithProcessSpan(record)
			inner(ctx)
			span.End()
		}
		return mustFail(c.ProduceSync(ctx, &kgo.Record{Topic: topic, Value: make([]byte, 2<<20)}).FirstErr())
	}
}

func openSarama(t *testing.T, inner func(context.Context)) func(context.Context) error {
	config := sarama.NewConfig()
	config.Version = sarama.V2_8_0_0
	config.Producer.Return.Successes = true
	config.Consumer.MaxWaitTime = 10 * time.Millisecond // how long closing waits
	c, err := sarama.NewClient(kafka(t), config)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, c.Close()) })
	producer, err := sarama.NewSyncProducerFromClient(c)
	require.NoError(t, err)
	producer = otelsarama.WrapSyncProducer(config, producer)
	t.Cleanup(func() { assert.NoError(t, producer.Close()) })
	consumer, err := sarama.NewConsumerFromClient(c)
	require.NoError(t, err)
	consumer = otelsarama.WrapConsumer(consumer)
	t.Cleanup(func() { assert.NoError(t, consumer.Close()) })
	return func(ctx context.Context) error {
		message := &sarama.ProducerMessage{Topic: topic, Value: sarama.StringEncoder("one")}
		otel.GetTextMapPropagator().Inject(ctx, otelsarama.NewProducerMessageCarrier(message))
		if _, _, err := producer.SendMessage(message); err != nil {
			return err
		}
		partition, err := consumer.ConsumePartition(topic, 0, sarama.OffsetOldest)
		if err != nil {
			return err
		}
		received := <-partition.Messages()
		inner(otel.GetTextMapPropagator().Extract(ctx, otelsarama.NewConsumerMessageCarrier(received)))
		partition.AsyncClose()
		for range partition.Messages() { // closed once the consumer's span has ended
		}
		return nil
	}
}

var kafkaLibraries = []library{
	{
		name:    "kotel",
		modules: []string{"github.com/twmb/franz-go/plugin/kotel", "github.com/twmb/franz-go"},
		run:     "Kafka: produce, receive and process a record, a record that is too large",
		groups:  program | client | inner,
		rules:   otelgate.Rules{{Scope: "github.com/twmb/franz-go/plugin/kotel", Group: client}},
		open:    openKotel,
	},
	{
		name:    "otelsarama",
		modules: []string{"github.com/dnwe/otelsarama", "github.com/IBM/sarama"},
		run:     "Kafka: produce and receive a message",
		groups:  program | client | inner,
		rules:   otelgate.Rules{{Scope: "go.opentelemetry.io/contrib/instrumentation/github.com/IBM/sarama/otelsarama", Group: client}},
		open:    openSarama,
	},
}
