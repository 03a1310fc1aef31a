package durable

// Permissions returns the subjects that the NATS user of a host has to publish to for durable calls, next to
// toolhost.v1.> and _INBOX.>. With them a host can make the queue and the bucket if they are not there, but cannot
// change or delete them. In a cluster $JS.API.STREAM.UPDATE.KV_TOOLHOST_RESULTS comes to them, unless the
// stream has direct reads turned off.
//
// The subjects are those of the [JetStream API].
//
// [JetStream API]: https://docs.nats.io/reference/reference-protocols/nats_api_reference
func Permissions() []string {
	const results = "KV_" + ResultsName
	return []string{
		"$KV." + ResultsName + ".>", "$JS.ACK." + QueueName + ".>", "$JS.FC." + results + ".>", "$JS.API.INFO",
		"$JS.API.STREAM.CREATE." + QueueName, "$JS.API.STREAM.CREATE." + results,
		"$JS.API.STREAM.INFO." + QueueName, "$JS.API.STREAM.INFO." + results,
		"$JS.API.STREAM.PURGE." + QueueName, // of one call that has ended
		"$JS.API.STREAM.MSG.GET." + results, "$JS.API.DIRECT.GET." + results + ".>",
		"$JS.API.CONSUMER.CREATE." + QueueName + ".>", "$JS.API.CONSUMER.INFO." + QueueName + ".>",
		"$JS.API.CONSUMER.MSG.NEXT." + QueueName + ".>",
		"$JS.API.CONSUMER.CREATE." + results + ".>", "$JS.API.CONSUMER.INFO." + results + ".>",
		"$JS.API.CONSUMER.DELETE." + results + ".>", // its own, when it has listed calls
	}
}
