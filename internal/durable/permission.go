package durable

// Permissions returns the subjects that the NATS user of a host has to publish to for durable calls, next to
// toolhost.v1.> and _INBOX.>. With them a host can make the queue and the buckets if they are not there, but cannot
// change or delete them.
//
// The subjects are those of the [JetStream API].
//
// [JetStream API]: https://docs.nats.io/reference/reference-protocols/nats_api_reference
func Permissions() []string {
	out := []string{
		"$JS.API.INFO", "$JS.ACK." + QueueName + ".>",
		"$JS.API.STREAM.CREATE." + QueueName, "$JS.API.STREAM.INFO." + QueueName,
		"$JS.API.STREAM.PURGE." + QueueName, // of one call that has ended
		"$JS.API.CONSUMER.CREATE." + QueueName + ".>", "$JS.API.CONSUMER.INFO." + QueueName + ".>",
		"$JS.API.CONSUMER.MSG.NEXT." + QueueName + ".>",
	}
	for _, bucket := range []string{StateName, ResultsName} {
		stream := "KV_" + bucket
		out = append(out, "$KV."+bucket+".>", "$JS.FC."+stream+".>",
			"$JS.API.STREAM.CREATE."+stream, "$JS.API.STREAM.INFO."+stream,
			"$JS.API.STREAM.MSG.GET."+stream, "$JS.API.DIRECT.GET."+stream+".>",
			"$JS.API.CONSUMER.CREATE."+stream+".>", "$JS.API.CONSUMER.INFO."+stream+".>",
			"$JS.API.CONSUMER.DELETE."+stream+".>") // its own, when it has listed
	}
	return out
}
